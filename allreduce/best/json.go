package best

import (
	"encoding/json"

	"github.com/ringtopo/ringtopo/allreduce"
)

// written is the JSON form of a choice and of what holds one. Algo and Proto are
// left out of NCCL's: it does not say what it runs.
type written struct {
	UpTo      int64            `json:"upToBytes,omitempty"`
	Engine    Engine           `json:"engine"`
	Algo      *allreduce.Algo  `json:"algo,omitempty"`
	Proto     *allreduce.Proto `json:"proto,omitempty"`
	Symmetric bool             `json:"symmetric,omitempty"`
	Blocks    int              `json:"blocks,omitempty"`
	Threads   int              `json:"threads,omitempty"`
	Pieces    int              `json:"pieces,omitempty"`
	Median    *float64         `json:"medianUs,omitempty"`
}

func (c Choice) written() written {
	w := written{Engine: c.Engine, Symmetric: c.Symmetric, Blocks: c.Blocks, Threads: c.Threads, Pieces: c.Pieces}
	if c.Engine != NCCL {
		w.Algo, w.Proto = &c.Algo, &c.Proto
	}
	return w
}

// MarshalJSON leaves out what means nothing in a choice that is NCCL's.
func (c Choice) MarshalJSON() ([]byte, error) { return json.Marshal(c.written()) }

// MarshalJSON writes the choice and where it ends.
func (r Row) MarshalJSON() ([]byte, error) {
	w := r.written()
	w.UpTo = r.UpTo
	return json.Marshal(w)
}

// MarshalJSON writes the choice and what it took.
func (c Candidate) MarshalJSON() ([]byte, error) {
	w := c.written()
	w.Median = &c.Median
	return json.Marshal(w)
}
