package plan

import (
	"errors"
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

// ErrNothingOn is wrapped where the variables leave no algorithm or protocol.
var ErrNothingOn = errors.New("no algorithm or protocol is on")

// Never is the time of what cannot be used.
const Never float32 = -1

// never is how long the slowest choice may take, in microseconds.
const never float32 = 3600000000

// Choice is how a message, or an aggregate of messages, will be reduced.
type Choice struct {
	Algo  allreduce.Algo
	Proto allreduce.Proto
	// Times are the predictions in microseconds, Never where the choice is off.
	Times [nAlgos][nProtos]float32
	Time  float32 // of what was chosen; Never for our own algorithms
	// NChannels is the most channels that it may spread over, Threads the size
	// of the block on each that takes part.
	NChannels, Threads int
	// Replaced is the better choice that the executor cannot run; nil if none.
	Replaced *Replaced
}

// Replaced is a choice that gave way to one that can be run.
type Replaced struct {
	Algo   allreduce.Algo
	Proto  allreduce.Proto
	Reason error
}

func (r *Replaced) String() string {
	return fmt.Sprintf("%s/%s would be chosen: %v", r.Algo, r.Proto, r.Reason)
}

// Force narrows the choice. The zero value leaves it to the tables.
type Force struct {
	Algo  *allreduce.Algo
	Proto *allreduce.Proto
	// NChannels is the number of channels to spread over at most, 0: by size.
	NChannels int
	// Can says why something cannot be run; nil: everything can.
	Can func(allreduce.Algo, allreduce.Proto) error
}

func (f Force) can(a allreduce.Algo, p allreduce.Proto) error {
	if f.Can == nil {
		return nil
	}
	return f.Can(a, p)
}

func (f Force) fits(a allreduce.Algo, p allreduce.Proto) bool {
	return (f.Algo == nil || *f.Algo == a) && (f.Proto == nil || *f.Proto == p)
}

// Time predicts microseconds for a message of bytes when pipe operations follow
// each other on every channel. Ring's time is also known where it is switched
// off: spare says so. Never: unknown.
func (t *Tuning) Time(c Collective, a allreduce.Algo, p allreduce.Proto, bytes int64, pipe int) (us float32, spare bool) {
	bw, lat := t.Bandwidth[c][a][p], t.Latency[c][a][p]
	if a == allreduce.Ring && bw == 0 {
		bw, spare = t.backup[c][p], true
	}
	if bw == 0 {
		return Never, spare
	}
	if size := log2i(uint64(bytes) / 64); a == allreduce.Tree && size >= 0 && size < len(treeCorrection[p]) {
		bw *= treeCorrection[p][size]
	}
	if a == allreduce.Ring && p == allreduce.Simple && t.comm.NNodes > 1 && c == AllReduce &&
		uint64(bytes)/uint64(t.comm.NChannels*t.comm.NRanks) >= 64 {
		slower := 1.4
		if t.comm.MinSM < 80 {
			slower = 1.9
		}
		lat = scale(lat, slower)
	}
	count := pipe
	if a != allreduce.Ring {
		count = ceil(pipe, 16)
	}
	return float32(lat*float32(count)) + float32(float32(uint64(bytes))/float32(1000*bw)), spare
}

// usable says whether an algorithm takes part in the choice at all.
func (t *Tuning) usable(a allreduce.Algo, d allreduce.DType, op allreduce.Op) bool {
	switch a {
	case allreduce.CollNetDirect, allreduce.CollNetChain:
		return false
	case allreduce.NVLS:
		return t.comm.NVLS != nil && t.comm.NNodes == 1 && multicasts(d, op)
	case allreduce.NVLSTree:
		return t.comm.NVLS != nil && multicasts(d, op)
	}
	return true
}

// multicasts says whether an NVSwitch can reduce a type with an operation.
func multicasts(d allreduce.DType, op allreduce.Op) bool {
	switch d {
	case allreduce.Int8, allreduce.Uint8:
		return false
	case allreduce.Float32, allreduce.Float64:
		return op == allreduce.Sum
	}
	return op == allreduce.Sum || op == allreduce.Min || op == allreduce.Max
}

// Choose picks algorithm, protocol, channels and threads for an AllReduce of
// bytes when pipe operations follow each other on every channel. A forced pair
// is taken even where it is off.
func (t *Tuning) Choose(bytes int64, d allreduce.DType, op allreduce.Op, pipe int, force Force) (Choice, error) {
	c := Choice{Time: Never}
	spare := t.predict(&c, bytes, d, op, pipe)
	var err error
	if force.Algo != nil && (force.Proto != nil || force.Algo.Direct()) {
		err = t.take(&c, force)
	} else {
		err = t.best(&c, spare, force)
	}
	if err != nil {
		return Choice{}, err
	}
	t.limit(&c, bytes)
	if force.NChannels > 0 {
		c.NChannels = min(force.NChannels, t.comm.NChannels)
	}
	return c, nil
}

// predict fills in the times and returns those of a ring that is switched off.
func (t *Tuning) predict(c *Choice, bytes int64, d allreduce.DType, op allreduce.Op, pipe int) (spare [nProtos]float32) {
	spare = [nProtos]float32{Never, Never, Never}
	for a := range allreduce.Algo(nAlgos) {
		for _, p := range allreduce.Protos() {
			c.Times[a][p] = Never
			if t.comm.NRanks == 1 {
				if a == allreduce.Ring && p == allreduce.Simple {
					c.Times[a][p] = 0 // a copy
				}
				continue
			}
			if !t.usable(a, d, op) {
				continue
			}
			us, isSpare := t.Time(AllReduce, a, p, bytes, pipe)
			if !isSpare {
				c.Times[a][p] = us
			}
			if isSpare {
				spare[p] = us
			}
		}
	}
	return spare
}

// take accepts what the user forced.
func (t *Tuning) take(c *Choice, force Force) error {
	c.Algo, c.Proto = *force.Algo, allreduce.Simple
	if force.Proto != nil {
		c.Proto = *force.Proto
	}
	if c.Algo == allreduce.CollNetDirect || c.Algo == allreduce.CollNetChain {
		return fmt.Errorf("%s: the machine has no network that reduces", c.Algo)
	}
	if nvls := c.Algo == allreduce.NVLS || c.Algo == allreduce.NVLSTree; nvls && c.Proto != allreduce.Simple {
		return fmt.Errorf("%s runs with %s only, not with %s", c.Algo, allreduce.Simple, c.Proto)
	} else if nvls && t.comm.NVLS == nil {
		return fmt.Errorf("%s: the machine has no NVSwitch with multicast", c.Algo)
	}
	if err := force.can(c.Algo, c.Proto); err != nil {
		return err
	}
	if int(c.Algo) < nAlgos {
		c.Time = c.Times[c.Algo][c.Proto]
	}
	return nil
}

// best scans the times: the earlier algorithm, then protocol, wins a tie. If
// all are off, the ring stands in.
func (t *Tuning) best(c *Choice, spare [nProtos]float32, force Force) error {
	var all, runnable pick
	for a := range allreduce.Algo(nAlgos) {
		for _, p := range allreduce.Protos() {
			all.offer(a, p, c.Times[a][p], force)
			if force.can(a, p) == nil {
				runnable.offer(a, p, c.Times[a][p], force)
			}
		}
	}
	for _, p := range allreduce.Protos() {
		if !all.found {
			all.offerSpare(p, spare[p], force)
		}
		if !runnable.found && force.can(allreduce.Ring, p) == nil {
			runnable.offerSpare(p, spare[p], force)
		}
	}
	if !all.ok() && t.comm.NRanks == 1 {
		return fmt.Errorf("%w: a rank alone copies, as Ring/Simple and by nothing else; do not force another, or name a machine of several GPUs", ErrNothingOn)
	}
	return c.settle(all, runnable, force)
}

// settle takes the best that can be run.
func (c *Choice) settle(all, runnable pick, force Force) error {
	if !all.ok() {
		return fmt.Errorf("%w: NCCL_ALGO, NCCL_PROTO and the types of links leave none", ErrNothingOn)
	}
	if !runnable.ok() {
		return force.can(all.algo, all.proto)
	}
	c.Algo, c.Proto, c.Time = runnable.algo, runnable.proto, runnable.us
	if all.algo != runnable.algo || all.proto != runnable.proto {
		c.Replaced = &Replaced{Algo: all.algo, Proto: all.proto, Reason: force.can(all.algo, all.proto)}
	}
	return nil
}

// pick is the fastest of what it was offered.
type pick struct {
	found, spare bool
	algo         allreduce.Algo
	proto        allreduce.Proto
	us           float32
}

func (b *pick) ok() bool { return b.found || b.spare }

func (b *pick) offer(a allreduce.Algo, p allreduce.Proto, us float32, force Force) {
	if us < 0 || us >= never || !force.fits(a, p) || b.found && us >= b.us {
		return
	}
	*b = pick{found: true, algo: a, proto: p, us: us}
}

func (b *pick) offerSpare(p allreduce.Proto, us float32, force Force) {
	if us < 0 || us >= never || !force.fits(allreduce.Ring, p) || b.spare && us >= b.us {
		return
	}
	*b = pick{spare: true, algo: allreduce.Ring, proto: p, us: us}
}
