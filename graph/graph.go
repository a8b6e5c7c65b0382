package graph

import (
	"fmt"

	"github.com/ringtopo/ringtopo/topo"
)

// Graph is a machine, or the part of it that is one node of a communicator.
// It does not change once made.
type Graph struct {
	// MaxBW is the best bandwidth of any path that a ring can use, TotalBW the
	// most that any GPU can send over all its links, both in GB/s.
	MaxBW, TotalBW float32

	nodes [numNodeTypes][]*Node
	all   []*Node // by gonum id
	links []*Link // by link id
	opt   Options
}

// Node is one node. The part that fits its type is set.
type Node struct {
	Type   NodeType
	Index  int    // among the nodes of its type
	NodeID NodeID // NCCL's; unique within its type only
	Links  []*Link

	GPU *GPUInfo
	PCI *PCIInfo
	CPU *CPUInfo
	Net *NetInfo

	id    int64                // gonum's, dense over the graph
	paths [numNodeTypes][]Path // to every node of a type; nil where no search reached
}

// NodeID is the system (host) number in the top byte and a number that is
// unique for the node's type there: a bus id, a NUMA or a device number.
type NodeID int64

// System is the host's number; Local the rest.
func (id NodeID) System() int64 { return int64(id) >> 56 }

// Local is the part without the host's number.
func (id NodeID) Local() int64 { return int64(id) & 0x00ffffffffffffff }

// GPUInfo is what the search needs to know of a GPU.
type GPUInfo struct {
	Rank, Dev, SM int
	GDR           bool
}

// PCIInfo is what is known of a PCI switch: vendor, device and subsystem ids.
type PCIInfo struct{ Device uint64 }

// CPUInfo is what the search needs to know of a NUMA domain.
type CPUInfo struct {
	Arch     topo.Arch
	Vendor   topo.Vendor
	Model    topo.CPUModel
	Affinity string
}

// NetInfo is what the search needs to know of a network device.
type NetInfo struct {
	Name    string
	Dev     int
	Asic    int64
	Port    int
	BW      float32 // GB/s
	Latency float32
	GDR     bool
	Coll    bool
	MaxConn int
}

// Link is one direction of a connection.
type Link struct {
	ID   int // dense over the graph
	Type LinkType
	BW   float32 // GB/s
	From *Node
	To   *Node
}

// Path leads from one node to another. A node's path to itself has no links.
type Path struct {
	Links []*Link
	BW    float32 // GB/s
	Type  PathType
}

// Hops is the number of links.
func (p Path) Hops() int { return len(p.Links) }

// NodesOf gives the nodes of one type in index order.
func (g *Graph) NodesOf(t NodeType) []*Node { return g.nodes[t] }

// Path gives the path between two nodes of this graph; to must be a GPU, an
// NVSwitch, a CPU or a NET. It is false where no search reached from.
func (g *Graph) Path(from, to *Node) (Path, bool) {
	ps := from.paths[to.Type]
	if ps == nil {
		return Path{Type: DIS}, false
	}
	return ps[to.Index], true
}

// String names the node as NCCL's path lines do, for example GPU/3b000.
func (n *Node) String() string { return fmt.Sprintf("%s/%X", n.Type, uint64(n.NodeID)) }

// Links gives every link by id.
func (g *Graph) Links() []*Link { return g.links }
