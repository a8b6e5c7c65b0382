package plan

import "github.com/ringtopo/ringtopo/allreduce"

// limit gives small messages fewer channels first, then fewer threads.
func (t *Tuning) limit(c *Choice, bytes int64) {
	model := modelOf(c.Algo)
	channels, threads := t.comm.NChannels, t.MaxThreads[model][c.Proto]
	threshold := int(t.Thresholds[model][c.Proto])
	// NCCL multiplies 32-bit integers and compares as unsigned 64-bit ones.
	tooMany := func() bool { return uint64(bytes) < uint64(int32(channels*threads*threshold)) }
	if c.Algo == allreduce.NVLS || c.Algo == allreduce.NVLSTree {
		channels = t.comm.NVLSChannels
	} else {
		for channels >= 2 && tooMany() {
			channels--
		}
		for threads%128 == 0 && tooMany() {
			threads /= 2
		}
	}
	if c.Proto == allreduce.Simple {
		threads += postingThreads(c.Algo)
	}
	threads = max(threads, 3*32)
	if c.Algo == allreduce.Tree {
		threads = 640
	}
	c.NChannels, c.Threads = channels, threads
}

// modelOf is the algorithm by whose tables an algorithm is sized: our own go
// like a ring.
func modelOf(a allreduce.Algo) allreduce.Algo {
	if a.Direct() {
		return allreduce.Ring
	}
	return a
}

// postingThreads are those that hand over slices while the others go on.
func postingThreads(a allreduce.Algo) int {
	switch a {
	case allreduce.Ring:
		return 32
	case allreduce.Tree:
		return 4 * 32
	}
	return 0
}

// ceil divides and rounds up.
func ceil[T int | int64 | uint64](a, b T) T { return (a + b - 1) / b }
