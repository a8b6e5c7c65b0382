// Package topo says what a machine is: its sockets, PCI devices, GPUs,
// NVLinks and NICs, as some source (a file, a text, a probe) gave them.
//
// A [System] is plain data in the order of its source, because that order
// decides which rings come out. The sources live in sub-packages.
package topo
