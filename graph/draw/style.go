package draw

import (
	"fmt"
	"math"
	"strconv"

	"github.com/ringtopo/ringtopo/graph/draw/internal/paint"
)

// Text sizes in points: whole ones, for Graphviz cuts off fractions.
const (
	ringSize  = 15. // of a circle's title
	titleSize = 13.
	nameSize  = 12.
	nicSize   = 10.
	smallSize = 9.
	linkSize  = 9.
	riderSize = 8.
	keySize   = 10.
)

// Colours of the machine: light fills, so that text and rings stand out, and
// unlike each other in grey too because each kind has its own shape and text.
const (
	ink        = "#1a1a1a"
	softInk    = "#4d4d4d"
	hostFill   = "#fafafa"
	hostLine   = "#8c8c8c"
	socketFill = "#eef2f7"
	socketLine = "#a9b8c9"
	cpuFill    = "#d3deea"
	cpuLine    = "#6f879f"
	pciFill    = "#ffffff"
	pciLine    = "#7f7f7f"
	gpuFill    = "#dcefd5"
	gpuLine    = "#4b7f3a"
	nicFill    = "#fff1cc"
	nicLine    = "#a27a1c"
	switchFill = "#e9e4f4"
	switchLine = "#77679e"
	netFill    = "#fbe9dc"
	netLine    = "#b0744a"
	linkColor  = "#5c5c5c"
	linkPale   = "#b3b3b3" // where rings lie over the links
)

// ringColors are Okabe and Ito's, which colour-blind readers can tell apart,
// without their yellow, which white paper swallows, and with a brown for their
// orange. Those that share a pattern differ in lightness.
var ringColors = [...]string{"#0072b2", "#d55e00", "#009e73", "#000000", "#cc79a7", "#7a4f00", "#56b4e9"}

var ringDashes = [...]dash{solid, dashed, dotted}

// look is how a ring's lines look. Seven colours and three patterns make 21
// looks; the name at every line tells the rest apart.
type look struct {
	color string
	dash  dash
}

func (o *Overlay) look(i int) look {
	l := look{o.Color, ringDashes[i%len(ringDashes)]}
	if l.color == "" {
		l.color = ringColors[i%len(ringColors)]
	}
	return l
}

// Widths of lines.
const (
	riderWidth = 1.8
	minWidth   = 0.8
	maxWidth   = 9.
)

// bandwidthWidth is the width of a link's line: 12 GB/s gives 1.5 points, 40
// gives 2.7, 370 gives 8.1. The root keeps slow links visible beside fast ones.
func bandwidthWidth(gbps float32) float64 {
	return min(max(0.42*math.Sqrt(max(float64(gbps), 0)), minWidth), maxWidth)
}

// gbps writes a bandwidth with at most three digits that matter.
func gbps(v float32) string {
	switch {
	case v >= 1e5: // no machine has it, but a file can say so
		return fmt.Sprintf("%.3g GB/s", v)
	case v >= 100:
		return fmt.Sprintf("%.0f GB/s", v)
	}
	return strconv.FormatFloat(math.Round(float64(v)*10)/10, 'f', -1, 64) + " GB/s"
}

func textWidth(text string, size float64) float64 { return paint.Width(text, size, false) }

func boldWidth(text string, size float64) float64 { return paint.Width(text, size, true) }
