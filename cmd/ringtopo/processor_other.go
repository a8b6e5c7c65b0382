//go:build !linux

package main

// processor is the name of this host's processor, which is asked for on Linux
// only.
func processor() string { return "" }
