package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/job"
)

// ringRow is one distinct ring and the channels that run it over the same links.
type ringRow struct {
	channels []int
	order    []int32
	hops     []job.Hop
}

// distinctRings groups channels that run the same ring over the same links, in
// order of the first. Between nodes one ring can leave by other cards.
func distinctRings(j *job.Job) []*ringRow {
	var rows []*ringRow
	for id, r := range j.Comm.Rings {
		i := slices.IndexFunc(rows, func(row *ringRow) bool { return j.SameWays(row.channels[0], id) })
		if i < 0 {
			i = len(rows)
			rows = append(rows, &ringRow{order: r.Order, hops: j.Hops(id)})
		}
		rows[i].channels = append(rows[i].channels, id)
	}
	return rows
}

// writeRingTables writes the rings with their hops, then the links that they
// use. Long rings are cut like NCCL's lines unless full.
func (a *app) writeRingTables(w io.Writer, j *job.Job, full bool) error {
	rows := distinctRings(j)
	most := j.Comm.NRanks
	if !full {
		most = min(most, maxRanks)
	}
	t := newTable()
	t.AppendHeader(table.Row{"Channels", "Ring: rank (bus id)", "Hops: type GB/s", "Slowest hop"})
	for _, r := range rows {
		slow := job.Slowest(r.hops)
		t.AppendRow(table.Row{
			lines(ints(r.channels), 6),
			lines(orderCells(j, r.order, most), 4),
			lines(hopCells(r.hops, most), 4),
			fmt.Sprintf("%d > %d  %s %.1f", slow.From, slow.To, slow.Type, slow.BW),
		})
		t.AppendSeparator()
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", t.Render()); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, linkTable(j, rows, full).Render())
	return err
}

// maxRanks is how many ranks of a ring a table shows.
const maxRanks = 20

func orderCells(j *job.Job, order []int32, most int) []string {
	cells := make([]string, 0, most+1)
	for _, r := range order[:most] {
		cells = append(cells, fmt.Sprintf("%d (%s)", r, busText(j.GPU(int(r)))))
	}
	return more(cells, len(order)-most)
}

func hopCells(hops []job.Hop, most int) []string {
	cells := make([]string, 0, most+1)
	for _, h := range hops[:most] {
		cells = append(cells, fmt.Sprintf("%s %.1f", h.Type, h.BW))
	}
	return more(cells, len(hops)-most)
}

func more(cells []string, left int) []string {
	if left > 0 {
		cells = append(cells, fmt.Sprintf("%d more", left))
	}
	return cells
}

// busText is a GPU's bus id as nvidia-smi users know it, without a domain of 0.
func busText(n *graph.Node) string {
	return strings.TrimPrefix(busID(n), "0000:")
}

// lines joins cells, so many on a line.
func lines(cells []string, perLine int) string {
	var b strings.Builder
	for i, c := range cells {
		switch {
		case i == 0:
		case i%perLine == 0:
			b.WriteByte('\n')
		default:
			b.WriteString("  ")
		}
		b.WriteString(c)
	}
	return b.String()
}

func ints(v []int) []string {
	out := make([]string, len(v))
	for i, n := range v {
		out[i] = fmt.Sprint(n)
	}
	return out
}
