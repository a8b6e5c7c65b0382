package draw

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/topo/machines"
)

// testingTB is what *testing.T and *rapid.T share.
type testingTB interface {
	Helper()
	Fatal(args ...any)
}

// machine gives n copies of a built-in machine as hosts.
func machine(t testingTB, name string, n int) []Host {
	t.Helper()
	doc, err := machines.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	sys, err := doc.System()
	if err != nil {
		t.Fatal(err)
	}
	var hosts []Host
	for i := range n {
		g, err := graph.Build(sys, graph.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := Host{Name: name, Graph: g}
		if n > 1 {
			h.Name = fmt.Sprintf("%s #%d", name, i)
		}
		for r := range g.NodesOf(graph.GPU) {
			h.Ranks = append(h.Ranks, i*len(g.NodesOf(graph.GPU))+r)
		}
		hosts = append(hosts, h)
	}
	return hosts
}

// ring makes an overlay of a cycle. Hops between hosts take the network device
// that the ring's number picks.
func ring(hosts []Host, number int, cycle ...int) Overlay {
	home := map[int]int{}
	for i, h := range hosts {
		for _, r := range h.Ranks {
			home[r] = i
		}
	}
	nets := func(a, b int) *Nets {
		out, in := hosts[a].Graph.NodesOf(graph.NET), hosts[b].Graph.NodesOf(graph.NET)
		if len(out) == 0 || len(in) == 0 {
			return nil
		}
		return &Nets{Out: out[number%len(out)].NodeID, In: in[number%len(in)].NodeID}
	}
	o := Overlay{Title: fmt.Sprintf("channel %d", number), Tag: strconv.Itoa(number)}
	for i, from := range cycle {
		to := cycle[(i+1)%len(cycle)]
		hop := Hop{From: from, To: to}
		if home[from] != home[to] {
			hop.Nets = nets(home[from], home[to])
		}
		o.Hops = append(o.Hops, hop)
	}
	return o
}

// inOrder is the cycle of all ranks of some hosts.
func inOrder(hosts []Host) []int {
	var cycle []int
	for _, h := range hosts {
		cycle = append(cycle, h.Ranks...)
	}
	return cycle
}

// pictures are the drawings that the tests look at.
func pictures(t *testing.T) map[string]*Picture {
	t.Helper()
	out := map[string]*Picture{}
	keep := func(name string, p *Picture, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = p
	}
	for _, name := range machines.Names() {
		p, err := Machines(machine(t, name, 1), nil)
		keep(name, p, err)
	}
	dgx1 := machine(t, "dgx-1v", 1)
	dgx1Rings := []Overlay{ring(dgx1, 0, 0, 1, 2, 3, 7, 6, 5, 4), ring(dgx1, 1, 0, 4, 7, 6, 5, 1, 2, 3)}
	p, err := Machines(dgx1, dgx1Rings)
	keep("dgx-1v rings", p, err)
	p, err = Cycles(dgx1, dgx1Rings)
	keep("dgx-1v circles", p, err)
	dgx2 := machine(t, "dgx-2", 1)
	p, err = Machines(dgx2, []Overlay{ring(dgx2, 0, inOrder(dgx2)...)})
	keep("dgx-2 rings", p, err)
	four := machine(t, "dgx-h100", 4)
	p, err = Machines(four, []Overlay{ring(four, 0, inOrder(four)...)})
	keep("four dgx-h100", p, err)
	p, err = Cycles(four, []Overlay{ring(four, 0, inOrder(four)...)})
	keep("four dgx-h100 circle", p, err)
	two := machine(t, "dgx-1v", 2)
	p, err = Machines(two, []Overlay{ring(two, 0, inOrder(two)...)})
	keep("two dgx-1v", p, err)
	return out
}
