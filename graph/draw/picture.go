package draw

// point is a place in the picture, in points of 1/72 inch, y downwards.
type point struct{ x, y float64 }

// rect is an area; x and y are its left upper corner.
type rect struct{ x, y, w, h float64 }

func (r rect) right() float64  { return r.x + r.w }
func (r rect) bottom() float64 { return r.y + r.h }
func (r rect) center() point   { return point{r.x + r.w/2, r.y + r.h/2} }

// around is an area with its middle at a point.
func around(p point, w, h float64) rect { return rect{p.x - w/2, p.y - h/2, w, h} }

// covers tells whether two areas share a place.
func (r rect) covers(o rect) bool {
	return r.x < o.right() && o.x < r.right() && r.y < o.bottom() && o.y < r.bottom()
}

// line is one line of text.
type line struct {
	text  string
	size  float64
	bold  bool
	color string
}

// box is a part of a machine, or a text alone if it has no fill.
type box struct {
	id     string
	tip    string // what a viewer shows under the pointer
	lines  []line
	area   rect
	fill   string
	stroke string
	round  bool
	low    bool // the text stands at the lower edge, else in the middle
}

// frame is a group of boxes with a title at its left upper corner.
type frame struct {
	id     string
	title  []line
	area   rect
	fill   string
	stroke string
	boxes  []box
	frames []frame
}

// dash is a pattern of a line.
type dash string

// Patterns; Graphviz has these three.
const (
	solid  dash = "solid"
	dashed dash = "dashed"
	dotted dash = "dotted"
)

// wire is a connection between two boxes. It is drawn in parts where it passes
// below a box.
type wire struct {
	from, to string
	parts    [][]point
	color    string
	width    float64
	dash     dash
	arrow    bool // at the end
	label    []line
	at       point // the label's middle
	tip      string
}

// Picture is a finished drawing. It does not change.
type Picture struct {
	name   string
	size   point
	frames []frame
	boxes  []box // outside all frames
	wires  []wire
}

// frameInset is from a frame's edge to its title.
const frameInset = 12.

// titlePlace is the middle of a frame's title.
func (f *frame) titlePlace() point {
	var w float64
	for _, t := range f.title {
		w = max(w, boldWidth(t.text, t.size))
	}
	return point{f.area.x + frameInset + w/2, f.area.y + 14}
}
