package allreduce

// Algo is an algorithm; the first six carry NCCL's numbers.
type Algo uint8

// Algorithms. The CollNet and NVLS kinds can be planned but not run. OneShot
// (every rank reads every input) and TwoShot (every rank reduces its share and
// gives it to all) are our own.
const (
	Tree Algo = iota
	Ring
	CollNetDirect
	CollNetChain
	NVLS
	NVLSTree
	OneShot
	TwoShot
	NumAlgos     = iota
	NumNCCLAlgos = int(NVLSTree) + 1
)

var algoNames = []string{"Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "OneShot", "TwoShot"}

// ParseAlgo reads a name such as "Ring", in any case.
func ParseAlgo(s string) (Algo, error) {
	i, err := parse("algorithm", s, algoNames)
	return Algo(i), err
}

func (a Algo) String() string { return name("Algo", int(a), algoNames) }

// Direct tells our own algorithms, which use neither ring nor tree.
func (a Algo) Direct() bool { return a == OneShot || a == TwoShot }

// MarshalText gives the name.
func (a Algo) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads a name.
func (a *Algo) UnmarshalText(b []byte) (err error) {
	*a, err = ParseAlgo(string(b))
	return err
}

// Proto is the protocol of a connection, with NCCL's number.
type Proto uint8

// Protocols.
const (
	LL Proto = iota
	LL128
	Simple
	NumProtos = iota
)

var protoNames = []string{"LL", "LL128", "Simple"}

// Protos lists all protocols.
func Protos() []Proto { return []Proto{LL, LL128, Simple} }

// ParseProto reads a name such as "LL128", in any case.
func ParseProto(s string) (Proto, error) {
	i, err := parse("protocol", s, protoNames)
	return Proto(i), err
}

func (p Proto) String() string { return name("Proto", int(p), protoNames) }

// Grain is the unit of chunk sizes in bytes: one line of LL, the data of one
// warp's lines of LL128, 512 bytes of Simple.
func (p Proto) Grain() int { return [...]int{16, 1920, 512}[p] }

// MarshalText gives the name.
func (p Proto) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a name.
func (p *Proto) UnmarshalText(b []byte) (err error) {
	*p, err = ParseProto(string(b))
	return err
}
