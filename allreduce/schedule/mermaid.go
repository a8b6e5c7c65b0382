package schedule

import (
	"bufio"
	"fmt"
	"io"
	"slices"
)

// WriteMermaid draws rows of all ranks as a Mermaid sequence diagram: one
// participant per rank in ring order, one arrow per message, step by step.
func WriteMermaid(w io.Writer, r *Ring, rows []Row) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "sequenceDiagram")
	for _, rank := range r.order {
		fmt.Fprintf(out, "    participant R%d as rank %d<br/>position %d\n", rank, rank, r.Position(rank))
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		if a.Loop != b.Loop {
			return a.Loop - b.Loop
		}
		if a.Step != b.Step {
			return a.Step - b.Step
		}
		return int(a.Position - b.Position)
	})
	loop, step := -1, -1
	for _, row := range rows {
		if row.To == None {
			continue
		}
		if row.Loop != loop || row.Step != step {
			loop, step = row.Loop, row.Step
			fmt.Fprintf(out, "    Note over R%d,R%d: channel %d, loop %d, step %d: %s\n",
				r.At(0), r.At(-1), row.Channel, loop, step, row.Primitive)
		}
		fmt.Fprintf(out, "    R%d->>R%d: chunk %d [%d, %d)\n", row.Rank, row.To, row.Chunk, row.Offset, row.Offset+row.Count)
	}
	return out.Flush()
}
