#include "direct.h"

// Two-shot by slices of 128-byte lines: no fence, and no waiting for whole stretches.
// The results come back by such lines too, behind the contributions in the same
// memory.

KERNEL(512) twoshot_ll128(DirectLaunch l) {
  SHARED(u32, aborted);
  Context c = contextOf(l, &aborted);
  Call k = callOf(l, c);
  Warp w = warpOf(k);
  u64 slices = slicesOf(k), share = (slices + l.nRanks - 1) / l.nRanks;
  blockBarrier();
  agree(k);
  for (u64 at = w.first; at < share; at += w.stride)
    for (u32 i = 1; i < l.nRanks; i++) {
      u64 owner = turn(k, i), slice = owner * share + at;
      if (slice >= slices) continue;
      Pack v[4];
      loadSlice(k, w, slice, v);
      storeWire(w.lane, wireAt(k, owner, k.me.rank, at), k.epoch, false, v);
    }
  for (u64 at = w.first; at < share && k.me.rank * share + at < slices; at += w.stride) {
    Pack v[4];
    loadSlice(k, w, k.me.rank * share + at, v);
    foldSlice(k, w, at, v);
    pushSlice(k, w, share + at, v);
    storeSlice(k, w, k.me.rank * share + at, v);
  }
  for (u64 at = w.first; at < share; at += w.stride)
    for (u32 i = 1; i < l.nRanks; i++) {
      u64 owner = turn(k, i), slice = owner * share + at;
      if (slice >= slices) continue;
      Pack v[4];
      awaitSlice(k, w, owner, share + at, v);
      storeSlice(k, w, slice, v);
    }
}
