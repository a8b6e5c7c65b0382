package nccllog

// Log is what a log text says of the communicators in it.
type Log struct {
	Version string // as NCCL names itself, for example 2.22.3+cuda12.5; "" if unsaid
	// Ranks are the ranks that logged, in order of their first line: one entry
	// per rank and communicator.
	Ranks []*Rank
	// Damaged are lines that begin like NCCL's but do not end so, because they
	// were cut or because two processes wrote at once.
	Damaged []Damage
}

// Damage is a line that could not be used.
type Damage struct {
	Line int // counted from 1
	Text string
	Why  string
}

// Rank is what one rank of one communicator logged. What no line says is zero,
// -1 for Rank.
type Rank struct {
	Origin string // host:pid:tid [device], "" in a log without prefixes
	Rank   int
	NRanks int
	NNodes int
	CommID string // the same on all ranks of a communicator
	BusID  string

	System   *System
	Paths    []PathLine
	Patterns []Pattern
	Joins    []TreeLine // Tree lines: where this rank joins nodes
	Channels []Channel  // rank 0's
	Rings    []RingLine
	Trees    []TreeLine // of the Trees line, one per channel

	stage stage // of its last line
}

// System is a machine as it was logged.
type System struct {
	MaxBW, TotalBW float64 // GB/s
	Lines          []SystemLine
	complete       bool // its closing line was seen
}

// SystemLine is a node and the link that leads to it.
type SystemLine struct {
	Column int // where the link, or the node, begins
	Link   string
	BW     float64 // of the link, GB/s
	Node   string  // for example GPU/0-11000; at the end of a link that is not followed GPU/11000
	Detail string  // between parentheses
}

// PathLine is the paths from one node.
type PathLine struct {
	From string
	To   []PathTo
}

// PathTo is a path to one node.
type PathTo struct {
	Node string
	Hops int
	BW   float64 // GB/s
	Type string  // NCCL's name; RCCL has others
}

// Pattern is what one search found.
type Pattern struct {
	Pattern, CrossNIC, NChannels, SameChannels int
	BWIntra, BWInter                           float64 // GB/s
	TypeIntra, TypeInter                       string
	Chains                                     []Chain
}

// Chain is one channel of a pattern.
type Chain struct {
	Nets []string // first and last network; none inside one node
	GPUs []string // ranks, or from NCCL 2.23 on bus ids such as 0-3b000
}

// Channel is one Channel line.
type Channel struct {
	ID, Of int   // Of is 0 in logs before NCCL 2.8
	Ring   []int // from rank 0 on; NCCL before 2.24 names 20 ranks at most
}

// RingLine is a rank's place in one channel's ring.
type RingLine struct{ Channel, Prev, Rank, Next int }

// TreeLine is a rank's place in one channel's tree; -1 where there is nobody.
type TreeLine struct {
	Channel, Rank, Up int
	Down              [3]int
}
