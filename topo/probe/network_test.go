package probe

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDerivedNetworks works out what NCCL's own networks say of their devices
// from the InfiniBand library's and the kernel's answers, and compares it with
// what they said.
func TestDerivedNetworks(t *testing.T) {
	dirs, _ := filepath.Glob("testdata/machines/*")
	variants, _ := filepath.Glob("testdata/machines/variants/*")
	compared := 0
	for _, dir := range append(dirs, variants...) {
		if !IsRecording(dir) {
			continue
		}
		p, ranks, err := Load(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		said := p.Network
		if said.Selected == netPlugin {
			continue
		}
		p.Network.Properties, p.recordedExports = nil, nil
		kind, devices, err := p.Network.devices(p.Files, p.Env)
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if kind != said.Selected {
			t.Errorf("%s: network %s, want %s", dir, kind, said.Selected)
		}
		if diff := cmp.Diff(said.Properties, devices); diff != "" {
			t.Errorf("%s: -want +got:\n%s", dir, diff)
		}
		exports := p.exports(kind, ranks)
		for i, r := range ranks {
			if want := said.DMABuf[i] != 0; exports[r.CUDADev] != want {
				t.Errorf("%s: rank %d exports memory: %v, want %v", dir, r.Rank, !want, want)
			}
		}
		compared++
	}
	if compared < 20 {
		t.Errorf("only %d recordings compared", compared)
	}
}
