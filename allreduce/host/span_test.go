package host

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
)

func TestBuffer(t *testing.T) {
	x, err := New(executortest.Four(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{0, 1, 100, 200_000, 5 << 20} {
		b, err := x.Alloc(2, size)
		if err != nil {
			t.Fatal(err)
		}
		if b.Rank() != 2 || b.Size() != size || int64(len(b.(allreduce.HostBuffer).Bytes())) != size {
			t.Errorf("%d bytes: rank %d, %d bytes", size, b.Rank(), b.Size())
		}
		if size < 100 {
			continue
		}
		text := []byte("ring")
		if err := b.Write(text, size-4); err != nil {
			t.Error(err)
		}
		back := make([]byte, 4)
		if err := b.Read(back, size-4); err != nil || !bytes.Equal(back, text) {
			t.Errorf("read %q: %v", back, err)
		}
		for _, off := range []int64{-1, size - 3, size + 1, 1 << 62} {
			if b.Write(text, off) == nil || b.Read(back, off) == nil {
				t.Errorf("%d bytes: offset %d was taken", size, off)
			}
		}
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	}
	if _, err := x.Alloc(0, 1<<60); err == nil {
		t.Error("more memory than any machine has")
	}
	kept, err := x.Alloc(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if err := kept.Free(); err != nil { // gone with the executor
		t.Error(err)
	}
	if _, err := x.Alloc(0, 1); err == nil {
		t.Error("memory of a closed executor")
	}
}

// Buffers of somebody else, and inputs that overlap their outputs in part, are
// refused.
func TestForeignSpans(t *testing.T) {
	p, layout := planFor(t, executortest.Config{Layout: executortest.Four(), Algo: allreduce.TwoShot, Proto: allreduce.Simple, Tasks: []plan.Task{{Count: 100, DType: allreduce.Int64}}})
	x, err := New(layout, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	other, err := New(layout, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	args := func(x allreduce.Executor, recvOff int64) []allreduce.Args {
		a := allreduce.Args{}
		for rank := range 4 {
			b, err := x.Alloc(rank, 4000)
			if err != nil {
				t.Fatal(err)
			}
			a.Send = append(a.Send, allreduce.Span{Buf: b})
			a.Recv = append(a.Recv, allreduce.Span{Buf: b, Off: recvOff})
		}
		return []allreduce.Args{a}
	}
	for want, a := range map[string][]allreduce.Args{"not of this executor": args(other, 0), "overlap": args(x, 792)} {
		if _, err := x.Run(context.Background(), p, a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for _, off := range []int64{0, 800} { // in place, and side by side
		if _, err := x.Run(context.Background(), p, args(x, off)); err != nil {
			t.Error(err)
		}
	}
}
