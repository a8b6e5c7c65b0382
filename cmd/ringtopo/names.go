package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/topo"
)

// newTable is a table in the style of all commands: plain lines, headers as
// they are written.
func newTable() table.Writer {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options.DrawBorder = false
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}

func busID(n *graph.Node) string { return topo.BusID(n.NodeID.Local()).String() }

// plainName names a node of a graph for people.
func plainName(n *graph.Node) string {
	switch n.Type {
	case graph.GPU:
		return fmt.Sprintf("GPU %d", n.GPU.Rank)
	case graph.CPU:
		return fmt.Sprintf("CPU %d", n.Index)
	case graph.NVS:
		return "NVSwitch"
	case graph.NET:
		if n.Net.Name != "" {
			return n.Net.Name
		}
		return fmt.Sprintf("NET %d", n.Net.Dev)
	case graph.NIC:
		return "NIC " + busID(n)
	}
	return "PCI " + busID(n)
}
