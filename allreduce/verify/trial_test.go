package verify_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// broken runs one float32 message on ring 0 2 3 1 with a defect and gives what
// the check says.
func broken(t *testing.T, o verify.Options, rounds int, send func(round int, row schedule.Row, data []byte) []byte) verify.Result {
	t.Helper()
	p := planOn(t, []int{1}, allreduce.Ring, plan.Task{Count: 1000, DType: allreduce.Float32})
	ex, err := executortest.NewSerial(p.Layout)
	if err != nil {
		t.Fatal(err)
	}
	trial, err := verify.NewTrial(ex, p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	var r verify.Result
	for round := range rounds {
		ex.Send = func(row schedule.Row, data []byte) []byte { return send(round, row, data) }
		if err := trial.Fill(); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r, err = trial.Check(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// Defects and what the first difference must say of them. The ring is 0 2 3 1,
// chunks have 252 elements: chunk 2 belongs to rank 3 and begins at 504.
func TestDefectsAreExplained(t *testing.T) {
	var kept []byte
	zeros := func(data []byte) []byte { return make([]byte, len(data)) }
	for _, c := range []struct {
		name   string
		rounds int
		send   func(round int, row schedule.Row, data []byte) []byte
		wrong  int64
		chunk  int
		owner  int
		hint   string
	}{
		{"all is well", 1, func(_ int, _ schedule.Row, data []byte) []byte { return data }, 0, 0, 0, ""},
		{"the first message is empty", 1, func(_ int, row schedule.Row, data []byte) []byte {
			if row.Primitive == schedule.Send && row.Rank == 1 { // starts chunk 2
				return zeros(data)
			}
			return data
		}, 4 * 252, 2, 3, "the input of rank 1 is missing"},
		{"only the last addition counts", 1, func(_ int, row schedule.Row, data []byte) []byte {
			if row.Chunk == 2 && row.Rank == 2 && row.Primitive == schedule.RecvReduceSend {
				return zeros(data)
			}
			return data
		}, 4 * 252, 2, 3, "the input of rank 3 alone"},
		{"one rank gets the message of the run before", 2, func(round int, row schedule.Row, data []byte) []byte {
			if row.Chunk == 2 && row.Rank == 0 && row.Primitive == schedule.RecvReduceSend {
				if round == 0 {
					kept = bytes.Clone(data)
				} else {
					return kept
				}
			}
			return data
		}, 4 * 252, 2, 3, "rank 2 took data of the run before from rank 0"},
		{"one rank gets the result of the run before", 2, func(round int, row schedule.Row, data []byte) []byte {
			if row.Chunk == 1 && row.To == 0 && row.Primitive == schedule.RecvCopySend {
				if round == 0 {
					kept = bytes.Clone(data)
				} else {
					return kept
				}
			}
			return data
		}, 252, 1, 2, "the result of the run before"},
	} {
		r := broken(t, verify.Options{Seed: 5}, c.rounds, c.send)
		if r.Wrong != c.wrong || r.OK() != (c.wrong == 0) {
			t.Errorf("%s: %d wrong, want %d", c.name, r.Wrong, c.wrong)
		}
		if r.First == nil {
			continue
		}
		if m := r.First; m.Chunk != c.chunk || m.Owner != c.owner || m.Channel != 1 || m.Element != int64(252*c.chunk) || m.Hint != c.hint {
			t.Errorf("%s: %v, want chunk %d of rank %d: %s", c.name, m, c.chunk, c.owner, c.hint)
		}
	}
}

func TestDoubledInput(t *testing.T) {
	p := planOn(t, []int{0}, allreduce.Ring, plan.Task{Count: 1000, DType: allreduce.Int32})
	c := newCase(t, p, verify.Random, 9)
	var x [4]int32
	for rank := range x {
		b := make([]byte, 4)
		c.Input(b, rank, 0)
		x[rank] = int32(binary.NativeEndian.Uint32(b))
	}
	element := func(v int32) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(v)) }
	other := make([]byte, 4)
	c.Expected(other, 252)
	for want, found := range map[string][]byte{
		"the input of rank 2 is there twice": element(x[0] + x[1] + 2*x[2] + x[3]),
		"this rank's own input":              element(x[1]),
		"has the inputs of rank [1 2] only":  element(x[1] + x[2]),
		"the input of rank 0 is missing":     element(x[1] + x[2] + x[3]),
		"never written":                      {verify.Poison, verify.Poison, verify.Poison, verify.Poison},
		"the value of chunk 1":               other,
		"":                                   element(12345),
	} {
		m := c.Mismatch(1, 0, found, 0)
		if want == "the input of rank 0 is missing" {
			want = "has the inputs of rank [1 2 3] only" // the same thing, seen first
		}
		if m.Hint != want {
			t.Errorf("%v: hint %q, want %q", found, m.Hint, want)
		}
	}
}

// reckless changes memory that it should not.
type reckless struct {
	*executortest.Serial
	damage func(args allreduce.Args)
}

func (r *reckless) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	timing, err := r.Serial.Run(ctx, p, args)
	r.damage(args[0])
	return timing, err
}

func TestGuardsAndInputs(t *testing.T) {
	p := planOn(t, []int{0}, allreduce.Ring, plan.Task{Count: 10, DType: allreduce.Float64})
	for want, damage := range map[string]func(args allreduce.Args){
		"byte 0 of the guard behind the buffer":   func(a allreduce.Args) { poke(t, a.Recv[2], 80) },
		"byte 255 of the guard before the buffer": func(a allreduce.Args) { poke(t, a.Recv[2], -1) },
		"the input was changed":                   func(a allreduce.Args) { poke(t, a.Send[2], 3) },
	} {
		serial, err := executortest.NewSerial(p.Layout)
		if err != nil {
			t.Fatal(err)
		}
		err = executortest.RunPlan(&reckless{serial, damage}, p, verify.Options{}, 1)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rank 2") {
			t.Errorf("error %v, want %q on rank 2", err, want)
		}
	}
}

func poke(t *testing.T, s allreduce.Span, at int64) {
	t.Helper()
	if err := s.Buf.Write([]byte{0x11}, s.Off+at); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkExpected(b *testing.B) {
	const bytes = 64 << 20
	for _, d := range []allreduce.DType{allreduce.Float32, allreduce.BFloat16, allreduce.Int8} {
		for _, algo := range []allreduce.Algo{allreduce.Ring, allreduce.OneShot} {
			b.Run(d.String()+"/"+algo.String(), func(b *testing.B) {
				c := newCase(b, planOn(b, []int{0, 1, 2}, algo, plan.Task{Count: bytes / int64(d.Size()), DType: d}), verify.Random, 1)
				dst := make([]byte, 8<<20)
				b.SetBytes(bytes)
				for b.Loop() {
					for at := int64(0); at < bytes; at += int64(len(dst)) {
						c.Expected(dst, at/int64(d.Size()))
					}
				}
			})
		}
	}
}
