package schedule

import (
	"iter"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Row is one primitive of one rank. A rank's rows are 2n-1 per loop.
type Row struct {
	Channel   int       `json:"channel"`
	Loop      int       `json:"loop"`
	Step      int       `json:"step"` // within the loop, from 0
	Rank      Rank      `json:"rank"`
	Position  Position  `json:"position"`
	Phase     Phase     `json:"phase"`
	Primitive Primitive `json:"primitive"`
	Chunk     Chunk     `json:"chunk"`
	Owner     Rank      `json:"owner"`
	From      Rank      `json:"from"` // -1: does not receive
	To        Rank      `json:"to"`   // -1: does not send
	Offset    int64     `json:"offset"`
	Count     int64     `json:"count"` // elements; 0 is sent all the same
}

// Rows lists what one rank does for one part of a message, in order.
func Rows(r *Ring, rank Rank, p *allreduce.Part, t allreduce.DType) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for i := range p.Loops {
			loop := LoopAt(p, t, r.Len(), i)
			for s := range Steps(r.Len()) {
				row := row(r, rank, s, loop)
				row.Channel, row.Loop = p.Channel, i
				if !yield(row) {
					return
				}
			}
		}
	}
}

func row(r *Ring, rank Rank, s int, loop Loop) Row {
	at := r.Position(rank)
	primitive, chunk := Step(s, r.Len(), at)
	row := Row{Step: s, Rank: rank, Position: at, Phase: primitive.Phase(), Primitive: primitive,
		Chunk: chunk, Owner: r.Owner(chunk), From: None, To: None}
	if primitive.Receives() {
		row.From = r.Prev(rank)
	}
	if primitive.Sends() {
		row.To = r.Next(rank)
	}
	row.Offset, row.Count = loop.At(chunk)
	return row
}

// All lists the rows of every rank, loop by loop, in the order of user ranks
// within a loop.
func All(r *Ring, p *allreduce.Part, t allreduce.DType) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for i := range p.Loops {
			loop := LoopAt(p, t, r.Len(), i)
			for rank := range Rank(r.Len()) {
				for s := range Steps(r.Len()) {
					row := row(r, rank, s, loop)
					row.Channel, row.Loop = p.Channel, i
					if !yield(row) {
						return
					}
				}
			}
		}
	}
}
