// Package reduce combines elements, one implementation for everything that
// runs or checks an AllReduce on the CPU.
//
// [Reduce] applies one operation to two operands, each element in its own type.
// Integers wrap. float16 and bfloat16 are computed in float32 and rounded to
// nearest even after every operation, which for a single sum or product gives
// the same bits as arithmetic in the type itself. In min and max a number wins
// over a NaN, and -0 is below +0. An average multiplies inputs by 1/n
// ([Scale]) where the type is a float and divides the final sum ([Divide])
// where it is an integer.
//
// Buffers are raw bytes in the machine's order, need no alignment, and hold a
// whole number of elements. A destination may be one of the sources, but must
// not overlap them otherwise.
package reduce
