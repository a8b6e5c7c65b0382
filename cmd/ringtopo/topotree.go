package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/job"
	"github.com/ringtopo/ringtopo/topo"
)

// writeTree writes what hangs off each CPU.
func writeTree(w io.Writer, b job.Box) error {
	for _, cpu := range b.Graph.NodesOf(graph.CPU) {
		fmt.Fprintf(w, "%s  %s\n", plainName(cpu), describe(cpu))
		writeBranches(w, cpu, nil, "")
	}
	return nil
}

// writeBranches writes the links of a node: those to PCI devices and networks
// as branches, then those to its peers on one line per kind.
func writeBranches(w io.Writer, n, parent *graph.Node, indent string) {
	var below []*graph.Link
	peers := map[graph.LinkType][]string{}
	for _, l := range n.Links {
		switch {
		case l.To == parent:
		case l.Type == graph.LinkPCI || l.Type == graph.LinkNET:
			below = append(below, l)
		default:
			peers[l.Type] = append(peers[l.Type], fmt.Sprintf("%s %.1f", plainName(l.To), l.BW))
		}
	}
	var kinds []graph.LinkType
	for _, t := range []graph.LinkType{graph.LinkLOC, graph.LinkNVL, graph.LinkSYS} {
		if len(peers[t]) > 0 {
			kinds = append(kinds, t)
		}
	}
	for i, l := range below {
		branch, next := "├─ ", "│  "
		if i == len(below)-1 && len(kinds) == 0 {
			branch, next = "└─ ", "   "
		}
		text := fmt.Sprintf("%s %.1f GB/s  %s  %s", l.Type, l.BW, plainName(l.To), describe(l.To))
		fmt.Fprintf(w, "%s%s%s\n", indent, branch, strings.TrimSpace(text))
		writeBranches(w, l.To, n, indent+next)
	}
	for i, t := range kinds {
		branch := "├─ "
		if i == len(kinds)-1 {
			branch = "└─ "
		}
		fmt.Fprintf(w, "%s%s%s to %s GB/s\n", indent, branch, t, strings.Join(peers[t], ", "))
	}
}

// describe says what is known of a node beside its name.
func describe(n *graph.Node) string {
	switch n.Type {
	case graph.GPU:
		return fmt.Sprintf("%s, device %d, sm %d", busID(n), n.GPU.Dev, n.GPU.SM)
	case graph.CPU:
		return fmt.Sprintf("NUMA %d, %s", numa(n), cpuText(n.CPU))
	case graph.NET:
		return fmt.Sprintf("device %d, port %d", n.Net.Dev, n.Net.Port)
	}
	return ""
}

// numa is a CPU node's NUMA number; -1 on machines that hide it.
func numa(n *graph.Node) int {
	if n.NodeID < 0 {
		return int(n.NodeID)
	}
	return int(n.NodeID.Local())
}

func cpuText(c *graph.CPUInfo) string {
	arch := map[topo.Arch]string{topo.ArchX86: "x86-64", topo.ArchPOWER: "POWER", topo.ArchARM: "Arm"}[c.Arch]
	vendor := map[topo.Vendor]string{topo.VendorIntel: "Intel", topo.VendorAMD: "AMD", topo.VendorZhaoxin: "Zhaoxin"}[c.Vendor]
	text := strings.TrimSpace(arch + " " + vendor)
	if text == "" {
		return "processor of an unknown kind"
	}
	return text
}
