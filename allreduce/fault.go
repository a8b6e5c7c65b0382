package allreduce

// FaultKind is a defect that an executor can be told to have, so that a user
// sees it caught.
type FaultKind uint8

// Faults. In brackets, how each must show.
const (
	NoFault       FaultKind = iota
	DropChunk               // a chunk is announced but its data is not written [wrong data]
	SwapNeighbour           // a rank sends to the neighbour's neighbour [wrong data or a stall]
	StaleFlag               // a flag that does not change with the step [wrong data]
	StopRank                // a rank stops in mid-run [a stall]
	KillProcess             // a rank's process dies [a death notice]
	NumFaults     = iota
)

var faultNames = []string{"none", "dropped-chunk", "swapped-neighbour", "stale-flag", "stopped-rank", "killed-process"}

// ParseFault reads a name such as "stale-flag".
func ParseFault(s string) (FaultKind, error) {
	i, err := parse("fault", s, faultNames)
	return FaultKind(i), err
}

func (k FaultKind) String() string { return name("FaultKind", int(k), faultNames) }

// Fault is a defect at one place. Step counts chunks that Rank has sent on
// Channel since the run began.
type Fault struct {
	Kind    FaultKind
	Rank    int
	Channel int
	Step    int
}
