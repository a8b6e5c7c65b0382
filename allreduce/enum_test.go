package allreduce_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
)

// NCCL's numbers, on which logs and kernels depend.
func TestNumbers(t *testing.T) {
	for name, id := range map[string]allreduce.DType{"int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9} {
		if d, err := allreduce.ParseDType(name); err != nil || d != id || d.String() != name {
			t.Errorf("%s is %d (%v), want %d", name, d, err, id)
		}
	}
	for name, id := range map[string]allreduce.Op{"sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4} {
		if o, err := allreduce.ParseOp(name); err != nil || o != id || o.String() != name {
			t.Errorf("%s is %d (%v), want %d", name, o, err, id)
		}
	}
	for name, id := range map[string]allreduce.Algo{"Tree": 0, "Ring": 1, "CollNetDirect": 2, "CollNetChain": 3, "NVLS": 4, "NVLSTree": 5, "OneShot": 6, "TwoShot": 7} {
		if a, err := allreduce.ParseAlgo(name); err != nil || a != id || a.String() != name {
			t.Errorf("%s is %d (%v), want %d", name, a, err, id)
		}
	}
	for name, id := range map[string]allreduce.Proto{"LL": 0, "LL128": 1, "Simple": 2} {
		if p, err := allreduce.ParseProto(name); err != nil || p != id || p.String() != name {
			t.Errorf("%s is %d (%v), want %d", name, p, err, id)
		}
	}
}

func TestTypes(t *testing.T) {
	if n := len(allreduce.DTypes()); n != allreduce.NumDTypes {
		t.Errorf("%d types listed of %d", n, allreduce.NumDTypes)
	}
	for _, d := range allreduce.DTypes() {
		name := d.String()
		wantFloat := strings.Contains(name, "float")
		bits := map[byte]int{'8': 1, '6': 2, '2': 4, '4': 8}[name[len(name)-1]]
		if d.IsFloat() != wantFloat || d.Size() != bits {
			t.Errorf("%s: float %v, %d bytes", d, d.IsFloat(), d.Size())
		}
		if back, err := allreduce.ParseDType(d.Short()); err != nil || back != d {
			t.Errorf("%s comes back as %v, %v", d.Short(), back, err)
		}
	}
	for alien, want := range map[string]allreduce.DType{"float": allreduce.Float32, "HALF": allreduce.Float16, "double": allreduce.Float64, "int": allreduce.Int32, "BF16": allreduce.BFloat16} {
		if d, err := allreduce.ParseDType(alien); err != nil || d != want {
			t.Errorf("%s is %v, %v, want %v", alien, d, err, want)
		}
	}
}

// Unknown names are refused with all that are known; unknown numbers print.
func TestUnknown(t *testing.T) {
	parsers := map[string]func(string) error{
		"int8, uint8":   func(s string) error { _, err := allreduce.ParseDType(s); return err },
		"sum, prod":     func(s string) error { _, err := allreduce.ParseOp(s); return err },
		"Tree, Ring":    func(s string) error { _, err := allreduce.ParseAlgo(s); return err },
		"LL, LL128":     func(s string) error { _, err := allreduce.ParseProto(s); return err },
		"dropped-chunk": func(s string) error { _, err := allreduce.ParseFault(s); return err },
	}
	for want, parse := range parsers {
		for _, s := range []string{"", "nonsense"} {
			if err := parse(s); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v, want a list with %q", s, err, want)
			}
		}
	}
	if s := allreduce.Algo(77).String(); s != "Algo(77)" {
		t.Error(s)
	}
}

func TestTextForms(t *testing.T) {
	type all struct {
		D allreduce.DType
		O allreduce.Op
		A allreduce.Algo
		P allreduce.Proto
		W allreduce.Wait
	}
	in := all{allreduce.BFloat16, allreduce.Avg, allreduce.TwoShot, allreduce.LL128, allreduce.WaitCredit}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"D":"bfloat16","O":"avg","A":"TwoShot","P":"LL128","W":"credit"}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
	var out all
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Errorf("%+v comes back as %+v, %v", in, out, err)
	}
	if err := json.Unmarshal([]byte(`{"A":"Star"}`), &out); err == nil {
		t.Error("an unknown algorithm is read")
	}
}

func TestFaultNames(t *testing.T) {
	for k := allreduce.NoFault; int(k) < allreduce.NumFaults; k++ {
		if back, err := allreduce.ParseFault(k.String()); err != nil || back != k {
			t.Errorf("%s comes back as %v, %v", k, back, err)
		}
	}
}
