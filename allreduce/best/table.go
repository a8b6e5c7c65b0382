package best

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Link is the worst way between the ranks of a machine.
type Link string

// Links, from the best to the worst.
const (
	Memory Link = "memory" // all ranks on one device
	NVLink Link = "nvlink"
	PCIe   Link = "pcie"
	Staged Link = "staged" // through the host's memory
)

// Class is what machines have in common on which the same choices are best.
type Class struct {
	Engine  string `json:"engine"`  // gpu or host
	Device  string `json:"device"`  // a GPU's name, or on the host the processor's
	Devices int    `json:"devices"` // GPUs that take part; on the host processors
	Ranks   int    `json:"ranks"`
	Link    Link   `json:"link"`
}

// Crowded says that GPUs hold several ranks.
func (c Class) Crowded() bool { return c.Ranks > c.Devices }

func (c Class) String() string {
	return fmt.Sprintf("%d ranks on %d x %s over %s, engine %s", c.Ranks, c.Devices, c.Device, c.Link, c.Engine)
}

func (c Class) check() error {
	switch {
	case c.Engine != gpu && c.Engine != host:
		return fmt.Errorf("engine %q: want gpu or host", c.Engine)
	case c.Device == "":
		return errors.New("no device")
	case c.Devices < 1 || c.Ranks < 1:
		return fmt.Errorf("%d ranks on %d devices", c.Ranks, c.Devices)
	case c.Link != Memory && c.Link != NVLink && c.Link != PCIe && c.Link != Staged:
		return fmt.Errorf("link %q: want %s, %s, %s or %s", c.Link, Memory, NVLink, PCIe, Staged)
	}
	return nil
}

// Row is the choice for messages up to a size, from where the row before ends.
type Row struct {
	// UpTo is the largest message in bytes; 0 in the last row, which has no end.
	UpTo int64 `json:"upToBytes,omitempty"`
	Choice
}

// Table is the best choice by message size on one class of machines.
type Table struct {
	Class Class `json:"machine"`
	Rows  []Row `json:"rows"`
	// Trial is how it was measured.
	Trial Trial `json:"trial"`
}

// Trial is a measurement behind a table: for whoever wants to judge it.
type Trial struct {
	Date     time.Time         `json:"date"`
	Software map[string]string `json:"software,omitempty"` // versions by name
	DType    allreduce.DType   `json:"dtype"`
	Op       allreduce.Op      `json:"op"`
	How      string            `json:"how"` // graph, stream, run
	Rounds   int               `json:"rounds"`
	Sizes    []Size            `json:"sizes"`
}

// Size is what all candidates took for a message.
type Size struct {
	Bytes      int64       `json:"bytes"`
	Candidates []Candidate `json:"candidates"`
}

// Candidate is what one choice took.
type Candidate struct {
	Choice
	Median float64 `json:"medianUs"`
}

// Choose gives the choice for a message.
func (t *Table) Choose(bytes int64) Choice {
	for _, r := range t.Rows {
		if r.UpTo == 0 || bytes <= r.UpTo {
			return r.Choice
		}
	}
	return t.Rows[len(t.Rows)-1].Choice // of a checked table never reached
}

// check says what is wrong with a table, and where in it.
func (t *Table) check() (place string, err error) {
	if err := t.Class.check(); err != nil {
		return "machine", err
	}
	if len(t.Rows) == 0 {
		return "rows", errors.New("there are none")
	}
	before := int64(0)
	for i, r := range t.Rows {
		place := fmt.Sprintf("rows[%d]", i)
		if err := r.Choice.check(); err != nil {
			return place, err
		}
		if r.Engine == NCCL && t.Class.Engine != gpu {
			return place, errors.New("NCCL runs on GPUs only")
		}
		last := i == len(t.Rows)-1
		switch {
		case last && r.UpTo != 0:
			return place, fmt.Errorf("the last row ends at %d bytes: larger messages have no choice", r.UpTo)
		case !last && r.UpTo <= before:
			return place, fmt.Errorf("it ends at %d bytes, want more than %d, where it begins", r.UpTo, before)
		}
		before = r.UpTo
	}
	return "", nil
}
