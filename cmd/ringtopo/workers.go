package main

import (
	"fmt"
	"io"

	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/host"
	"github.com/ringtopo/ringtopo/allreduce/launch"
)

// asWorker runs what this process was started for, if another ringtopo started
// it as one rank of a job, and gives the exit code.
func asWorker(stderr io.Writer) (code int, started bool) {
	started, err := launch.Child(map[string]launch.Worker{host.Worker: host.Serve, gpu.Worker: gpu.Serve})
	if err != nil {
		fmt.Fprintf(stderr, "ringtopo: %v\n", err)
		return exitFailed, started
	}
	return exitGood, started
}
