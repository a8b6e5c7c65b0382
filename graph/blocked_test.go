package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
)

func TestBlockedPairsOverNVLinkAreAnError(t *testing.T) {
	_, err := graph.Build(topotest.V100x4(), graph.Options{Blocked: [][2]int{{1, 2}}})
	if !errors.Is(err, graph.ErrNonsense) || !strings.Contains(err.Error(), "NCCL_IGNORE_DISABLED_P2P=1") {
		t.Errorf("error %v, want the remedy", err)
	}
}

func TestBlockedPairsGoByTheCPU(t *testing.T) {
	g, err := graph.Build(topotest.V100x4(), graph.Options{Blocked: [][2]int{{1, 2}}, AllowBlocked: true})
	if err != nil {
		t.Fatal(err)
	}
	gpus := g.NodesOf(graph.GPU)
	for _, pair := range [][2]int{{1, 2}, {2, 1}} {
		p, _ := g.Path(gpus[pair[0]], gpus[pair[1]])
		if p.Type <= graph.PXB || p.Hops() < 2 {
			t.Errorf("%v: %s over %d hops, want a way through a CPU", pair, p.Type, p.Hops())
		}
	}
	if p, _ := g.Path(gpus[0], gpus[1]); p.Type != graph.NVL {
		t.Errorf("another pair changed: %s", p.Type)
	}
}

func TestBlockedPairsFarApartNeedNoPermission(t *testing.T) {
	g, err := graph.Build(topotest.PCIex4(topotest.AMD), graph.Options{Blocked: [][2]int{{0, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	gpus := g.NodesOf(graph.GPU)
	if p, _ := g.Path(gpus[0], gpus[1]); p.Hops() == 0 {
		t.Error("no path is left")
	}
}
