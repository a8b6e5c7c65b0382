package schedule

import "fmt"

// Primitive is what a rank does with one chunk.
type Primitive uint8

// Primitives, in the order in which a rank meets them.
const (
	Send               Primitive = iota // its input
	RecvReduceSend                      // add its input to what comes, pass on
	RecvReduceCopySend                  // the last addition: keep the result and pass it on
	RecvCopySend                        // keep a finished chunk and pass it on
	Recv                                // keep a finished chunk
)

var primitiveNames = [...]string{"send", "recvReduceSend", "recvReduceCopySend", "recvCopySend", "recv"}

func (p Primitive) String() string {
	if int(p) < len(primitiveNames) {
		return primitiveNames[p]
	}
	return fmt.Sprintf("Primitive(%d)", uint8(p))
}

// MarshalText gives the name.
func (p Primitive) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Sends says whether it passes a chunk on.
func (p Primitive) Sends() bool { return p != Recv }

// Receives says whether it takes a chunk from the rank before.
func (p Primitive) Receives() bool { return p != Send }

// Reduces says whether it adds the local input to what it receives.
func (p Primitive) Reduces() bool { return p == RecvReduceSend || p == RecvReduceCopySend }

// Copies says whether it stores to the output.
func (p Primitive) Copies() bool { return p >= RecvReduceCopySend }

// Phase is the half of the algorithm that a primitive belongs to.
type Phase uint8

// Phases. The primitive that ends the first half begins the second.
const (
	ReduceScatter Phase = iota
	Fused
	AllGather
)

var phaseNames = [...]string{"reduce-scatter", "fused", "all-gather"}

func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("Phase(%d)", uint8(p))
}

// MarshalText gives the name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Phase is the half that a primitive belongs to.
func (p Primitive) Phase() Phase {
	switch p {
	case Send, RecvReduceSend:
		return ReduceScatter
	case RecvReduceCopySend:
		return Fused
	}
	return AllGather
}

// Steps is the number of primitives of one loop on a ring of n.
func Steps(n int) int { return 2*n - 1 }

// Step is the s-th primitive of a loop, 0 to Steps(n)-1, for the rank at a
// position of a ring of n, and the chunk it works on.
func Step(s, n int, at Position) (Primitive, Chunk) {
	// Step by step a rank walks the chunks backwards from the one before its
	// own; after n-1 steps it is at its own, after 2n-2 at the one after it.
	chunk := Chunk(wrap((int(at)-1-s)%n, n))
	switch {
	case s == 0:
		return Send, chunk
	case s < n-1:
		return RecvReduceSend, chunk
	case s == n-1:
		return RecvReduceCopySend, chunk
	case s < 2*n-2:
		return RecvCopySend, chunk
	}
	return Recv, chunk
}
