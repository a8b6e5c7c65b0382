package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
	"github.com/ringtopo/ringtopo/topo/machines"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
	"github.com/ringtopo/ringtopo/topo/probe"
)

// Exit codes, the same for every command.
const (
	exitGood        = 0
	exitFailed      = 1 // validation failed
	exitUsage       = 2
	exitNoGPU       = 3 // no GPU or driver where one was demanded
	exitTopology    = 4 // a topology that cannot be read or makes no sense
	exitInterrupted = 130
)

// codedError is an error with the exit code that it leads to.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// usage is an error in what the user asked for.
func usage(format string, args ...any) error {
	return &codedError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode maps an error to its code. Before a command runs, every error is one
// of usage; from then on it is one of the machine unless it says otherwise.
func exitCode(err error, running bool) int {
	var coded *codedError
	var unknown *machines.UnknownError
	var device *ncclxml.DeviceError
	var live *probe.DeviceError
	var save *probe.SaveError
	var output *outputError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &save), errors.Is(err, syscall.ENOMEM):
		return exitUsage
	case !running, errors.As(err, &unknown), errors.As(err, &device), errors.As(err, &live), errors.As(err, &output):
		return exitUsage
	}
	return exitTopology
}

// tooLarge adds to the news that there is not memory enough what to do.
func tooLarge(err error) error {
	if errors.Is(err, syscall.ENOMEM) {
		return fmt.Errorf("%w; send fewer bytes (--bytes), or to fewer GPUs (--gpus): each rank needs memory for its own data", err)
	}
	return err
}

// cannotOpen is the error of an engine that cannot be opened. One that lacks
// memory has no exit code yet: what to do about it is for the caller to add.
func cannotOpen(err error) error {
	var coded *codedError
	switch {
	case errors.As(err, &coded), errors.Is(err, syscall.ENOMEM):
		return err
	case errors.Is(err, allreduce.ErrNoDevice):
		return &codedError{exitNoGPU, err}
	case errors.Is(err, nccl.ErrNoLibrary):
		return &codedError{exitNoGPU, fmt.Errorf("%w; name the library with --libnccl", err)}
	}
	return &codedError{exitFailed, err}
}

// cannotOpenOr is cannotOpen where it is known what to do about memory.
func cannotOpenOr(err error, advice string) error {
	var coded *codedError
	if err = cannotOpen(err); errors.As(err, &coded) {
		return err
	}
	return &codedError{exitUsage, fmt.Errorf("%w; %s", err, advice)}
}
