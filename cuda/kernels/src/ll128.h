// LL128 in a ring: slices of lines that carry their own flag.
#pragma once
#include "lines.h"
#include "wires.h"

// wireSteps moves U slices that lie step apart, the first being the q-th of the
// chunk. All loads are under way before the first flag is waited for. Receive and
// Input are the primitive's.
template <bool Whole, int U, bool Receive, bool Input>
DEVICE void wireSteps(Context &c, const Step &p, const Lane &l, u32 q, u32 step, bool in16, bool out16) {
  Pack v[U][4], r[U][4];
  const u8 *from = c.s->channel.recv[kLL128] + (c.recvStep % kDepth) * c.stepBytes + q * kSliceWire;
  u8 *to = c.s->channel.send[kLL128] + (c.sendStep % kDepth) * c.stepBytes + q * kSliceWire;
  i64 left = p.len - q * kSliceElems;
  if (Input) UNROLL for (int u = 0; u < U; u++)
    loadLanes<Whole>(l, p.in + (u64)(q + u * step) * kSliceData, left - u * step * kSliceElems, in16, v[u]);
  if (Receive) waitWires<U>(c, l, from, step * kSliceWire, c.recvStep + 1, c.s->channel.prev, p.early, r);
  UNROLL for (int u = 0; u < U; u++) {
    if (Input) {
      pair(l, v[u]);
      scaleAll(c.recipe, v[u]);
    }
    if (Receive && Input) foldAll(c.recipe.reduction, r[u], v[u]);
    if (Receive) UNROLL for (int g = 0; g < 4; g++) v[u][g] = r[u][g];
    if (Input && p.finish) divideAll(c.recipe, v[u]);
    if (p.send) storeWire(l, to + u * step * kSliceWire, c.sendStep + 1, p.garbled, v[u]);
    if (p.output)
      storeLanes<Whole>(l, p.out + (u64)(q + u * step) * kSliceData, left - u * step * kSliceElems, out16, v[u]);
  }
}

// wireChunk has a warp take its turns. U slices at once hide the latency of
// memory, where registers allow for them.
template <int U, bool Receive, bool Input> DEVICE void wireChunk(Context &c, const Step &p) {
  bool in16 = ((u64)p.in & 15) == 0, out16 = ((u64)p.out & 15) == 0;
  Lane l = laneOf(c.tid);
  u32 bytes = p.len > 0 ? (u32)p.len * kElemBytes : 0;
  u32 slices = (bytes + kSliceData - 1) / kSliceData, q = c.tid / 32, step = c.threads / 32;
  if (warpAny(c.off())) slices = 0;
  u32 whole = in16 && out16 && slices ? bytes / kSliceData : 0;
  if (U > 1)
    for (; q + (U - 1) * step < whole; q += U * step) wireSteps<true, U, Receive, Input>(c, p, l, q, step, true, true);
  for (; q < whole; q += step) wireSteps<true, 1, Receive, Input>(c, p, l, q, step, true, true);
  for (; q < slices; q += step) wireSteps<false, 1, Receive, Input>(c, p, l, q, step, in16, out16);
}

#ifndef RT_WIRES
#define RT_WIRES 2
#endif

DEVICE void ll128Step(Context &c, const Step &p) {
  beginLines(c, p);
  if (p.receive && p.input) wireChunk<1, true, true>(c, p);
  else if (p.receive) wireChunk<RT_WIRES, true, false>(c, p);
  else wireChunk<RT_WIRES, false, true>(c, p);
  endLines(c, p);
}
