package main

import (
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/allreduce"
)

// geometryError says how the blocks that ran differ from the plan.
type geometryError struct{ what string }

func (e *geometryError) Error() string { return "not as planned: " + e.what }

// checkBlocks compares what the blocks of a ring recorded of themselves with the
// plan that was run, where the engine has them record it.
func (v *validator) checkBlocks(p *allreduce.Plan) error {
	tracer, ok := v.ex.(allreduce.Tracer)
	if !ok || p.Works[0].Algo != allreduce.Ring {
		return nil
	}
	if what := misplaced(p, tracer.Blocks()); what != "" {
		return &geometryError{what}
	}
	return nil
}

// misplaced says what is wrong with the blocks of a launch, "" if nothing is: every
// rank must have a block of the planned size for every active channel, in the
// order of the channels.
func misplaced(p *allreduce.Plan, blocks []allreduce.Block) string {
	channels, ran := p.Channels(), map[[2]int]bool{}
	for _, b := range blocks {
		who := fmt.Sprintf("block %d of %d, for rank %d, ", b.Index, b.Grid, b.Rank)
		at := slices.Index(channels, b.Channel)
		switch {
		case at < 0:
			return fmt.Sprintf("%sran channel %d, planned are %v", who, b.Channel, channels)
		case b.Index%len(channels) != at || b.Grid%len(channels) != 0:
			return fmt.Sprintf("%sran channel %d, which is number %d of %d", who, b.Channel, at, len(channels))
		case b.Threads != p.Threads:
			return fmt.Sprintf("%shad %d threads, planned are %d", who, b.Threads, p.Threads)
		case ran[[2]int{b.Rank, b.Channel}]:
			return fmt.Sprintf("%sran channel %d once more", who, b.Channel)
		}
		ran[[2]int{b.Rank, b.Channel}] = true
	}
	if want := len(channels) * p.Layout.NRanks; len(ran) != want {
		return fmt.Sprintf("%d blocks recorded that they ran, planned are %d", len(ran), want)
	}
	return ""
}
