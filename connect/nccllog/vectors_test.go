package nccllog_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/connect/nccllog"
	"github.com/ringtopo/ringtopo/internal/job"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
)

const vectorsDir = "../../testdata/vectors"

// cut is from where on the expected lines may be cut.
const cut = 900

func newJob(t testing.TB, machine string, nodes int) *job.Job {
	t.Helper()
	m, err := job.Source{}.Open(filepath.Join(vectorsDir, "machines", machine+".xml"))
	if err != nil {
		t.Fatal(err)
	}
	ms, err := job.Repeat([]*job.Machine{m}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	j, err := job.New(ms, nil, ncclenv.FromEnviron(nil))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestExpectedText compares what rank 0 logs with what NCCL logs, line by line.
func TestExpectedText(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectorsDir, "text", "*.txt"))
	if err != nil || len(files) < 10 {
		t.Fatalf("only %d expected texts: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		machine, count, _ := strings.Cut(name, ".n")
		t.Run(name, func(t *testing.T) {
			nodes, err := strconv.Atoi(count)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			if err := nccllog.Write(&got, newJob(t, machine, nodes).Comm, 0, false); err != nil {
				t.Fatal(err)
			}
			want := strings.Split(string(text), "\n")
			if diff := cmp.Diff(want, cutLike(want, strings.Split(got.String(), "\n"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// cutLike cuts the lines of got where those of want are.
func cutLike(want, got []string) []string {
	for i := range got {
		if i < len(want) && len(want[i]) > cut && strings.HasPrefix(got[i], want[i]) {
			got[i] = want[i]
		}
	}
	return got
}

// TestWholeViewComesBack reads back what every rank of two nodes writes.
func TestWholeViewComesBack(t *testing.T) {
	j := newJob(t, "azure_ndv4", 2)
	for rank := range j.Comm.NRanks {
		var b strings.Builder
		if err := nccllog.Write(&b, j.Comm, rank, true); err != nil {
			t.Fatal(err)
		}
		log, err := nccllog.Read(strings.NewReader(b.String()))
		if err != nil || len(log.Ranks) != 1 || len(log.Damaged) != 0 {
			t.Fatalf("rank %d: %v, %d ranks, damaged %v", rank, err, len(log.Ranks), log.Damaged)
		}
		r, node := log.Ranks[0], j.Comm.Nodes[j.Comm.RankToNode[rank]]
		if r.Rank != rank {
			t.Errorf("rank %d logs as %d", rank, r.Rank)
		}
		lines := strings.Count(b.String(), "\n")
		said := 2 + len(r.System.Lines) + len(r.Paths) + len(r.Patterns) + len(r.Joins) + len(r.Channels) + len(r.Rings) + 1
		for _, p := range r.Patterns {
			said += len(p.Chains)
		}
		if said != lines {
			t.Errorf("rank %d: %d lines written, %d read", rank, lines, said)
		}
		if got, want := r.Patterns[0].Chains[0].GPUs[0], strconv.Itoa(node.Ranks[node.Search.Ring.Intra[0][0]]); got != want {
			t.Errorf("rank %d: pattern starts at GPU %s, want %s", rank, got, want)
		}
	}
}

// TestLimitedChannelsKeepTreeLines: NCCL logs where trees are joined before it
// cuts channels off.
func TestLimitedChannelsKeepTreeLines(t *testing.T) {
	lines := func(set map[string]string) (trees []string, rings int) {
		m, err := job.Source{}.Open("v100x4")
		if err != nil {
			t.Fatal(err)
		}
		j, err := job.New([]*job.Machine{m}, nil, ncclenv.FromEnviron(nil).With(set))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := nccllog.Write(&b, j.Comm, 0, false); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if strings.HasPrefix(line, "Tree ") {
				trees = append(trees, line)
			}
		}
		return trees, strings.Count(b.String(), "\nRing ")
	}
	all, _ := lines(nil)
	for want, set := range map[int]map[string]string{
		2:  {"NCCL_MAX_NCHANNELS": "2"},
		32: {"NCCL_MIN_NCHANNELS": "32"},
		20: {"NCCL_MIN_NCHANNELS": "20", "NCCL_MAX_NCHANNELS": "3"},
	} {
		trees, rings := lines(set)
		if diff := cmp.Diff(all, trees); diff != "" || rings != want {
			t.Errorf("%v: %d ring lines; tree lines: %s", set, rings, diff)
		}
	}
}

func TestWriteRefusesUnknownRank(t *testing.T) {
	j := newJob(t, "v100x4_nv2", 1)
	for _, rank := range []int{-1, 4} {
		if err := nccllog.Write(&strings.Builder{}, j.Comm, rank, false); err == nil {
			t.Errorf("rank %d: no error", rank)
		}
	}
}

func BenchmarkWriteChannels(b *testing.B) {
	j := newJob(b, "azure_ndv4", 16)
	var out strings.Builder
	for b.Loop() {
		out.Reset()
		if err := nccllog.WriteChannels(&out, j.Comm, true); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	j := newJob(b, "azure_ndv4", 2)
	var text strings.Builder
	for rank := range j.Comm.NRanks {
		if err := nccllog.Write(&text, j.Comm, rank, true); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := nccllog.Read(strings.NewReader(text.String())); err != nil {
			b.Fatal(err)
		}
	}
}
