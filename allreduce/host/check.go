package host

import (
	"errors"
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
	case a == allreduce.Tree && len(e.engine.layout.Trees) == 0 && e.engine.layout.NRanks > 1:
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

// check says what is impossible about a plan on these FIFOs.
func (e *Executor) check(p *allreduce.Plan) error {
	if p.Layout != e.engine.layout {
		return errors.New("the plan is for another layout than the executor")
	}
	for i := range p.Works {
		if err := e.checkWork(&p.Works[i]); err != nil {
			return fmt.Errorf("work %d: %w", i, err)
		}
	}
	return nil
}

func (e *Executor) checkWork(w *allreduce.Work) error {
	if err := e.Can(w.Algo, w.Proto); err != nil {
		return err
	}
	if w.Algo.Direct() || e.engine.shape.ranks == 1 {
		return nil
	}
	if room := e.engine.layout.StepBytes(w.Proto); w.StepBytes != room {
		return fmt.Errorf("step of %d bytes, the FIFO has steps of %d", w.StepBytes, room)
	}
	if w.SliceSteps < 1 || w.ChunkSteps < 1 || w.ChunkSteps%w.SliceSteps != 0 || depth%w.ChunkSteps != 0 {
		return fmt.Errorf("chunks of %d steps in slices of %d do not fit %d steps", w.ChunkSteps, w.SliceSteps, depth)
	}
	most := chunkRoom(w)
	for i := range w.Parts {
		if n := w.Parts[i].ChunkBytes; n < 16 || n%16 != 0 || n > most {
			return fmt.Errorf("channel %d: chunks of %d bytes, want a multiple of 16 up to %d", w.Parts[i].Channel, n, most)
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
