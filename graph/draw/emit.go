package draw

import (
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/graph"
)

// emit turns the finished layout into the picture's parts.
func (l *layout) emit() {
	for _, p := range l.hosts {
		l.emitHost(p)
	}
	if l.hasNet {
		l.emitNetwork()
	}
	l.emitKey()
}

// id names one of a host's nodes in the picture. Files can have several nodes
// of one name.
func (p *hostPlan) id(n *graph.Node) string { return nodeID(p.index, p.host.Graph, n) }

func nodeID(host int, g *graph.Graph, n *graph.Node) string {
	same := slices.IndexFunc(g.NodesOf(n.Type), func(o *graph.Node) bool { return o.NodeID == n.NodeID })
	if same != n.Index {
		return fmt.Sprintf("h%d %s again as %d", host, n, n.Index)
	}
	return fmt.Sprintf("h%d %s", host, n)
}

func (l *layout) emitHost(p *hostPlan) {
	f := frame{
		id: fmt.Sprintf("h%d", p.index), title: hostTitle(p), area: p.area,
		fill: hostFill, stroke: hostLine,
	}
	for _, root := range p.roots {
		f.frames = append(f.frames, l.socketFrame(p, root))
	}
	if p.nvs != nil {
		f.boxes = append(f.boxes, l.nvsBox(p))
	}
	l.pic.frames = append(l.pic.frames, f)
	l.emitBus(p)
	for _, root := range p.roots {
		root.walk(func(br *branch) { l.emitTreeLinks(p, br) })
	}
	l.emitPeers(p)
	for _, c := range p.columns {
		l.emitColumnLinks(p, c)
	}
	for _, b := range p.direct {
		l.emitBundle(p, b)
	}
	for _, b := range p.switched {
		l.emitBundle(p, b)
	}
}

// socketFrame is a CPU with its PCI tree.
func (l *layout) socketFrame(p *hostPlan, root *branch) frame {
	f := frame{
		area: root.frame,
		fill: socketFill, stroke: socketLine,
	}
	if root.node == nil {
		f.id = fmt.Sprintf("h%d loose", p.index)
	} else {
		f.id = p.id(root.node)
		f.boxes = append(f.boxes, box{
			id: p.id(root.node), tip: root.node.String() + " cores " + root.node.CPU.Affinity,
			lines: cpuLines(root.node), area: root.area, fill: cpuFill, stroke: cpuLine,
		})
	}
	root.walk(func(br *branch) {
		if br.level > 0 {
			f.boxes = append(f.boxes, box{
				id: p.id(br.node), tip: fmt.Sprintf("%s device %#x", br.node, br.node.PCI.Device),
				lines: l.switchLines(br), area: br.area, fill: pciFill, stroke: pciLine,
			})
		}
	})
	for _, c := range p.columns[root.first : root.last+1] {
		f.boxes = append(f.boxes, l.columnBoxes(p, c)...)
	}
	return f
}

func (l *layout) switchLines(br *branch) []line {
	id := shortBusID(br.node.NodeID)
	for _, text := range []string{"PCI switch " + id, "PCI " + id, "PCI switch", "PCI"} {
		if textWidth(text, smallSize)+2*textMargin <= br.area.w {
			return []line{{text, smallSize, false, softInk}}
		}
	}
	return nil
}

func (l *layout) columnBoxes(p *hostPlan, c *column) []box {
	var boxes []box
	if c.gpu != nil {
		n := c.gpu.node
		boxes = append(boxes, box{
			id: p.id(n), tip: fmt.Sprintf("%s rank %d, device %d, sm_%d", n, c.gpu.rank, n.GPU.Dev, n.GPU.SM),
			lines: l.gpuLines(p, c), area: l.gpuArea(c), fill: gpuFill, stroke: gpuLine, round: true,
		})
	}
	for _, slot := range c.nics {
		n := slot.leaf.node
		tip := n.String()
		for _, net := range netsOf(n) {
			tip += fmt.Sprintf(", %s port %d %s", netName(net), net.Net.Port, gbit(net.Net.BW))
		}
		boxes = append(boxes, box{
			id: p.id(n), tip: tip, lines: l.nicLines(n), area: l.nicArea(slot), fill: nicFill, stroke: nicLine,
		})
	}
	return boxes
}

func (l *layout) gpuArea(c *column) rect { return rect{c.left, l.y.gpu, c.inner, l.m.gpuH} }

// nvsBox is the NVSwitch: a bar below the GPUs on it.
func (l *layout) nvsBox(p *hostPlan) box {
	return box{
		id: p.id(p.nvs), tip: p.nvs.String(), lines: l.nvsLines(p), area: l.nvsArea(p),
		low: true, round: true, fill: switchFill, stroke: switchLine,
	}
}

func (l *layout) nvsLines(p *hostPlan) []line {
	text := "NVSwitch"
	if l.nvsInBar(p) {
		link := p.uniformNVS()
		text += fmt.Sprintf(": %s to each GPU, %s", linkKind(link), gbps(link.BW))
	}
	return []line{{text, nameSize, true, ink}}
}

func (l *layout) nvsArea(p *hostPlan) rect {
	gpus := p.gpuColumns()
	first, last := gpus[0], gpus[len(gpus)-1]
	text := l.nvsLines(p)[0]
	return rect{first.left, l.y.nvs, max(last.right()-first.left, boldWidth(text.text, text.size)+4*textMargin), l.y.nvsH}
}

// emitNetwork draws the network that joins the hosts' NICs.
func (l *layout) emitNetwork() {
	l.pic.boxes = append(l.pic.boxes, box{
		id: "network", tip: "any NIC reaches any other, as NCCL assumes",
		lines: []line{{"Network", nameSize, true, ink}}, low: true, round: true, fill: netFill, stroke: netLine,
		area: rect{pageMargin, l.y.net, l.pic.size.x - 2*pageMargin, l.y.netH},
	})
	for _, b := range l.network {
		l.emitCrossing(b)
	}
}
