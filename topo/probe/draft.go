package probe

import (
	"slices"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// draft is the topology that one rank completes. Elements belong to it from
// their making, attached or not, and searches go through them in that order.
type draft struct {
	all    []*ncclxml.Element
	parent map[*ncclxml.Element]*ncclxml.Element
	root   *ncclxml.Element
}

// newDraft starts from a topology file, or from nothing.
func newDraft(file *ncclxml.Document) *draft {
	d := &draft{parent: map[*ncclxml.Element]*ncclxml.Element{}}
	if file != nil {
		d.root = d.adopt(nil, file.Root)
	} else {
		d.root = d.add(nil, "system", ncclxml.Attr{Key: "version", Value: "1"})
	}
	return d
}

// nesting lists the elements of a file that count, by their parent.
var nesting = map[string][]string{
	"system": {"cpu"},
	"cpu":    {"pci", "nic"},
	"pci":    {"pci", "gpu", "nic", "pcilink"},
	"gpu":    {"nvlink", "c2c"},
	"nic":    {"net"},
}

// adopt copies what counts of an element of a file.
func (d *draft) adopt(parent, e *ncclxml.Element) *ncclxml.Element {
	c := d.add(parent, e.Name, e.Attrs...)
	c.Line, c.SelfClosed = e.Line, e.SelfClosed
	for _, child := range e.Children {
		if slices.Contains(nesting[e.Name], child.Name) {
			d.adopt(c, child)
		}
	}
	return c
}

// add makes an element, as the last child of parent unless that is nil.
func (d *draft) add(parent *ncclxml.Element, name string, attrs ...ncclxml.Attr) *ncclxml.Element {
	e := &ncclxml.Element{Name: name, Attrs: slices.Clone(attrs)}
	d.all = append(d.all, e)
	if parent != nil {
		parent.Children = append(parent.Children, e)
		d.parent[e] = parent
	}
	return e
}

// find gives the first element of a name whose attribute has a value, attached
// or not.
func (d *draft) find(name, key, value string) *ncclxml.Element {
	for _, e := range d.all {
		if v, ok := e.Get(key); e.Name == name && ok && v == value {
			return e
		}
	}
	return nil
}

// first gives the first element of a name, attached or not.
func (d *draft) first(name string) *ncclxml.Element {
	for _, e := range d.all {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// child gives the first child of a name, which it makes if there is none.
func (d *draft) child(parent *ncclxml.Element, name string) *ncclxml.Element {
	if c := parent.Child(name); c != nil {
		return c
	}
	return d.add(parent, name)
}

// pci gives the pci element of a bus id, which it makes, detached, if there is
// none. Bus ids are compared as texts.
func (d *draft) pci(busID string) *ncclxml.Element {
	if e := d.find("pci", "busid", busID); e != nil {
		return e
	}
	return d.add(nil, "pci", ncclxml.Attr{Key: "busid", Value: busID})
}

// hang makes a pci element a child of parent, before the first one whose bus id
// is greater as a text.
func (d *draft) hang(e, parent *ncclxml.Element) {
	own, _ := e.Get("busid")
	at := slices.IndexFunc(parent.Children, func(c *ncclxml.Element) bool {
		id, ok := c.Get("busid")
		return ok && own < id
	})
	if at < 0 {
		at = len(parent.Children)
	}
	parent.Children = slices.Insert(parent.Children, at, e)
	d.parent[e] = parent
}

// childWith gives the child of a name whose attribute has a value, or nil.
func childWith(e *ncclxml.Element, name, key, value string) *ncclxml.Element {
	for _, c := range e.Children {
		if v, ok := c.Get(key); c.Name == name && ok && v == value {
			return c
		}
	}
	return nil
}

// setIfUnset sets an attribute that is not there yet.
func setIfUnset(e *ncclxml.Element, key, value string) {
	if _, ok := e.Get(key); !ok {
		e.Set(key, value)
	}
}

// trim removes the marks of what is to be kept, and the sockets and PCI devices
// that lead to nothing marked. It tells whether e stays.
func trim(e *ncclxml.Element) bool {
	if v, _ := e.Get("keep"); v == "1" {
		e.Attrs = slices.DeleteFunc(e.Attrs, func(a ncclxml.Attr) bool { return a.Key == "keep" })
		return true
	}
	kept := false
	var stay []*ncclxml.Element
	for _, c := range e.Children {
		if trim(c) {
			kept = true
		} else if c.Name == "pci" || c.Name == "cpu" {
			continue
		}
		stay = append(stay, c)
	}
	e.Children = stay
	return kept
}

// fuse adds to dst what src has below it and dst has not, in the order of src.
func fuse(dst, src *ncclxml.Element) {
	for _, c := range src.Children {
		i := slices.IndexFunc(dst.Children, func(have *ncclxml.Element) bool { return same(have, c) })
		if i < 0 {
			dst.Children = append(dst.Children, c)
			continue
		}
		fuse(dst.Children[i], c)
	}
}

// same tells whether two elements are one and the same thing to NCCL: same
// name, same way of their making, same attributes in any order.
func same(a, b *ncclxml.Element) bool {
	if a.Name != b.Name || a.SelfClosed != b.SelfClosed || (a.Line == 0) != (b.Line == 0) || len(a.Attrs) != len(b.Attrs) {
		return false
	}
	for _, attr := range b.Attrs {
		if v, ok := a.Get(attr.Key); !ok || v != attr.Value {
			return false
		}
	}
	return true
}
