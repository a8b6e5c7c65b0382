// Package graph is the weighted graph of a machine and every path in it.
//
// [Build] turns a topo.System into a [Graph]: GPUs, PCI switches, NVSwitch,
// CPUs, NICs and networks joined by directed links with a bandwidth, and the
// path of every pair that matters, with the types and bandwidths NCCL gives
// them. [Graph.Split] cuts it into the nodes of a communicator. A Graph is a
// gonum graph; its order is always the same for the same input.
package graph
