package graph

import (
	"errors"
	"slices"
	"testing"
)

// star gives a node and others to link it to.
func star(n int) (hub *Node, tips []*Node) {
	for i := range n {
		tips = append(tips, &Node{Type: GPU, Index: i, NodeID: NodeID(i)})
	}
	return &Node{Type: PCI}, tips
}

func mustConnect(t *testing.T, a, b *Node, typ LinkType, bw float32) {
	t.Helper()
	if err := connect(a, b, typ, bw); err != nil {
		t.Fatal(err)
	}
}

func peers(n *Node) (ids []int) {
	for _, l := range n.Links {
		ids = append(ids, l.To.Index)
	}
	return ids
}

func TestConnectKeepsOrder(t *testing.T) {
	hub, tips := star(4)
	mustConnect(t, hub, tips[0], LinkPCI, 10)
	mustConnect(t, hub, tips[1], LinkPCI, 10)
	mustConnect(t, hub, tips[2], LinkPCI, 20)
	if got := peers(hub); !slices.Equal(got, []int{2, 0, 1}) {
		t.Errorf("order %v, want widest first, then as they came", got)
	}
	// More bandwidth moves a link up, past strictly narrower ones only.
	mustConnect(t, hub, tips[1], LinkPCI, 10)
	if got := peers(hub); !slices.Equal(got, []int{2, 1, 0}) || hub.Links[1].BW != 20 {
		t.Errorf("order %v, link %v", got, hub.Links[1])
	}
	// A link of another type is one of its own.
	mustConnect(t, hub, tips[1], LinkNVL, 5)
	if got := peers(hub); !slices.Equal(got, []int{2, 1, 0, 1}) {
		t.Errorf("order %v", got)
	}
}

func TestConnectLimit(t *testing.T) {
	hub, tips := star(MaxLinksPerNode + 1)
	for _, n := range tips[:MaxLinksPerNode] {
		mustConnect(t, hub, n, LinkPCI, 1)
	}
	mustConnect(t, hub, tips[7], LinkPCI, 1) // widens one that is there
	if err := connect(hub, tips[MaxLinksPerNode], LinkPCI, 1); !errors.Is(err, ErrNonsense) {
		t.Errorf("link %d: %v", MaxLinksPerNode+1, err)
	}
}

func TestReverse(t *testing.T) {
	hub, tips := star(2)
	mustConnect(t, hub, tips[0], LinkPCI, 1)
	mustConnect(t, tips[0], hub, LinkNVL, 9)
	if l := hub.Links[0].Reverse(); l != nil {
		t.Errorf("a link of another type counts as the way back: %v", l)
	}
	mustConnect(t, tips[0], hub, LinkPCI, 1)
	if l := hub.Links[0].Reverse(); l == nil || l.Type != LinkPCI || l.To != hub {
		t.Errorf("way back %v", l)
	}
}

// The first link to the parent goes last, even where it is no PCI link.
func TestSortUplinks(t *testing.T) {
	cpu := &Node{Type: CPU}
	gpu, tips := star(1)
	mustConnect(t, cpu, gpu, LinkPCI, 12)
	mustConnect(t, gpu, cpu, LinkNVL, 450)
	mustConnect(t, gpu, tips[0], LinkNVL, 40)
	mustConnect(t, gpu, cpu, LinkPCI, 12)
	if err := sortUplinks(cpu, nil, 3); err != nil {
		t.Fatal(err)
	}
	if got := []LinkType{gpu.Links[0].Type, gpu.Links[1].Type, gpu.Links[2].Type}; !slices.Equal(got, []LinkType{LinkNVL, LinkPCI, LinkNVL}) {
		t.Errorf("types %v, want the C2C link last", got)
	}
}

func TestRemove(t *testing.T) {
	g := &Graph{}
	var gpus []*Node
	for i := range 3 {
		n, err := g.add(GPU, NodeID(i))
		if err != nil {
			t.Fatal(err)
		}
		gpus = append(gpus, n)
	}
	mustConnect(t, gpus[0], gpus[1], LinkNVL, 1)
	mustConnect(t, gpus[0], gpus[2], LinkNVL, 1)
	g.remove(gpus[1])
	if gpus[2].Index != 1 || g.find(GPU, 1) != nil || g.find(GPU, 2) != gpus[2] {
		t.Errorf("index %d, nodes %v", gpus[2].Index, g.nodes[GPU])
	}
	if len(gpus[0].Links) != 1 || gpus[0].Links[0].To != gpus[2] {
		t.Errorf("links %v", gpus[0].Links)
	}
}
