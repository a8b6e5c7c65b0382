package main

import (
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/job"
)

// provedRing is one distinct ring with the channels that run it.
type provedRing struct {
	channels  []int
	order     []int
	hops      []allreduce.Hop // empty where no machine is known
	predicted float64         // bus bandwidth of the ring alone in GB/s, 0: unknown
}

func ringsOf(j *job.Job) []provedRing {
	var out []provedRing
	for _, row := range distinctRings(j) {
		r := provedRing{channels: row.channels}
		for _, rank := range row.order {
			r.order = append(r.order, int(rank))
		}
		for _, h := range row.hops {
			r.hops = append(r.hops, allreduce.Hop{From: h.From, To: h.To, Type: h.Type.String(), BW: float64(h.BW)})
		}
		r.predicted = r.slowest().BW
		out = append(out, r)
	}
	return out
}

// ringByHand is a ring that no search has found; its hops are known where its
// machine is, inside nodes.
func ringByHand(order []int, j *job.Job) provedRing {
	r := provedRing{channels: []int{0}, order: order}
	if j == nil {
		return r
	}
	for i, from := range order {
		to := order[(i+1)%len(order)]
		h := allreduce.Hop{From: from, To: to, Type: graph.PathNET.String(), BW: float64(j.Comm.Ring.BWInter)}
		if node := j.Comm.RankToNode[from]; node == j.Comm.RankToNode[to] {
			p, ok := j.Comm.Nodes[node].Graph.Path(j.GPU(from), j.GPU(to))
			if h.Type, h.BW = graph.DIS.String(), 0; ok {
				h.Type, h.BW = p.Type.String(), float64(p.BW)
			}
		}
		r.hops = append(r.hops, h)
	}
	r.predicted = r.slowest().BW
	return r
}

// slowest is the first of the hops with the least bandwidth, nil without hops.
func (r *provedRing) slowest() *allreduce.Hop {
	var least *allreduce.Hop
	for i := range r.hops {
		if least == nil || r.hops[i].BW < least.BW {
			least = &r.hops[i]
		}
	}
	return least
}

// slowestOf is the slowest hop of the rings of some channels.
func (v *validator) slowestOf(channels []int) *allreduce.Hop {
	var least *allreduce.Hop
	for i := range v.rings {
		h := v.rings[i].slowest()
		if h != nil && (least == nil || h.BW < least.BW) && anyOf(channels, v.rings[i].channels) {
			least = h
		}
	}
	return least
}

func anyOf(a, b []int) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}
