package ncclxml

import (
	"io"

	"github.com/ringtopo/ringtopo/internal/cnum"
)

// Format is a kind of file that NCCL reads.
type Format int

// Formats.
const (
	Topology Format = iota // <system>: a machine
	Graphs                 // <graphs>: rings and trees already found
)

// Decode reads a topology: a <system> of version 1. Files that are something
// else are refused by name. Every error is an *Error.
func Decode(r io.Reader, name string) (*Document, error) {
	d, err := Parse(r, name)
	if err != nil {
		return nil, err
	}
	if err := d.Expect(Topology); err != nil {
		return nil, err
	}
	return d, nil
}

// Expect refuses a document that is not of the format, saying what it is.
func (d *Document) Expect(f Format) error {
	root := d.Root
	switch {
	case f == Topology && root.Name == "graphs":
		return d.other("this is a graph file: rings already found, not a machine",
			"name it with NCCL_GRAPH_FILE and give the machine beside it")
	case f == Graphs && root.Name == "system":
		return d.other("this is a topology file: a machine, not rings", "give it as the machine")
	case f == Topology && root.Name == "system":
		return d.expectNCCL()
	case f == Graphs && root.Name == "graphs":
		return d.expectVersion()
	}
	if what, ok := knownRoots[root.Name]; ok {
		return d.other("this is "+what[0], what[1])
	}
	return d.other("the root element is <"+short(root.Name)+">, which no topology or graph file has",
		"expected <system> or <graphs>")
}

// knownRoots are elements that tell what a file is: its name and a remedy.
var knownRoots = map[string][2]string{
	"cpu":            fragment,
	"pci":            fragment,
	"gpu":            fragment,
	"nic":            fragment,
	"graph":          {"a part of a graph file: <graph> without its root", `put it inside <graphs version="1">`},
	"topology":       {"an hwloc export", "NCCL_TOPO_DUMP_FILE makes a topology file on the machine"},
	"nvidia_smi_log": {"a report of nvidia-smi -q -x", "use the text of nvidia-smi topo -m, or NCCL_TOPO_DUMP_FILE"},
	"html":           {"a web page", "save the file itself, not the page that shows it"},
}

var fragment = [2]string{
	"a part of a topology file: its root <system> is missing",
	`get the whole file, or put the part inside <system version="1"><cpu numaid="0" ...>`,
}

// expectNCCL tells NCCL's <system> from those of others.
func (d *Document) expectNCCL() error {
	if g := d.Root.Child("group"); g != nil {
		return d.other("this is a mapping file that assigns slots and NICs to groups, not a topology",
			"NCCL_TOPO_DUMP_FILE makes a topology file on the machine")
	}
	version, ok := d.Root.Get("version")
	if x := find(d.Root, "xgmi"); x != nil || ok && cnum.Int32(version) == 2 {
		return d.other("this is a topology of RCCL (AMD GPUs, version 2 with xgmi links)",
			"only NCCL's version 1 is supported")
	}
	return d.expectVersion()
}

// expectVersion lets a missing version pass: a reader of the document assumes
// it.
func (d *Document) expectVersion() error {
	version, ok := d.Root.Get("version")
	if ok && cnum.Int32(version) != 1 {
		return d.other("version "+quote(version)+" of <"+d.Root.Name+">, only 1 is known", `if the file is in NCCL's format, write version="1"`)
	}
	return nil
}

func (d *Document) other(msg, remedy string) error {
	return &Error{File: d.Name, Line: d.Root.Line, Msg: msg, Remedy: remedy, Err: ErrOtherFormat}
}

// find gives the first element of a name anywhere below e, or nil.
func find(e *Element, name string) *Element {
	for _, c := range e.Children {
		if c.Name == name {
			return c
		}
		if found := find(c, name); found != nil {
			return found
		}
	}
	return nil
}
