package verify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

var errDevice = errors.New("the device is lost")

// fragile hands out buffers that count how often they are freed, and fail when
// told to.
type fragile struct {
	*executortest.Serial
	left        int // allocations that succeed
	live        int
	failWrite   int // rank whose buffers cannot be written, -1: none
	failRead    int
	allocations []int64
}

type fragileBuffer struct {
	allreduce.Buffer
	f     *fragile
	freed bool
}

func (f *fragile) Alloc(rank int, size int64) (allreduce.Buffer, error) {
	if f.left--; f.left < 0 {
		return nil, fmt.Errorf("%d bytes on rank %d: %w", size, rank, errDevice)
	}
	b, err := f.Serial.Alloc(rank, size)
	if err != nil {
		return nil, err
	}
	f.live++
	f.allocations = append(f.allocations, size)
	return &fragileBuffer{Buffer: b, f: f}, nil
}

func (b *fragileBuffer) Write(src []byte, off int64) error {
	if b.Rank() == b.f.failWrite {
		return errDevice
	}
	return b.Buffer.Write(src, off)
}

func (b *fragileBuffer) Read(dst []byte, off int64) error {
	if b.Rank() == b.f.failRead {
		return errDevice
	}
	return b.Buffer.Read(dst, off)
}

func (b *fragileBuffer) Free() error {
	if b.freed {
		return fmt.Errorf("freed twice")
	}
	b.freed = true
	b.f.live--
	return b.Buffer.Free()
}

// Run gives the buffers inside to the executor inside.
func (f *fragile) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	bare := func(spans []allreduce.Span) []allreduce.Span {
		out := slices.Clone(spans)
		for i := range out {
			out[i].Buf = out[i].Buf.(*fragileBuffer).Buffer
		}
		return out
	}
	inner := make([]allreduce.Args, len(args))
	for i, a := range args {
		inner[i] = allreduce.Args{Send: bare(a.Send), Recv: bare(a.Recv)}
	}
	return f.Serial.Run(ctx, p, inner)
}

func newFragile(t *testing.T, p *allreduce.Plan) *fragile {
	t.Helper()
	s, err := executortest.NewSerial(p.Layout)
	if err != nil {
		t.Fatal(err)
	}
	return &fragile{Serial: s, left: 100, failWrite: -1, failRead: -1}
}

func smallPlan(t *testing.T) *allreduce.Plan {
	return planOn(t, []int{0}, allreduce.Ring, plan.Task{Count: 100, DType: allreduce.Float64})
}

// Memory that runs out half way is given back, and the error says whose it was.
func TestOutOfMemory(t *testing.T) {
	p := smallPlan(t)
	f := newFragile(t, p)
	f.left = 5 // two buffers each of ranks 0 and 1, one of rank 2
	_, err := verify.NewTrial(f, p, verify.Options{})
	if !errors.Is(err, errDevice) || !strings.Contains(err.Error(), "work 0: 1312 bytes on rank 2") {
		t.Errorf("error %v, want the device's on rank 2", err)
	}
	if f.live != 0 {
		t.Errorf("%d buffers are left", f.live)
	}
}

func TestCloseFreesOnce(t *testing.T) {
	p := smallPlan(t)
	for _, inPlace := range []bool{false, true} {
		f := newFragile(t, p)
		trial, err := verify.NewTrial(f, p, verify.Options{InPlace: inPlace})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{false: 8, true: 4}[inPlace]; f.live != want {
			t.Errorf("in place %v: %d buffers, want %d", inPlace, f.live, want)
		}
		for range 2 {
			if err := trial.Close(); err != nil {
				t.Error(err)
			}
		}
		if f.live != 0 {
			t.Errorf("%d buffers are left", f.live)
		}
	}
}

// Data stands between guards of 256 bytes, Shift elements from where the buffer
// would have it.
func TestShiftMovesTheData(t *testing.T) {
	p := smallPlan(t)
	for shift := range 4 {
		f := newFragile(t, p)
		trial, err := verify.NewTrial(f, p, verify.Options{Shift: shift})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range append(trial.Args()[0].Send, trial.Args()[0].Recv...) {
			if want := int64(256 + 8*shift); s.Off != want || s.Buf.Size() != want+800+256 {
				t.Errorf("shift %d: data from byte %d of %d on", shift, s.Off, s.Buf.Size())
			}
		}
		if err := trial.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A device that fails is told with work and rank, whatever was being done.
func TestFailingBuffers(t *testing.T) {
	p := smallPlan(t)
	f := newFragile(t, p)
	trial, err := verify.NewTrial(f, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	f.failWrite = 1
	if err := trial.Fill(); !errors.Is(err, errDevice) || !strings.Contains(err.Error(), "work 0 rank 1") {
		t.Errorf("fill: error %v", err)
	}
	f.failWrite = -1
	if err := trial.Fill(); err != nil {
		t.Fatal(err)
	}
	f.failRead = 3
	if _, err := trial.Check(); !errors.Is(err, errDevice) || !strings.Contains(err.Error(), "work 0: rank 3") {
		t.Errorf("check: error %v", err)
	}
}

// Without a run every output is still poison: a check must find all of it.
func TestNothingRan(t *testing.T) {
	p := smallPlan(t)
	trial, err := verify.NewTrial(newFragile(t, p), p, verify.Options{Pattern: verify.Ramp})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	if err := trial.Fill(); err != nil {
		t.Fatal(err)
	}
	r, err := trial.Check()
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() || r.Wrong != 400 || r.First.Rank != 0 || r.First.Element != 0 || r.First.Hint != "never written" {
		t.Errorf("%d wrong, first %v, want 400 never written", r.Wrong, r.First)
	}
}

// In place, outputs begin as inputs: where nothing ran, ranks have their own.
func TestNothingRanInPlace(t *testing.T) {
	p := smallPlan(t)
	trial, err := verify.NewTrial(newFragile(t, p), p, verify.Options{InPlace: true, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	if err := trial.Fill(); err != nil {
		t.Fatal(err)
	}
	r, err := trial.Check()
	if err != nil || r.Wrong != 400 || r.First.Hint != "this rank's own input" {
		t.Errorf("%d wrong, first %v: %v", r.Wrong, r.First, err)
	}
}

// Each fill brings new random data: yesterday's result is no success today.
func TestEveryFillDiffers(t *testing.T) {
	p := smallPlan(t)
	trial, err := verify.NewTrial(newFragile(t, p), p, verify.Options{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	seen := map[string]bool{}
	for range 3 {
		if err := trial.Fill(); err != nil {
			t.Fatal(err)
		}
		s, b := trial.Args()[0].Send[1], make([]byte, 800)
		if err := s.Buf.Read(b, s.Off); err != nil {
			t.Fatal(err)
		}
		seen[string(b)] = true
		if _, err := trial.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r, err := trial.Check(); err != nil || !r.OK() {
			t.Errorf("%v, %v", r.First, err)
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d different inputs of 3", len(seen))
	}
}

// A broken guard says which byte, of which rank, and counts once.
func TestBrokenGuard(t *testing.T) {
	p := smallPlan(t)
	for _, c := range []struct {
		at      int64
		element int64
		hint    string
	}{
		{-8, -1, "byte 248 of the guard before the buffer"},
		{800 + 16, 102, "byte 16 of the guard behind the buffer"},
		{800 + 255, 131, "byte 255 of the guard behind the buffer"},
	} {
		trial, err := verify.NewTrial(newFragile(t, p), p, verify.Options{InPlace: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := trial.Fill(); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		poke(t, trial.Args()[0].Recv[3], c.at)
		r, err := trial.Check()
		if err != nil {
			t.Fatal(err)
		}
		m := r.First
		if m == nil || m.Rank != 3 || m.Element != c.element || m.Hint != c.hint || m.Expected != "0xa7" || m.Found != "0x11" {
			t.Errorf("byte %d: %v, want %s", c.at, m, c.hint)
		}
		// In place, input and output share their guards, looked at as both.
		if r.Wrong < 1 || r.Wrong > 2 {
			t.Errorf("byte %d: counts %d times", c.at, r.Wrong)
		}
		if err := trial.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Differences are counted on both sides of the blocks in which bytes are
// compared at first, and at both ends.
func TestCompareAtBlockEnds(t *testing.T) {
	want := make([]byte, 3*4096+8)
	for _, at := range []int{0, 4095, 4096, 8191, 8192, 12288, len(want) - 1} {
		got := bytes.Clone(want)
		got[at] = 1
		if wrong, first := verify.Compare(got, want, allreduce.Int64); wrong != 1 || first != int64(at/8) {
			t.Errorf("byte %d: %d wrong, first %d", at, wrong, first)
		}
	}
	if wrong, first := verify.Compare(nil, nil, allreduce.Int8); wrong != 0 || first != -1 {
		t.Errorf("nothing: %d wrong, first %d", wrong, first)
	}
}

// NaNs are alike whatever their bits, in every floating type; zeros are not.
func TestCompareNaNsAndZeros(t *testing.T) {
	for d, bits := range map[allreduce.DType][2][]byte{
		allreduce.Float16:  {{1, 0x7c}, {0, 0xfe}},
		allreduce.BFloat16: {{0x81, 0x7f}, {0xc0, 0xff}},
		allreduce.Float32:  {{1, 0, 0x80, 0x7f}, {0, 0, 0xc0, 0xff}},
		allreduce.Float64:  {{1, 0, 0, 0, 0, 0, 0xf0, 0x7f}, {0, 0, 0, 0, 0, 0, 0xf8, 0xff}},
	} {
		if wrong, _ := verify.Compare(bits[0], bits[1], d); wrong != 0 {
			t.Errorf("%v: two NaNs differ", d)
		}
		zero, minus := make([]byte, d.Size()), make([]byte, d.Size())
		minus[d.Size()-1] = 0x80
		if wrong, first := verify.Compare(minus, zero, d); wrong != 1 || first != 0 {
			t.Errorf("%v: -0 passes for 0", d)
		}
	}
}

func TestPatternsAsText(t *testing.T) {
	if p, err := verify.ParsePattern("MARKED"); err != nil || p != verify.Marked {
		t.Errorf("%v, %v: names have no case", p, err)
	}
	if got := verify.Pattern(9).String(); got != "Pattern(9)" {
		t.Errorf("past the last: %s", got)
	}
}
