// LL128 in a ring: slices of lines that carry their own flag.
#pragma once
#include "lines.h"
#include "wires.h"

// wireStep moves the q-th slice of a chunk. All loads are under way before the
// flags are waited for.
DEVICE void wireStep(Context &c, const Step &p, const Lane &l, u32 q, bool whole, bool in16, bool out16) {
  Pack v[4], r[4];
  const u8 *from = c.s->channel.recv[kLL128] + (c.recvStep % kDepth) * c.stepBytes + q * kSliceWire;
  u8 *to = c.s->channel.send[kLL128] + (c.sendStep % kDepth) * c.stepBytes + q * kSliceWire;
  i64 left = p.len - q * kSliceElems;
  if (p.input) {
    const u8 *in = p.in + (u64)q * kSliceData;
    if (whole) loadLanes<true>(l, in, left, true, v);
    else loadLanes<false>(l, in, left, in16, v);
  }
  if (p.receive) waitWire(c, l, from, c.recvStep + 1, c.s->channel.prev, p.early, r);
  if (p.input) {
    pair(l, v);
    scaleAll(c.recipe, v);
  }
  if (p.receive && p.input) foldAll(c.recipe.reduction, r, v);
  if (p.receive) UNROLL for (int g = 0; g < 4; g++) v[g] = r[g];
  if (p.finish) divideAll(c.recipe, v);
  if (p.send) storeWire(l, to, c.sendStep + 1, p.garbled, v);
  if (p.output) {
    u8 *out = p.out + (u64)q * kSliceData;
    if (whole) storeLanes<true>(l, out, left, true, v);
    else storeLanes<false>(l, out, left, out16, v);
  }
}

DEVICE void ll128Step(Context &c, const Step &p) {
  beginLines(c, p);
  bool in16 = ((u64)p.in & 15) == 0, out16 = ((u64)p.out & 15) == 0;
  Lane l = laneOf(c.tid);
  u32 bytes = p.len > 0 ? (u32)p.len * kElemBytes : 0;
  u32 slices = (bytes + kSliceData - 1) / kSliceData, q = c.tid / 32, step = c.threads / 32;
  if (warpAny(c.off())) slices = 0;
  u32 whole = in16 && out16 && slices ? bytes / kSliceData : 0;
  // Slices that are whole and aligned have code of their own only where arithmetic
  // is long: elsewhere one code for all spills less, and is faster.
  constexpr bool apart = kElemBytes < 4;
  for (; apart && q < whole; q += step) wireStep(c, p, l, q, true, true, true);
  for (; q < slices; q += step) wireStep(c, p, l, q, !apart && q < whole, in16, out16);
  endLines(c, p);
}
