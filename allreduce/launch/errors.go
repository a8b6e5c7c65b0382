package launch

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// DeathError is the loss of a process before its time.
type DeathError struct {
	Rank   int    // -1: the parent
	Pid    int    // 0 where it is not known
	Reason string // such as "signal: killed"
}

func (e *DeathError) Error() string {
	who := fmt.Sprintf("rank %d", e.Rank)
	if e.Rank < 0 {
		who = "the parent process"
	}
	if e.Pid > 0 {
		who += fmt.Sprintf(" (process %d)", e.Pid)
	}
	return fmt.Sprintf("%s died: %s", who, e.Reason)
}

// frame is the notice of a death, readDeath its reader.
func (e *DeathError) frame() frame {
	return frame{kind: dead, rank: e.Rank, payload: append(binary.LittleEndian.AppendUint32(nil, uint32(e.Pid)), e.Reason...)}
}

func readDeath(f frame) *DeathError {
	e := &DeathError{Rank: f.rank, Reason: "unknown"}
	if len(f.payload) >= 4 {
		e.Pid, e.Reason = int(binary.LittleEndian.Uint32(f.payload)), string(f.payload[4:])
	}
	return e
}

// ErrEnded is why a Rank's context ends when the job is over.
var ErrEnded = errors.New("the job has ended")
