package plan_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

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
