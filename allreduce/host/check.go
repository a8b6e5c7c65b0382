package host

import (
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Can says why an algorithm does not run with a protocol. Ring and tree run
// with all three; the direct algorithms have no connections, and so no protocol
// but the plain one.
func (e *Executor) Can(a allreduce.Algo, p allreduce.Proto) error {
	reason := ""
	switch {
	case int(p) >= allreduce.NumProtos:
		reason = "unknown protocol"
	case a == allreduce.Tree && len(e.engine.layout.Trees) == 0:
		reason = "the layout has no trees"
	case a == allreduce.Ring || a == allreduce.Tree:
	case a.Direct() && p != allreduce.Simple:
		reason = "direct algorithms write plainly, want Simple"
	case !a.Direct():
		reason = "it needs hardware that reduces"
	}
	if reason == "" {
		return nil
	}
	return &allreduce.UnsupportedError{Executor: e.Name(), Algo: a, Proto: p, Reason: reason}
}

// check says what is impossible about a plan.
func (e *Executor) check(p *allreduce.Plan) error {
	if p.Layout != e.engine.layout {
		return fmt.Errorf("plan is for another layout than the executor")
	}
	for i := range p.Works {
		if err := e.checkWork(p, &p.Works[i]); err != nil {
			return fmt.Errorf("work %d: %w", i, err)
		}
	}
	return nil
}

func (e *Executor) checkWork(p *allreduce.Plan, w *allreduce.Work) error {
	if err := e.Can(w.Algo, w.Proto); err != nil {
		return err
	}
	switch {
	case int(w.DType) >= allreduce.NumDTypes || int(w.Op) >= allreduce.NumOps:
		return fmt.Errorf("type %v, operation %v: unknown", w.DType, w.Op)
	case w.Count < 0:
		return fmt.Errorf("%d elements", w.Count)
	case w.Algo.Direct():
	case w.StepBytes != e.engine.layout.StepBytes(w.Proto):
		return fmt.Errorf("step of %d bytes, the FIFO has steps of %d", w.StepBytes, e.engine.layout.StepBytes(w.Proto))
	case w.SliceSteps < 1 || w.ChunkSteps%w.SliceSteps != 0 || depth%w.ChunkSteps != 0:
		return fmt.Errorf("chunks of %d steps in slices of %d do not fit %d steps", w.ChunkSteps, w.SliceSteps, depth)
	}
	end := int64(0)
	for i := range w.Parts {
		part := &w.Parts[i]
		if part.Channel < 0 || part.Channel >= e.engine.shape.channels || p.Mask>>part.Channel&1 == 0 {
			return fmt.Errorf("part %d: channel %d is not active", i, part.Channel)
		}
		if part.Offset < end || part.Count < 0 || part.Offset+part.Count > w.Count {
			return fmt.Errorf("part %d: elements %d to %d of %d", i, part.Offset, part.Offset+part.Count, w.Count)
		}
		end = part.Offset + part.Count
		if most := chunkRoom(w); !w.Algo.Direct() && (part.ChunkBytes < 16 || part.ChunkBytes%16 != 0 || part.ChunkBytes > most) {
			return fmt.Errorf("part %d: chunks of %d bytes, want a multiple of 16 up to %d", i, part.ChunkBytes, most)
		}
	}
	return nil
}

// chunkRoom is the most data that a chunk's steps hold.
func chunkRoom(w *allreduce.Work) int {
	switch w.Proto {
	case allreduce.LL:
		return w.StepBytes / 2
	case allreduce.LL128:
		return w.StepBytes / groupWire * groupData
	}
	room := w.StepBytes * w.ChunkSteps
	for room > 0 && sliceBytes(w, room) > w.StepBytes*w.SliceSteps {
		room -= 16
	}
	return room
}
