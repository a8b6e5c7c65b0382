package job

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
	"github.com/ringtopo/ringtopo/rings/graphxml"
	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/machines"
)

func open(t testing.TB, name string) *Machine {
	t.Helper()
	m, err := Source{Env: noEnv()}.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newJob(t testing.TB, gpus []int, set map[string]string, ms ...*Machine) *Job {
	t.Helper()
	j, err := New(ms, gpus, noEnv().With(set))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestKnownAnswer(t *testing.T) {
	j := newJob(t, nil, nil, open(t, "v100x4"))
	want := [][]int32{{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {0, 2, 1, 3}, {0, 3, 1, 2}, {0, 3, 2, 1}}
	want = append(want, want...)
	var got [][]int32
	for _, r := range j.Comm.Rings {
		got = append(got, r.Order)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBoxesShareWhatIsAlike(t *testing.T) {
	v, a := open(t, "v100x4"), open(t, "a100x4")
	ms, err := Repeat([]*Machine{v, a}, 2)
	if err != nil {
		t.Fatal(err)
	}
	j := newJob(t, nil, nil, ms...)
	if diff := cmp.Diff([]string{"v100x4", "a100x4", "v100x4", "a100x4"}, j.Names()); diff != "" {
		t.Error(diff)
	}
	var first []int
	for _, b := range j.Boxes {
		first = append(first, b.FirstRank)
	}
	if diff := cmp.Diff([]int{0, 4, 8, 12}, first); diff != "" {
		t.Error(diff)
	}
	if j.Boxes[0].Graph != j.Boxes[2].Graph || j.Comm.Nodes[1].Search != j.Comm.Nodes[3].Search {
		t.Error("equal machines were built or searched twice")
	}
	for rank := range j.Comm.NRanks {
		if got := j.GPU(rank).GPU.Rank; got != rank%4 {
			t.Errorf("rank %d is on its box's GPU %d", rank, got)
		}
	}
	for _, n := range []int{-1, 0, maxRepeat + 1} {
		if _, err := Repeat(ms, n); err == nil {
			t.Errorf("%d nodes are accepted", n)
		}
	}
}

func TestHopsFollowTheRing(t *testing.T) {
	for _, name := range machines.Names() {
		m := open(t, name)
		j := newJob(t, nil, nil, m, m)
		for c, ring := range j.Comm.Rings {
			hops := j.Hops(c)
			if len(hops) != j.Comm.NRanks {
				t.Fatalf("%s: %d hops for %d ranks", name, len(hops), j.Comm.NRanks)
			}
			slow := Slowest(hops)
			for _, h := range hops {
				if int32(h.To) != ring.Next[h.From] || h.BW <= 0 || slow.BW > h.BW {
					t.Errorf("%s channel %d: hop %+v, slowest %v", name, c, h, slow.BW)
				}
				checkHop(t, j, h)
			}
		}
	}
}

// Channels take the same ways exactly where all links of their hops are the same.
func TestSameWays(t *testing.T) {
	for _, name := range machines.Names() {
		m := open(t, name)
		for _, j := range []*Job{newJob(t, nil, nil, m), newJob(t, nil, nil, m, m)} {
			for a := range j.Comm.Rings {
				for b := range j.Comm.Rings {
					if got, want := j.SameWays(a, b), reflect.DeepEqual(j.Hops(a), j.Hops(b)); got != want {
						t.Errorf("%s, %d nodes, channels %d and %d: same ways %v, want %v", name, len(j.Comm.Nodes), a, b, got, want)
					}
				}
			}
		}
	}
	// One ring, but two cards that take turns.
	m := open(t, "power9x4")
	if j := newJob(t, nil, nil, m, m); j.SameWays(0, 1) || !j.SameWays(0, 2) {
		t.Errorf("power9x4: channels 0 and 1 alike: %v, 0 and 2: %v", j.SameWays(0, 1), j.SameWays(0, 2))
	}
}

// checkHop makes sure that a hop's links lead from its GPU to the next, or to
// the network and from it, and are as wide as it says.
func checkHop(t *testing.T, j *Job, h Hop) {
	t.Helper()
	a, b := j.Comm.RankToNode[h.From], j.Comm.RankToNode[h.To]
	if (a != b) != (h.Type == graph.PathNET) {
		t.Errorf("hop of type %s from node %d to %d", h.Type, a, b)
	}
	if a != b && !j.HasNetworks() {
		return
	}
	at, least := j.GPU(h.From), float32(1e9)
	for i, way := range h.Ways {
		if i == 1 {
			if at.Type != graph.NET {
				t.Errorf("hop %d > %d leaves its node at %s", h.From, h.To, at)
			}
			at = way.Links[0].From
		}
		for _, l := range way.Links {
			if l.From != at {
				t.Errorf("hop %d > %d: link from %s after %s", h.From, h.To, l.From, at)
			}
			at, least = l.To, min(least, l.BW)
		}
	}
	if at != j.GPU(h.To) || h.BW > least {
		t.Errorf("hop %d > %d ends at %s with %v GB/s, narrowest link %v", h.From, h.To, at, h.BW, least)
	}
}

func TestGraphFileActs(t *testing.T) {
	m := open(t, "v100x4")
	plain := newJob(t, nil, nil, m)
	node := plain.Comm.Nodes[0]
	search := *node.Search
	search.Ring.Intra = search.Ring.Intra[4:5] // 0 3 1 2 alone
	search.Ring.NChannels = 1
	var text bytes.Buffer
	if err := graphxml.Encode(&text, node.Graph, &search); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "graph.xml")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	j := newJob(t, nil, map[string]string{"NCCL_GRAPH_FILE": file}, m)
	if len(j.Comm.Rings) != 2 || !slices.Equal(j.Comm.Rings[1].Order, []int32{0, 3, 1, 2}) {
		t.Errorf("%d rings, the last %v", len(j.Comm.Rings), j.Comm.Rings[len(j.Comm.Rings)-1].Order)
	}
	for _, bad := range []string{file + ".missing", "../../LICENSE"} {
		if _, err := New([]*Machine{m}, nil, noEnv().With(map[string]string{"NCCL_GRAPH_FILE": bad})); err == nil {
			t.Errorf("NCCL_GRAPH_FILE=%s is accepted", bad)
		}
	}
}

func TestErrorsNameTheMachine(t *testing.T) {
	m, err := (Source{}).read(strings.NewReader(strings.ReplaceAll(tiny, "<gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"1\"/>", "")), "box.xml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New([]*Machine{m}, nil, noEnv()); err == nil || !strings.Contains(err.Error(), "box.xml") {
		t.Errorf("got %v", err)
	}
}

func TestAssumedOncePerMachine(t *testing.T) {
	m, err := (Source{}).read(strings.NewReader(strings.ReplaceAll(tiny, ` link_width="16"`, "")), "box.xml")
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := See([]*Machine{m, m, m}, nil, ncclenv.FromEnviron(nil))
	if err != nil {
		t.Fatal(err)
	}
	assumed := Assumed(boxes)
	if len(assumed) != 1 || !strings.Contains(assumed[0], "link_width") {
		t.Errorf("assumed: %q", assumed)
	}
}

// BenchmarkNew measures the way from a file's elements to a communicator.
func BenchmarkNew(b *testing.B) {
	for _, name := range []string{"v100x4", "dgx-1v", "p5"} {
		m := open(b, name)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := New([]*Machine{m}, nil, noEnv()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A warning of a matrix that is also listed as assumed is told once.
func TestNotesLeaveOutWhatIsAssumed(t *testing.T) {
	sys := &topo.System{Assumed: []topo.Assumption{{Where: "line 3", What: "rows missing"}}}
	b := Box{Machine: &Machine{}, System: sys, Notes: []string{"line 3: rows missing", "two cards share a name"}}
	if got := Notes([]Box{b, b}); len(got) != 1 || got[0] != b.Notes[1] {
		t.Errorf("notes %q, want only the second", got)
	}
}
