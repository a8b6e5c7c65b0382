package gpu

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Errors cross the line between processes as far as callers tell them apart, and
// of several processes' errors the one that is the reason of the others counts.
func TestJoinedFailures(t *testing.T) {
	stall := func(rank int) allreduce.Stall {
		return allreduce.Stall{Rank: rank, Channel: 1, Peer: 1 - rank, Want: 5, Seen: 3}
	}
	stuck := func(rank int) error {
		return fmt.Errorf("GPU executor: %w", &allreduce.StuckError{Stalls: []allreduce.Stall{stall(rank)}, After: time.Second})
	}
	memory := fmt.Errorf("rank 1: %w", syscall.ENOMEM)
	for name, c := range map[string]struct {
		of   []error
		text string
		kind error
	}{
		"none":                     {[]error{nil, nil}, "<nil>", nil},
		"one":                      {[]error{nil, errors.New("rank 1: launch failed")}, "rank 1: launch failed", nil},
		"one that others wait for": {[]error{stuck(0), errors.New("rank 1: launch failed")}, "rank 1: launch failed", nil},
		"one that others tell of":  {[]error{errors.New("rank 1: no memory"), memory}, memory.Error(), syscall.ENOMEM},
		"no device":                {[]error{allreduce.ErrNoDevice, errors.New("rank 0: no GPU")}, allreduce.ErrNoDevice.Error(), allreduce.ErrNoDevice},
		"interrupted":              {[]error{context.Canceled, nil}, context.Canceled.Error(), nil},
	} {
		var answers []answer
		for _, err := range c.of {
			answers = append(answers, answer{Failure: failureOf(err)})
		}
		err := joined(answers)
		if fmt.Sprint(err) != c.text || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, want %s of kind %v", name, err, c.text, c.kind)
		}
	}
	var all *allreduce.StuckError
	err := joined([]answer{{Failure: failureOf(stuck(0))}, {}, {Failure: failureOf(stuck(1))}})
	if !errors.As(err, &all) || len(all.Stalls) != 2 || all.Stalls[0] != stall(0) || all.Stalls[1] != stall(1) || all.After != time.Second {
		t.Errorf("stuck everywhere: %+v", err)
	}
}
