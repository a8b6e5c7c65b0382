package ncclxml

// Document is an XML file as a tree of elements; nothing of it is dropped.
type Document struct {
	Name string // of the file, for messages
	Root *Element
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
}

// Attr is one attribute, its value with entities resolved.
type Attr struct{ Key, Value string }
