// Package machinejson reads and writes a machine as JSON: a topo.System in
// words and plain numbers, for programs that do not speak NCCL's XML.
package machinejson
