// Package privatetmp gives a test that links go-graphviz a temporary folder of
// its own, before that module looks for code to load in the shared one. It
// imports nothing that go-graphviz's dependencies do not need too, and its path
// sorts before theirs, so Go initialises it first.
package privatetmp

import "os"

// Dir is the folder; whoever imports this package removes it at the end.
var Dir string

func init() {
	dir, err := os.MkdirTemp("", "ringtopo-graphviz-test-")
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		panic(err)
	}
	Dir = dir
}
