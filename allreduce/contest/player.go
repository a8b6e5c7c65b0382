package contest

import (
	"context"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
)

// How calls are made.
type How string

// Ways of calling.
const (
	Graph  How = "graph"  // replays of a captured graph
	Stream How = "stream" // launches into a stream, one by one
	Runs   How = "run"    // runs of the executor, each awaited
)

// Pace is what a call took, on the slowest device.
type Pace struct {
	Device time.Duration // between events on the device
	Host   time.Duration // the host's time to enqueue it
}

// Replay is a plan that is ready to be done again and again.
type Replay interface {
	// Run makes n launches back to back and gives the pace of one call; a launch
	// holds as many calls as Ready was asked for.
	Run(ctx context.Context, n int) (Pace, error)
	Close() error
}

// Player is an executor that prepares plans for many calls.
type Player interface {
	allreduce.Executor
	// Ready prepares a plan that has run before for launches of calls calls.
	Ready(p *allreduce.Plan, args []allreduce.Args, calls int, how How) (Replay, error)
}

// registrar is a player whose buffers must be made known to it.
type registrar interface {
	Register(list []allreduce.Buffer) error
}
