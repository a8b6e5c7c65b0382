package allreduce

// DType is the type of an element, with NCCL's number.
type DType uint8

// Element types.
const (
	Int8 DType = iota
	Uint8
	Int32
	Uint32
	Int64
	Uint64
	Float16
	Float32
	Float64
	BFloat16
	NumDTypes = iota
)

var (
	dtypeNames  = []string{"int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16"}
	dtypeShort  = []string{"i8", "u8", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "bf16"}
	dtypeAliens = []string{"char", "", "int", "", "", "", "half", "float", "double", ""} // as nccl-tests names them
	dtypeSizes  = [...]int{1, 1, 4, 4, 8, 8, 2, 4, 8, 2}
)

// DTypes lists all element types.
func DTypes() []DType {
	all := make([]DType, NumDTypes)
	for i := range all {
		all[i] = DType(i)
	}
	return all
}

// ParseDType reads a name such as "float32" or "f32", in any case; the names
// that nccl-tests uses (float, double, half) are understood too.
func ParseDType(s string) (DType, error) {
	for _, names := range [][]string{dtypeShort, dtypeAliens} {
		if i, err := parse("type", s, names); err == nil && s != "" {
			return DType(i), nil
		}
	}
	i, err := parse("type", s, dtypeNames)
	return DType(i), err
}

func (t DType) String() string { return name("DType", int(t), dtypeNames) }

// Short is the name in kernel names: f32, bf16, u8.
func (t DType) Short() string { return name("DType", int(t), dtypeShort) }

// Size is the size of an element in bytes.
func (t DType) Size() int { return dtypeSizes[t] }

// IsFloat tells floating types from integers.
func (t DType) IsFloat() bool {
	return t == Float16 || t == BFloat16 || t == Float32 || t == Float64
}

// MarshalText gives the name.
func (t DType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name.
func (t *DType) UnmarshalText(b []byte) (err error) {
	*t, err = ParseDType(string(b))
	return err
}
