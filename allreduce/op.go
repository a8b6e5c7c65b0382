package allreduce

// Op is the operation that combines elements, with NCCL's number.
type Op uint8

// Operations. Avg multiplies each rank's own input by 1/n before summing where
// the type is a float, and divides the finished sum by n, truncating, where it
// is an integer.
const (
	Sum Op = iota
	Prod
	Max
	Min
	Avg
	NumOps = iota
)

var opNames = []string{"sum", "prod", "max", "min", "avg"}

// Ops lists all operations.
func Ops() []Op { return []Op{Sum, Prod, Max, Min, Avg} }

// ParseOp reads a name such as "sum", in any case.
func ParseOp(s string) (Op, error) {
	i, err := parse("operation", s, opNames)
	return Op(i), err
}

func (o Op) String() string { return name("Op", int(o), opNames) }

// MarshalText gives the name.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads a name.
func (o *Op) UnmarshalText(b []byte) (err error) {
	*o, err = ParseOp(string(b))
	return err
}
