package allreduce

import "fmt"

// ReportSchema names the version of Report's JSON form.
const ReportSchema = "ringtopo.validate/v1"

// Report is what a validation found.
type Report struct {
	Schema  string   `json:"schema"`
	Engine  string   `json:"engine"`
	Machine []string `json:"machine"`
	OK      bool     `json:"ok"`
	Notes   []string `json:"notes,omitempty"` // what was replaced or assumed
	Runs    []Run    `json:"runs"`
}

// Run is one validated AllReduce. Times are of the fastest checked round.
type Run struct {
	Channels       []int     `json:"channels"`
	Ring           []int     `json:"ring"` // user ranks; null where the channels' rings differ
	Algo           Algo      `json:"algo"`
	Proto          Proto     `json:"proto"`
	DType          DType     `json:"dtype"`
	Op             Op        `json:"op"`
	Bytes          int64     `json:"bytes"`
	InPlace        bool      `json:"inPlace"`
	Wrong          int64     `json:"wrong"` // elements, over all ranks
	FirstWrong     *Mismatch `json:"firstWrong"`
	Stuck          []Stall   `json:"stuck,omitempty"`
	TimeUs         float64   `json:"timeUs"`
	AlgBW          float64   `json:"algBw"`          // GB/s: bytes / time
	BusBW          float64   `json:"busBw"`          // GB/s: 2(n-1)/n of it
	PredictedBusBW float64   `json:"predictedBusBw"` // GB/s, by the graph
	Hops           []Hop     `json:"hops,omitempty"`
	SlowestHop     *Hop      `json:"slowestHop"`
}

// Hop is one link of a ring.
type Hop struct {
	From int     `json:"from"`
	To   int     `json:"to"`
	Type string  `json:"type"` // path type, NCCL's word
	BW   float64 `json:"bw"`   // GB/s, measured where there is a measure, else by the graph
}

// BusBW is the bus bandwidth in GB/s of n ranks that reduced bytes in us
// microseconds: 2(n-1)/n times bytes over time.
func BusBW(n int, bytes int64, us float64) float64 {
	if us <= 0 || n < 1 {
		return 0
	}
	return float64(bytes) / us / 1e3 * 2 * float64(n-1) / float64(n)
}

// Mismatch is the first wrong element of a run, and where the schedule had it.
type Mismatch struct {
	Work     int    `json:"work,omitempty"` // index in the plan
	Rank     int    `json:"rank"`           // whose output it is
	Channel  int    `json:"channel"`
	Loop     int    `json:"loop"`
	Chunk    int    `json:"chunk"` // by ring position; a share's index for direct algorithms; 0 for a tree
	Owner    int    `json:"owner"` // user rank that finishes the chunk
	Element  int64  `json:"element"`
	Expected string `json:"expected"`
	Found    string `json:"found"`
	// Hint says what the wrong value looks like: untouched poison, a missing
	// rank, a broken guard word.
	Hint string `json:"hint,omitempty"`
}

func (m *Mismatch) String() string {
	s := fmt.Sprintf("rank %d channel %d loop %d chunk %d (owner rank %d) element %d: expected %s, found %s",
		m.Rank, m.Channel, m.Loop, m.Chunk, m.Owner, m.Element, m.Expected, m.Found)
	if m.Hint != "" {
		s += " (" + m.Hint + ")"
	}
	return s
}
