package draw

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/ringtopo/ringtopo/graph"
)

const (
	cycleNodeW  = 40. // of a GPU's box
	cycleNodeH  = 30.
	cycleApart  = 30. // least distance between labels along the circle
	cycleMargin = 20. // around a circle with its labels
	cycleLeast  = 84. // radius of the smallest circle, for the title inside
	cycleTwo    = 14. // from the title to the lines of a ring of two
	cycleTitleH = 50. // of the texts in the middle
)

// Cycles draws each ring as a circle of its GPUs, rank 0 or the first rank on
// top, then clockwise, every hop with its kind and bandwidth.
func Cycles(hosts []Host, overlays []Overlay) (*Picture, error) {
	places, err := placesOf(hosts)
	if err != nil {
		return nil, err
	}
	if len(overlays) == 0 {
		return nil, errors.New("no ring to draw")
	}
	if err := checkOverlays(overlays, places); err != nil {
		return nil, err
	}
	var circles []*circle
	for i := range overlays {
		c := &circle{overlay: &overlays[i], index: i, hosts: hosts, places: places}
		if err := c.measure(); err != nil {
			return nil, fmt.Errorf("%s: %w", overlays[i].Title, err)
		}
		circles = append(circles, c)
	}
	return arrange(circles), nil
}

// circle is one ring on its way into the picture.
type circle struct {
	overlay *Overlay
	index   int
	hosts   []Host
	places  map[int]gpuPlace
	hops    []cycleHop
	radius  float64 // of the GPUs' middles
	titleW  float64 // width of the title in the middle
	reach   point   // from the middle to the outermost labels
	middle  point
}

type cycleHop struct {
	text []string
	bw   float32
	tip  string
}

// measure finds what each hop is and how large the circle must be.
func (c *circle) measure() error {
	if !c.overlay.closed() {
		return errors.New("its hops do not lead back to where they began")
	}
	widest, highest := cycleNodeW, 0.
	for _, hop := range c.overlay.Hops {
		h, err := c.describe(hop)
		if err != nil {
			return err
		}
		c.hops = append(c.hops, h)
		widest, highest = max(widest, h.width()), max(highest, h.height())
	}
	n := float64(len(c.hops))
	c.titleW = c.titleWidth() + 2*textMargin
	c.radius = max((widest+cycleApart)*n/(2*math.Pi), cycleLeast, c.titleW/2+cycleNodeW/2+2*textMargin, c.clearRadius())
	c.reach = point{
		c.radius + cycleNodeW/2 + widest + cycleMargin,
		c.radius + cycleNodeH/2 + highest + cycleMargin,
	}
	return nil
}

// titleWidth is what the texts in the middle need.
func (c *circle) titleWidth() float64 {
	w := 0.
	for _, l := range c.titleLines() {
		if l.bold {
			w = max(w, boldWidth(l.text, l.size))
		} else {
			w = max(w, textWidth(l.text, l.size))
		}
	}
	return w
}

// clearRadius is from where on no hop's line runs through the texts in the
// middle: rings of three come close to them.
func (c *circle) clearRadius() float64 {
	n := len(c.hops)
	if n < 3 {
		return 0
	}
	need := 0.
	for i, h := range c.hops {
		s, k := math.Sincos(2 * math.Pi * (float64(i) + 0.5) / float64(n))
		need = max(need, (math.Abs(s)*c.titleW+math.Abs(k)*cycleTitleH)/2+hopWidth(h.bw)/2)
	}
	return math.Ceil(need / math.Cos(math.Pi/float64(n)))
}

// closed tells whether every hop begins where the one before ended.
func (o *Overlay) closed() bool {
	for i, hop := range o.Hops {
		if o.Hops[(i+1)%len(o.Hops)].From != hop.To {
			return false
		}
	}
	return len(o.Hops) > 0
}

// describe says over what a hop goes, and how fast.
func (c *circle) describe(hop Hop) (cycleHop, error) {
	from, to := c.places[hop.From], c.places[hop.To]
	if hop.Nets != nil {
		return c.overNetwork(hop, from, to)
	}
	if from.host != to.host {
		return cycleHop{}, fmt.Errorf("hop %d to %d leaves its host without network devices", hop.From, hop.To)
	}
	path, _ := c.hosts[from.host].Graph.Path(from.node, to.node)
	return cycleHop{[]string{pathKind(path), gbps(path.BW)}, path.BW, pathTip(path)}, nil
}

// overNetwork describes a hop by the cards at its ends. It is as fast as the
// narrowest link of the whole way, which need not be a card's.
func (c *circle) overNetwork(hop Hop, from, to gpuPlace) (cycleHop, error) {
	sender, receiver := &c.hosts[from.host], &c.hosts[to.host]
	out, err := findNet(sender, hop.Nets.Out)
	if err != nil {
		return cycleHop{}, err
	}
	in, err := findNet(receiver, hop.Nets.In)
	if err != nil {
		return cycleHop{}, err
	}
	there, _ := sender.Graph.Path(from.node, out)
	here, _ := receiver.Graph.Path(in, to.node)
	bw := min(there.BW, here.BW)
	text := []string{"NET " + netName(out), "to " + netName(in), gbps(bw)}
	if netName(out) == netName(in) {
		text = []string{"NET " + netName(out), gbps(bw)}
	}
	return cycleHop{text, bw, "over the network, " + pathTip(there) + ", then " + pathTip(here)}, nil
}

// pathKind names a path by its links where it is NVLink, else by its type.
func pathKind(p graph.Path) string {
	if p.Type != graph.NVL || p.Hops() == 0 {
		return p.Type.String()
	}
	if p.Hops() == 2 && p.Links[0].To.Type == graph.NVS {
		return "NVSwitch"
	}
	return linkKind(p.Links[0])
}

func (h *cycleHop) width() float64 {
	w := 0.
	for _, t := range h.text {
		w = max(w, textWidth(t, linkSize))
	}
	return w
}

func (h *cycleHop) height() float64 { return labelLine * float64(len(h.text)) }

// at gives the place at a share of the way round and a distance from the middle.
func (c *circle) at(turn, distance float64) point {
	s, k := math.Sincos(2 * math.Pi * turn / float64(len(c.hops)))
	return point{c.middle.x + distance*s, c.middle.y - distance*k}
}

// arrange puts the circles side by side, about as many rows as columns.
func arrange(circles []*circle) *Picture {
	var reach point
	for _, c := range circles {
		reach = point{max(reach.x, c.reach.x), max(reach.y, c.reach.y)}
	}
	across := int(math.Ceil(math.Sqrt(float64(len(circles)))))
	down := (len(circles) + across - 1) / across
	p := &Picture{size: point{2 * reach.x * float64(across), 2 * reach.y * float64(down)}}
	for i, c := range circles {
		c.middle = point{reach.x * float64(2*(i%across)+1), reach.y * float64(2*(i/across)+1)}
		c.emit(p)
	}
	hosts := circles[0].hosts
	if len(hosts) > 1 {
		p.listHosts(hosts)
	}
	return p
}

// listHosts writes below the circles which host has which number.
func (p *Picture) listHosts(hosts []Host) {
	for i := range hosts {
		at := point{pageMargin, p.size.y}
		p.boxes = append(p.boxes, keyText("host "+strconv.Itoa(i), hostNumber(i)+"  "+hosts[i].Name, keySize, ink, at))
		p.size.y += keyRow
	}
	p.size.y += pageMargin
}

func hostNumber(i int) string { return "#" + strconv.Itoa(i) }

func (c *circle) emit(p *Picture) {
	p.boxes = append(p.boxes, c.title())
	for i, hop := range c.overlay.Hops {
		p.boxes = append(p.boxes, c.gpuBox(i, hop.From))
	}
	for i := range c.hops {
		p.wires = append(p.wires, c.hopWire(i))
	}
}

func (c *circle) id(rank int) string { return fmt.Sprintf("c%d r%d", c.index, rank) }

// title stands in the middle: the ring's name and its slowest hop.
func (c *circle) title() box {
	const h = 60.
	return box{
		id: fmt.Sprintf("c%d title", c.index), tip: c.overlay.cycle(), fill: "#ffffff", stroke: "#ffffff",
		area:  around(c.middle, max(c.titleW, 2*(cycleLeast-cycleNodeW/2)-2*textMargin), h),
		lines: c.titleLines(),
	}
}

func (c *circle) titleLines() []line {
	slowest := slices.MinFunc(c.hops, func(a, b cycleHop) int { return cmp.Compare(a.bw, b.bw) })
	where := fmt.Sprintf("%d machines", len(c.hosts))
	if len(c.hosts) == 1 {
		where = c.hosts[0].Name
	}
	return []line{
		{c.overlay.Title, ringSize, true, c.overlay.look(c.index).color},
		{size: 4}, // Graphviz sets small lines close below large ones
		{where, smallSize, false, softInk},
		{"slowest hop " + gbps(slowest.bw), smallSize, false, softInk},
	}
}

func (c *circle) gpuBox(i, rank int) box {
	at := c.at(float64(i), c.radius)
	host := c.places[rank].host
	lines := []line{{strconv.Itoa(rank), titleSize, true, ink}}
	if len(c.hosts) > 1 {
		lines = append(lines, line{hostNumber(host), smallSize, false, softInk})
	} else {
		lines = append([]line{{"GPU", smallSize, false, softInk}}, lines...)
	}
	return box{
		id: c.id(rank), tip: c.hosts[host].Name + " " + c.places[rank].node.String(), lines: lines,
		area: around(at, cycleNodeW, cycleNodeH),
		fill: hostTints[host%len(hostTints)], stroke: gpuLine, round: true,
	}
}

// hostTints tell neighbouring hosts apart.
var hostTints = [...]string{gpuFill, cpuFill, nicFill, switchFill}

// hopWire draws a hop straight from one GPU to the next, its label outside the
// circle of boxes.
func (c *circle) hopWire(i int) wire {
	hop, h := c.overlay.Hops[i], c.hops[i]
	a, b := c.at(float64(i), c.radius), c.at(float64(i+1), c.radius)
	look := c.overlay.look(c.index)
	w := wire{
		from: c.id(hop.From), to: c.id(hop.To), parts: [][]point{{leave(a, b), leave(b, a)}}, color: look.color,
		dash: look.dash, width: hopWidth(h.bw), arrow: true, tip: h.tip, label: label(ink, linkSize, h.text...),
		at: c.labelPlace(i),
	}
	if len(c.hops) == 2 {
		side := float64(1 - 2*i) // the first hop leads down on the right, the second up on the left
		x := c.middle.x + side*(max(c.titleW/2, cycleLeast-cycleNodeW/2)+cycleTwo)
		w.parts = [][]point{{{a.x + side*cycleNodeW/2, a.y}, {x, a.y}, {x, b.y}, {b.x + side*cycleNodeW/2, b.y}}}
		w.at = point{x + side*(h.width()/2+2*textMargin), c.middle.y}
	}
	return w
}

// hopWidth is the width of a hop's line on a circle.
func hopWidth(bw float32) float64 { return max(bandwidthWidth(bw)/2, riderWidth) }

// labelPlace goes outwards from the middle of a hop's line until the label is
// clear of the line and of the boxes at its ends.
func (c *circle) labelPlace(i int) point {
	h := c.hops[i]
	a, b := c.at(float64(i), c.radius), c.at(float64(i+1), c.radius)
	turn := float64(i) + 0.5
	s, k := math.Sincos(2 * math.Pi * turn / float64(len(c.hops)))
	from := math.Hypot(a.x+b.x-2*c.middle.x, a.y+b.y-2*c.middle.y)/2 +
		(math.Abs(s)*h.width()+math.Abs(k)*h.height())/2 + arrowUnit*arrowScale(hopWidth(h.bw))/3
	for out := 2 * textMargin; ; out++ {
		at := c.at(turn, from+out)
		text := around(at, h.width()+2*textMargin, h.height()+2*textMargin)
		if !text.covers(around(a, cycleNodeW, cycleNodeH)) && !text.covers(around(b, cycleNodeW, cycleNodeH)) {
			return at
		}
	}
}

// leave is where the line from a GPU at a to one at b leaves a's box.
func leave(a, b point) point {
	dx, dy := math.Abs(b.x-a.x), math.Abs(b.y-a.y)
	t := min(cycleNodeW/2/max(dx, 1e-9), cycleNodeH/2/max(dy, 1e-9))
	return between(a, b, min(t, 0.5))
}
