// Package ncclenv holds NCCL's variables: it looks them up by NCCL's rules and
// remembers which ones acted.
package ncclenv
