package graphxml

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/cnum"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// TestCorpus prints what becomes of every XML file of a folder of real inputs:
// RINGTOPO_CORPUS names the folder, the files are in xml/ below it.
func TestCorpus(t *testing.T) {
	folder := os.Getenv("RINGTOPO_CORPUS")
	if folder == "" {
		t.Skip("RINGTOPO_CORPUS names no folder")
	}
	files, err := filepath.Glob(filepath.Join(folder, "xml", "*.xml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", filepath.Join(folder, "xml"), err)
	}
	read := 0
	fmt.Println("| file | outcome | what it is, or why not |\n|---|---|---|")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		outcome := "read"
		what, err := describe(text, filepath.Base(file))
		if err != nil {
			outcome, what = "refused", err.Error()
			if typed := new(ncclxml.Error); !errors.As(err, &typed) || typed.Line == 0 || typed.Remedy == "" {
				t.Errorf("%s: the message names no line or no remedy: %v", file, err)
			}
		} else {
			read++
		}
		fmt.Printf("| %s | %s | %s |\n", filepath.Base(file), outcome, what)
	}
	fmt.Printf("\n%d files, %d read, %d refused\n", len(files), read, len(files)-read)
}

func describe(text []byte, name string) (string, error) {
	doc, err := ncclxml.Parse(bytes.NewReader(text), name)
	if err != nil {
		return "", err
	}
	if doc.Expect(ncclxml.Graphs) == nil {
		return describeGraphs(doc, text)
	}
	job, err := doc.Select(nil)
	if err != nil {
		return "", err
	}
	sys, err := job.System()
	if err != nil {
		return "", err
	}
	g, err := graph.Build(sys, graph.Options{})
	if err != nil {
		return "", fmt.Errorf("building the graph: %w", err)
	}
	count := func(t graph.NodeType) int { return len(g.NodesOf(t)) }
	return fmt.Sprintf("%d GPUs of compute capability %d, %d NUMA domains, %d PCI switches, %d networks%s%s",
		count(graph.GPU), g.NodesOf(graph.GPU)[0].GPU.SM, count(graph.CPU), count(graph.PCI), count(graph.NET),
		map[bool]string{true: ", NVSwitch"}[count(graph.NVS) > 0], assumptions(sys.Assumed)), nil
}

// assumptions lists each kind once.
func assumptions(all []topo.Assumption) string {
	var kinds []string
	times := map[string]int{}
	for _, a := range all {
		if times[a.What]++; times[a.What] == 1 {
			kinds = append(kinds, a.What)
		}
	}
	text := ""
	for _, k := range kinds {
		text += fmt.Sprintf("; assumed %d times: %s", times[k], k)
	}
	return text
}

// describeGraphs reads a graph file on a machine that has just the GPUs and
// networks that it names.
func describeGraphs(doc *ncclxml.Document, text []byte) (string, error) {
	g, err := graph.Build(machineFor(doc), graph.Options{})
	if err != nil {
		return "", fmt.Errorf("building the graph: %w", err)
	}
	f, err := Parse(bytes.NewReader(text), doc.Name)
	if err != nil {
		return "", err
	}
	p, assumed, err := f.Preset(g, rings.CrossAuto)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, s := range []struct {
		name string
		set  *rings.Set
	}{{"ring", p.Ring}, {"tree", p.Tree}, {"NVLS", p.NVLS}} {
		if s.set != nil && s.set.NChannels > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d channels at %v GB/s %v/%v, ranks %v", s.name, s.set.NChannels,
				s.set.BWIntra, s.set.TypeIntra, s.set.TypeInter, s.set.Intra))
		}
	}
	return "graphs: " + strings.Join(parts, "; ") + assumptions(assumed), nil
}

func machineFor(doc *ncclxml.Document) *topo.System {
	gpus, nets := map[int]bool{}, map[int]bool{}
	var walk func(*ncclxml.Element)
	walk = func(e *ncclxml.Element) {
		dev, _ := e.Get("dev")
		v, _ := cnum.Int(dev, 16)
		switch e.Name {
		case "gpu":
			gpus[int(v)] = true
		case "net":
			nets[int(v)] = true
		}
		for _, c := range e.Children {
			walk(c)
		}
	}
	walk(doc.Root)
	cpu := topo.CPU{Arch: topo.ArchARM}
	for i, dev := range sorted(gpus) {
		cpu.Devices = append(cpu.Devices, topo.Device{BusID: topo.BusID(i+1) << 12, Class: topo.ClassGPU, Speed: 60, Width: 16,
			GPU: &topo.GPU{Rank: i, Dev: dev, SM: 70}})
	}
	nic := &topo.NIC{}
	for _, dev := range sorted(nets) {
		nic.Nets = append(nic.Nets, topo.Net{Dev: dev, Mbps: 100000})
	}
	cpu.Devices = append(cpu.Devices, topo.Device{Class: topo.ClassNIC, Virtual: true, NIC: nic})
	return &topo.System{CPUs: []topo.CPU{cpu}}
}

func sorted(set map[int]bool) []int {
	var v []int
	for n := range set {
		v = append(v, n)
	}
	slices.Sort(v)
	return v
}
