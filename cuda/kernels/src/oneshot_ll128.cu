#include "direct.h"

// One-shot by slices of 128-byte lines: nearly all of what crosses the link is
// data. The next slice is sent before the one before it is waited for.

KERNEL(512) oneshot_ll128(DirectLaunch l) {
  SHARED(u32, aborted);
  Context c = contextOf(l, &aborted);
  Call k = callOf(l, c);
  Warp w = warpOf(k);
  u64 slices = slicesOf(k), at = w.first;
  blockBarrier();
  agree(k);
  Pack own[4], next[4];
  if (at < slices) {
    loadSlice(k, w, at, own);
    pushSlice(k, w, at, own);
  }
  for (; at < slices; at += w.stride) {
    bool more = at + w.stride < slices;
    if (more) {
      loadSlice(k, w, at + w.stride, next);
      pushSlice(k, w, at + w.stride, next);
    }
    foldSlice(k, w, at, own);
    storeSlice(k, w, at, own);
    UNROLL for (int g = 0; g < 4; g++) own[g] = next[g];
  }
}
