// Package rings finds the ring, tree and NVLS permutations that NCCL runs
// inside one node.
package rings
