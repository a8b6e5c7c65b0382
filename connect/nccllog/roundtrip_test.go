package nccllog

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
)

// genComm draws a communicator with any rings, and trees of any shape that a
// line can show.
func genComm(t *rapid.T) *connect.Comm {
	n := rapid.IntRange(1, 60).Draw(t, "ranks")
	c := &connect.Comm{NRanks: n, NChannels: rapid.IntRange(1, 32).Draw(t, "channels")}
	ranks := make([]int32, n)
	for i := range ranks {
		ranks[i] = int32(i)
	}
	peer := rapid.Int32Range(-1, int32(n-1))
	for range c.NChannels {
		order := rapid.Permutation(ranks).Draw(t, "ring")
		start := slices.Index(order, 0)
		ring := connect.Ring{Next: make([]int32, n), Prev: make([]int32, n), Order: append(order[start:n:n], order[:start]...)}
		for i, r := range order {
			to := order[(i+1)%n]
			ring.Next[r], ring.Prev[to] = to, r
		}
		tree := connect.Tree{Up: rapid.SliceOfN(peer, n, n).Draw(t, "up"), Down: make([][3]int32, n)}
		for i := range tree.Down {
			tree.Down[i] = [3]int32(rapid.SliceOfN(peer, 3, 3).Draw(t, "down"))
		}
		c.Rings = append(c.Rings, ring)
		c.Trees = append(c.Trees, tree)
	}
	return c
}

// writeAll gives what every rank logs of its rings and trees, interleaved line
// by line as the draw decides, with prefixes.
func writeAll(t *rapid.T, c *connect.Comm) string {
	var streams [][]string
	for r := range c.NRanks {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		fmt.Fprintf(w, "comm 0xf%d rank %d nRanks %d nNodes 1 localRanks %d localRank %d MNNVL 0\n", r, r, c.NRanks, c.NRanks, r)
		if r == 0 {
			writeChannels(w, c, rapid.Bool().Draw(t, "full"))
		}
		writeRings(w, c, r)
		writeTrees(w, c, r)
		w.Flush()
		streams = append(streams, strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n"))
	}
	var text strings.Builder
	for line := 0; ; line++ {
		any := false
		for _, r := range rapid.Permutation(seq(c.NRanks)).Draw(t, "turn") {
			if line < len(streams[r]) {
				any = true
				fmt.Fprintf(&text, "host:%d:%d [%d] NCCL INFO %s\n", r, r, r%8, strings.TrimSuffix(streams[r][line], "\n"))
			}
		}
		if !any {
			return text.String()
		}
	}
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func TestRingsAndTreesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genComm(t)
		log, err := Read(strings.NewReader(writeAll(t, c)))
		if err != nil || len(log.Damaged) > 0 {
			t.Fatalf("%v, damaged %v", err, log.Damaged)
		}
		comms := log.Comms()
		if len(comms) != 1 || comms[0].NRanks != c.NRanks || comms[0].NChannels() != c.NChannels {
			t.Fatalf("%d ranks and %d channels became %+v", c.NRanks, c.NChannels, comms)
		}
		for ch, ring := range c.Rings {
			got, whole := comms[0].Ring(ch)
			if !whole || !slices.EqualFunc(ring.Order, got, func(a int32, b int) bool { return int(a) == b }) {
				t.Fatalf("channel %d: %v became %v (%v)", ch, ring.Order, got, whole)
			}
		}
		for r, rank := range comms[0].Ranks {
			for ch, got := range rank.Trees {
				want := c.Trees[ch]
				if got.Rank != r || got.Channel != ch || int32(got.Up) != want.Up[r] || ints(want.Down[r]) != got.Down {
					t.Fatalf("rank %d channel %d: %d %v became %+v", r, ch, want.Up[r], want.Down[r], got)
				}
			}
		}
	})
}

func ints(v [3]int32) [3]int { return [3]int{int(v[0]), int(v[1]), int(v[2])} }

func genSet(t *rapid.T) rings.Set {
	bw := rapid.Float32Range(0, 5000)
	typ := rapid.Uint8Range(0, uint8(graph.DIS))
	s := rings.Set{
		Pattern:      rings.Pattern(rapid.IntRange(1, 6).Draw(t, "pattern")),
		CrossNIC:     rapid.IntRange(0, 2).Draw(t, "crossNic"),
		NChannels:    rapid.IntRange(0, 32).Draw(t, "channels"),
		SameChannels: rapid.IntRange(0, 1).Draw(t, "same"),
		BWIntra:      bw.Draw(t, "intra"),
		BWInter:      bw.Draw(t, "inter"),
		TypeIntra:    graph.PathType(typ.Draw(t, "typeIntra")),
		TypeInter:    graph.PathType(typ.Draw(t, "typeInter")),
	}
	gpus, net := rapid.IntRange(1, 16).Draw(t, "gpus"), rapid.Bool().Draw(t, "net")
	for range s.NChannels {
		s.Intra = append(s.Intra, rapid.SliceOfN(rapid.IntRange(0, 999), gpus, gpus).Draw(t, "chain"))
		if net {
			ids := rapid.SliceOfN(rapid.Int64Range(0, 1<<58), 2, 2).Draw(t, "nets")
			s.Inter = append(s.Inter, [2]int64(ids))
		}
	}
	return s
}

func TestPatternsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSet(t)
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		view{&connect.Node{Ranks: seq(1000)}}.writePattern(w, s)
		w.Flush()
		log, err := Read(&b)
		if err != nil || len(log.Damaged) > 0 || len(log.Ranks) != 1 {
			t.Fatalf("%v, %+v", err, log)
		}
		if diff := cmp.Diff(patternOf(s), log.Ranks[0].Patterns[0]); diff != "" {
			t.Fatal(diff)
		}
	})
}

// patternOf is a set as a log shows it: bandwidths with six decimals, names as
// text.
func patternOf(s rings.Set) Pattern {
	shown := func(bw float32) float64 {
		v, _ := strconv.ParseFloat(fmt.Sprintf("%f", bw), 64)
		return v
	}
	p := Pattern{
		Pattern: int(s.Pattern), CrossNIC: s.CrossNIC, NChannels: s.NChannels, SameChannels: s.SameChannels,
		BWIntra: shown(s.BWIntra), BWInter: shown(s.BWInter),
		TypeIntra: s.TypeIntra.String(), TypeInter: s.TypeInter.String(),
	}
	for c, chain := range s.Intra {
		var ch Chain
		for _, r := range chain {
			ch.GPUs = append(ch.GPUs, strconv.Itoa(r))
		}
		if len(s.Inter) > 0 {
			ch.Nets = []string{strconv.FormatInt(s.Inter[c][0], 16), strconv.FormatInt(s.Inter[c][1], 16)}
		}
		p.Chains = append(p.Chains, ch)
	}
	return p
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"h:1:1 [0] NCCL INFO Channel 00/02 :    0   1\nh:1:1 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1\n",
		"Trees [0] 1/-1/-1->0->-1 [1] -1->0->1/2/3\nTree 0 : -1 -> 0 -> 1/-1/-1\n",
		"=== System : maxBw 1.0 totalBw 2.0 ===\nCPU/0-0 (1/2/-1)\n+ PCI[12.0] - NIC/0-1000\n  + NET[12.5] - NET/0 (1/1/12.5)\n======\n",
		"GPU/1 :GPU/0-1 (0/5000.0/LOC) \nPattern 4, crossNic 0, nChannels 1, bw 1.0/1.0, type NVL/PIX, sameChannels 1\n 0 : NET/0 GPU/0 NET/0\n",
		"comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2\ncomm 0x1 rank 1 nranks 2 busId 1 commId 0x2 - Init START\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		log, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		if lines := bytes.Count(text, []byte("\n")) + 1; len(log.Ranks) > lines || len(log.Damaged) > lines {
			t.Errorf("%d lines gave %d ranks and %d damaged lines", lines, len(log.Ranks), len(log.Damaged))
		}
		for _, c := range log.Comms() {
			for ch := range min(c.NChannels(), 64) {
				c.Ring(ch)
			}
		}
	})
}
