// LL128 in a ring: slices of lines that carry their own flag.
#pragma once
#include "lines.h"
#include "wires.h"

#ifndef RT_WIRES
#define RT_WIRES 2 // slices that a warp has under way
#endif

// wireSteps moves U slices that lie step apart, the first being the q-th of the
// chunk. All loads are under way before the first flag is waited for.
template <bool Whole, int U>
DEVICE void wireSteps(Context &c, const Step &p, const Lane &l, u32 q, u32 step, bool in16, bool out16) {
  Pack v[U][4], r[U][4];
  const u8 *from = c.s->channel.recv[kLL128] + (c.recvStep % kDepth) * c.stepBytes + q * kSliceWire;
  u8 *to = c.s->channel.send[kLL128] + (c.sendStep % kDepth) * c.stepBytes + q * kSliceWire;
  i64 left = p.len - q * kSliceElems;
  if (p.input) UNROLL for (int u = 0; u < U; u++)
    loadLanes<Whole>(l, p.in + (u64)(q + u * step) * kSliceData, left - u * step * kSliceElems, in16, v[u]);
  if (p.receive) waitWires<U>(c, l, from, step * kSliceWire, c.recvStep + 1, c.s->channel.prev, p.early, r);
  UNROLL for (int u = 0; u < U; u++) {
    if (p.input) {
      pair(l, v[u]);
      scaleAll(c.recipe, v[u]);
    }
    if (p.receive && p.input) foldAll(c.recipe.reduction, r[u], v[u]);
    if (p.receive) UNROLL for (int g = 0; g < 4; g++) v[u][g] = r[u][g];
    if (p.finish) divideAll(c.recipe, v[u]);
    if (p.send) storeWire(l, to + u * step * kSliceWire, c.sendStep + 1, p.garbled, v[u]);
    if (p.output)
      storeLanes<Whole>(l, p.out + (u64)(q + u * step) * kSliceData, left - u * step * kSliceElems, out16, v[u]);
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
  for (; q + (RT_WIRES - 1) * step < whole; q += RT_WIRES * step)
    wireSteps<true, RT_WIRES>(c, p, l, q, step, true, true);
  if (RT_WIRES > 1)
    for (; q < whole; q += step) wireSteps<true, 1>(c, p, l, q, step, true, true);
  for (; q < slices; q += step) wireSteps<false, 1>(c, p, l, q, step, in16, out16);
  endLines(c, p);
}
