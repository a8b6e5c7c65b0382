//go:build race

package main

// underRace says that the race detector slows everything down many times.
const underRace = true
