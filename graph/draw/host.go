package draw

import (
	"github.com/ringtopo/ringtopo/graph"
)

// hostPlan is one host on its way into the picture.
type hostPlan struct {
	host    *Host
	index   int
	roots   []*branch
	columns []*column
	first   int // number of the first column in the picture
	gpus    map[*graph.Node]*column
	nics    map[*graph.Node]*nicSlot
	nvs     *graph.Node // nil without an NVSwitch

	direct   []*bundle // between GPUs, below them
	switched []*bundle // between GPUs, inside the NVSwitch
	directH  []float64 // heights of their lanes
	switchH  []float64

	climbing riderWidths // on the PCI link above a node; forward is up
	rising   riderWidths // on a GPU's link to its CPU besides PCI; forward is up
	onBus    []busRider  // between CPUs
	onPeers  []peerRider // between PCI switches
	area     rect
}

func planHost(h *Host, index, before int) (*hostPlan, error) {
	roots, err := treeOf(h)
	if err != nil {
		return nil, err
	}
	p := &hostPlan{
		host: h, index: index, roots: roots, columns: columnsOf(roots, before), first: before,
		gpus: map[*graph.Node]*column{}, nics: map[*graph.Node]*nicSlot{}, climbing: riderWidths{}, rising: riderWidths{},
	}
	for _, c := range p.columns {
		if c.gpu != nil {
			p.gpus[c.gpu.node] = c
		}
		for _, slot := range c.nics {
			p.nics[slot.leaf.node] = slot
		}
	}
	if s := h.Graph.NodesOf(graph.NVS); len(s) > 0 {
		p.nvs = s[0]
	}
	return p, nil
}

// addRoads makes a bundle of every pair of GPUs that NVLinks join, and a
// straight road for every GPU on the NVSwitch.
func (p *hostPlan) addRoads(stacked bool) {
	gpus := p.gpuColumns()
	for i, a := range gpus {
		for _, b := range gpus[i+1:] {
			if r := newRoad(a.gpu.node, b.gpu.node, stacked); r != nil {
				p.addDirect(&bundle{a: &a.port, b: &b.port, road: r})
			}
		}
		if p.nvs == nil {
			continue
		}
		if l := linkTo(a.gpu.node, p.nvs, graph.LinkNVL); l != nil {
			a.port.straight = bandwidthWidth(l.BW)
		}
	}
}

func (p *hostPlan) addDirect(b *bundle) {
	join(b)
	p.direct = append(p.direct, b)
}

// gpuColumns are the columns with a GPU, left to right.
func (p *hostPlan) gpuColumns() []*column {
	var out []*column
	for _, c := range p.columns {
		if c.gpu != nil {
			out = append(out, c)
		}
	}
	return out
}

// addSteps lays the steps of a ring's hop over the host.
func (p *hostPlan) addSteps(steps []step, overlay int, tag string) {
	for _, s := range steps {
		r := rider{overlay: overlay, forward: true, text: tag, tip: s.tip}
		switch s.kind {
		case direct:
			p.addRider(s, r)
		case switched:
			b := &bundle{a: &p.gpus[s.from].port, b: &p.gpus[s.to].port, riders: []rider{r}}
			join(b)
			p.switched = append(p.switched, b)
		case indirect:
			r.text = tag + ": " + s.text
			p.addDirect(&bundle{a: &p.gpus[s.from].port, b: &p.gpus[s.to].port, riders: []rider{r}})
		case climb:
			p.addClimb(s, r)
		case rise:
			p.addRise(s, r)
		case across:
			p.onBus = append(p.onBus, busRider{r, s.from, s.to})
		case joint:
			p.onPeers = append(p.onPeers, peerRider{r, s.from, s.to})
		}
	}
}

// addRider puts a rider onto the road between two GPUs.
func (p *hostPlan) addRider(s step, r rider) {
	from, to := &p.gpus[s.from].port, &p.gpus[s.to].port
	for _, b := range p.direct {
		if b.road == nil || (b.a != from || b.b != to) && (b.a != to || b.b != from) {
			continue
		}
		r.forward = b.a == from
		b.riders = append(b.riders, r)
		return
	}
}

// addClimb puts a rider onto the PCI link between a node and what it hangs from.
// What a file hangs in two places is drawn in one.
func (p *hostPlan) addClimb(s step, r rider) {
	child := s.from
	switch {
	case hangsFrom(p.roots, s.to, s.from):
		child = s.to
	case !hangsFrom(p.roots, s.from, s.to):
		return
	}
	r.forward = child == s.from
	p.climbing[child] = append(p.climbing[child], r)
}

// addRise puts a rider onto the link between a GPU and its CPU.
func (p *hostPlan) addRise(s step, r rider) {
	gpu := s.from
	if r.forward = gpu.Type == graph.GPU; !r.forward {
		gpu = s.to
	}
	p.rising[gpu] = append(p.rising[gpu], r)
}

// hangsFrom tells whether child is drawn right below parent.
func hangsFrom(roots []*branch, child, parent *graph.Node) bool {
	found := false
	for _, root := range roots {
		root.walk(func(br *branch) {
			if br.node != parent {
				return
			}
			for _, l := range br.leaves {
				found = found || l.node == child
			}
			for _, sub := range br.branches {
				found = found || sub.node == child
			}
		})
	}
	return found
}

// uniformNVS is the one link that all GPUs on the NVSwitch have alike, nil if
// they differ.
func (p *hostPlan) uniformNVS() *graph.Link {
	var first *graph.Link
	for _, c := range p.gpuColumns() {
		l := linkTo(c.gpu.node, p.nvs, graph.LinkNVL)
		switch {
		case l == nil || first != nil && (l.BW != first.BW || linkKind(l) != linkKind(first)):
			return nil
		case first == nil:
			first = l
		}
	}
	return first
}
