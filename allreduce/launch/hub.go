package launch

import (
	"slices"
	"sync"
)

// hub stands in the middle of a job: it passes on what ranks exchange and tells
// all when one is lost.
type hub struct {
	links []*link

	mu     sync.Mutex
	parts  []*frame      // of the exchange under way, by rank
	gone   []bool        // left or lost
	lost   error         // the first loss
	losing bool          // it is being told
	done   chan struct{} // closed at the first loss

	// reason says why a rank's link broke.
	reason func(rank int) *DeathError
}

func newHub(links []*link, reason func(rank int) *DeathError) *hub {
	n := len(links)
	return &hub{links: links, parts: make([]*frame, n), gone: make([]bool, n), done: make(chan struct{}), reason: reason}
}

// serve listens to one rank until it is gone.
func (h *hub) serve(rank int) {
	defer h.links[rank].conn.Close() // nothing is said to it any more
	for {
		f, err := h.links[rank].receive()
		switch {
		case err != nil:
			h.leave(rank, h.reason(rank))
			return
		case f.kind == dead:
			d := readDeath(f)
			d.Rank = rank
			h.leave(rank, d)
			return
		case f.kind == end:
			h.leave(rank, nil)
			return
		case f.kind == part:
			h.collect(rank, &f)
		}
	}
}

// collect takes a rank's part of an exchange; the last one completes it.
func (h *hub) collect(rank int, f *frame) {
	h.mu.Lock()
	h.parts[rank] = f
	missing := h.missed()
	parts := h.parts
	complete := !slices.Contains(parts, nil)
	if complete {
		h.parts = make([]*frame, len(parts))
	}
	h.mu.Unlock()
	if missing != nil {
		h.lose(missing)
	}
	if !complete {
		return
	}
	for r, p := range parts {
		p.rank = r
		h.broadcast(*p)
		closeAll(p.files)
	}
}

// missed is a rank that has left although others wait for its part of an
// exchange.
func (h *hub) missed() *DeathError {
	for r, p := range h.parts {
		if p == nil && h.gone[r] && slices.ContainsFunc(h.parts, func(p *frame) bool { return p != nil }) {
			return &DeathError{Rank: r, Reason: "it ended while others waited for it"}
		}
	}
	return nil
}

// broadcast sends to all that are still there, to rank 0 last: where the hub is in
// its process, that may end on what it hears. A send that fails is a link that
// breaks, which serve will see.
func (h *hub) broadcast(f frame) {
	for r, l := range slices.Backward(h.links) {
		h.mu.Lock()
		gone := h.gone[r]
		h.mu.Unlock()
		if !gone {
			l.send(f)
		}
	}
}

// leave notes that a rank is gone: in peace, unless a death says otherwise.
func (h *hub) leave(rank int, death *DeathError) {
	h.mu.Lock()
	h.gone[rank] = true
	if death == nil {
		death = h.missed()
	}
	if !slices.Contains(h.gone, false) {
		for _, p := range h.parts { // nobody is there to have them
			if p != nil {
				closeAll(p.files)
			}
		}
	}
	h.mu.Unlock()
	if death != nil {
		h.lose(death)
	}
}

// lose tells the others of the first loss, and then whoever asks: those who end
// the job because of it must not be heard first.
func (h *hub) lose(d *DeathError) {
	h.mu.Lock()
	first := !h.losing
	h.losing = true
	h.mu.Unlock()
	if !first {
		return
	}
	h.broadcast(d.frame())
	h.mu.Lock()
	h.lost = d
	h.mu.Unlock()
	close(h.done)
}

// loss is the first lost rank, nil while there is none.
func (h *hub) loss() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost
}

// dismiss tells all that the job is over.
func (h *hub) dismiss() { h.broadcast(frame{kind: end}) }
