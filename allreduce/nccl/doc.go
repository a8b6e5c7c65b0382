// Package nccl runs AllReduces with NVIDIA's NCCL, opened at run time: as the
// peer that ringtopo's own kernels are compared with, and to check them.
//
// NCCL chooses algorithm, protocol and channels itself, unless its variables in
// the environment say otherwise; of a plan only counts, types and operations
// count. All ranks are in this process, one thread and one GPU for each.
package nccl
