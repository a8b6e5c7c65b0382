package schedule

import "github.com/ringtopo/ringtopo/allreduce"

// Loop is one pass over the n chunks of a ring: where each of them lies.
type Loop struct {
	Offset int64 // of the first chunk, in elements of the buffers
	Chunk  int64 // elements of a full chunk
	rest   int64 // elements from Offset to the part's end
}

// LoopAt is the i-th loop of a part on a ring of n. The last loop, where it is
// short, spreads what is left over all chunks, in multiples of 16 bytes.
func LoopAt(p *allreduce.Part, t allreduce.DType, n, i int) Loop {
	full := int64(p.ChunkBytes / t.Size())
	done := int64(i) * int64(n) * full
	l := Loop{Offset: p.Offset + done, Chunk: full, rest: p.Count - done}
	if l.rest < int64(n)*full {
		l.Chunk = share(l.rest, n, t)
	}
	return l
}

// ShareLoop is the partition of a part among n owners, each with one chunk: how
// TwoShot cuts its message.
func ShareLoop(p *allreduce.Part, t allreduce.DType, n int) Loop {
	return Loop{Offset: p.Offset, Chunk: share(p.Count, n, t), rest: p.Count}
}

// share is an n-th of count elements, rounded up to a multiple of 16 bytes.
func share(count int64, n int, t allreduce.DType) int64 {
	cell := int64(16 / t.Size())
	each := (count + int64(n) - 1) / int64(n)
	return (each + cell - 1) / cell * cell
}

// At gives offset and length of a chunk in elements. Chunks past the end have
// length 0, but are sent and received all the same.
func (l Loop) At(c Chunk) (offset, count int64) {
	before := int64(c) * l.Chunk
	return l.Offset + before, max(0, min(l.Chunk, l.rest-before))
}

// Loops is the number of loops that a part of count elements takes.
func Loops(count int64, chunkBytes int, t allreduce.DType, n int) int {
	stride := int64(n) * int64(chunkBytes/t.Size())
	return int((count + stride - 1) / stride)
}

// Find says in which loop and chunk an element of a part lies; the element is
// counted from the start of the buffer.
func Find(p *allreduce.Part, t allreduce.DType, n int, element int64) (loop int, chunk Chunk) {
	stride := int64(n) * int64(p.ChunkBytes/t.Size())
	loop = int((element - p.Offset) / stride)
	l := LoopAt(p, t, n, loop)
	return loop, Chunk((element - l.Offset) / l.Chunk)
}
