package best

import (
	"fmt"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Engine is who runs a choice.
type Engine string

// Engines of choices.
const (
	Ours Engine = "ours" // the engine that the table's class names
	NCCL Engine = "nccl"
)

// Choice is one way to run an AllReduce. Zero numbers leave the launch to the
// executor's defaults for the size of the message.
type Choice struct {
	Engine Engine `json:"engine"`
	// Algo and Proto are those of our engine; NCCL chooses itself.
	Algo  allreduce.Algo  `json:"algo"`
	Proto allreduce.Proto `json:"proto"`
	// Symmetric has NCCL use symmetric windows.
	Symmetric bool `json:"symmetric,omitempty"`
	// Blocks of one rank, Threads of a block, and Pieces that a block's stretch
	// is cut into, of the algorithms without a ring.
	Blocks  int `json:"blocks,omitempty"`
	Threads int `json:"threads,omitempty"`
	Pieces  int `json:"pieces,omitempty"`
}

// String is such as "OneShot/LL" or "TwoShot/Simple x 64 blocks, 2 pieces".
func (c Choice) String() string {
	if c.Engine == NCCL {
		if c.Symmetric {
			return "NCCL with symmetric windows"
		}
		return "NCCL"
	}
	var launch []string
	for _, f := range []struct {
		n    int
		what string
	}{{c.Blocks, "blocks"}, {c.Threads, "threads"}, {c.Pieces, "pieces"}} {
		if f.n > 0 {
			launch = append(launch, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	s := c.Algo.String() + "/" + c.Proto.String()
	if len(launch) > 0 {
		s += " x " + strings.Join(launch, ", ")
	}
	return s
}

// The most that a launch can have, so that a damaged table is refused where it
// is read.
const (
	mostBlocks  = 1024
	mostThreads = 1024
	mostPieces  = 64
)

// check says what is impossible about a choice.
func (c Choice) check() error {
	switch {
	case c.Engine != Ours && c.Engine != NCCL:
		return fmt.Errorf("engine %q: want %s or %s", c.Engine, Ours, NCCL)
	case c.Engine == Ours && c.Symmetric:
		return fmt.Errorf("symmetric windows are NCCL's")
	case c.Engine == NCCL && c != (Choice{Engine: NCCL, Algo: c.Algo, Proto: c.Proto, Symmetric: c.Symmetric}):
		return fmt.Errorf("blocks, threads and pieces are not NCCL's")
	case c.Engine == Ours && !c.Algo.Direct() && c.Algo != allreduce.Ring && c.Algo != allreduce.Tree:
		return fmt.Errorf("%s runs on no engine of ours", c.Algo)
	case c.Blocks < 0 || c.Blocks > mostBlocks:
		return fmt.Errorf("%d blocks: want 1 to %d, or none named", c.Blocks, mostBlocks)
	case c.Threads < 0 || c.Threads > mostThreads || c.Threads%32 != 0:
		return fmt.Errorf("%d threads: want a multiple of 32 up to %d, or none named", c.Threads, mostThreads)
	case c.Pieces < 0 || c.Pieces > mostPieces:
		return fmt.Errorf("%d pieces: want 1 to %d, or none named", c.Pieces, mostPieces)
	}
	return nil
}

// Kind is where a choice comes from.
type Kind string

// Kinds of origins.
const (
	FromSeed  Kind = "seed"
	FromTable Kind = "table"
	Forced    Kind = "forced" // by the user
	FromModel Kind = "model"  // NCCL's cost model
)

// Origin says where a choice comes from.
type Origin struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"` // of the seed, or the table's file
	Date string `json:"date,omitempty"` // when the table was measured
}

func (o Origin) String() string {
	switch o.Kind {
	case FromSeed:
		return "seed: " + o.Name
	case FromTable:
		if o.Date == "" {
			return "table " + o.Name
		}
		return fmt.Sprintf("table %s of %s", o.Name, o.Date)
	case FromModel:
		return "NCCL's model"
	}
	return string(o.Kind)
}
