package nccllog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommsKeepsCommunicatorsApart(t *testing.T) {
	log := mustRead(t, `h:1:1 [0] NCCL INFO comm 0xa rank 0 nranks 2 cudaDev 0 busId 1000 commId 0x1 - Init START
h:2:2 [1] NCCL INFO comm 0xb rank 1 nranks 2 cudaDev 1 busId 2000 commId 0x1 - Init START
h:1:1 [0] NCCL INFO Channel 00/01 :    0   1
h:1:1 [0] NCCL INFO comm 0xa rank 0 nranks 2 cudaDev 0 busId 1000 commId 0x1 - Init COMPLETE
h:1:1 [0] NCCL INFO comm 0xc rank 0 nranks 1 cudaDev 0 busId 1000 commId 0x2 - Init START
h:1:1 [0] NCCL INFO Channel 00/01 :    0
h:2:2 [1] NCCL INFO comm 0xd rank 1 nranks 2 cudaDev 1 busId 2000 commId 0x1 - Init START
h:1:1 [0] NCCL INFO comm 0xe rank 0 nranks 2 cudaDev 0 busId 1000 commId 0x1 - Init START
h:1:1 [0] NCCL INFO Channel 00/01 :    0   1
`)
	var got []string
	for _, c := range log.Comms() {
		ring, whole := c.Ring(0)
		got = append(got, fmt.Sprintf("%s: %d ranks, %d logged, %v %v", c.ID, c.NRanks, len(c.Ranks), ring, whole))
	}
	want := []string{
		"0x1: 2 ranks, 2 logged, [0 1] true",
		"0x2: 1 ranks, 1 logged, [0] true",
		"0x1: 2 ranks, 2 logged, [0 1] true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// logOf gives the Ring lines of n ranks, and rank 0's Channel line cut as NCCL
// cuts it, of the ring 0, n-1, ..., 1.
func logOf(n int, missing int) string {
	var b strings.Builder
	for r := range n {
		fmt.Fprintf(&b, "h%d:0:0 [0] NCCL INFO comm 0x1 rank %d nRanks %d nNodes %d localRanks 1 localRank 0 MNNVL 0\n", r, r, n, n)
		if r == 0 {
			b.WriteString("h0:0:0 [0] NCCL INFO Channel 00/01 : ")
			for i := range min(n, maxListed) {
				fmt.Fprintf(&b, " %3d", (n-i)%n)
			}
			b.WriteByte('\n')
		}
		if r != missing {
			fmt.Fprintf(&b, "h%d:0:0 [0] NCCL INFO Ring 00 : %d -> %d -> %d\n", r, (r+1)%n, r, (r+n-1)%n)
		}
	}
	return b.String()
}

func TestRingBeyondTwentyRanks(t *testing.T) {
	const n = 33
	var want []int
	for i := range n {
		want = append(want, (n-i)%n)
	}
	find := func(text string) ([]int, bool) {
		comms := mustRead(t, text).Comms()
		if len(comms) != 1 || comms[0].NRanks != n {
			t.Fatalf("communicators: %+v", comms)
		}
		return comms[0].Ring(0)
	}
	if ring, whole := find(logOf(n, -1)); !whole || !cmp.Equal(ring, want) {
		t.Errorf("from Ring lines: %v %v", ring, whole)
	}
	if ring, whole := find(logOf(n, 7)); whole {
		t.Errorf("rank 7 said nothing, yet the ring is whole: %v", ring)
	}
}

func TestRingThatDoesNotCloseIsNotFollowed(t *testing.T) {
	c := Comm{NRanks: 3, Ranks: []*Rank{
		{Rank: 0, Rings: []RingLine{{0, 2, 0, 1}}},
		{Rank: 1, Rings: []RingLine{{0, 0, 1, 2}}},
		{Rank: 2, Rings: []RingLine{{0, 1, 2, 1}}},
	}}
	if ring, whole := c.Ring(0); whole {
		t.Errorf("got %v", ring)
	}
}
