// Package machines holds well-known GPU machines, so that every command works
// without a GPU and without a file.
//
// Each is a topology file in NCCL's format, made from public facts: how many
// GPUs of which kind, how NVLink, PCI switches and sockets join them, and
// which networks they have. Addresses are made up. A machine on a rack may
// differ in what is not wired on its boards: NUMA settings, cards, their
// slots.
package machines
