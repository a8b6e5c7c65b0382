package verify

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/reduce"
)

// Case is one work of a plan with inputs of a pattern. Methods may be called
// from several goroutines.
type Case struct {
	plan    *allreduce.Plan
	work    *allreduce.Work
	index   int
	pattern Pattern
	seed    uint64
	shape   shape
	roots   []int // of each channel's tree

	mu       sync.Mutex
	programs map[[2]int]program
	scratch  sync.Pool
}

// blockBytes is the stretch that is worked on at a time: it stays in the cache.
const blockBytes = 32 << 10

// NewCase says what the index-th work of a plan is given. The seed matters to
// Random only.
func NewCase(p *allreduce.Plan, index int, pattern Pattern, seed uint64) (*Case, error) {
	if index < 0 || index >= len(p.Works) {
		return nil, fmt.Errorf("work %d of a plan with %d", index, len(p.Works))
	}
	w := &p.Works[index]
	c := &Case{plan: p, work: w, index: index, pattern: pattern, seed: seed, shape: shapeOf(w.DType, w.Op), programs: map[[2]int]program{}}
	switch w.Algo {
	case allreduce.Tree:
		if len(p.Layout.Trees) == 0 && p.Layout.NRanks > 1 {
			return nil, fmt.Errorf("work %d: the layout has no trees", index)
		}
		for _, t := range p.Layout.Trees {
			c.roots = append(c.roots, rootOf(t))
		}
	case allreduce.Ring, allreduce.OneShot, allreduce.TwoShot:
	default:
		return nil, fmt.Errorf("work %d: the order of %s is not known", index, w.Algo)
	}
	return c, nil
}

// Work is what the case is about.
func (c *Case) Work() *allreduce.Work { return c.work }

// Input writes a rank's input from element first on, as many as dst holds.
func (c *Case) Input(dst []byte, rank int, first int64) {
	size := int64(c.work.DType.Size())
	switch c.pattern {
	case Random:
		fillRandom(dst, first*size, stream(c.seed, rank), c.shape)
	case Ones:
		fillConstant(dst, 1, c.work.DType)
	case Ramp:
		fillRamp(dst, first+int64(rank), c.period(), c.work.DType)
	case Marked:
		for p := range c.places(first, first+int64(len(dst))/size) {
			fillConstant(dst[(p.first-first)*size:][:p.count*size], c.mark(rank, p), c.work.DType)
		}
	}
}

// period is the length of a ramp. Products of longer ones would overflow.
func (c *Case) period() int {
	if c.work.Op == allreduce.Prod {
		return 2
	}
	return 127
}

// mark is the value of a rank in a chunk: small, so that sums of floats are
// exact and the order does not matter.
func (c *Case) mark(rank int, p place) int {
	chunk := p.chunk + p.loop + p.channel
	if c.work.Op == allreduce.Prod {
		return 1 + (rank+chunk)%2
	}
	return rank + 1 + chunk%4
}

// Expected writes the output from element first on, as many as dst holds. It is
// the same on every rank.
func (c *Case) Expected(dst []byte, first int64) {
	size := int64(c.work.DType.Size())
	elements := int64(len(dst)) / size
	block := int64(blockBytes) / size
	blocks := (elements + block - 1) / block
	workers := min(int64(runtime.GOMAXPROCS(0)), blocks)
	if workers <= 1 {
		c.expectRange(dst, first)
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		from, to := blocks*w/workers*block, min(elements, blocks*(w+1)/workers*block)
		wg.Go(func() { c.expectRange(dst[from*size:to*size], first+from) })
	}
	wg.Wait()
}

func (c *Case) expectRange(dst []byte, first int64) {
	size := int64(c.work.DType.Size())
	for p := range c.places(first, first+int64(len(dst))/size) {
		order := c.programOf(p)
		for p.count > 0 {
			n := min(p.count, blockBytes/size)
			c.evaluate(dst[(p.first-first)*size:][:n*size], p.first, order)
			p.first += n
			p.count -= n
		}
	}
}

// evaluate runs a program on one block and finishes the result.
func (c *Case) evaluate(dst []byte, first int64, order program) {
	c.combine(dst, first, order)
	if t := c.work.DType; reduce.Divides(t, c.work.Op) {
		reduce.Divide(dst, dst, t, c.plan.Layout.NRanks)
	}
}

// combine runs a program on one block.
func (c *Case) combine(dst []byte, first int64, order program) {
	regs := c.registers(order.registers(), dst)
	for _, i := range order {
		if i.rank < 0 {
			reduce.Reduce(regs.at(i.to), regs.at(i.to), regs.at(i.from), c.work.DType, c.work.Op)
		} else {
			c.scaled(regs.at(i.to), i.rank, first)
		}
	}
	c.scratch.Put(regs)
}

// scaled is a rank's input as it enters the sum.
func (c *Case) scaled(dst []byte, rank int, first int64) {
	c.Input(dst, rank, first)
	if t := c.work.DType; reduce.Scales(t, c.work.Op) {
		reduce.Scale(dst, dst, t, c.plan.Layout.NRanks)
	}
}

// registers are blocks of memory; the first is the result itself.
type registers struct {
	dst  []byte
	more []byte
}

func (r *registers) at(i int) []byte {
	if i == 0 {
		return r.dst
	}
	return r.more[(i-1)*blockBytes:][:len(r.dst)]
}

func (c *Case) registers(n int, dst []byte) *registers {
	r, _ := c.scratch.Get().(*registers)
	if r == nil {
		r = &registers{}
	}
	if need := (n - 1) * blockBytes; len(r.more) < need {
		r.more = make([]byte, need)
	}
	r.dst = dst
	return r
}

// cached builds a channel's and chunk's program once.
func (c *Case) cached(channel, chunk int, build func() program) program {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]int{channel, chunk}
	p, ok := c.programs[key]
	if !ok {
		p = build()
		c.programs[key] = p
	}
	return p
}
