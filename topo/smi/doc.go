// Package smi reads the text of nvidia-smi topo -m, as drivers of ten years and
// the people who copied it have left it, and makes a machine of it.
//
// [Read] gives the text's [Matrix] and refuses, with a reason, what is no such
// matrix. [Matrix.System] makes a machine that has those distances; what a
// matrix does not tell comes from [Options] and is listed. [Parse] does both.
package smi
