// Package draw makes pictures of machines, with rings laid over them.
//
// The places of all parts are computed here, so that a picture is the same on
// every machine and no label covers another: sockets are frames, a PCI tree
// hangs from each, GPUs stand in rank order, and everything that joins GPUs
// directly runs below them in lanes. Graphviz then draws what was placed.
package draw
