package main

import (
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
)

// planJSON is ringtopo plan -o json, schema ringtopo.plan/v1.
type planJSON struct {
	Schema    string            `json:"schema"`
	Machine   []string          `json:"machine"`
	Nodes     int               `json:"nodes"`
	Ranks     int               `json:"ranks"`
	NChannels int               `json:"nChannels"`
	Set       map[string]string `json:"set"`
	Tuning    tuningJSON        `json:"tuning"`
	Ops       []planOpJSON      `json:"ops"`
}

// tuningJSON has the tables of AllReduce by algorithm, [LL, LL128, Simple].
type tuningJSON struct {
	Bandwidths       map[string][3]float32 `json:"bandwidths"`
	Latencies        map[string][3]float32 `json:"latencies"`
	MaxThreads       map[string][3]int     `json:"maxThreads"`
	ThreadThresholds map[string][3]int64   `json:"threadThresholds"`
}

// planOpJSON is one operation. Grid, block and mask are those of its launch.
type planOpJSON struct {
	Bytes          int64              `json:"bytes"`
	Count          int64              `json:"count"`
	DType          allreduce.DType    `json:"dtype"`
	Op             allreduce.Op       `json:"op"`
	Call           int                `json:"call"` // index in its group
	Launch         int                `json:"launch"`
	Times          map[string]float32 `json:"times"`
	Time           *float32           `json:"time"` // of the choice; null for what has no model
	Algo           allreduce.Algo     `json:"algo"`
	Proto          allreduce.Proto    `json:"proto"`
	NChannels      int                `json:"nChannels"`
	NThreads       int                `json:"nThreads"`
	ChannelLo      int                `json:"channelLo"`
	ChannelHi      int                `json:"channelHi"`
	CountLo        int64              `json:"countLo"`
	CountMid       int64              `json:"countMid"`
	CountHi        int64              `json:"countHi"`
	ChunkGrainsLo  int                `json:"chunkGrainsLo"`
	ChunkGrainsMid int                `json:"chunkGrainsMid"`
	ChunkGrainsHi  int                `json:"chunkGrainsHi"`
	Grid           int                `json:"grid"`
	Block          int                `json:"block"`
	ChannelMask    string             `json:"channelMask"`
	Kernel         string             `json:"kernel,omitempty"`
	StepBytes      int                `json:"stepBytes"`
	SliceBytes     int                `json:"sliceBytes"`
	ChunkBytes     int                `json:"chunkBytes"`
	Peculiarities  []string           `json:"peculiarities,omitempty"`
	Parts          []planPartJSON     `json:"parts"`
}

type planPartJSON struct {
	Channel    int   `json:"channel"`
	Offset     int64 `json:"offset"`
	Count      int64 `json:"count"`
	ChunkBytes int   `json:"chunkBytes"`
	Loops      int   `json:"loops"`
}

func newPlanJSON(p *planned, machines []string) planJSON {
	c := p.job.Comm
	out := planJSON{Schema: "ringtopo.plan/v1", Machine: machines, Nodes: c.NNodes, Ranks: c.NRanks, NChannels: c.NChannels,
		Set: p.job.Env.Acted(), Tuning: newTuningJSON(p), Ops: []planOpJSON{}}
	for _, launches := range p.groups {
		for n, l := range launches {
			for i := range l.Details {
				op := newPlanOpJSON(l, i)
				op.Launch = n
				out.Ops = append(out.Ops, op)
			}
		}
	}
	return out
}

// algosOf lists the algorithms that a communicator can have.
func algosOf(p *planned) []allreduce.Algo {
	list := []allreduce.Algo{allreduce.Tree, allreduce.Ring}
	if p.job.Comm.NVLS != nil {
		list = append(list, allreduce.NVLS, allreduce.NVLSTree)
	}
	return list
}

func newTuningJSON(p *planned) tuningJSON {
	t := tuningJSON{map[string][3]float32{}, map[string][3]float32{}, map[string][3]int{}, map[string][3]int64{}}
	for _, a := range algosOf(p) {
		name := a.String()
		t.Bandwidths[name] = p.planner.Bandwidth[plan.AllReduce][a]
		t.Latencies[name] = p.planner.Latency[plan.AllReduce][a]
		t.MaxThreads[name] = p.planner.MaxThreads[a]
		t.ThreadThresholds[name] = p.planner.Thresholds[a]
	}
	return t
}

func newPlanOpJSON(l *plan.Launch, i int) planOpJSON {
	d, w := &l.Details[i], &l.Plan.Works[i]
	op := planOpJSON{
		Bytes: w.Bytes(), Count: w.Count, DType: w.DType, Op: w.Op, Call: w.Call,
		Times: map[string]float32{}, Algo: w.Algo, Proto: w.Proto, NChannels: d.Choice.NChannels, NThreads: w.Threads,
		ChannelLo: w.Parts[0].Channel, ChannelHi: w.Parts[len(w.Parts)-1].Channel, CountLo: d.Lo.Count, CountMid: d.Mid.Count, CountHi: d.Hi.Count,
		ChunkGrainsLo: d.Lo.Grains(w.Proto), ChunkGrainsMid: d.Mid.Grains(w.Proto), ChunkGrainsHi: d.Hi.Grains(w.Proto),
		Grid: l.Grid(), Block: l.Plan.Threads, ChannelMask: fmt.Sprintf("%#x", l.Plan.Mask), Kernel: l.Kernel,
		StepBytes: w.StepBytes, SliceBytes: w.SliceBytes(), ChunkBytes: d.Lo.ChunkBytes, Peculiarities: d.Peculiarities,
	}
	for a := range d.Choice.Times {
		for proto, us := range d.Choice.Times[a] {
			if us >= 0 {
				op.Times[fmt.Sprintf("%s/%s", allreduce.Algo(a), allreduce.Proto(proto))] = us
			}
		}
	}
	if d.Choice.Time >= 0 {
		op.Time = &d.Choice.Time
	}
	for _, part := range w.Parts {
		op.Parts = append(op.Parts, planPartJSON(part))
	}
	return op
}
