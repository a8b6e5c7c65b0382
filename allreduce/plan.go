package allreduce

// Plan is one launch: the works of a group, laid over channels. It is plain
// data, the same for every rank, and holds all that an executor needs besides
// the layout it was set up with. With a single rank every work is a copy.
type Plan struct {
	Layout *Layout
	// Works run in this order on every channel that has a part of them.
	// Channels do not wait for each other.
	Works []Work
	// Mask has a bit for each active channel. Block b of the launch serves the
	// channel of the b-th set bit.
	Mask uint64
	// Threads is the block size: a multiple of 32, at least 128.
	Threads int
}

// Work is one AllReduce of a plan.
type Work struct {
	Call  int   // its index among the operations of the group, as the user gave them
	Count int64 // elements, the same on every rank
	DType DType
	Op    Op
	Algo  Algo
	Proto Proto
	// Threads of the block that take part, a multiple of 32; the others idle.
	Threads int
	// StepBytes is the size of one FIFO step, flags included. A chunk takes
	// ChunkSteps steps, and is handed over in slices of SliceSteps steps: 4 and
	// 2 for Simple on a ring, else 1 and 1.
	StepBytes, ChunkSteps, SliceSteps int
	Parts                             []Part // one per channel, in ascending order
}

// Bytes is the size of the message.
func (w *Work) Bytes() int64 { return w.Count * int64(w.DType.Size()) }

// SliceBytes is the share of a FIFO that is handed over at once, flags
// included.
func (w *Work) SliceBytes() int { return w.StepBytes * w.SliceSteps }

// Part is the contiguous share of a work that one channel moves.
type Part struct {
	Channel    int
	Offset     int64 // of its first element in the buffers
	Count      int64 // elements
	ChunkBytes int   // largest chunk of data, without flags
	Loops      int   // passes: a ring moves n chunks in each, a tree one
}

// Channels lists the active channels in ascending order: the channel of each
// block.
func (p *Plan) Channels() []int {
	var list []int
	for c := range MaxChannels {
		if p.Mask>>c&1 != 0 {
			list = append(list, c)
		}
	}
	return list
}

// Part finds the part of a channel, nil where the work leaves it out.
func (w *Work) Part(channel int) *Part {
	for i := range w.Parts {
		if w.Parts[i].Channel == channel {
			return &w.Parts[i]
		}
	}
	return nil
}
