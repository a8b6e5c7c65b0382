// Two-shot in stretches: what going by writes and by loads share.
#pragma once
#include "direct.h"

// Two-shot: rank r owns share r of the message. Every rank writes its part
// of a share into the owner's scratch; the owner folds and writes the result to
// all outputs. Each block handles its stretch of every share, in pieces, with
// flags of its own. The scratch is free again when all owners have said done.

struct Stretch {
  u64 first, len; // elements, in the message
  u64 offset;     // of the first in its share, bytes
};

DEVICE u64 roundCell(u64 elements) {
  constexpr u64 cell = 16 / kElemBytes;
  return (elements + cell - 1) / cell * cell;
}

DEVICE Stretch stretchOf(const Call &k, u32 share, u32 piece) {
  u64 shareLen = roundCell((k.l.count + k.l.nRanks - 1) / k.l.nRanks);
  u64 parts = (u64)k.l.blocks * k.l.pieces;
  u64 len = roundCell((shareLen + parts - 1) / parts);
  u64 at = ((u64)piece * k.l.blocks + k.block) * len;
  Stretch s = {share * shareLen + at, 0, at * kElemBytes};
  u64 end = share * shareLen + (at + len < shareLen ? at + len : shareLen);
  if (end > k.l.count) end = k.l.count;
  if (s.first < end) s.len = end - s.first;
  return s;
}

// flagsAt are the words of a region by which all other ranks say that a piece
// is there, or that they are done with the block's stretches.
DEVICE u64 *flagsAt(const Call &k, u32 rank, bool done, u32 piece) {
  u64 row = done ? k.block : (u64)k.block * kMaxPieces + piece;
  return (u64 *)(k.l.regions[rank] + (done ? k.l.doneOffset : k.l.flagsOffset)) + row * k.l.nRanks;
}

// tell sets a flag of this rank at every peer. One thread for each peer, after
// a barrier: its fence covers the block's stores.
DEVICE void tell(const Call &k, bool done, u32 piece) {
  blockBarrier();
  if (k.c.tid >= k.l.nRanks || k.c.tid == k.me.rank) return;
  fenceSystem();
  storeRelaxed(flagsAt(k, k.c.tid, done, piece) + k.me.rank, k.epoch);
}

DEVICE void hear(const Call &k, bool done, u32 piece) {
  if (k.c.tid < k.l.nRanks && k.c.tid != k.me.rank && !k.c.off())
    waitCounter(k.c, flagsAt(k, k.me.rank, done, piece) + k.c.tid, k.epoch, kForData, k.c.tid);
  blockBarrier();
}

DEVICE u8 *scratchAt(const Call &k, u32 owner, u32 source) {
  return k.l.regions[owner] + k.l.scratchOffset + source * k.l.scratchBytes;
}

DEVICE void scatterPiece(const Call &k, u32 piece) {
  Recipe plain = {};
  for (u32 i = 1; i < k.l.nRanks; i++) {
    u32 owner = turn(k, i);
    Stretch s = stretchOf(k, owner, piece);
    Move m = {};
    m.a = k.me.in + s.first * kElemBytes;
    m.d = scratchAt(k, owner, k.me.rank) + s.offset;
    if (s.len) move(plain, m, s.len, k.c.tid, k.c.threads);
  }
  tell(k, false, piece);
  if (piece == 0) agree(k);
}

template <u32 B> DEVICE Vec<B> loadWhole(const u8 *p) {
  Vec<B> v;
  if (B == 16) load16(p, v.w);
  else {
    v.d[0] = 0;
    v.e[0] = loadElem(p);
  }
  return v;
}

// Sources are where the contributions to a stretch lie: by writes, those of the
// others have come into the scratch; by loads, they are in the ranks' inputs.
struct Sources {
  const u8 *in, *scratch; // this rank's input, and rank 0's place in the scratch
  u64 out;                // bytes of the message before the stretch
  bool loads;
  MEMBER const u8 *operator()(const Call &k, u32 r) const {
    if (r == k.me.rank) return in;
    return loads ? k.l.ins[r] + out : scratch + r * k.l.scratchBytes;
  }
};

// reduceAt folds all ranks' U vectors that lie stride apart and writes the
// result everywhere. B is 16, or 8 for a single element.
template <u32 B, int U> DEVICE void reduceAt(const Call &k, const Sources &from, u64 at, u64 stride) {
  Vec<B> acc[U], v[U];
  for (u32 r = 0; r < k.l.nRanks; r++) {
    const u8 *p = from(k, r);
    UNROLL for (int u = 0; u < U; u++) v[u] = loadWhole<B>(p + at + u * stride);
    scaleAll(k.c.recipe, v);
    if (r > 0) foldAll(k.c.recipe.reduction, acc, v);
    else UNROLL for (int u = 0; u < U; u++) acc[u] = v[u];
  }
  divideAll(k.c.recipe, acc);
  for (u32 i = 1; i <= k.l.nRanks; i++) {
    u8 *d = k.l.outs[turn(k, i)] + from.out + at;
    UNROLL for (int u = 0; u < U; u++) {
      if (B == 16) store16(d + u * stride, acc[u].w);
      else storeElem(d + u * stride, acc[u].e[0]);
    }
  }
}

// reduceStretch does that for a whole stretch.
DEVICE void reduceStretch(const Call &k, const Stretch &s, bool loads) {
  u64 bytes = s.len * kElemBytes, at = 0;
  Sources from = {k.me.in + s.first * kElemBytes, scratchAt(k, k.me.rank, 0) + s.offset, s.first * kElemBytes, loads};
  u64 low = from.out | (u64)k.me.in;
  for (u32 r = 0; r < k.l.nRanks; r++) low |= (u64)k.l.outs[r] | (loads ? (u64)k.l.ins[r] : 0);
  if ((low & 15) == 0) {
    constexpr u64 line = 32 * 16, hunk = RT_FOLDS * line;
    u64 whole = bytes / 16 * 16, hunks = whole / hunk, lane = k.c.tid % 32 * 16;
    for (u64 i = k.c.tid / 32; i < hunks; i += k.c.threads / 32)
      reduceAt<16, RT_FOLDS>(k, from, i * hunk + lane, line);
    for (at = hunks * hunk + k.c.tid * 16; at < whole; at += k.c.threads * 16) reduceAt<16, 1>(k, from, at, 0);
    at = whole;
  }
  for (at += k.c.tid * kElemBytes; at < bytes; at += k.c.threads * kElemBytes) reduceAt<8, 1>(k, from, at, 0);
}
