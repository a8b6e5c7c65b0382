package draw

import "slices"

// rows are the heights at which the rows of all hosts stand.
type rows struct {
	host      float64 // upper edge of the hosts' frames
	bus       float64 // line between the CPUs
	cpu       float64
	levels    []float64 // of PCI switches, upper edges, by level; [0] is unused
	nic       float64
	gpu       float64
	lanes     float64 // where lanes between GPUs begin
	nvs, nvsH float64
	hostEnd   float64
	net, netH float64
	end       float64
}

const (
	cpuH     = 34.
	switchH  = 20.
	linkGap  = 26. // between levels, for a link and its label
	hiddenH  = 18. // between NICs and GPUs
	barText  = 22. // the row of a bar's own text
	barEntry = 14. // from the GPUs to a bar without lanes before it
)

// place finds every place, from top to bottom and from left to right.
func (l *layout) place() {
	l.placeRows()
	x := pageMargin
	for _, p := range l.hosts {
		x = l.placeHost(p, x) + l.m.hostGap
	}
	l.pic.size.x = x - l.m.hostGap + pageMargin
	l.assignPorts()
}

func (l *layout) placeRows() {
	y := &l.y
	y.host = pageMargin
	y.bus = y.host + 24
	y.cpu = y.bus + 14
	if l.anyBus() {
		y.bus += 14
		y.cpu = y.bus + 16 + l.busRidersH()
	}
	next, gap := y.cpu+cpuH, linkGap+l.peerRidersH()
	y.levels = []float64{0}
	for range l.depth() {
		y.levels = append(y.levels, next+gap)
		next += gap + switchH
	}
	y.gpu = next + gap + 6
	if n := float64(l.nicRows()); n > 0 {
		y.nic = next + gap
		y.gpu = y.nic + n*l.m.nicH + (n-1)*l.m.nicGap + hiddenH
	}
	y.lanes = y.gpu + l.m.gpuH + 14
	l.placeLanes()
}

// placeLanes places what lies below the GPUs: lanes, NVSwitches, the network.
func (l *layout) placeLanes() {
	y := &l.y
	end := y.gpu + l.m.gpuH
	for _, p := range l.hosts {
		if len(p.direct) > 0 {
			end = max(end, settle(p.direct, p.directH, y.lanes))
		}
	}
	y.nvs = end + l.barEntry()
	for _, p := range l.hosts {
		if p.nvs != nil {
			y.nvsH = max(y.nvsH, settle(p.switched, p.switchH, y.nvs+4)-y.nvs+barText)
		}
	}
	y.hostEnd = y.nvs + y.nvsH + l.m.hostPad
	if y.nvsH == 0 {
		y.hostEnd = max(end+laneGap, y.gpu+l.m.gpuH+l.m.socketPad) + l.m.hostPad
	}
	y.end = y.hostEnd
	if l.hasNet {
		y.net = y.hostEnd + 22
		y.netH = settle(l.network, l.networkH, y.net+4) - y.net + barText
		y.end = y.net + y.netH
	}
}

// barEntry leaves room for the labels of the links to an NVSwitch.
func (l *layout) barEntry() float64 {
	for _, p := range l.hosts {
		if p.nvs != nil && !l.nvsInBar(p) {
			return barEntry + l.m.socketPad + 2*labelLine
		}
	}
	return barEntry + l.m.socketPad
}

func (l *layout) depth() int {
	deepest := 0
	for _, p := range l.hosts {
		for _, root := range p.roots {
			root.walk(func(br *branch) { deepest = max(deepest, br.level) })
		}
	}
	return deepest
}

func (l *layout) anyBus() bool {
	return slices.ContainsFunc(l.hosts, func(p *hostPlan) bool { return len(p.cpus()) > 1 })
}

// cpus are the host's CPUs, left to right.
func (p *hostPlan) cpus() []*branch {
	return slices.DeleteFunc(slices.Clone(p.roots), func(b *branch) bool { return b.node == nil })
}

// placeHost gives the host's columns their places and returns its right edge.
func (l *layout) placeHost(p *hostPlan, left float64) float64 {
	x := left + l.m.hostPad
	for _, root := range p.roots {
		x = l.placeSocket(p, root, x) + socketGap
	}
	right := max(x-socketGap+l.m.hostPad, left+boldWidth(hostTitle(p)[0].text, titleSize)+2*l.m.hostPad)
	if p.nvs != nil {
		right = max(right, l.nvsArea(p).right()+l.m.hostPad)
	}
	for _, c := range p.columns {
		right = max(right, c.left+(c.inner+c.port.width())/2+l.besideGPU(p, c))
	}
	p.area = rect{left, l.y.host, right - left, l.y.hostEnd - l.y.host}
	for _, root := range p.roots {
		root.walk(func(br *branch) {
			if br.level > 0 {
				first, last := p.columns[br.first], p.columns[br.last]
				br.area = rect{first.left, l.y.levels[br.level], last.right() - first.left, switchH}
			}
		})
	}
	return right
}

// placeSocket places a CPU and the columns below it and returns the right edge
// of their frame. A gutter with wires after the last column lies inside too.
func (l *layout) placeSocket(p *hostPlan, root *branch, left float64) float64 {
	start := left + l.m.socketPad
	x := start
	for _, c := range p.columns[root.first : root.last+1] {
		c.left = x
		x += c.inner + c.gutter
	}
	x -= l.m.gap
	end := p.columns[root.last].right()
	if root.node != nil {
		end = max(end, start+cpuTextWidth(root.node), start+2*busPitch*float64(len(p.onBus)+1))
	}
	root.area = rect{start, l.y.cpu, end - start, cpuH}
	right := max(x, end) + l.m.socketPad
	top := l.y.cpu - l.m.socketPad
	root.frame = rect{left, top, right - left, l.y.gpu + l.m.gpuH + l.m.socketPad - top}
	return right
}

// assignPorts gives every wire its slot; the lanes have their places by now.
func (l *layout) assignPorts() {
	for _, p := range l.hosts {
		for _, c := range p.columns {
			c.port.assign(c.left + (c.inner-c.port.width())/2)
			c.assignGutter(c.right() + l.m.gap/2)
		}
	}
}
