package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
)

// writeTuningText writes the cost tables as NCCL logs them.
func writeTuningText(w io.Writer, p *planned) error {
	for _, line := range p.planner.Lines() {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// writePlanTables writes one message at length, several as a line each.
func writePlanTables(w io.Writer, p *planned, format string) error {
	if len(p.groups) == 1 && len(p.groups[0]) == 1 && len(p.groups[0][0].Details) == 1 && format == "table" {
		return writeOnePlan(w, p, p.groups[0][0])
	}
	_, err := fmt.Fprintln(w, render(planLines(p, format), format))
	return err
}

func render(t table.Writer, format string) string {
	switch format {
	case "csv":
		return t.RenderCSV()
	case "markdown":
		return t.RenderMarkdown()
	}
	return t.Render()
}

// planLines has a line for every operation, sizes in bytes where a program will
// read them.
func planLines(p *planned, format string) table.Writer {
	size := sizeText
	if format == "csv" {
		size = func(bytes int64) string { return fmt.Sprint(bytes) }
	}
	t := newTable()
	t.AppendHeader(table.Row{"Bytes", "Algo", "Proto", "us", "busbw", "Channels", "Grid", "Block", "Slice", "Chunk", "Loops", "Count lo", "mid", "hi"})
	alignRight(t, "us", "busbw", "Slice", "Chunk")
	for _, launches := range p.groups {
		for _, l := range launches {
			for i := range l.Details {
				t.AppendRow(planLine(p, l, i, size))
			}
		}
		if len(launches) > 0 && len(launches)+len(launches[0].Details) > 2 {
			t.AppendSeparator()
		}
	}
	return t
}

func planLine(p *planned, l *plan.Launch, i int, size func(int64) string) table.Row {
	d, w := &l.Details[i], &l.Plan.Works[i]
	us, bus := prediction(p, d)
	loops := max(d.Lo.Loops, d.Mid.Loops, d.Hi.Loops)
	return table.Row{w.Bytes(), w.Algo.String(), w.Proto.String(), us, bus, channelText(w), l.Grid(), l.Plan.Threads,
		size(int64(w.SliceBytes())), size(int64(d.Lo.ChunkBytes)), loops, d.Lo.Count, d.Mid.Count, d.Hi.Count}
}

// alignRight puts texts that are numbers under each other.
func alignRight(t table.Writer, columns ...string) {
	var configs []table.ColumnConfig
	for _, name := range columns {
		configs = append(configs, table.ColumnConfig{Name: name, Align: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
}

// count writes a number of things: 1 loop, 2 loops.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// prediction is the time in us and the bus bandwidth in GB/s, "-" where there
// is no model.
func prediction(p *planned, d *plan.Detail) (us, bus string) {
	if d.Choice.Time < 0 {
		return "-", "-"
	}
	return fmt.Sprintf("%.1f", d.Choice.Time), fmt.Sprintf("%.1f", allreduce.BusBW(p.job.Comm.NRanks, d.Bytes(), float64(d.Choice.Time)))
}

// channelText names the channels of a work: 0-11, or 0,2,5.
func channelText(w *allreduce.Work) string {
	var runs []string
	for i := 0; i < len(w.Parts); {
		n := 1
		for i+n < len(w.Parts) && w.Parts[i+n].Channel == w.Parts[i].Channel+n {
			n++
		}
		if first := w.Parts[i].Channel; n == 1 {
			runs = append(runs, fmt.Sprint(first))
		} else {
			runs = append(runs, fmt.Sprintf("%d-%d", first, first+n-1))
		}
		i += n
	}
	return strings.Join(runs, ",")
}

// writeOnePlan writes times, geometry and parts of one message.
func writeOnePlan(w io.Writer, p *planned, l *plan.Launch) error {
	work, d := &l.Plan.Works[0], &l.Details[0]
	c := p.job.Comm
	fmt.Fprintf(w, "AllReduce of %s: %d %s, %s; %s on %s, %s\n\n", sizeText(work.Bytes()), work.Count, work.DType, work.Op,
		count(c.NRanks, "rank"), count(c.NNodes, "node"), count(c.NChannels, "channel"))
	fmt.Fprintf(w, "%s\n\n", timeTable(p, d).Render())
	us, bus := prediction(p, d)
	t := newTable()
	t.AppendRow(table.Row{"Choice", fmt.Sprintf("%s with %s, up to %s, %d threads", work.Algo, work.Proto, count(d.Choice.NChannels, "channel"), work.Threads)})
	if !work.Algo.Direct() {
		t.AppendRow(table.Row{"Predicted", fmt.Sprintf("%s us, bus bandwidth %s GB/s", us, bus)})
	}
	t.AppendRow(table.Row{"Launch", fmt.Sprintf("grid %d, block %d, channels %s (mask %#x)", l.Grid(), l.Plan.Threads, channelText(work), l.Plan.Mask)})
	if l.Kernel != "" {
		t.AppendRow(table.Row{"Kernel", l.Kernel})
	}
	t.AppendRows([]table.Row{
		{"FIFO", fmt.Sprintf("%s in %d steps of %s", sizeText(int64(work.StepBytes*allreduce.FIFODepth)), allreduce.FIFODepth, sizeText(int64(work.StepBytes)))},
		{"Slice", sliceText(work)},
		{"Chunk", fmt.Sprintf("up to %s of data, %d grains of %d bytes", sizeText(int64(d.Lo.ChunkBytes)), d.Lo.Grains(work.Proto), work.Proto.Grain())},
	})
	fmt.Fprintf(w, "%s\n\n", t.Render())
	_, err := fmt.Fprintln(w, partTable(work).Render())
	return err
}

// sliceText says what is handed over at a time.
func sliceText(w *allreduce.Work) string {
	size := sizeText(int64(w.SliceBytes()))
	if w.SliceSteps == w.ChunkSteps {
		return fmt.Sprintf("a whole chunk: one step of %s, flags included", size)
	}
	return fmt.Sprintf("%d of %d steps of a chunk, %s", w.SliceSteps, w.ChunkSteps, size)
}

// timeTable has the predicted time of every algorithm and protocol, the chosen
// one marked.
func timeTable(p *planned, d *plan.Detail) table.Writer {
	t := newTable()
	t.AppendHeader(table.Row{"us", "LL", "LL128", "Simple"})
	alignRight(t, "LL", "LL128", "Simple")
	for _, a := range algosOf(p) {
		row := table.Row{a.String()}
		for _, proto := range allreduce.Protos() {
			cell := "-"
			if us := d.Choice.Times[a][proto]; us >= 0 {
				cell = fmt.Sprintf("%.1f", us)
			}
			if a == d.Choice.Algo && proto == d.Choice.Proto {
				cell = "* " + cell
			}
			row = append(row, cell)
		}
		t.AppendRow(row)
	}
	return t
}

// partTable has what each channel moves; channels that move as much as the one
// before share its line.
func partTable(w *allreduce.Work) table.Writer {
	t := newTable()
	t.AppendHeader(table.Row{"Channels", "First element", "Elements each", "Bytes each", "Chunk bytes", "Loops"})
	size := int64(w.DType.Size())
	for i := 0; i < len(w.Parts); {
		n, part := 1, w.Parts[i]
		for i+n < len(w.Parts) && w.Parts[i+n].Count == part.Count && w.Parts[i+n].ChunkBytes == part.ChunkBytes {
			n++
		}
		run := *w
		run.Parts = w.Parts[i : i+n]
		t.AppendRow(table.Row{channelText(&run), part.Offset, part.Count, part.Count * size, part.ChunkBytes, part.Loops})
		i += n
	}
	return t
}
