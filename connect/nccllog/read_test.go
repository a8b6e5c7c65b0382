package nccllog

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func mustRead(t *testing.T, text string) *Log {
	t.Helper()
	log, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

var plain = cmpopts.IgnoreUnexported(Rank{}, System{})

func TestReadInterleavedRanks(t *testing.T) {
	log := mustRead(t, `
Loading data ...
h:1:10 [0] NCCL INFO NCCL version 2.22.3+cuda12.5
h:1:10 [0] NCCL INFO ncclCommInitRank comm 0xaa rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 3b000 commId 0x77 - Init START
h:2:20 [1] NCCL INFO ncclCommInitRank comm 0xbb rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId d8000 commId 0x77 - Init START
h:1:10 [0] NCCL INFO === System : maxBw 20.0 totalBw 40.0 ===
h:2:20 [1] NCCL INFO === System : maxBw 20.0 totalBw 40.0 ===
h:1:10 [0] NCCL INFO CPU/0-0 (1/2/-1)
h:2:20 [1] NCCL INFO CPU/0-0 (1/2/-1)
h:1:10 [0] NCCL INFO + PCI[12.0] - GPU/0-3b000 (0)
h:1:10 [0] NCCL INFO               + NVL[40.0] - GPU/D8000
h:1:10 [0] NCCL INFO NCCL_MIN_NCHANNELS set by environment to 2.
h:1:10 [0] NCCL INFO ==========================================
h:1:10 [0] NCCL INFO GPU/3B000 :GPU/0-3b000 (0/5000.0/LOC) GPU/0-d8000 (1/40.0/NVL) 
h:1:10 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 1, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1
h:1:10 [0] NCCL INFO  0 : GPU/0 GPU/1
h:2:20 [1] NCCL INFO ==========================================
h:1:10 [0] NCCL INFO Tree 0 : -1 -> 0 -> 1/-1/-1
h:1:10 [0] NCCL INFO Channel 00/02 :    0   1
h:2:20 [1] NCCL INFO Ring 00 : 0 -> 1 -> 0
h:1:10 [0] NCCL INFO Channel 01/02 :    0   1
h:2:20 [1] NCCL INFO Ring 01 : 0 -> 1 -> 0
h:1:10 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1
h:1:10 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1
h:2:20 [1] NCCL INFO Trees [0] -1/-1/-1->1->0 [1] -1/-1/-1->1->0
h:1:10 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC
`)
	system := &System{MaxBW: 20, TotalBW: 40, Lines: []SystemLine{{Node: "CPU/0-0", Detail: "1/2/-1"}}}
	want := &Log{Version: "2.22.3+cuda12.5", Ranks: []*Rank{
		{
			Origin: "h:1:10 [0]", Rank: 0, NRanks: 2, CommID: "0x77", BusID: "3b000",
			System: &System{MaxBW: 20, TotalBW: 40, Lines: []SystemLine{
				{Node: "CPU/0-0", Detail: "1/2/-1"},
				{Link: "PCI", BW: 12, Node: "GPU/0-3b000", Detail: "0"},
				{Column: 14, Link: "NVL", BW: 40, Node: "GPU/D8000"},
			}},
			Paths: []PathLine{{From: "GPU/3B000", To: []PathTo{{"GPU/0-3b000", 0, 5000, "LOC"}, {"GPU/0-d8000", 1, 40, "NVL"}}}},
			Patterns: []Pattern{{Pattern: 4, NChannels: 1, SameChannels: 1, BWIntra: 20, BWInter: 20,
				TypeIntra: "NVL", TypeInter: "PIX", Chains: []Chain{{GPUs: []string{"0", "1"}}}}},
			Joins:    []TreeLine{{0, 0, -1, [3]int{1, -1, -1}}},
			Channels: []Channel{{0, 2, []int{0, 1}}, {1, 2, []int{0, 1}}},
			Rings:    []RingLine{{0, 1, 0, 1}},
			Trees:    []TreeLine{{0, 0, -1, [3]int{1, -1, -1}}, {1, 0, -1, [3]int{1, -1, -1}}},
		},
		{
			Origin: "h:2:20 [1]", Rank: 1, NRanks: 2, CommID: "0x77", BusID: "d8000", System: system,
			Rings: []RingLine{{0, 0, 1, 0}, {1, 0, 1, 0}},
			Trees: []TreeLine{{0, 1, 0, [3]int{-1, -1, -1}}, {1, 1, 0, [3]int{-1, -1, -1}}},
		},
	}}
	if diff := cmp.Diff(want, log, plain); diff != "" {
		t.Error(diff)
	}
	comms := log.Comms()
	if len(comms) != 1 || comms[0].NChannels() != 2 || len(comms[0].Ranks) != 2 {
		t.Errorf("communicators: %+v", comms)
	}
}

func TestReadOldAndNewForms(t *testing.T) {
	tests := []struct {
		name, text string
		want       Rank
	}{
		{"ring without a count", "h:1:1 [0] NCCL INFO Channel 00 :    0   2   1",
			Rank{Channels: []Channel{{0, 0, []int{0, 2, 1}}}}},
		{"narrow ranks", "h:1:1 [0] NCCL INFO Channel 00/32 :  0  7 15",
			Rank{Channels: []Channel{{0, 32, []int{0, 7, 15}}}}},
		{"trees from the parent down", "h:1:1 [0] NCCL INFO Trees [0] -1->0->1/32/-1 [1] 32->0->-1/-1/-1",
			Rank{Trees: []TreeLine{{0, 0, -1, [3]int{1, 32, -1}}, {1, 0, 32, [3]int{-1, -1, -1}}}}},
		{"speed for bandwidth", "h:1:1 [0] NCCL INFO Pattern 4, crossNic 1, nChannels 2, speed 1.200000/2.400000, type SYS/PHB, sameChannels 0",
			Rank{Rank: -1, Patterns: []Pattern{{4, 1, 2, 0, 1.2, 2.4, "SYS", "PHB", nil}}}},
		{"width for bandwidth", "h:1:1 [0] NCCL INFO === System : maxWidth 12.5 totalWidth 24.0 ===",
			Rank{Rank: -1, System: &System{MaxBW: 12.5, TotalBW: 24}}},
		{"communicator after the line", "h:1:1 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 comm 0xbeef nRanks 02 busId 65000",
			Rank{Trees: []TreeLine{{0, 0, -1, [3]int{1, -1, -1}}}}},
		{"bus ids for ranks", "h:1:1 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 1, bw 30.000000/30.000000, type NVL/PIX, sameChannels 1\n" +
			"h:1:1 [0] NCCL INFO  0 : NET/0-1 GPU/0-60 GPU/0-70 NET/0-1",
			Rank{Rank: -1, Patterns: []Pattern{{4, 0, 1, 1, 30, 30, "NVL", "PIX", []Chain{{[]string{"0-1", "0-1"}, []string{"0-60", "0-70"}}}}}}},
		{"launcher and time before the prefix", "[1,0]<stdout>: [2026-01-31 10:00:00] h:1:1 [0] NCCL INFO Ring 00 : 3 -> 0 -> 1",
			Rank{Rings: []RingLine{{0, 3, 0, 1}}}},
		{"carriage return", "h:1:1 [0] NCCL INFO Ring 00 : 3 -> 0 -> 1\r",
			Rank{Rings: []RingLine{{0, 3, 0, 1}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := mustRead(t, tt.text)
			tt.want.Origin = "h:1:1 [0]"
			if diff := cmp.Diff([]*Rank{&tt.want}, log.Ranks, plain); diff != "" {
				t.Error(diff)
			}
			if len(log.Damaged) > 0 {
				t.Errorf("damaged: %v", log.Damaged)
			}
		})
	}
}

func TestReadSkipsWhatIsNotTheGraph(t *testing.T) {
	log := mustRead(t, `h:1:1 [0] NCCL INFO NET/IB : No device found.
h:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:192.0.2.1<0>
h:1:1 [0] NCCL INFO Ring 00 : 63 -> 0 [receive] via NET/Socket/0
h:1:1 [0] NCCL INFO Ring 00 : 0[0] -> 1[1] via P2P/IPC
h:1:1 [0] NCCL INFO Channel 00/0 : 7[3] -> 0[0] [receive] via NET/IB/0/GDRDMA
h:1:1 [0] NCCL INFO Channel 03 : 0[6000] -> 2[a000] via P2P/direct pointer
h:1:1 [0] NCCL INFO Connected all rings
step 12 : GPU/CPU balance 0.5
`)
	if len(log.Ranks) != 0 || len(log.Damaged) != 0 {
		t.Errorf("ranks %v, damaged %v", log.Ranks, log.Damaged)
	}
}

func TestReadNotesDamage(t *testing.T) {
	log := mustRead(t, "h:1:1 [0] NCCL INFO Channel 00/02 :    0   1   2h:2:2 [1] NCCL INFO hi\n"+
		"h:1:1 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/\n"+
		"h:1:1 [0] NCCL INFO Pattern 4, crossNic 0, nCh\n")
	var lines []int
	for _, d := range log.Damaged {
		lines = append(lines, d.Line)
	}
	if diff := cmp.Diff([]int{1, 2, 3}, lines); diff != "" {
		t.Error(diff)
	}
	// What stands before a cut is kept.
	if len(log.Ranks) != 1 || len(log.Ranks[0].Trees) != 1 {
		t.Errorf("ranks: %+v", log.Ranks)
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	long := strings.Repeat("x", maxLine+1)
	if _, err := Read(strings.NewReader("a\n" + long)); err == nil || !strings.HasPrefix(err.Error(), "line 2 ") {
		t.Errorf("got %v", err)
	}
}

func TestReadVersion(t *testing.T) {
	log := mustRead(t, "torch: NCCL version (2, 18)\nNCCL version 2.12.10+cuda11.6\nh:1:1 [0] NCCL INFO NCCL version 2.99.0\n")
	if log.Version != "2.12.10+cuda11.6" {
		t.Errorf("version %q", log.Version)
	}
}
