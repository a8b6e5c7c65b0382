package plan

import (
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/topo"
)

// latency is the time of an empty message in microseconds.
func (t *Tuning) latency(c Collective, a allreduce.Algo, p allreduce.Proto) float32 {
	base := baseLatency[a][p]
	intra := t.hops[t.intraClass(a)][a][p]
	inter := t.hops[classNet][a][p] + t.sets[a].LatencyInter
	if p == allreduce.Simple {
		inter += t.sets[a].LatencyInter
	}
	nodes := t.comm.NNodes
	depth := float32(log2i(uint64(nodes))) // of a tree over nodes
	peers := t.comm.NRanks/nodes - 1
	switch a {
	case allreduce.Ring:
		return t.ringLatency(c, p, base, intra, inter)
	case allreduce.Tree:
		sum := float32(float32(peers)*intra) + float32(depth*inter)
		return base + float32(2*sum)
	case allreduce.CollNetDirect:
		sum := float64(float32(min(1, peers))*intra) + float64(float64(peers)*0.4)
		return float32(float64(base) + float64(float64(2*sum)+float64(inter)))
	case allreduce.CollNetChain:
		return base + (float32(float32(2*peers)*intra) + inter)
	case allreduce.NVLS:
		if nodes > 1 {
			return intra + inter
		}
		return intra
	}
	return base + (intra + float32(2*depth*inter)) // NVLSTree
}

func (t *Tuning) ringLatency(c Collective, p allreduce.Proto, base, intra, inter float32) float32 {
	if c == Broadcast || c == Reduce {
		return t.rootedRingLatency(c, p, base)
	}
	var overhead float32
	if t.comm.NNodes > 1 {
		overhead = t.netOverhead()
		if p == allreduce.Simple {
			overhead *= 3
		}
	}
	intra = max(intra, overhead)
	cross := t.interSteps(c)
	return base + (float32(float32(t.steps(c)-cross)*intra) + float32(float32(cross)*inter))
}

// rootedRingLatency is that of Broadcast and Reduce.
func (t *Tuning) rootedRingLatency(c Collective, p allreduce.Proto, base float32) float32 {
	hop := t.hops[t.class(allreduce.Ring)]
	if t.sets[allreduce.Ring].SameChannels != 0 {
		return base + hop[allreduce.Ring][p]
	}
	if p == allreduce.Simple {
		return base + float32(float32(t.steps(c))*hop[allreduce.Tree][p])
	}
	return base + float32(float32(t.steps(c))*hop[allreduce.Ring][p])
}

// netOverhead is the processor's share of a network hop in microseconds. It
// goes by the communicator's processors, which can be mixed.
func (t *Tuning) netOverhead() float32 {
	if t.settings.NetOverhead != unset {
		return float32(float64(t.settings.NetOverhead) * .001)
	}
	if cpu := t.comm.CPU; cpu.Arch == topo.ArchX86 && cpu.Vendor == topo.VendorAMD {
		return 2
	}
	return 1
}
