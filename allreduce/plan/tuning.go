package plan

import (
	"math/bits"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// Table has a value for every collective, algorithm and protocol.
type Table [nCollectives][nAlgos][nProtos]float32

// Tuning is the cost model of a communicator.
//
// Every operation on it that stores a float32 rounds there, and products are
// converted before they are added to, so that no compiler fuses the two.
type Tuning struct {
	Bandwidth  Table                          // algorithm bandwidth in GB/s; 0: off
	Latency    Table                          // microseconds
	MaxThreads [nAlgos][nProtos]int           // of one block
	Thresholds [nAlgos][nProtos]int64         // bytes per thread and channel below which they are given up
	Warnings   []string                       // variables that ask for what there is not
	backup     [nCollectives][nProtos]float32 // ring bandwidths before algorithms were switched off

	comm     *connect.Comm
	settings Settings
	local    connect.CPU // of the first rank's node
	sets     [nAlgos]*rings.Set
	hops     hopLatency
	ppn      float32 // ranks per node
	column   int     // of the caps
	row      int     // of the caps
}

// NewTuning computes the tables as rank 0 of the communicator does.
func NewTuning(c *connect.Comm, s Settings) *Tuning {
	t := &Tuning{comm: c, settings: s, local: localCPU(c), hops: defaultHopLatency(), sets: setsOf(c)}
	t.ppn = float32(c.NRanks) / float32(c.NNodes)
	t.column = min(c.NNodes-1, 2)
	t.row = rowOf(c.MinSM)
	if t.local.Arch == topo.ArchPOWER {
		t.hops[classPCI][allreduce.Tree][allreduce.Simple] = t.hops[classPCI][allreduce.Ring][allreduce.Simple]
	}
	t.maxThreads()
	if c.NRanks > 1 {
		t.fill()
		t.enable()
	}
	t.thresholds()
	return t
}

// localCPU is the processor of rank 0's own node: a mixed communicator knows
// only a mixture.
func localCPU(c *connect.Comm) connect.CPU {
	if len(c.Nodes) == 0 || c.Nodes[0].Graph == nil {
		return c.CPU
	}
	cpus := c.Nodes[0].Graph.NodesOf(graph.CPU)
	if len(cpus) == 0 {
		return c.CPU
	}
	return connect.CPU{Arch: cpus[0].CPU.Arch, Vendor: cpus[0].CPU.Vendor}
}

// setsOf finds each algorithm's search result; those without one are empty.
func setsOf(c *connect.Comm) [nAlgos]*rings.Set {
	none := &rings.Set{}
	nvls := none
	if c.NVLS != nil {
		nvls = c.NVLS
	}
	return [nAlgos]*rings.Set{&c.Tree, &c.Ring, none, none, nvls, nvls}
}

func rowOf(sm int) int {
	switch {
	case sm >= 90:
		return 2
	case sm >= 80:
		return 1
	}
	return 0
}

// defined says whether a collective has an algorithm and protocol at all.
func defined(c Collective, a allreduce.Algo, p allreduce.Proto) bool {
	switch {
	case (c == Broadcast || c == Reduce) && a != allreduce.Ring:
		return false
	case (c == AllGather || c == ReduceScatter) && a != allreduce.Ring && a != allreduce.NVLS && a != allreduce.CollNetDirect:
		return false
	case (a == allreduce.NVLS || a == allreduce.NVLSTree) && p != allreduce.Simple:
		return false
	}
	return true
}

func (t *Tuning) fill() {
	for c := range nCollectives {
		for a := range allreduce.Algo(nAlgos) {
			for _, p := range allreduce.Protos() {
				if !defined(c, a, p) {
					continue
				}
				t.Bandwidth[c][a][p] = t.bandwidth(c, a, p)
				t.Latency[c][a][p] = t.latency(c, a, p)
			}
		}
		t.backup[c] = t.Bandwidth[c][allreduce.Ring]
	}
}

// steps is the number of hops that a collective's data takes round a ring.
func (t *Tuning) steps(c Collective) int {
	switch c {
	case AllReduce:
		return 2 * (t.comm.NRanks - 1)
	case ReduceScatter, AllGather:
		return t.comm.NRanks - 1
	}
	return t.comm.NRanks
}

// interSteps is how many of them cross the network.
func (t *Tuning) interSteps(c Collective) int {
	n := t.comm.NNodes
	switch {
	case c == AllReduce && n > 1:
		return 2 * n
	case c == AllReduce:
		return 0
	case c == ReduceScatter || c == AllGather:
		return n - 1
	}
	return n
}

// intraClass is what hops inside a node cross, class what the slowest of all
// crosses.
func (t *Tuning) intraClass(a allreduce.Algo) linkClass {
	if t.sets[a].TypeIntra == graph.NVL {
		return classNVLink
	}
	return classPCI
}

func (t *Tuning) class(a allreduce.Algo) linkClass {
	if t.comm.NNodes > 1 {
		return classNet
	}
	return t.intraClass(a)
}

// log2i is the position of the highest set bit, -1 for 0.
func log2i(x uint64) int { return bits.Len64(x) - 1 }
