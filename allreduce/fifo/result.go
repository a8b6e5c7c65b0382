package fifo

// EndKind is how a run ends.
type EndKind string

// Ends of a run.
const (
	Finished EndKind = "finished" // both sides are through, and all that was read was right
	Stuck    EndKind = "stuck"    // somebody waits for what will never come
	Corrupt  EndKind = "corrupt"  // a message was read that is not the one awaited
	Overrun  EndKind = "overrun"  // memory outside the FIFO was written
)

// End is one kind of end that some interleaving reaches.
type End struct {
	Kind EndKind `json:"kind"`
	Runs int     `json:"states"` // states that end so
	// Steps that the sides complete before the end, least and most over all
	// interleavings that end so.
	Sender   [2]int  `json:"senderSteps"`
	Receiver [2]int  `json:"receiverSteps"`
	Why      string  `json:"why"`   // of the shortest trace
	Trace    []Event `json:"trace"` // the shortest
}

// Event is one transition of a trace.
type Event struct {
	Who  string `json:"who"` // sender, receiver or memory
	Does string `json:"does"`
}

// Result is what a search found.
type Result struct {
	Case   Case  `json:"case"`
	States int   `json:"states"`
	Ends   []End `json:"ends"` // one per kind, in the order of the kinds above
}

// Kinds lists the ways in which the case can end.
func (r *Result) Kinds() []EndKind {
	kinds := make([]EndKind, len(r.Ends))
	for i := range r.Ends {
		kinds[i] = r.Ends[i].Kind
	}
	return kinds
}
