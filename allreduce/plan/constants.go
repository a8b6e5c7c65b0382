package plan

import "github.com/ringtopo/ringtopo/allreduce"

const (
	nAlgos  = allreduce.NumNCCLAlgos
	nProtos = allreduce.NumProtos
)

// Collective is one of the operations that the cost tables cover.
type Collective int

// Collectives, in the order of NCCL's tables.
const (
	Broadcast Collective = iota
	Reduce
	AllGather
	ReduceScatter
	AllReduce
	nCollectives
)

var collectiveNames = [nCollectives]string{"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"}

// baseLatency is in microseconds, [algorithm][protocol].
var baseLatency = [nAlgos][nProtos]float32{
	allreduce.Tree: {6.8, 14.0, 0},
	allreduce.Ring: {6.6, 14.0, 8.4},
}

// linkClass is what a hop crosses.
type linkClass int

const (
	classNVLink linkClass = iota
	classPCI
	classNet
	nClasses
)

// hopLatency is in microseconds.
type hopLatency [nClasses][nAlgos][nProtos]float32

func defaultHopLatency() hopLatency {
	return hopLatency{
		classNVLink: {
			allreduce.Tree: {0.6, 1.25, 28}, allreduce.Ring: {0.6, 1.9, 3.4},
			allreduce.CollNetDirect: {0, 0, 3.7}, allreduce.CollNetChain: {0, 0, 2.8},
			allreduce.NVLS: {0, 0, 25}, allreduce.NVLSTree: {0, 0, 25},
		},
		classPCI: {
			allreduce.Tree: {1.0, 1.9, 28}, allreduce.Ring: {1.0, 2.5, 5.7},
			allreduce.CollNetDirect: {0, 0, 3.7}, allreduce.CollNetChain: {0, 0, 2.8},
		},
		classNet: {
			allreduce.Tree: {5.0, 8.5, 28}, allreduce.Ring: {2.7, 4.0, 14.0},
			allreduce.CollNetDirect: {0, 0, 31}, allreduce.CollNetChain: {0, 0, 30},
			allreduce.NVLS: {0, 0, 18}, allreduce.NVLSTree: {0, 0, 14},
		},
	}
}

// caps are bandwidth limits in GB/s: a row per GPU generation (70, 80, 90), a
// column for one, two and more nodes.
type caps [3][3]float64

var (
	llMax          = caps{{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}}
	ringLL128PerCh = caps{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}}
	treeLL128PerCh = caps{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29.0}}
	treePerCh      = caps{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}}
)

// treeCorrection scales the tree's bandwidth by message size: index 0 is 64
// bytes, each further one twice as much.
var treeCorrection = [nProtos][23]float32{
	allreduce.LL:     {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
	allreduce.LL128:  {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
	allreduce.Simple: {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}
