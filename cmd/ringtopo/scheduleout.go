package main

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
)

// scheduleJSON is ringtopo schedule -o json, schema ringtopo.schedule/v1.
type scheduleJSON struct {
	Schema     string          `json:"schema"`
	Machine    []string        `json:"machine"` // empty for a ring given by hand
	Ring       []int           `json:"ring"`    // user ranks from rank 0 on
	Channel    int             `json:"channel"`
	Bytes      int64           `json:"bytes"` // of the whole message
	DType      allreduce.DType `json:"dtype"`
	Proto      allreduce.Proto `json:"proto"`
	Offset     int64           `json:"offset"` // of the channel's share, in elements
	Count      int64           `json:"count"`
	ChunkBytes int             `json:"chunkBytes"`
	Loops      int             `json:"loops"`
	Rows       []schedule.Row  `json:"rows"`
}

func newScheduleJSON(s *scheduled) scheduleJSON {
	out := scheduleJSON{Schema: "ringtopo.schedule/v1", Machine: s.machine, Ring: s.ring.Order(), Channel: s.part.Channel,
		Bytes: s.work.Bytes(), DType: s.work.DType, Proto: s.work.Proto,
		Offset: s.part.Offset, Count: s.part.Count, ChunkBytes: s.part.ChunkBytes, Loops: s.part.Loops, Rows: s.rows}
	if out.Machine == nil {
		out.Machine = []string{}
	}
	return out
}

// writeScheduleTable writes a row per primitive, ranks apart from each other.
func writeScheduleTable(w io.Writer, s *scheduled, format string) error {
	if format == "table" {
		if _, err := fmt.Fprintf(w, "Channel %d: ring %s, %d %s with %s in %s of %d chunks of up to %s\n\n", s.part.Channel, s.ring,
			s.part.Count, s.work.DType, s.work.Proto, count(s.part.Loops, "loop"), s.ring.Len(), sizeText(int64(s.part.ChunkBytes))); err != nil {
			return err
		}
	}
	t := newTable()
	t.AppendHeader(table.Row{"Rank", "Position", "Loop", "Step", "Phase", "Primitive", "Chunk", "Owner", "From", "To", "Offset", "Count"})
	alignRight(t, "From", "To")
	for i, r := range s.rows {
		if i > 0 && (r.Rank != s.rows[i-1].Rank || r.Loop != s.rows[i-1].Loop) {
			t.AppendSeparator()
		}
		t.AppendRow(table.Row{r.Rank, r.Position, r.Loop, r.Step, r.Phase.String(), r.Primitive.String(), r.Chunk, r.Owner, peer(r.From), peer(r.To), r.Offset, r.Count})
	}
	_, err := fmt.Fprintln(w, render(t, format))
	return err
}

// peer is a rank, or nothing.
func peer(r schedule.Rank) string {
	if r == schedule.None {
		return ""
	}
	return fmt.Sprint(r)
}
