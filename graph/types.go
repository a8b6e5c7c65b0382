package graph

import "fmt"

// NodeType is the kind of a node, in NCCL's numbering.
type NodeType uint8

// Node types. A CPU node is a NUMA domain; a NET node is one network device.
const (
	GPU NodeType = iota
	PCI
	NVS
	CPU
	NIC
	NET
	numNodeTypes
)

var nodeTypeNames = [...]string{"GPU", "PCI", "NVS", "CPU", "NIC", "NET"}

func (t NodeType) String() string { return nodeTypeNames[t] }

// LinkType is the kind of a link, in NCCL's numbering.
type LinkType uint8

// Link types.
const (
	LinkLOC LinkType = 0 // between PCI switches joined on a board
	LinkNVL LinkType = 1 // NVLink and chip-to-chip links
	LinkPCI LinkType = 3
	LinkSYS LinkType = 7 // between CPUs
	LinkNET LinkType = 8 // between a NIC and its network
)

func (t LinkType) String() string {
	switch t {
	case LinkLOC:
		return "LOC"
	case LinkNVL:
		return "NVL"
	case LinkPCI:
		return "PCI"
	case LinkSYS:
		return "SYS"
	case LinkNET:
		return "NET"
	}
	return fmt.Sprintf("LinkType(%d)", uint8(t))
}

// PathType says what the farthest-reaching part of a path is, in NCCL's
// numbering: a larger type is a worse path.
type PathType uint8

// Path types.
const (
	LOC     PathType = iota // the node itself
	NVL                     // NVLink
	NVB                     // NVLink through another GPU
	PIX                     // at most one PCI switch
	PXB                     // several PCI switches
	PXN                     // to a network through another GPU
	PHB                     // through a CPU
	SYS                     // across CPUs
	PathNET                 // across the network
	DIS                     // no path
)

var pathTypeNames = [...]string{"LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS", "NET", "DIS"}

func (t PathType) String() string { return pathTypeNames[t] }

// MarshalText gives the name, for JSON and YAML.
func (t PathType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name.
func (t *PathType) UnmarshalText(b []byte) error {
	p, ok := ParsePathType(string(b))
	if !ok {
		return fmt.Errorf("unknown path type %q", b)
	}
	*t = p
	return nil
}

// ParsePathType reads an exact name, LOC to DIS.
func ParsePathType(s string) (PathType, bool) {
	for i, name := range pathTypeNames {
		if s == name {
			return PathType(i), true
		}
	}
	return 0, false
}
