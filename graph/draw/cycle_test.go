package draw

import (
	"math"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/topo/machines"
)

func TestCycleGoesRound(t *testing.T) {
	hosts := machine(t, "dgx-h100", 2)
	cycle := inOrder(hosts)
	p, err := Cycles(hosts, []Overlay{ring(hosts, 0, cycle...)})
	if err != nil {
		t.Fatal(err)
	}
	boxes := p.allBoxes()
	middle := boxes["c0 title"].area.center()
	for i, rank := range cycle {
		at := boxes["c0 r"+number(float64(rank))].area.center()
		turn := math.Atan2(at.x-middle.x, middle.y-at.y) / (2 * math.Pi) * float64(len(cycle))
		if diff := math.Mod(turn-float64(i)+1.5*float64(len(cycle)), float64(len(cycle))) - float64(len(cycle))/2; math.Abs(diff) > 1e-6 {
			t.Errorf("rank %d stands at %v, want %d", rank, turn, i)
		}
	}
	if len(p.wires) != len(cycle) {
		t.Errorf("%d hops", len(p.wires))
	}
	net := 0
	for _, w := range p.wires {
		if !w.arrow {
			t.Error("a hop without an arrow")
		}
		if strings.HasPrefix(w.label[0].text, "NET ") {
			net++
		}
	}
	if net != 2 {
		t.Errorf("%d hops over the network, want 2", net)
	}
}

// TestCyclesOfAnySize looks for texts in each other's way, from two GPUs on.
func TestCyclesOfAnySize(t *testing.T) {
	hosts := machine(t, "dgx-2", 1)
	for n := 2; n <= 16; n++ {
		var overlays []Overlay
		for i := range 1 + n%4 {
			overlays = append(overlays, ring(hosts, i, inOrder(hosts)[:n]...))
		}
		p, err := Cycles(hosts, overlays)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range faults(p) {
			t.Errorf("%d GPUs: %s", n, f)
		}
	}
}

func TestCyclesRefuse(t *testing.T) {
	hosts := machine(t, "v100x4", 1)
	for want, rings := range map[string][]Overlay{
		"no ring":          nil,
		"do not lead back": {{Title: "channel 0", Hops: []Hop{{From: 0, To: 1}, {From: 2, To: 0}}}},
		"no GPU has rank":  {{Title: "channel 0", Hops: []Hop{{From: 0, To: 11}}}},
		"channel 5: ":      {{Title: "channel 5"}},
	} {
		if _, err := Cycles(hosts, rings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestSlowestHopIsTold(t *testing.T) {
	hosts := machine(t, "dgx-1v", 1)
	p, err := Cycles(hosts, []Overlay{ring(hosts, 0, 0, 1, 2, 3, 7, 6, 5, 4)})
	if err != nil {
		t.Fatal(err)
	}
	title := p.allBoxes()["c0 title"]
	if got := title.lines[len(title.lines)-1].text; got != "slowest hop 20 GB/s" {
		t.Errorf("got %q", got)
	}
}

// TestHopsOverTheNetworkAreAsFastAsTheirWay: between machines the narrowest link
// counts, be it a card's or one on the way to it.
func TestHopsOverTheNetworkAreAsFastAsTheirWay(t *testing.T) {
	for _, name := range machines.Names() {
		hosts := machine(t, name, 2)
		if len(hosts[0].Graph.NodesOf(graph.NET)) == 0 {
			continue
		}
		o := ring(hosts, 0, inOrder(hosts)...)
		p, err := Cycles(hosts, []Overlay{o})
		if err != nil {
			t.Fatal(err)
		}
		per := len(hosts[0].Ranks)
		for _, i := range []int{per - 1, 2*per - 1} {
			hop := o.Hops[i]
			least := narrowest(t, hosts[hop.From/per].Graph, graph.GPU, hop.From%per, graph.NET, 0)
			least = min(least, narrowest(t, hosts[hop.To/per].Graph, graph.NET, 0, graph.GPU, hop.To%per))
			text := p.wires[i].label
			if got := text[len(text)-1].text; got != gbps(least) {
				t.Errorf("%s: hop %d to %d is labelled %q, its narrowest link has %s", name, hop.From, hop.To, got, gbps(least))
			}
			if want := "NET " + netName(hosts[0].Graph.NodesOf(graph.NET)[0]); text[0].text != want {
				t.Errorf("%s: hop %d to %d is labelled %q, want %q", name, hop.From, hop.To, text[0].text, want)
			}
		}
	}
	// The slot of this card carries less than its port.
	hosts := machine(t, "power9x4", 2)
	p, err := Cycles(hosts, []Overlay{ring(hosts, 0, inOrder(hosts)...)})
	if err != nil {
		t.Fatal(err)
	}
	title := p.allBoxes()["c0 title"].lines
	if got := title[len(title)-1].text; got != "slowest hop 12 GB/s" {
		t.Errorf("power9x4: %q", got)
	}
}

// narrowest gives the bandwidth of the narrowest link between two nodes, each
// named by type and index.
func narrowest(t *testing.T, g *graph.Graph, from graph.NodeType, i int, to graph.NodeType, j int) float32 {
	t.Helper()
	p, _ := g.Path(g.NodesOf(from)[i], g.NodesOf(to)[j])
	if p.Hops() == 0 {
		t.Fatalf("no way from %s %d to %s %d", from, i, to, j)
	}
	least := p.Links[0].BW
	for _, l := range p.Links {
		least = min(least, l.BW)
	}
	return least
}
