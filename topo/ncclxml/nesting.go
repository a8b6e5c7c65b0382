package ncclxml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtopo/ringtopo/internal/cnum"
	"github.com/ringtopo/ringtopo/topo"
)

// nesting lists the elements that NCCL takes inside each other; it skips all
// others with everything in them.
var nesting = map[string][]string{
	"system": {"cpu"},
	"cpu":    {"pci", "nic"},
	"pci":    {"pci", "gpu", "nic", "pcilink"},
	"gpu":    {"nvlink", "c2c"},
	"nic":    {"net"},
}

// accepted gives the children of e that count.
func accepted(e *Element) []*Element {
	names := nesting[e.Name]
	for i, c := range e.Children {
		if slices.Contains(names, c.Name) {
			continue
		}
		kept := slices.Clone(e.Children[:i])
		for _, c := range e.Children[i:] {
			if slices.Contains(names, c.Name) {
				kept = append(kept, c)
			}
		}
		return kept
	}
	return e.Children
}

// What a machine can hold. NCCL 2.22.3 has room for 128 children, too, but only
// for 256 elements; later releases have more.
const (
	MaxChildren        = 128
	MaxMachineElements = 4096
	MaxGPUs            = 256
)

// validate refuses what makes any use of the machine senseless: elements in
// places where NCCL would silently skip them, several hosts, and sizes that no
// host has.
func (d *Document) validate() error {
	if err := d.validatePlaces(d.Root); err != nil {
		return err
	}
	if n := count(d.Root); n > MaxMachineElements {
		return d.tooLarge(d.Root, fmt.Sprintf("%d elements, more than the %d of any machine", n, MaxMachineElements))
	}
	return d.validateHosts()
}

// count is the number of elements in e that NCCL reads, with e.
func count(e *Element) int {
	n := 1
	for _, c := range accepted(e) {
		n += count(c)
	}
	return n
}

func (d *Document) validatePlaces(e *Element) error {
	if n := len(accepted(e)); n > MaxChildren {
		return d.tooLarge(e, fmt.Sprintf("%d elements directly inside, NCCL takes %d", n, MaxChildren))
	}
	for _, c := range e.Children {
		parents := parentsOf(c.Name)
		if len(parents) > 0 && !slices.Contains(parents, e.Name) {
			return d.nonsense(c, fmt.Sprintf("<%s> directly inside <%s>, where NCCL skips it", c.Name, e.Name),
				fmt.Sprintf("put it inside <%s>; the order is system, cpu, pci, then gpu or nic", strings.Join(parents, "> or <")))
		}
		if len(parents) == 0 {
			continue
		}
		if err := d.validatePlaces(c); err != nil {
			return err
		}
	}
	return nil
}

// parentsOf lists the elements that take one of a name; none if NCCL does not
// know it.
func parentsOf(name string) []string {
	var parents []string
	for _, parent := range []string{"system", "cpu", "pci", "gpu", "nic"} {
		if slices.Contains(nesting[parent], name) {
			parents = append(parents, parent)
		}
	}
	return parents
}

func (d *Document) validateHosts() error {
	var first *Element
	for _, cpu := range d.Root.Children {
		if cpu.Name != "cpu" {
			continue
		}
		if first == nil {
			first = cpu
		}
		if hostOf(cpu) != hostOf(first) {
			return &Error{File: d.Name, Line: cpu.Line, Element: cpu.label(), Err: ErrOtherFormat,
				Msg: "a second host_hash: the file describes several hosts joined by multi-node NVLink, " +
					"which is not supported",
				Remedy: "split it into one file per host and give each as a machine; NVLink between hosts is then left out"}
		}
	}
	return nil
}

// hostOf is the hash of the host that a cpu belongs to, 0 if none is given.
func hostOf(cpu *Element) uint64 {
	hash, _ := cpu.Get("host_hash")
	return cnum.Uint(hash, 16)
}

func (d *Document) tooLarge(e *Element, msg string) error {
	return &Error{File: d.Name, Line: e.Line, Element: e.label(), Msg: msg,
		Remedy: "a file describes one host", Err: ErrLimit}
}

func (d *Document) nonsense(e *Element, msg, remedy string) error {
	return &Error{File: d.Name, Line: e.Line, Element: e.label(), Msg: msg, Remedy: remedy, Err: ErrNonsense}
}

// assume notes a value that the file does not give.
func (d *Document) assume(e *Element, what string) {
	where := e.label()
	if e.Line > 0 {
		where = fmt.Sprintf("line %d, %s", e.Line, where)
	}
	d.Assumed = append(d.Assumed, topo.Assumption{Where: where, What: what})
}
