package allreduce

import "fmt"

// Check says what is impossible about running a plan with these arguments: a
// part on a channel that the layout does not have or the mask leaves out,
// elements outside the message, arguments of the local ranks missing or too
// small.
func (p *Plan) Check(args []Args, local []int) error {
	if p.Layout == nil {
		return fmt.Errorf("a plan without a layout")
	}
	if len(args) != len(p.Works) {
		return fmt.Errorf("%d arguments for %d works", len(args), len(p.Works))
	}
	for i := range p.Works {
		w := &p.Works[i]
		if err := w.check(p); err != nil {
			return fmt.Errorf("work %d: %w", i, err)
		}
		if err := args[i].check(w, p.Layout.NRanks, local); err != nil {
			return fmt.Errorf("work %d: %w", i, err)
		}
	}
	return nil
}

func (w *Work) check(p *Plan) error {
	if int(w.DType) >= NumDTypes || int(w.Op) >= NumOps || int(w.Proto) >= NumProtos || int(w.Algo) >= NumAlgos {
		return fmt.Errorf("%v %v %v %v: unknown", w.Algo, w.Proto, w.DType, w.Op)
	}
	end := int64(0)
	for _, part := range w.Parts {
		if part.Channel < 0 || part.Channel >= p.Layout.Channels() || p.Mask>>part.Channel&1 == 0 {
			return fmt.Errorf("channel %d is not active: the layout has %d, the mask is %#b", part.Channel, p.Layout.Channels(), p.Mask)
		}
		if part.Offset != end || part.Count < 0 || part.Offset+part.Count > w.Count {
			return fmt.Errorf("channel %d: elements %d to %d of %d, the part before ends at %d", part.Channel, part.Offset, part.Offset+part.Count, w.Count, end)
		}
		if part.ChunkBytes < 16 {
			return fmt.Errorf("channel %d: chunks of %d bytes", part.Channel, part.ChunkBytes)
		}
		end += part.Count
	}
	if end != w.Count {
		return fmt.Errorf("parts end at element %d of %d", end, w.Count)
	}
	return nil
}

func (a *Args) check(w *Work, n int, local []int) error {
	if len(a.Send) != n || len(a.Recv) != n {
		return fmt.Errorf("%d inputs and %d outputs for %d ranks", len(a.Send), len(a.Recv), n)
	}
	for _, rank := range local {
		for _, s := range []Span{a.Send[rank], a.Recv[rank]} {
			if s.Buf == nil || s.Buf.Rank() != rank {
				return fmt.Errorf("rank %d: a buffer of its own is missing", rank)
			}
			if s.Off < 0 || s.Off%int64(w.DType.Size()) != 0 || s.Off+w.Bytes() > s.Buf.Size() {
				return fmt.Errorf("rank %d: %d bytes at %d of a buffer of %d", rank, w.Bytes(), s.Off, s.Buf.Size())
			}
		}
	}
	return nil
}
