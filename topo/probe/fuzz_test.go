package probe

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// FuzzSysfs probes a machine whose sysfs is any archive: the result is a
// topology or an error, and the archive written again gives the same.
func FuzzSysfs(f *testing.F) {
	var p *Prober
	var ranks []Rank
	for _, text := range []string{oneGPU, switched} {
		doc, err := ncclxml.Decode(strings.NewReader(text), "seed")
		if err != nil {
			f.Fatal(err)
		}
		if p, ranks, err = Stage(doc); err != nil {
			f.Fatal(err)
		}
		f.Add(p.Files.(*Tree).Format("seed"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := ParseTree(data)
		if err != nil {
			return
		}
		machine := *p
		machine.Files = tree
		doc, err := machine.Probe(ranks)
		if err != nil {
			return
		}
		if machine.Files, err = ParseTree(tree.Format("again")); err != nil {
			t.Fatal(err)
		}
		again, err := machine.Probe(ranks)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(doc.Root, again.Root); diff != "" {
			t.Errorf("-first +again:\n%s", diff)
		}
	})
}

// FuzzAnswers probes a machine whose driver, network and job are any JSON.
func FuzzAnswers(f *testing.F) {
	p, _, err := Load("testdata/machines/dgx1v", nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"h200x2", "ib-merge", "gh200", "eth-only"} {
		var parts [3]string
		for i, file := range []string{hostFile, netFile, ranksFile} {
			data, err := os.ReadFile("testdata/machines/" + name + "/" + file)
			if err != nil {
				f.Fatal(err)
			}
			parts[i] = string(data)
		}
		f.Add(parts[0], parts[1], parts[2], true)
		f.Add(parts[0], parts[1], parts[2], false)
	}
	f.Fuzz(func(t *testing.T, host, network, ranks string, answered bool) {
		machine := *p
		machine.Host, machine.Network = Host{}, Network{}
		var job jobFile
		err := errors.Join(json.Unmarshal([]byte(host), &machine.Host), json.Unmarshal([]byte(network), &machine.Network),
			json.Unmarshal([]byte(ranks), &job))
		if err != nil || len(job.Ranks) > 64 {
			return
		}
		if !answered {
			machine.Network.Properties = nil
		}
		doc, err := machine.Probe(job.Ranks)
		if err != nil {
			return
		}
		if doc.Root == nil || doc.Root.Name != "system" {
			t.Errorf("no topology: %v", doc.Root)
		}
		_, _ = (&ncclxml.Document{Root: doc.Root, Name: "fuzz"}).System()
	})
}
