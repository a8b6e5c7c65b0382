// Command ringtopo shows and draws the rings that a machine's GPUs run, says
// how good they can be, and proves them with a live AllReduce.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(run())
}

func run() int {
	if code, started := asWorker(os.Stderr); started {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second interrupt ends a command that cannot stop by itself.
	context.AfterFunc(ctx, stop)
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()}
	return a.run(ctx, os.Args[1:])
}
