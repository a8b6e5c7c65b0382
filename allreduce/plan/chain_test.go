package plan_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/internal/job"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
	"github.com/ringtopo/ringtopo/internal/vectors"
)

// From a topology file to a plan, without any expected search result between:
// one case per machine and node count.
func TestFromTopologyToPlan(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.json.gz")
	for _, path := range files {
		x := readExpectation(t, path)
		machine := strings.TrimSuffix(filepath.Base(path), ".json.gz")
		for i, c := range x.Communicators {
			if len(c.Env) > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d nodes", machine, c.Nodes), func(t *testing.T) {
				env := ncclenv.FromEnviron(nil)
				m, err := job.Source{Env: env}.Open(filepath.Join(vectors.Dir(), "machines", machine+".xml"))
				if err != nil {
					t.Fatal(err)
				}
				ms, err := job.Repeat([]*job.Machine{m}, c.Nodes)
				if err != nil {
					t.Fatal(err)
				}
				j, err := job.New(ms, nil, env)
				if err != nil {
					t.Fatal(err)
				}
				p, err := plan.New(j.Comm, plan.SettingsFrom(env))
				if err != nil {
					t.Fatal(err)
				}
				for _, op := range x.Cases[i].Colls.AllReduce {
					checkOp(t, p, &op, plan.Force{})
				}
			})
		}
	}
}

// Between nodes LL's limit goes by the processor of rank 0's own node, the
// network's overhead by that of all nodes together.
func TestMixedProcessors(t *testing.T) {
	planner := func(machines ...string) *plan.Planner {
		env := ncclenv.FromEnviron(nil)
		var ms []*job.Machine
		for _, name := range machines {
			m, err := job.Source{Env: env}.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			ms = append(ms, m)
		}
		j, err := job.New(ms, nil, env)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.New(j.Comm, plan.SettingsFrom(env))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ring := func(p *plan.Planner) (bw, lat float32) {
		return p.Bandwidth[plan.AllReduce][allreduce.Ring][allreduce.LL], p.Latency[plan.AllReduce][allreduce.Ring][allreduce.LL]
	}
	intelBW, intelLat := ring(planner("dgx-1v", "dgx-a100")) // Intel first
	amdBW, amdLat := ring(planner("dgx-a100", "dgx-1v"))     // AMD first
	if ratio := float32(16.0 / 30.0); amdBW != 22.5*ratio || intelBW <= amdBW {
		t.Errorf("LL: %v GB/s with Intel first, %v with AMD first, want the latter at %v", intelBW, amdBW, 22.5*ratio)
	}
	if intelLat != amdLat {
		t.Errorf("LL: %v and %v us, want the same", intelLat, amdLat)
	}
	if _, lat := ring(planner("dgx-a100", "dgx-a100")); fmt.Sprintf("%.1f", lat-intelLat) != "26.0" { // as many hops, 1 us more each
		t.Errorf("LL: %v us with AMD only, want 26 more than %v", lat, intelLat)
	}
}
