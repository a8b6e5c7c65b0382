package graphxml

import (
	"fmt"

	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// madeForOthers is the remedy for a file that does not fit the job. NCCL reads
// the variable that names it from its configuration files, too.
const madeForOthers = "the file was made for other GPUs or networks: make it for this job, or unset NCCL_GRAPH_FILE " +
	"(also in /etc/nccl.conf and ~/.nccl.conf)"

func (r *reader) fail(e *ncclxml.Element, msg, remedy string) error {
	return &ncclxml.Error{File: r.doc.Name, Line: e.Line, Element: label(e), Msg: msg, Remedy: remedy, Err: ncclxml.ErrNonsense}
}

func (r *reader) missing(e *ncclxml.Element, key string) error {
	return r.fail(e, key+" is missing", "NCCL needs it; NCCL_GRAPH_DUMP_FILE writes files that are complete")
}

func (r *reader) assume(e *ncclxml.Element, what string) {
	r.assumed = append(r.assumed, topo.Assumption{Where: fmt.Sprintf("line %d, %s", e.Line, label(e)), What: what})
}

// label names an element with what tells it from its like.
func label(e *ncclxml.Element) string {
	for _, key := range []string{"id", "dev"} {
		if v, ok := e.Get(key); ok {
			return fmt.Sprintf("%s %s %.32q", e.Name, key, v)
		}
	}
	return e.Name
}
