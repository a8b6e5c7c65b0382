package best_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/best"
)

// choices draws any that a table may hold.
var choices = rapid.Custom(func(t *rapid.T) best.Choice {
	if rapid.Bool().Draw(t, "nccl") {
		return best.Choice{Engine: best.NCCL, Symmetric: rapid.Bool().Draw(t, "symmetric")}
	}
	return best.Choice{
		Engine:  best.Ours,
		Algo:    rapid.SampledFrom([]allreduce.Algo{allreduce.Ring, allreduce.Tree, allreduce.OneShot, allreduce.TwoShot}).Draw(t, "algo"),
		Proto:   rapid.SampledFrom(allreduce.Protos()).Draw(t, "proto"),
		Blocks:  rapid.IntRange(0, 1024).Draw(t, "blocks"),
		Threads: 32 * rapid.IntRange(0, 32).Draw(t, "warps"),
		Pieces:  rapid.IntRange(0, 64).Draw(t, "pieces"),
	}
})

// A choice comes back from JSON as it was, alone and in what holds it. It names an
// algorithm and a protocol if it is ours, for the first of them are no absence, and
// none if it is NCCL's.
func TestChoicesAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := choices.Draw(t, "choice")
		for _, v := range []any{
			c,
			best.Row{Choice: c, UpTo: rapid.Int64Range(0, 1<<40).Draw(t, "upTo")},
			best.Candidate{Choice: c, Median: rapid.Float64Range(0, 1e9).Draw(t, "median")},
		} {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			back := reflect.New(reflect.TypeOf(v))
			if err := json.Unmarshal(text, back.Interface()); err != nil {
				t.Fatal(err)
			}
			if got := back.Elem().Interface(); got != v {
				t.Errorf("%#v comes back as %#v from %s", v, got, text)
			}
			for _, name := range []string{`"algo":`, `"proto":`} {
				if strings.Contains(string(text), name) != (c.Engine == best.Ours) {
					t.Errorf("%s %s", name, text)
				}
			}
		}
	})
}

// Files of before, in which NCCL's rows name the first of everything, are read.
func TestNCCLWithAnAlgorithmIsRead(t *testing.T) {
	f, err := best.Read(strings.NewReader(`{"schema": "ringtopo.tuning/v1", "tables": [{
		"machine": {"engine": "gpu", "device": "NVIDIA H200", "devices": 2, "ranks": 2, "link": "nvlink"},
		"rows": [{"engine": "nccl", "algo": "Tree", "proto": "LL", "symmetric": true}]}]}`), "t.json")
	if err != nil {
		t.Fatal(err)
	}
	if c := f.Tables[0].Choose(1); c.String() != "NCCL with symmetric windows" {
		t.Errorf("it says %s", c)
	}
}
