//go:build unix && !linux && !race

package host

func wantHuge([]byte) {}
