package smi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/topo"
)

// hiddenSwitch is where NVLinks to switches lead: no matrix names a switch.
var hiddenSwitch = topo.ParseBusID("fffffff:ff:ff.0")

// links counts the NVLinks between GPUs.
type links [][]int

func (m *Matrix) links() links {
	l := make(links, len(m.GPUs))
	for i := range l {
		l[i] = make([]int, len(m.GPUs))
		for j := range l[i] {
			if n, ok := strings.CutPrefix(m.GPU[i][j], "NV"); ok {
				l[i][j], _ = strconv.Atoi(n) // three digits at most
			}
		}
	}
	return l
}

// sum counts the links of a GPU if all of them are direct.
func (l links) sum(i int) int {
	n := 0
	for _, k := range l[i] {
		n += k
	}
	return n
}

func (l links) most(i int) int {
	n := 0
	for _, k := range l[i] {
		n = max(n, k)
	}
	return n
}

// fabrics groups the GPUs that NVLinks join.
func (l links) fabrics() [][]int {
	g := apart(len(l))
	all := make([]int, len(l))
	for i := range l {
		all[i] = i
		for j := range i {
			if l[i][j]+l[j][i] > 0 {
				g.join(i, j)
			}
		}
	}
	var out [][]int
	for _, members := range g.members(all) {
		if len(members) > 1 {
			out = append(out, members)
		}
	}
	return out
}

// needsSwitch tells whether the GPUs of a fabric all see each other over the
// same number of links, which is more than they could have directly.
func (l links) needsSwitch(fabric []int, limit int) bool {
	n := l[fabric[0]][fabric[1]]
	for _, i := range fabric {
		for _, j := range fabric {
			if i != j && l[i][j] != n {
				return false
			}
		}
	}
	return n*(len(fabric)-1) > limit
}

// wiring is how NVLinks are taken to run.
type wiring struct {
	links    links
	switched []bool // by GPU: its links lead to a switch
	assumed  []topo.Assumption
}

// wire decides between direct links and switches.
func (m *Matrix) wire(o Options) *wiring {
	w := &wiring{links: m.links(), switched: make([]bool, len(m.GPUs))}
	limit := maxLinks(90)
	if o.SM != 0 {
		limit = maxLinks(o.SM)
	}
	fabrics := w.links.fabrics()
	var through [][]int
	for _, f := range fabrics {
		if w.links.needsSwitch(f, limit) {
			through = append(through, f)
		}
	}
	switch {
	case len(fabrics) == 0:
	case o.NVSwitch != nil && *o.NVSwitch:
		w.useSwitch(fabrics)
		if len(fabrics) > 1 {
			w.note("NVSwitch joins all GPUs with NVLinks, as it does for NCCL, though the matrix shows %d separate groups", len(fabrics))
		}
	case o.NVSwitch != nil:
	case len(through) > 1:
		w.note("%d groups of GPUs with an NVSwitch each: NCCL knows one switch only, so NVLinks are taken as direct, "+
			"which makes them wider than they are (--nvswitch yes joins the groups)", len(through))
	case len(through) == 1:
		w.useSwitch(through)
		w.note("NVLinks lead to an NVSwitch (%d GPUs see each other over NV%d each; --nvswitch no denies it)",
			len(through[0]), w.links.most(through[0][0]))
	default:
		w.note("NVLinks are direct (no GPU has more than %d; --nvswitch yes denies it)", w.maxPerGPU())
	}
	return w
}

func (w *wiring) note(format string, args ...any) {
	w.assumed = append(w.assumed, topo.Assumption{What: fmt.Sprintf(format, args...)})
}

func (w *wiring) useSwitch(fabrics [][]int) {
	for _, f := range fabrics {
		for _, i := range f {
			w.switched[i] = true
		}
	}
}

// maxPerGPU is the largest number of links that one GPU has.
func (w *wiring) maxPerGPU() int {
	most := 0
	for i := range w.links {
		most = max(most, w.perGPU(i))
	}
	return most
}

func (w *wiring) perGPU(i int) int {
	if w.switched[i] {
		return w.links.most(i)
	}
	return w.links.sum(i)
}

// of gives the links of a GPU; at gives the bus id of another.
func (w *wiring) of(i int, at func(int) topo.BusID) []topo.NVLink {
	if w.switched[i] {
		return []topo.NVLink{{Target: hiddenSwitch, Class: topo.ClassNVSwitch, Count: w.links.most(i)}}
	}
	var out []topo.NVLink
	for j, n := range w.links[i] {
		if n > 0 {
			out = append(out, topo.NVLink{Target: at(j), Class: topo.ClassGPU, Count: n})
		}
	}
	return out
}
