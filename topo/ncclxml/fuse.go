package ncclxml

import (
	"slices"
	"strconv"
)

// fuse merges what each rank of a job sees into one tree, rank by rank.
func fuse(root *Element, job []*seat) *Element {
	shared := map[*Element]bool{}
	markShared(root, shared)
	var fused *Element
	for rank, s := range job {
		v := view{shared: shared, path: s.path, gpuAttrs: s.attrs(rank)}
		if fused == nil {
			fused = v.clone(root, 0, false)
		} else {
			v.merge(fused, root, 0, false)
		}
	}
	return fused
}

// attrs are the attributes of the GPU once it belongs to a rank, with the mark
// that saves it from trimming.
func (s *seat) attrs(rank int) []Attr {
	own := Element{Attrs: marked(s.gpu().Attrs)}
	if _, ok := own.Get("dev"); !ok {
		own.Set("dev", strconv.Itoa(s.dev))
	}
	own.Set("rank", strconv.Itoa(rank))
	return own.Attrs
}

// markShared notes the elements that every rank keeps: those that lead to a
// network or are marked to be kept. It tells whether e is one.
func markShared(e *Element, shared map[*Element]bool) bool {
	kept := e.Name == "net" || keep(e)
	if !kept {
		for _, c := range accepted(e) {
			kept = markShared(c, shared) || kept
		}
	}
	if kept {
		shared[e] = true
	}
	return kept
}

// keep tells whether the file itself wants an element to stay, with all that is
// in it.
func keep(e *Element) bool {
	v, _ := e.Get("keep")
	return v == "1"
}

// view is what one rank sees of the file.
type view struct {
	shared   map[*Element]bool
	path     []*Element // to its GPU, from the root
	gpuAttrs []Attr
}

// sees tells whether an element at a depth of the file's tree is part of the
// view. Only sockets and PCI devices are ever left out.
func (v *view) sees(e *Element, depth int) bool {
	return e.Name != "pci" && e.Name != "cpu" || v.shared[e] || depth < len(v.path) && v.path[depth] == e
}

// attrs are the attributes of an element as the rank sees it: the rank's GPU
// and all networks are marked, and trimming takes marks off again, but not
// inside of an element that is marked itself.
func (v *view) attrs(e *Element, depth int, whole bool) []Attr {
	attrs := e.Attrs
	if v.owns(e, depth) {
		attrs = v.gpuAttrs
	}
	switch {
	case whole && e.Name == "net":
		return marked(attrs)
	case !whole && (v.keeps(e, depth) || e.Name == "net"):
		return without(attrs, "keep")
	}
	return attrs
}

// keeps tells whether trimming stops at an element and leaves all that is in
// it.
func (v *view) keeps(e *Element, depth int) bool { return keep(e) || v.owns(e, depth) }

func (v *view) owns(e *Element, depth int) bool {
	return depth == len(v.path)-1 && v.path[depth] == e
}

// clone copies the part of e that the view has; whole means all of it.
func (v *view) clone(e *Element, depth int, whole bool) *Element {
	c := *e
	c.Attrs = slices.Clone(v.attrs(e, depth, whole))
	c.Children = nil
	whole = whole || v.keeps(e, depth)
	for _, child := range accepted(e) {
		if whole || v.sees(child, depth+1) {
			c.Children = append(c.Children, v.clone(child, depth+1, whole))
		}
	}
	return &c
}

// merge adds to dst the children of e that it does not have yet, at the end.
func (v *view) merge(dst, e *Element, depth int, whole bool) {
	whole = whole || v.keeps(e, depth)
	for _, child := range accepted(e) {
		if !whole && !v.sees(child, depth+1) {
			continue
		}
		if same := match(dst, child, v.attrs(child, depth+1, whole)); same != nil {
			v.merge(same, child, depth+1, whole)
		} else {
			dst.Children = append(dst.Children, v.clone(child, depth+1, whole))
		}
	}
}

// match finds the first child of dst that NCCL takes for the same element: same
// name, same form of the tag, same attributes in any order.
func match(dst, e *Element, attrs []Attr) *Element {
	for _, c := range dst.Children {
		if c.Name == e.Name && c.SelfClosed == e.SelfClosed && len(c.Attrs) == len(attrs) && equalAttrs(c, attrs) {
			return c
		}
	}
	return nil
}

func equalAttrs(e *Element, attrs []Attr) bool {
	for i, a := range attrs {
		if e.Attrs[i] == a {
			continue
		}
		if v, ok := e.Get(a.Key); !ok || v != a.Value {
			return false
		}
	}
	return true
}

// marked gives attributes with keep set, leaving its argument as it is.
func marked(attrs []Attr) []Attr {
	e := Element{Attrs: slices.Clone(attrs)}
	e.Set("keep", "1")
	return e.Attrs
}

// without gives attributes less one key, leaving its argument as it is.
func without(attrs []Attr, key string) []Attr {
	i := slices.IndexFunc(attrs, func(a Attr) bool { return a.Key == key })
	if i < 0 {
		return attrs
	}
	return append(slices.Clone(attrs[:i]), attrs[i+1:]...)
}
