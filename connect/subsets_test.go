package connect_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/internal/vectors"
	"github.com/ringtopo/ringtopo/rings"
)

// TestSubsets runs jobs on some of a machine's GPUs, in a given order.
func TestSubsets(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(vectors.Dir(), "subsets.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Machines map[string][]struct {
			GPUs      []int
			NChannels int
			Ring      rings.Set
			Rings     [][]int
		}
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for machine, cases := range all.Machines {
		doc := document(t, filepath.Join(vectors.Dir(), "machines", machine+".xml"))
		for _, c := range cases {
			t.Run(fmt.Sprint(machine, c.GPUs), func(t *testing.T) {
				b := search(t, whole(t, doc, c.GPUs, nil), len(c.GPUs), nil)
				comm := join(t, []box{b}, nil)
				if comm.NChannels != c.NChannels {
					t.Errorf("%d channels, want %d", comm.NChannels, c.NChannels)
				}
				got := b.search[0].Ring
				got.Intra, got.Inter, got.LatencyInter, got.Pattern, got.NHops = nil, nil, 0, 0, 0
				if d := cmp.Diff(c.Ring, got); d != "" {
					t.Errorf("ring search (-want +got)\n%s", d)
				}
				if d := cmp.Diff(c.Rings, orders(comm)); d != "" {
					t.Errorf("rings (-want +got)\n%s", d)
				}
			})
		}
	}
}
