package host

import "github.com/ringtopo/ringtopo/allreduce"

// primitive is one operation on one chunk: what comes in, what is done to it,
// and where it goes. Nothing is done twice: all parts of it happen slice by
// slice, line by line.
type primitive struct {
	in   []byte // this rank's input, nil: does not contribute
	out  []byte // this rank's output, nil: is not kept
	n    int    // bytes; 0 is sent and received all the same
	recv []*end // in the order in which they are added
	send []*end
	// direct has, per end of send, that rank's output: data goes there and not
	// into the FIFO. Only finished chunks may, and only with Simple.
	direct [maxPeers][]byte
	// landed says that what is received lies in out already.
	landed bool
	post   bool // apply the post operation
	drop   bool // an injected fault: announce, but do not write
}

// do runs a primitive in the work's protocol. It says false when the run is
// aborted.
func (w *worker) do(m *primitive) bool {
	if len(m.send) > 0 && w.fault.Kind != allreduce.NoFault && !w.beFaulty(m) {
		return false
	}
	for _, r := range m.recv {
		r.late.now++
	}
	switch w.work.Proto {
	case allreduce.LL:
		return w.ll(m)
	case allreduce.LL128:
		return w.ll128(m)
	}
	return w.simple(m)
}

// begin brings the ends that a work uses to its protocol's first step.
func (w *worker) begin(recv, send []*end) {
	if w.work.Proto != allreduce.Simple {
		return
	}
	unit := uint64(w.work.ChunkSteps)
	for _, s := range send {
		s.step = (s.step + unit - 1) / unit * unit
	}
	for _, r := range recv {
		if step := (r.step + unit - 1) / unit * unit; step != r.step {
			r.step = step
			w.postHead(r) // the skipped steps come back as credits
		}
	}
}
