package allreduce_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
)

func stall(rank, peer int, wait allreduce.Wait, proto allreduce.Proto, seen, base uint64) allreduce.Stall {
	return allreduce.Stall{Rank: rank, Channel: 3, Peer: peer, For: wait, Algo: allreduce.Ring, Proto: proto, Want: seen + 2, Seen: seen, Base: base}
}

func TestMeaningOfStalls(t *testing.T) {
	for _, c := range []struct {
		s    allreduce.Stall
		want string
	}{
		{stall(0, 1, allreduce.WaitCredit, allreduce.Simple, 40, 40), "8 steps were filled and no credit came back: rank 1 never returned its head"},
		{stall(0, 1, allreduce.WaitCredit, allreduce.LL, 46, 40), "rank 1 stopped consuming after 6 steps"},
		{stall(0, 3, allreduce.WaitData, allreduce.Simple, 40, 40), "the first tail of rank 3 never came"},
		{stall(0, 3, allreduce.WaitData, allreduce.LL128, 40, 40), "the first flag of rank 3 never came"},
		{stall(0, 3, allreduce.WaitData, allreduce.Simple, 44, 40), "rank 3 stopped sending after 4 steps"},
	} {
		if got := c.s.Meaning(); !strings.Contains(got, c.want) {
			t.Errorf("%v: %s, want %s", c.s, got, c.want)
		}
	}
}

// Rank 2 has stopped: 3 waits for it, and 0 and 1 in turn wait round the ring.
func TestRootOfStuckRun(t *testing.T) {
	e := &allreduce.StuckError{After: 2 * time.Second, Stalls: []allreduce.Stall{
		stall(0, 3, allreduce.WaitData, allreduce.Simple, 4, 0),
		stall(1, 2, allreduce.WaitCredit, allreduce.Simple, 8, 0),
		stall(3, 2, allreduce.WaitData, allreduce.Simple, 6, 0),
	}}
	if s := e.Silent(); !slices.Equal(s, []int{2}) {
		t.Errorf("silent: %v, want [2]", s)
	}
	if r := e.Root(); r.Rank != 3 {
		t.Errorf("root: %v, want rank 3's wait for rank 2", r)
	}
	text := e.Error()
	for _, want := range []string{"stuck after 2s", "rank 3 on channel 3 waited for data from rank 2 (Ring/Simple): wanted step 8, saw 6, run began at 0",
		"rank 2 stopped sending after 6 steps", "waited for but not waiting: rank [2]", "2 more waits"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
}

// All wait, nobody is silent: the one that had come least far is the root.
func TestRootWithoutSilentRank(t *testing.T) {
	e := &allreduce.StuckError{Stalls: []allreduce.Stall{
		stall(0, 1, allreduce.WaitCredit, allreduce.LL, 13, 10), stall(1, 0, allreduce.WaitCredit, allreduce.LL, 11, 10),
	}}
	if r := e.Root(); r.Rank != 1 || len(e.Silent()) != 0 || strings.Contains(e.Error(), "not waiting") {
		t.Errorf("root %v, silent %v: %v", r, e.Silent(), e)
	}
}

// A limit may pass before any rank has come to wait.
func TestStuckBeforeAnyWait(t *testing.T) {
	e := &allreduce.StuckError{After: time.Millisecond}
	if e.Root() != (allreduce.Stall{}) || len(e.Silent()) != 0 || !strings.Contains(e.Error(), "stuck after 1ms, in which no rank came to wait") {
		t.Errorf("root %v, silent %v: %v", e.Root(), e.Silent(), e)
	}
}
