package cuda_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// Within its time DoWithin is Do.
func TestDoWithin(t *testing.T) {
	c := open(t, cudafake.New(1))
	ran, mine := false, errors.New("mine")
	if err := c.DoWithin(time.Hour, func() error { ran = true; return mine }); err != mine || !ran {
		t.Errorf("ran %v, got %v", ran, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.DoWithin(time.Hour, func() error { t.Error("ran"); return nil }); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A thread that does not come back is waited for no longer than was said, by
// whoever asked first and by those who come later; what comes too late never
// runs. When it has come back all goes on.
func TestDoWithinABusyThread(t *testing.T) {
	c := open(t, cudafake.New(1))
	over, ended := make(chan struct{}), make(chan struct{})
	busy := func() error { defer close(ended); <-over; return nil }
	if err := c.DoWithin(time.Millisecond, busy); !errors.Is(err, cuda.ErrBusy) {
		t.Errorf("got %v", err)
	}
	if err := c.DoWithin(time.Millisecond, func() error { t.Error("ran"); return nil }); !errors.Is(err, cuda.ErrBusy) {
		t.Errorf("the next one: %v", err)
	}
	close(over)
	<-ended
	if err := c.DoWithin(time.Hour, func() error { return nil }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
