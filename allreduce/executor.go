package allreduce

import (
	"context"
	"time"
)

// Executor runs plans on the ranks whose memory this process holds. It is set
// up once for a layout (connections, FIFOs, threads) by its own package's
// constructor. It is not safe for concurrent use.
type Executor interface {
	// Name is how reports call it: host, gpu, nccl.
	Name() string
	// Layout is what it was set up for.
	Layout() *Layout
	// Local lists the user ranks that this process holds, ascending.
	Local() []int
	// Can says why it cannot run an algorithm with a protocol, as an
	// *UnsupportedError; nil if it can.
	Can(Algo, Proto) error
	// Alloc gives size bytes of a local rank's memory, aligned to 256 bytes, of
	// undefined content.
	Alloc(rank int, size int64) (Buffer, error)
	// Run executes the plan once and returns when all local ranks are done. args
	// has one entry per work. It allocates nothing. Runs continue the step
	// counters of earlier ones, so all processes must run the same plans in the
	// same order.
	//
	// A wrong argument leaves the executor as it was. After any other error (a
	// *StuckError, a dead process, the end of ctx) only Close may follow.
	Run(ctx context.Context, p *Plan, args []Args) (Timing, error)
	// Close ends all threads and frees all memory, buffers too.
	Close() error
}

// Buffer is memory of one rank.
type Buffer interface {
	Rank() int
	Size() int64
	// Write copies src to offset off. Read copies from there into dst. Between
	// runs, several goroutines may write and read different parts at once.
	Write(src []byte, off int64) error
	Read(dst []byte, off int64) error
	// Free gives the memory back; a second call does nothing.
	Free() error
}

// Setter is a buffer that can be filled with one byte where it lies.
type Setter interface {
	Buffer
	// Set fills n bytes from offset off on.
	Set(v byte, off, n int64) error
}

// HostBuffer is a buffer that host code can touch in place.
type HostBuffer interface {
	Buffer
	Bytes() []byte
}

// Span is a stretch of a buffer, from byte Off on. Off is a multiple of the
// element size; nothing else is assumed of it.
type Span struct {
	Buf Buffer
	Off int64
}

// Args are the data of one work: where each user rank's input is and where its
// output goes. Equal spans mean in place; other overlaps are not allowed.
// Entries of ranks that another process holds are ignored.
type Args struct {
	Send, Recv []Span
}

// Timing is how long a run took: from the common start to the end of the
// slowest local rank, by the best clock the executor has.
type Timing struct {
	Elapsed time.Duration
}

// Block is what one block of a launch was seen to do.
type Block struct {
	Rank    int `json:"rank"`
	Index   int `json:"block"`
	Grid    int `json:"grid"`
	Threads int `json:"threads"`
	Channel int `json:"channel"`
	// SM is the multiprocessor it ran on.
	SM int `json:"sm"`
	// Took is from the block's start to its end, 0 where that was not measured.
	Took time.Duration `json:"tookNs,omitempty"`
}

// Tracer is an executor that records what each block of the last run did.
type Tracer interface {
	Blocks() []Block
}

// HopMeter is an executor that can time one link alone.
type HopMeter interface {
	// MeasureHop moves bytes from one rank's memory to another's and returns the
	// time it took.
	MeasureHop(ctx context.Context, from, to int, bytes int64) (time.Duration, error)
}
