package nccllog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCorpus prints what is read of every log in the folder that
// RINGTOPO_CORPUS points at, and compares rings with its ANSWERS.tsv (log,
// channels, ring, times) where one is there.
func TestCorpus(t *testing.T) {
	folder := os.Getenv("RINGTOPO_CORPUS")
	if folder == "" {
		t.Skip("RINGTOPO_CORPUS does not point at a folder with logs/")
	}
	files, err := filepath.Glob(filepath.Join(folder, "logs", "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs in %s: %v", folder, err)
	}
	found := map[string]bool{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		log, err := Read(f)
		f.Close()
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		name := filepath.Base(file)
		t.Logf("%-48s version %-18s ranks %3d damaged %d", name, log.Version, len(log.Ranks), len(log.Damaged))
		for _, d := range log.Damaged {
			t.Logf("    damaged line %d: %s", d.Line, d.Text)
		}
		for _, c := range log.Comms() {
			t.Logf("    %3d ranks (%d logged) on %d nodes, %d channels", c.NRanks, len(c.Ranks), c.NNodes, c.NChannels())
			for ch := range c.NChannels() {
				ring, _ := c.Ring(ch)
				ring = ring[:min(len(ring), maxListed)]
				found[name+"\t"+strings.Trim(fmt.Sprint(ring), "[]")] = true
			}
		}
	}
	checkAnswers(t, filepath.Join(folder, "ANSWERS.tsv"), found)
}

func checkAnswers(t *testing.T, file string, found map[string]bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Logf("no answers: %v", err)
		return
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		f := strings.Split(line, "\t")
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "logs", f[0])); err != nil {
			continue
		}
		if !found[f[0]+"\t"+f[2]] {
			t.Errorf("%s: ring %s is not found", f[0], f[2])
		}
	}
}
