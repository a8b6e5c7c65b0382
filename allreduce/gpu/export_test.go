package gpu

import (
	"io"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/cuda"
)

// ServeOn is Serve on a driver of the test's.
func ServeOn(r *launch.Rank, drv *cuda.Driver) error { return serve(r, drv) }

// NewProcsOf is NewProcs with a worker of the test's.
func NewProcsOf(l *allreduce.Layout, o Options, worker string, said io.Writer) (*Procs, error) {
	if err := checkProcs(l, &o); err != nil {
		return nil, err
	}
	return newProcs(l, o, worker, said)
}
