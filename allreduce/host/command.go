package host

import (
	"errors"

	"github.com/ringtopo/ringtopo/allreduce"
)

// A run's plan and buffers are written down as words in shared memory, so that
// telling other processes takes neither time nor memory.

var errLongPlan = errors.New("the plan has too many parts to be told to other processes")

// scribe writes or reads words, one after the other.
type scribe struct {
	words []uint64
	at    int
	short bool // words ran out
}

func (s *scribe) put(values ...int) {
	if len(s.words)-s.at < len(values) {
		s.short = true
		return
	}
	for _, v := range values {
		s.words[s.at] = uint64(v)
		s.at++
	}
}

func (s *scribe) get(values ...*int) {
	for _, v := range values {
		*v = int(s.words[s.at])
		s.at++
	}
}

// tell writes a plan down, with every buffer as an offset in the segment.
func (s *scribe) tell(p *allreduce.Plan, spans *spans, offset func([]byte) int) error {
	s.put(len(p.Works), int(p.Mask))
	for i := range p.Works {
		w := &p.Works[i]
		s.put(int(w.Count), int(w.DType), int(w.Op), int(w.Algo), int(w.Proto), w.StepBytes, w.ChunkSteps, w.SliceSteps, len(w.Parts))
		for j := range w.Parts {
			part := &w.Parts[j]
			s.put(part.Channel, int(part.Offset), int(part.Count), part.ChunkBytes, part.Loops)
		}
		shared := 0
		if spans.shared[i] {
			shared = 1
		}
		s.put(shared)
	}
	for i := range spans.list {
		s.put(offset(spans.list[i].in), offset(spans.list[i].out))
	}
	if s.short {
		return errLongPlan
	}
	return nil
}

// hear reads a plan, into memory that earlier ones have left.
func (s *scribe) hear(p *allreduce.Plan, spans *spans, ranks int, bytes []byte) {
	var works, mask int
	s.get(&works, &mask)
	p.Mask = uint64(mask)
	p.Works = resize(p.Works, works)
	spans.reset(works, ranks)
	for i := range p.Works {
		s.hearWork(&p.Works[i])
		var shared int
		s.get(&shared)
		spans.shared[i] = shared == 1
	}
	for i := range p.Works {
		size := int(p.Works[i].Bytes())
		for range ranks {
			var in, out int
			s.get(&in, &out)
			spans.list = append(spans.list, span{bytes[in : in+size], bytes[out : out+size]})
		}
	}
}

func (s *scribe) hearWork(w *allreduce.Work) {
	var count, dtype, op, algo, proto, parts int
	s.get(&count, &dtype, &op, &algo, &proto, &w.StepBytes, &w.ChunkSteps, &w.SliceSteps, &parts)
	w.Count, w.DType, w.Op = int64(count), allreduce.DType(dtype), allreduce.Op(op)
	w.Algo, w.Proto = allreduce.Algo(algo), allreduce.Proto(proto)
	w.Parts = resize(w.Parts, parts)
	for j := range w.Parts {
		part := &w.Parts[j]
		var offset, n int
		s.get(&part.Channel, &offset, &n, &part.ChunkBytes, &part.Loops)
		part.Offset, part.Count = int64(offset), int64(n)
	}
}

// resize gives a slice n elements and keeps what it had: the elements own
// memory.
func resize[T any](s []T, n int) []T {
	s = s[:cap(s)]
	if n > len(s) {
		s = append(s, make([]T, n-len(s))...)
	}
	return s[:n]
}
