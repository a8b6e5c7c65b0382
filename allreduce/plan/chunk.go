package plan

import (
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Section is one kind of a task's parts: those of its first channel (lo), of
// its last (hi), or of all between (mid).
type Section struct {
	Count      int64 // elements on one channel; 0: there is none
	ChunkBytes int   // largest chunk
	Loops      int
	ProxySteps int // steps that a network proxy would carry out
}

// Grains is the chunk size as a work record stores it.
func (s Section) Grains(p allreduce.Proto) int { return s.ChunkBytes / p.Grain() }

// stepsOf gives how many FIFO steps a chunk and a slice take.
func stepsOf(a allreduce.Algo, p allreduce.Proto) (chunk, slice int) {
	if a == allreduce.Ring && p == allreduce.Simple {
		return 4, 2
	}
	return 1, 1
}

// section sizes the chunks of one channel that moves count elements.
func (t *Tuning) section(c *Choice, count int64, elemSize int) (Section, error) {
	if count == 0 {
		return Section{}, nil
	}
	bytes := uint64(count) * uint64(elemSize)
	chunk := t.chunkBytes(c.Algo, c.Proto, bytes)
	if chunk <= 0 {
		return Section{}, fmt.Errorf("%s buffer of %d bytes is too small: a chunk would be smaller than %d bytes",
			c.Proto, t.settings.BuffSize[c.Proto], c.Proto.Grain())
	}
	perLoop, steps := t.perLoop(c.Algo)
	s := Section{Count: count, ChunkBytes: chunk, Loops: int(ceil(bytes, uint64(perLoop)*uint64(chunk)))}
	chunkSteps, _ := stepsOf(c.Algo, c.Proto)
	s.ProxySteps = steps * s.Loops * chunkSteps
	return s, nil
}

// perLoop gives how many chunks and steps one pass takes.
func (t *Tuning) perLoop(a allreduce.Algo) (chunks, steps int) {
	n := t.comm.NRanks
	switch a {
	case allreduce.Ring:
		return n, 2 * (n - 1)
	case allreduce.NVLS, allreduce.NVLSTree:
		return max(1, t.comm.NVLSHeads), 1
	case allreduce.TwoShot:
		return n, 2
	}
	return 1, 1
}

// chunkBytes is the largest chunk on a channel that moves bytes.
func (t *Tuning) chunkBytes(a allreduce.Algo, p allreduce.Proto, bytes uint64) int {
	steps, _ := stepsOf(a, p)
	chunk := t.settings.BuffSize[p] / allreduce.FIFODepth * steps
	switch p {
	case allreduce.LL:
		chunk /= 2
	case allreduce.LL128:
		chunk = chunk / 16 * 15
	}
	switch {
	case a == allreduce.Tree && p == allreduce.LL128:
		chunk = t.treeLL128Chunk(chunk, bytes)
	case a == allreduce.NVLS:
		chunk = t.nvlsChunk(chunk, bytes)
	case a == allreduce.NVLSTree:
		chunk = t.nvlsTreeChunk(bytes)
	}
	return chunk / p.Grain() * p.Grain()
}

// treeLL128Chunk halves the chunk until a deep tree's pipeline is filled.
func (t *Tuning) treeLL128Chunk(chunk int, bytes uint64) int {
	if chunk <= 0 {
		return 0
	}
	depth := float32(float64(1+log2i(uint64(t.comm.NNodes))) + float64(0.1*float64(t.ppn)))
	few := func(per float32) bool {
		return float32(bytes/uint64(chunk)) < float32(depth*per)/t.ppn
	}
	for few(64) && chunk > 131072 {
		chunk /= 2
	}
	for few(16) && chunk > 32768 {
		chunk /= 2
	}
	return chunk
}

// shrink gives small messages smaller chunks: each rule is a number of chunks
// per head and the size to fall to where the message has fewer.
func (t *Tuning) shrink(chunk int, bytes uint64, rules [][2]int) int {
	for _, rule := range rules {
		many, size := rule[0], rule[1]
		if bytes < uint64(many)*uint64(t.comm.NVLSHeads)*uint64(chunk) && chunk > size {
			chunk = size
		}
	}
	return chunk
}

func (t *Tuning) nvlsChunk(chunk int, bytes uint64) int {
	most := t.settings.NVLSChunk
	if t.comm.NNodes > 1 && t.Bandwidth[AllReduce][allreduce.NVLS][allreduce.Simple] < 150 {
		most = 32768
	}
	return t.shrink(min(chunk, most), bytes, [][2]int{{64, 65536}, {8, 32768}, {2, 16384}})
}

func (t *Tuning) nvlsTreeChunk(bytes uint64) int {
	chunk, most := t.settings.NVLSChunk, t.settings.NVLSTreeChunk
	if most == unset && t.comm.NNodes >= 4 {
		most = 65536
	}
	if most != unset {
		chunk = min(chunk, most)
	}
	return t.shrink(chunk, bytes, [][2]int{{32, 262144}, {16, 131072}, {4, 65536}, {1, 32768}})
}
