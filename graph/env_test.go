package graph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
)

func options(set ...string) graph.Options {
	return graph.OptionsFrom(ncclenv.FromEnviron(set))
}

func TestOptionsFromNothing(t *testing.T) {
	if d := cmp.Diff(graph.Options{}, options()); d != "" {
		t.Errorf("without variables (-want +got)\n%s", d)
	}
}

func TestP2PLevels(t *testing.T) {
	for text, want := range map[string]*graph.PathType{
		"LOC": level(graph.LOC), "NVL": level(graph.NVL), "NVB": level(graph.NVB), "PIX": level(graph.PIX),
		"PXB": level(graph.PXB), "PXN": level(graph.PXN), "PHB": level(graph.PHB), "SYS": level(graph.SYS),
		// The numbers that older versions took.
		"0": level(graph.LOC), "1": level(graph.PIX), "2": level(graph.PXB), "3": level(graph.PHB),
		"4": level(graph.SYS), "5": level(graph.SYS), "6": level(graph.SYS), "99": level(graph.SYS),
		"0x2": level(graph.PXB), "010": level(graph.SYS), "3rd": level(graph.PHB), "4294967297": level(graph.PIX),
		// What is neither is not set.
		"": nil, "sys": nil, "NET": nil, "DIS": nil, "PXB ": nil, " PXB": nil, "-1": nil, "NODE": nil,
	} {
		if d := cmp.Diff(want, options("NCCL_P2P_LEVEL="+text).P2PLevel); d != "" {
			t.Errorf("NCCL_P2P_LEVEL=%q (-want +got)\n%s", text, d)
		}
		if d := cmp.Diff(want, options("NCCL_NET_GDR_LEVEL="+text).GDRLevel); d != "" {
			t.Errorf("NCCL_NET_GDR_LEVEL=%q (-want +got)\n%s", text, d)
		}
	}
}

func TestP2PDisable(t *testing.T) {
	for text, want := range map[string]*graph.PathType{
		"1": level(graph.LOC), "0x1": level(graph.LOC), "0": level(graph.SYS), "2": level(graph.SYS), "yes": level(graph.SYS),
	} {
		got := options("NCCL_P2P_DISABLE="+text, "NCCL_P2P_LEVEL=SYS").P2PLevel
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("NCCL_P2P_DISABLE=%q (-want +got)\n%s", text, d)
		}
	}
}

func TestSwitchesOfPaths(t *testing.T) {
	for set, want := range map[string]graph.Options{
		"NCCL_NVB_DISABLE=1": {NoNVB: true}, "NCCL_NVB_DISABLE=2": {NoNVB: true}, "NCCL_NVB_DISABLE=0": {},
		"NCCL_PXN_DISABLE=1": {NoPXN: true}, "NCCL_PXN_DISABLE=2": {},
		"NCCL_NET_DISABLE_INTRA=1": {NoNetIntra: true}, "NCCL_NET_DISABLE_INTRA=2": {},
		"NCCL_SHM_DISABLE=1": {NoSHM: true}, "NCCL_SHM_DISABLE=-1": {},
	} {
		if d := cmp.Diff(want, options(set)); d != "" {
			t.Errorf("%s (-want +got)\n%s", set, d)
		}
	}
}
