package ncclxml

import (
	"fmt"
	"strings"

	"github.com/ringtopo/ringtopo/topo"
)

// Document is an XML file as a tree of elements; nothing of it is dropped.
type Document struct {
	Name string // of the file, for messages
	Root *Element
	// Tail are the comments after the root.
	Tail []string
	// Assumed is what Select had to choose where the file is silent.
	Assumed []topo.Assumption

	// left are the GPUs of the machine that Select left out.
	left map[topo.BusID]bool
}

// Element is one element, its attributes and children in the order of the file.
type Element struct {
	Name     string
	Attrs    []Attr
	Children []*Element
	Line     int // where it starts; 0 if it came from no file
	// SelfClosed tells <nic/> from <nic></nic>: elements of both forms are
	// never fused.
	SelfClosed bool
	// Comments stand before the element, Tail after its last child.
	Comments, Tail []string
}

// Attr is one attribute, its value with entities resolved.
type Attr struct{ Key, Value string }

// Get gives the value of an attribute, and whether it is there.
func (e *Element) Get(key string) (string, bool) {
	for _, a := range e.Attrs {
		if a.Key == key {
			return a.Value, true
		}
	}
	return "", false
}

// Set changes an attribute in its place, or adds it at the end.
func (e *Element) Set(key, value string) {
	for i, a := range e.Attrs {
		if a.Key == key {
			e.Attrs[i].Value = value
			return
		}
	}
	e.Attrs = append(e.Attrs, Attr{key, value})
}

// Child gives the first child of a name, or nil.
func (e *Element) Child(name string) *Element {
	for _, c := range e.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// at says where another element than the one at fault is: "the gpu of line 4", or,
// of what came from no file, "gpu dev 1".
func (e *Element) at() string {
	if e.Line == 0 {
		return e.label()
	}
	return fmt.Sprintf("the %s of line %d", short(e.Name), e.Line)
}

// label names the element for messages, with what tells it from its like.
func (e *Element) label() string {
	for _, key := range []string{"busid", "target", "dev", "numaid", "id", "name"} {
		v, _ := e.Get(key)
		if v == "" {
			continue
		}
		v = strings.Trim(quote(v), `"`)
		if key == "busid" || key == "target" {
			return short(e.Name) + " " + v
		}
		return short(e.Name) + " " + key + " " + v
	}
	return short(e.Name)
}
