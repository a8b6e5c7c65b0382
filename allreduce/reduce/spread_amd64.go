//go:build !race

package reduce

import "github.com/ringtopo/ringtopo/allreduce"

//go:noescape
func spreadAdd8(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadAdd32(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadAdd64(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadAddF32(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadAddF64(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadMul32(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadMulF32(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadMulF64(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadMinI8(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadMinU8(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadMinI32(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadMinU32(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadMaxI8(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadMaxU8(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadMaxI32(dst, src *[]byte, nd, ns, from, to int, past bool)

//go:noescape
func spreadMaxU32(dst, src *[]byte, nd, ns, from, to int, past bool)

// spreader works on a multiple of vectorBytes.
type spreader func(dst, src *[]byte, nd, ns, from, to int, past bool)

// spreaders has a nil where operands go through Reduce, two by two.
var spreaders = [allreduce.NumDTypes][allreduce.NumOps]spreader{
	allreduce.Int8:    {allreduce.Sum: spreadAdd8, allreduce.Min: spreadMinI8, allreduce.Max: spreadMaxI8},
	allreduce.Uint8:   {allreduce.Sum: spreadAdd8, allreduce.Min: spreadMinU8, allreduce.Max: spreadMaxU8},
	allreduce.Int32:   {allreduce.Sum: spreadAdd32, allreduce.Prod: spreadMul32, allreduce.Min: spreadMinI32, allreduce.Max: spreadMaxI32},
	allreduce.Uint32:  {allreduce.Sum: spreadAdd32, allreduce.Prod: spreadMul32, allreduce.Min: spreadMinU32, allreduce.Max: spreadMaxU32},
	allreduce.Int64:   {allreduce.Sum: spreadAdd64},
	allreduce.Uint64:  {allreduce.Sum: spreadAdd64},
	allreduce.Float32: {allreduce.Sum: spreadAddF32, allreduce.Prod: spreadMulF32},
	allreduce.Float64: {allreduce.Sum: spreadAddF64, allreduce.Prod: spreadMulF64},
}

func spreaderFor(t allreduce.DType, op allreduce.Op) spreader {
	if !vectorOK || int(op) >= allreduce.NumOps {
		return nil
	}
	return spreaders[t][op]
}
