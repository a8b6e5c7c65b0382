package main

import (
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/host"
)

// benchEngine gives what opens executors for an engine, and its name.
func (a *app) benchEngine(name string, _ *machineFlags) (func(*allreduce.Layout) (allreduce.Executor, error), string, error) {
	switch name {
	case "auto", "host":
		return func(l *allreduce.Layout) (allreduce.Executor, error) { return host.New(l, host.Options{}) }, "host", nil
	}
	return nil, "", usage("--engine %s: want auto or host", name)
}
