// Package machinejson reads and writes a machine as JSON: a topo.System in
// words and plain numbers, for programs that do not speak NCCL's XML. It reads
// YAML with the same names, too.
package machinejson
