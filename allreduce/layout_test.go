package allreduce_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/connect"
)

func TestLayoutOfCommunicator(t *testing.T) {
	c := &connect.Comm{NRanks: 4, Rings: []connect.Ring{{Next: []int32{2, 0, 3, 1}}}}
	l, err := allreduce.NewLayout(c, allreduce.DefaultBuffSize())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(l.Rings[0], []int{0, 2, 3, 1}) || l.Channels() != 1 {
		t.Errorf("rings %v", l.Rings)
	}
	if s := [3]int{l.StepBytes(allreduce.LL), l.StepBytes(allreduce.LL128), l.StepBytes(allreduce.Simple)}; s != [3]int{65536, 614400, 524288} {
		t.Errorf("steps of %v bytes", s)
	}
	for want, next := range map[string][]int32{"has no next rank": {2, -1, 1, 0}, "repeated": {1, 0, 3, 2}, "ring has 3 ranks": {1, 2, 0}} {
		c.Rings[0].Next = next
		if _, err := allreduce.NewLayout(c, allreduce.DefaultBuffSize()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", next, err, want)
		}
	}
}

func TestImpossibleLayouts(t *testing.T) {
	if err := executortest.Four().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		damage  func(l *allreduce.Layout)
		channel int
		want    string
	}{
		{func(l *allreduce.Layout) { l.NRanks = 0 }, -1, "0 ranks"},
		{func(l *allreduce.Layout) { l.Rings = nil }, -1, "0 channels"},
		{func(l *allreduce.Layout) { l.Rings = make([][]int, 65) }, -1, "65 channels"},
		{func(l *allreduce.Layout) { l.Trees = l.Trees[1:] }, -1, "2 trees for 3 rings"},
		{func(l *allreduce.Layout) { l.Rings[1] = []int{0, 2, 2, 1} }, 1, "rank 2 is repeated"},
		{func(l *allreduce.Layout) { l.Rings[2] = []int{0, 1, 2} }, 2, "rank 3 is missing"},
		{func(l *allreduce.Layout) { l.Rings[2] = []int{0, 1, 2, 4} }, 2, "rank 4 is unknown"},
		{func(l *allreduce.Layout) { l.Rings[0] = []int{1, 2, 3, 0} }, 0, "from rank 0 on"},
		{func(l *allreduce.Layout) { l.Trees[0].Up[3] = 1 }, 0, "does not have it as parent"},
		{func(l *allreduce.Layout) { l.Trees[0].Down[2][0] = -1 }, 0, "does not have it as child"},
		{func(l *allreduce.Layout) { l.Trees[0].Up[3], l.Trees[0].Down[2][0] = -1, -1 }, 0, "2 roots"},
		{func(l *allreduce.Layout) { l.Trees[0].Up = l.Trees[0].Up[:2] }, 0, "for 4 ranks"},
		{func(l *allreduce.Layout) { // ranks 2 and 3 are each other's parent
			l.Trees[0].Up[2], l.Trees[0].Down[1][0], l.Trees[0].Down[3][0] = 3, -1, 2
		}, 0, "does not reach the root"},
		{func(l *allreduce.Layout) { l.BuffSize[allreduce.LL128] = 16383 }, -1, "LL128 buffer of 16383 bytes: want at least 16384"},
	} {
		l := executortest.Four()
		c.damage(l)
		var e *allreduce.LayoutError
		if err := l.Validate(); !errors.As(err, &e) || e.Channel != c.channel || !strings.Contains(e.Error(), c.want) {
			t.Errorf("error %v, want %q on channel %d", err, c.want, c.channel)
		}
	}
}
