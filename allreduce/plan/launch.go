package plan

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Launch is one kernel launch: what executors run, and how it came about.
type Launch struct {
	Plan    *allreduce.Plan
	Details []Detail // of each work of the plan
	Kernel  string   // as NCCL names it; "" for algorithms that are not NCCL's
	// Threads is the block size before the least of 128; Plan has it after.
	Threads     int
	Batches     []Batch
	WorkBytes   int  // of all records
	InArguments bool // the records travel with the arguments, not in the queue
	ArgBytes    int  // of all arguments
	SharedBytes int  // dynamic shared memory of a block
	Cluster     int  // blocks per cluster; 0: launched without clusters
}

// Detail is how one work came about.
type Detail struct {
	Task
	Choice        Choice
	ChannelLo     int // as planned, before a list of channels maps them
	ChannelHi     int
	Lo, Mid, Hi   Section
	Peculiarities []string // where NCCL's arithmetic does what nobody expects
}

const leastThreads = 128

// Grid is the number of blocks.
func (l *Launch) Grid() int { return bits.OnesCount64(l.Plan.Mask) }

// add appends a job that was laid over channels.
func (l *Launch) add(t *Tuning, j *job, s spread, limit int, channels []int, b *batches) error {
	d := Detail{Task: j.Task, Choice: j.choice, ChannelLo: s.first, ChannelHi: s.last}
	if err := d.size(t, s); err != nil {
		return err
	}
	d.Peculiarities = peculiarities(s, j.choice.NChannels, limit)
	w := allreduce.Work{Call: j.call, Count: j.Count, DType: j.DType, Op: j.Op, Algo: j.choice.Algo, Proto: j.choice.Proto,
		Threads: j.choice.Threads, StepBytes: t.settings.BuffSize[j.choice.Proto] / allreduce.FIFODepth}
	w.ChunkSteps, w.SliceSteps = stepsOf(w.Algo, w.Proto)
	for c := s.first; c <= s.last; c++ {
		section := d.section(c)
		part := allreduce.Part{Channel: c, Offset: s.offset(c), Count: s.count(c), ChunkBytes: section.ChunkBytes, Loops: section.Loops}
		if channels != nil && c < len(channels) {
			part.Channel = channels[c]
		}
		b.add(part.Channel, functionName(&w), l.WorkBytes)
		l.Plan.Mask |= 1 << part.Channel
		w.Parts = append(w.Parts, part)
	}
	l.Threads = max(l.Threads, w.Threads)
	l.Plan.Works = append(l.Plan.Works, w)
	l.Details = append(l.Details, d)
	if l.Kernel == "" {
		l.Kernel = kernelName(&w)
	}
	l.WorkBytes += recordBytes
	return nil
}

// size fills in the three kinds of parts.
func (d *Detail) size(t *Tuning, s spread) (err error) {
	size := d.DType.Size()
	if d.Lo, err = t.section(&d.Choice, s.lo, size); err != nil {
		return err
	}
	if s.mid != 0 {
		if d.Mid, err = t.section(&d.Choice, s.midCount, size); err != nil {
			return err
		}
	}
	d.Hi, err = t.section(&d.Choice, s.hi, size)
	return err
}

func (d *Detail) section(channel int) Section {
	switch channel {
	case d.ChannelLo:
		return d.Lo
	case d.ChannelHi:
		return d.Hi
	}
	return d.Mid
}

// peculiarities names the two places where the arithmetic oversteps.
func peculiarities(s spread, most, limit int) []string {
	var list []string
	if n := s.last - s.first + 1; n > most {
		list = append(list, fmt.Sprintf("uses %d channels although %d were chosen: what rounding left over goes to one more", n, most))
	}
	if s.last >= limit {
		list = append(list, fmt.Sprintf("reaches channel %d of %d: the test for running over forgets the channel that was skipped as full", s.last, limit))
	}
	return list
}

// finish computes what depends on all works together.
func (l *Launch) finish(t *Tuning, b *batches) {
	l.Plan.Threads = max(l.Threads, leastThreads)
	l.Batches = b.layOut()
	headers := fixedArgBytes + batchBytes*len(l.Batches)
	l.InArguments = uint64(headers+l.WorkBytes) <= min(t.settings.WorkArgs, mostArgBytes)
	l.ArgBytes = headers
	if l.InArguments {
		l.ArgBytes += l.WorkBytes
	}
	l.ArgBytes = (l.ArgBytes + 15) / 16 * 16
	l.SharedBytes = sharedBytes(t.comm.MinSM)
	l.Cluster = cluster(t.comm.MinSM, t.settings.ClusterSize, l.Grid())
}

// sharedBytes is scratch for 20 warps, for the unrolling of a GPU generation.
func sharedBytes(sm int) int {
	unroll := 4
	if sm >= 80 {
		unroll = 8
	}
	return 20 * (unroll*32 + 1) * 16
}

// cluster is the number of blocks that are placed together.
func cluster(sm, asked, grid int) int {
	const most = 8
	asked = min(asked, most)
	switch {
	case sm != 90 || asked <= 0:
		return 0
	case grid%asked != 0:
		return 1
	}
	return asked
}

// functionName is the device function that works on a record.
func functionName(w *allreduce.Work) string {
	return fmt.Sprintf("AllReduce_%s_%s_%s_%s", deviceOp(w), w.DType.Short(), strings.ToUpper(w.Algo.String()), strings.ToUpper(w.Proto.String()))
}

func deviceOp(w *allreduce.Work) string {
	switch w.Op {
	case allreduce.Prod:
		return "Prod"
	case allreduce.Min, allreduce.Max:
		return "MinMax"
	case allreduce.Avg:
		if w.DType.IsFloat() {
			return "PreMulSum"
		}
		return "SumPostDiv"
	}
	return "Sum"
}

// kernelName is the kernel that such functions are called from: NCCL has one
// for each size class of types, and none for the direct algorithms.
func kernelName(w *allreduce.Work) string {
	if w.Algo.Direct() {
		return ""
	}
	algo := "RING"
	if w.Algo == allreduce.Tree {
		algo = "TREE"
	}
	return fmt.Sprintf("ncclDevKernel_AllReduce_Sum_%s_%s_LL", strings.Replace(w.DType.Short(), "i", "u", 1), algo)
}
