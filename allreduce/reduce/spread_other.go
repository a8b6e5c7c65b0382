//go:build !amd64 || race

package reduce

import "github.com/ringtopo/ringtopo/allreduce"

type spreader func(dst, src *[]byte, nd, ns, from, to int, past bool)

const vectorBytes = 1

// spreaderFor leaves all to Reduce.
func spreaderFor(t allreduce.DType, op allreduce.Op) spreader { return nil }
