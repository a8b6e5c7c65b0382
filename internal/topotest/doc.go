// Package topotest makes machines for tests: those of the worked examples, and
// random ones with odd corners. Only tests use it.
package topotest
