package rings

import (
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

// offered lists the GPUs that may follow g at a step.
func offered(s *searcher, g, step int, p plan) (list []int) {
	s.scratch = s.scratch[:0]
	s.nextGPUs(g, step, p)
	for _, c := range s.scratch {
		list = append(list, c.gpu)
	}
	return list
}

// Behind an NVSwitch only the neighbours in index order are offered.
func TestNeighbours(t *testing.T) {
	s := &searcher{machine: boxMachine(t)}
	s.used, s.try = make([]uint64, 8), newRecord(8)
	for _, c := range []struct {
		pattern Pattern
		used    []int
		want    []int
	}{
		{Ring, nil, []int{2, 4}}, {BalancedTree, nil, []int{4, 2}}, {SplitTree, nil, []int{4, 2}}, {Tree, nil, []int{4}},
		{Ring, []int{2}, []int{4}}, {Ring, []int{2, 4}, nil}, {Tree, []int{4}, nil},
	} {
		s.try.pattern = c.pattern
		clear(s.used)
		for _, g := range c.used {
			s.used[g] = 1
		}
		if got := offered(s, 3, 0, plan{7, -1, orderByScore}); !slices.Equal(got, c.want) {
			t.Errorf("pattern %d, %v taken: after 3 %v, want %v", c.pattern, c.used, got, c.want)
		}
	}
	two := &searcher{machine: machineOf(t, topotest.Machine(topotest.Socket(topotest.AMD, 0,
		topotest.GPU(4, 0, 80, topotest.Gen4, topotest.ToSwitch(12)), topotest.GPU(5, 1, 80, topotest.Gen4, topotest.ToSwitch(12)))))}
	two.used, two.try = make([]uint64, 2), newRecord(2)
	two.try.pattern = Ring
	if got := offered(two, 0, 0, plan{-1, 1, orderByScore}); !slices.Equal(got, []int{1}) {
		t.Errorf("of two GPUs %v are offered, want each once", got)
	}
}

// Without a network: widest first, then fewest hops, then in index order from
// the GPU on.
func TestCandidates(t *testing.T) {
	gpu := func(i int, links ...topo.NVLink) topo.Device {
		return topotest.GPU(4+i, i, 70, topotest.Gen3, links...)
	}
	m := machineOf(t, topotest.Machine(topotest.Socket(topotest.AMD, 0,
		gpu(0, topotest.ToGPU(5, 1), topotest.ToGPU(6, 2)),
		gpu(1, topotest.ToGPU(4, 1), topotest.ToGPU(7, 1)),
		gpu(2, topotest.ToGPU(4, 2), topotest.ToGPU(7, 1)),
		gpu(3, topotest.ToGPU(5, 1), topotest.ToGPU(6, 1)))))
	for g, want := range [][]int{{2, 1, 3}, {3, 0, 2}, {0, 3, 1}, {1, 2, 0}} {
		var got []int
		for _, c := range m.candidates[g] {
			got = append(got, c.gpu)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %d: %v, want %v", g, got, want)
		}
	}
}

// With a network: by how well it reaches a GPU, and by what is left on the
// GPU's own PCI link.
func TestOrderByNetwork(t *testing.T) {
	s := &searcher{machine: machineOf(t, topotest.Box{
		CPU: topotest.AMD, GPUsPerSwitch: 1, SM: 80, Speed: topotest.Gen4}.Machine())}
	s.used, s.try = make([]uint64, 4), newRecord(4)
	s.try.pattern = Ring
	s.try.inter[0] = s.nets[2].id
	// From GPU 0: GPU 2 is at the network, GPU 3 on its socket, GPU 1 far away.
	if got := offered(s, 0, 2, plan{3, -1, orderByScore}); !slices.Equal(got, []int{2, 3, 1}) {
		t.Errorf("before the last step %v, want nearest to the network first", got)
	}
	// Farther from the end the order is the same unless all GPUs are alike to
	// GPU 0, which they are not: GPU 1 is on its socket.
	if got := offered(s, 0, 1, plan{3, -1, orderByScore}); !slices.Equal(got, []int{2, 3, 1}) {
		t.Errorf("earlier %v", got)
	}
	// With GPU 1 taken those that are left are alike: reversed.
	s.used[1] = 1
	if got := offered(s, 0, 1, plan{3, -1, orderByScore}); !slices.Equal(got, []int{3, 2}) {
		t.Errorf("earlier, of GPUs that are alike %v, want the nearest last", got)
	}
	s.used[1] = 0
	// Bandwidth that is taken on a PCI link puts a GPU behind its equals.
	s.try.inter[0] = s.nets[0].id
	if got := offered(s, 1, 2, plan{3, -1, orderByScore}); !slices.Equal(got, []int{0, 2, 3}) {
		t.Errorf("from network 0 %v", got)
	}
	s.capacity[s.pciLinks[2][0]] -= 10
	if got := offered(s, 1, 2, plan{3, -1, orderByScore}); !slices.Equal(got, []int{0, 3, 2}) {
		t.Errorf("with GPU 2's link in use %v", got)
	}
}
