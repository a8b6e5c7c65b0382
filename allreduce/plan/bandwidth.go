package plan

import (
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// scale multiplies in double precision and stores in single.
func scale(v float32, by float64) float32 { return float32(float64(v) * by) }

// bandwidth is what a message's bytes flow at, in GB/s.
func (t *Tuning) bandwidth(c Collective, a allreduce.Algo, p allreduce.Proto) float32 {
	bw := t.linkBandwidth(a)
	bus := float32(t.sets[a].NChannels) * bw
	switch a {
	case allreduce.Ring:
		bus = t.ringBus(bus, p)
	case allreduce.Tree:
		bus = t.treeBus(bus, p)
	case allreduce.CollNetDirect, allreduce.CollNetChain:
		// No communicator of ours has such a network: what NCCL computes from its
		// empty graph is switched off again.
		return 0
	}
	return bus * t.ratio(c, a)
}

// linkBandwidth is that of one channel.
func (t *Tuning) linkBandwidth(a allreduce.Algo) float32 {
	set, nodes := t.sets[a], t.comm.NNodes
	switch {
	case a == allreduce.NVLS:
		return min(set.BWIntra, set.BWInter)
	case a == allreduce.NVLSTree && nodes > 2:
		return min(set.BWIntra, set.BWInter/2)
	case a == allreduce.NVLSTree:
		return min(set.BWIntra, set.BWInter)
	case nodes <= 2:
		return set.BWIntra
	}
	return set.BWInter
}

func (t *Tuning) ringBus(bus float32, p allreduce.Proto) float32 {
	switch p {
	case allreduce.LL:
		return float32(min(t.llMax(), float64(bus)*0.5))
	case allreduce.LL128:
		efficiency := 0.92
		if t.ppn < 2 {
			efficiency = 0.7
		}
		return float32(min(float64(bus)*efficiency, t.perChannel(allreduce.Ring, &ringLL128PerCh)))
	}
	return bus
}

func (t *Tuning) treeBus(bus float32, p allreduce.Proto) float32 {
	bus = float32(min(float64(bus)*0.92, t.perChannel(allreduce.Tree, &treePerCh)))
	switch p {
	case allreduce.LL:
		bus = float32(min(float64(bus)/3.8, t.llMax()))
	case allreduce.LL128:
		efficiency := 120.0 / 128.0
		if t.comm.NNodes == 1 {
			efficiency = 7.0 / 9.0
		}
		bus = float32(min(float64(bus)*efficiency, t.perChannel(allreduce.Tree, &treeLL128PerCh)))
	}
	if t.sets[allreduce.Tree].Pattern == rings.Tree {
		bus = scale(bus, .85)
	}
	return bus
}

// perChannel is the limit of all channels of an algorithm.
func (t *Tuning) perChannel(a allreduce.Algo, limit *caps) float64 {
	return float64(t.sets[a].NChannels) * limit[t.row][t.column]
}

// llMax is LL's limit. Between nodes it goes by the processor, not by the GPU.
func (t *Tuning) llMax() float64 {
	switch {
	case t.comm.NNodes == 1:
		return llMax[t.row][t.column]
	case t.local.Vendor == topo.VendorAMD:
		return llMax[1][t.column]
	}
	return llMax[0][t.column]
}

// ratio turns bus bandwidth into algorithm bandwidth.
func (t *Tuning) ratio(c Collective, a allreduce.Algo) float32 {
	switch a {
	case allreduce.Ring:
		return float32(float64(t.comm.NRanks) / float64(t.steps(c)))
	case allreduce.NVLS, allreduce.NVLSTree:
		return float32(5.0 / 6.0)
	}
	return 0.5
}
