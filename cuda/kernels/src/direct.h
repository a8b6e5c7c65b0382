// AllReduce without a ring, for GPUs that can all write to each other: what the
// kernels of oneshot.cu and twoshot.cu share. Contributions are folded in the
// order of the ranks, so that all ranks get the same bits.
#pragma once
#include "simple.h"
#include "wires.h"

constexpr u32 kMaxRanks = 16;
constexpr u32 kMaxPieces = 16;

// State is a rank's memory of earlier calls. Every call has an epoch of its
// own, one later than the last; it lives on the GPU so that a graph can replay.
struct State {
  u64 epoch;
  u32 arrived; // blocks that know the epoch of the call under way
  u32 reserved;
};

struct DirectRank {
  State *state;
  const u8 *in;
  u8 *out;
  u64 rank;
};

// DirectLaunch is the kernels' parameter. A rank receives into its region:
// lines  [2 by parity of the epoch][source rank][lineCapacity] of 16 bytes, then
// flags  [block][piece][source rank] and done [block][source rank] of 8 bytes,
// scratch [source rank][scratchBytes],
// wires  [2 by parity of the epoch][source rank][wireBytes].
// No memory holds two of these in turn: the data of one could pass for a flag of
// another.
struct DirectLaunch {
  struct Report *reports; // by block
  u32 *abort;
  u64 timeoutNs;    // of one wait
  u64 count;        // elements
  u64 lineCapacity; // lines of one source
  u64 scratchBytes; // of one source
  u64 wireBytes;    // of one source, in whole slices
  u64 flagsOffset, doneOffset, scratchOffset, wiresOffset;
  u64 scalar;
  u32 nRanks, nLocal, blocks, pieces; // blocks of one rank
  u32 reduction, scale, divide, trace;
  DirectRank local[kMaxRanks];
  u8 *regions[kMaxRanks]; // by rank, as addressed from this GPU
  u8 *outs[kMaxRanks];
  const u8 *ins[kMaxRanks];
};
static_assert(sizeof(DirectLaunch) == 1024, "mirrored in Go");

struct Call {
  const DirectLaunch &l;
  Context &c;
  DirectRank me;
  u32 block;
  u64 epoch;
};

DEVICE Context contextOf(const DirectLaunch &l, u32 *aborted) {
  Context c = {};
  c.tid = threadIndex();
  c.threads = blockThreads();
  c.aborted = aborted;
  if (c.tid == 0) *aborted = 0;
  c.report = l.reports + blockIndex();
  c.abort = l.abort;
  c.limitNs = l.timeoutNs;
  c.recipe = {l.reduction, l.scale, l.divide, l.scalar};
  if (l.trace && c.tid == 0) {
    c.report->grid = gridBlocks();
    c.report->block = blockIndex();
    c.report->threads = c.threads;
    c.report->rank = l.local[blockIndex() / l.blocks].rank;
    c.report->sm = multiprocessor();
    c.report->ran = 1;
  }
  return c;
}

DEVICE Call callOf(const DirectLaunch &l, Context &c) {
  u32 local = blockIndex() / l.blocks;
  DirectRank me = l.local[local];
  return {l, c, me, blockIndex() - local * l.blocks, load8(&me.state->epoch) + 1};
}

// agree follows a barrier after which all threads of the block know the epoch.
// The last block of the rank to come here moves the rank on to it, for the next
// call.
DEVICE void agree(const Call &k) {
  if (k.c.tid != k.c.threads - 1) return;
  State *s = k.me.state;
  if (k.l.blocks > 1) {
    if (atomicAdd(&s->arrived, 1) != k.l.blocks - 1) return;
    s->arrived = 0;
  }
  s->epoch = k.epoch;
}

// turn is where a call's peers come to be served: the next rank first.
DEVICE u32 turn(const Call &k, u32 i) {
  u32 peer = k.me.rank + i;
  return peer < k.l.nRanks ? peer : peer - k.l.nRanks;
}

// ---- Slices of 128-byte lines. Two sets take turns by the epoch's parity: a rank
// that is two calls ahead has received from every peer's next call, so every peer
// has left the call that used the set before. Their flags are whole epochs, which
// never return.

DEVICE u8 *wireAt(const Call &k, u32 to, u32 from, u64 slice) {
  u64 set = (k.epoch & 1) * k.l.nRanks + from;
  return k.l.regions[to] + k.l.wiresOffset + set * k.l.wireBytes + slice * kSliceWire;
}

// Warp is a warp's place among all warps of the rank, and their number.
struct Warp {
  Lane lane;
  u64 first, stride;
  bool aligned; // whole slices can be moved by vectors
};

DEVICE Warp warpOf(const Call &k) {
  u64 warps = k.c.threads / 32, low = (u64)k.me.in | (u64)k.me.out;
  return {laneOf(k.c.tid), k.block * warps + k.c.tid / 32, k.l.blocks * warps, (low & 15) == 0};
}

DEVICE u64 slicesOf(const Call &k) { return (k.l.count + kSliceElems - 1) / kSliceElems; }

// loadSlice reads a slice of this rank's input, scaled and as lanes send it.
DEVICE void loadSlice(const Call &k, const Warp &w, u64 slice, Pack (&v)[4]) {
  const u8 *p = k.me.in + slice * kSliceData;
  i64 left = k.l.count - slice * kSliceElems;
  if (w.aligned && left >= kSliceElems) loadLanes<true>(w.lane, p, left, true, v);
  else loadLanes<false>(w.lane, p, left, ((u64)k.me.in & 15) == 0, v);
  pair(w.lane, v);
  scaleAll(k.c.recipe, v);
}

DEVICE void storeSlice(const Call &k, const Warp &w, u64 slice, Pack (&v)[4]) {
  u8 *p = k.me.out + slice * kSliceData;
  i64 left = k.l.count - slice * kSliceElems;
  if (w.aligned && left >= kSliceElems) storeLanes<true>(w.lane, p, left, true, v);
  else storeLanes<false>(w.lane, p, left, ((u64)k.me.out & 15) == 0, v);
}

DEVICE void pushSlice(const Call &k, const Warp &w, u64 at, const Pack (&v)[4]) {
  for (u32 i = 1; i < k.l.nRanks; i++) storeWire(w.lane, wireAt(k, turn(k, i), k.me.rank, at), k.epoch, false, v);
}

DEVICE void awaitSlice(const Call &k, const Warp &w, u32 from, u64 at, Pack (&v)[4]) {
  waitWire(k.c, w.lane, wireAt(k, k.me.rank, from, at), k.epoch, from, false, v);
}

// foldSlice folds what all ranks sent at a place with this rank's own, and leaves
// the result in own.
DEVICE void foldSlice(const Call &k, const Warp &w, u64 at, Pack (&own)[4]) {
  Pack acc[4], v[4];
  for (u32 r = 0; r < k.l.nRanks; r++) {
    if (r == k.me.rank) UNROLL for (int g = 0; g < 4; g++) v[g] = own[g];
    else awaitSlice(k, w, r, at, v);
    if (r == 0) UNROLL for (int g = 0; g < 4; g++) acc[g] = v[g];
    else foldAll(k.c.recipe.reduction, acc, v);
  }
  divideAll(k.c.recipe, acc);
  UNROLL for (int g = 0; g < 4; g++) own[g] = acc[g];
}
