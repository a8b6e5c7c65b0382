package host

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// configurations is how many random ones a run of the tests tries.
func configurations(short, shortRace, full, fullRace int) int {
	switch long := os.Getenv("RINGTOPO_TEST_FULL") != ""; {
	case long && raceEnabled:
		return fullRace
	case long:
		return full
	case raceEnabled:
		return shortRace
	}
	return short
}

// world is a random communicator with a planner for it.
type world struct {
	r       *rand.Rand
	comm    *connect.Comm
	planner *plan.Planner
}

func newWorld(t testing.TB, seed uint64, ranks, channels int, buff [allreduce.NumProtos]int) *world {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	set := rings.Set{Pattern: rings.Ring, NChannels: channels, BWIntra: 20, BWInter: 20, TypeIntra: graph.NVL, TypeInter: graph.PIX}
	c := &connect.Comm{NRanks: ranks, NNodes: 1, RankToNode: make([]int, ranks), NChannels: channels, CollChannels: channels,
		Ring: set, Tree: set, MinSM: 90, MaxSM: 90, CPU: connect.CPU{Arch: topo.ArchX86, Vendor: topo.VendorIntel}}
	for range channels {
		c.Rings = append(c.Rings, randomRing(r, ranks))
		c.Trees = append(c.Trees, randomTree(r, ranks))
	}
	s := plan.DefaultSettings()
	s.BuffSize = buff
	p, err := plan.New(c, s)
	if err != nil {
		t.Fatal(err)
	}
	return &world{r, c, p}
}

func randomRing(r *rand.Rand, n int) connect.Ring {
	order := r.Perm(n)
	ring := connect.Ring{Next: make([]int32, n), Prev: make([]int32, n)}
	for i, rank := range order {
		next := order[(i+1)%n]
		ring.Next[rank], ring.Prev[next] = int32(next), int32(rank)
	}
	return ring
}

// randomTree hangs ranks one by one under some rank that has room.
func randomTree(r *rand.Rand, n int) connect.Tree {
	t := connect.Tree{Up: make([]int32, n), Down: make([][3]int32, n)}
	for i := range t.Down {
		t.Up[i], t.Down[i] = -1, [3]int32{-1, -1, -1}
	}
	order := r.Perm(n)
	for i := 1; i < n; {
		parent, slot := order[r.IntN(i)], r.IntN(3)
		if t.Down[parent][slot] >= 0 {
			continue
		}
		t.Down[parent][slot], t.Up[order[i]] = int32(order[i]), int32(parent)
		i++
	}
	return t
}

// randomBuffers are FIFOs from small to middling, so that short messages go
// round them several times.
func randomBuffers(r *rand.Rand) (b [allreduce.NumProtos]int) {
	b[allreduce.LL] = 8 * 256 << r.IntN(8)
	b[allreduce.LL128] = 8 * 2048 * (1 + r.IntN(20))
	b[allreduce.Simple] = 8 * 512 << r.IntN(8)
	return b
}

// randomForce picks an algorithm and a protocol that it has.
func randomForce(r *rand.Rand) plan.Force {
	a := []allreduce.Algo{allreduce.Ring, allreduce.Ring, allreduce.Tree, allreduce.OneShot, allreduce.TwoShot}[r.IntN(5)]
	p := allreduce.Proto(r.IntN(allreduce.NumProtos))
	if a.Direct() {
		p = allreduce.Simple
	}
	return plan.Force{Algo: &a, Proto: &p}
}

// randomCount is an awkward number of elements: one, fewer than ranks, one off
// a round number, or any.
func randomCount(r *rand.Rand, most int) int64 {
	switch r.IntN(6) {
	case 0:
		return 1
	case 1:
		return 1 + r.Int64N(16)
	case 2:
		return int64(1)<<r.IntN(14) + r.Int64N(3) - 1 + 1
	case 3:
		return 1 + r.Int64N(int64(most))
	}
	return 1 + r.Int64N(5000)
}

// drill runs works of a plan on an executor and compares every bit.
type drill struct {
	x       allreduce.Executor
	plan    *allreduce.Plan
	cases   []*verify.Case
	args    []allreduce.Args
	inPlace []bool
}

const guard = 64 // bytes around every output

func newDrill(t testing.TB, x allreduce.Executor, p *allreduce.Plan, r *rand.Rand) *drill {
	t.Helper()
	d := &drill{x: x, plan: p}
	for i := range p.Works {
		w := &p.Works[i]
		c, err := verify.NewCase(p, i, verify.Pattern(r.IntN(len(verify.Patterns()))), r.Uint64())
		if err != nil {
			t.Fatal(err)
		}
		in := r.IntN(2) == 0
		shift := int64(r.IntN(4)) * int64(w.DType.Size()) // buffers need not be aligned
		a := allreduce.Args{}
		for rank := range p.Layout.NRanks {
			send := alloc(t, x, rank, guard+shift+w.Bytes()+guard)
			recv := send
			if !in {
				recv = alloc(t, x, rank, guard+shift+w.Bytes()+guard)
			}
			a.Send = append(a.Send, allreduce.Span{Buf: send, Off: guard + shift})
			a.Recv = append(a.Recv, allreduce.Span{Buf: recv, Off: guard + shift})
		}
		d.cases, d.args, d.inPlace = append(d.cases, c), append(d.args, a), append(d.inPlace, in)
	}
	return d
}

func alloc(t testing.TB, x allreduce.Executor, rank int, size int64) allreduce.HostBuffer {
	t.Helper()
	b, err := x.Alloc(rank, size)
	if err != nil {
		t.Fatal(err)
	}
	return b.(allreduce.HostBuffer)
}

func (d *drill) fill() {
	for i, c := range d.cases {
		n := d.plan.Works[i].Bytes()
		for rank := range d.plan.Layout.NRanks {
			s, o := d.args[i].Send[rank], d.args[i].Recv[rank]
			for _, b := range [][]byte{o.Buf.(allreduce.HostBuffer).Bytes(), s.Buf.(allreduce.HostBuffer).Bytes()} {
				for k := range b {
					b[k] = 0xa5
				}
			}
			c.Input(s.Buf.(allreduce.HostBuffer).Bytes()[s.Off:s.Off+n], rank, 0)
		}
	}
}

func (d *drill) run(ctx context.Context) error {
	_, err := d.x.Run(ctx, d.plan, d.args)
	return err
}

// check says what is wrong with the outputs.
func (d *drill) check() error {
	for i, c := range d.cases {
		w := &d.plan.Works[i]
		want := make([]byte, w.Bytes())
		c.Expected(want, 0)
		for rank := range d.plan.Layout.NRanks {
			o := d.args[i].Recv[rank]
			all := o.Buf.(allreduce.HostBuffer).Bytes()
			got := all[o.Off : o.Off+w.Bytes()]
			if !bytes.Equal(got, want) {
				at := 0
				for got[at] == want[at] {
					at++
				}
				return fmt.Errorf("work %d (%v/%v %v %v, %d elements, in place %v): rank %d differs at element %d", i, w.Algo, w.Proto, w.DType, w.Op, w.Count, d.inPlace[i], rank, at/w.DType.Size())
			}
			for k, v := range all {
				if (int64(k) < o.Off || int64(k) >= o.Off+w.Bytes()) && v != 0xa5 {
					return fmt.Errorf("work %d: rank %d: a guard byte %d is %#x", i, rank, k, v)
				}
			}
		}
	}
	return nil
}

// randomPlan is a group of one to three operations.
func (w *world) randomPlan(t testing.TB, most int) *allreduce.Plan {
	t.Helper()
	var tasks []plan.Task
	for range 1 + w.r.IntN(3) {
		tasks = append(tasks, plan.Task{Count: randomCount(w.r, most), DType: allreduce.DType(w.r.IntN(allreduce.NumDTypes)), Op: allreduce.Op(w.r.IntN(allreduce.NumOps))})
	}
	launches, err := w.planner.Plan(tasks, randomForce(w.r))
	if err != nil {
		t.Fatalf("no plan: %v", err)
	}
	return launches[0].Plan
}

func TestRandomConfigurations(t *testing.T) {
	const perWorld = 10
	n := configurations(500, 50, 10000, 1000)
	for i := range n / perWorld {
		seed := uint64(i + 1)
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 11))
			w := newWorld(t, seed, 2+r.IntN(15), 1+r.IntN(32), randomBuffers(r))
			x, err := New(w.planner.Layout(), Options{Limit: 30 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			for range perWorld {
				d := newDrill(t, x, w.randomPlan(t, 60000), w.r)
				d.fill()
				if err := d.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := d.check(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
