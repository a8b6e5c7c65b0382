// Lines of 128 bytes that carry their own flag (LL128): 120 bytes of data and a
// word for the flag. Such a line arrives whole and in order over NVLink (and
// inside a GPU) if one instruction of the warp writes it.
//
// A warp moves a slice at a time: 1920 bytes of data, 2048 on the wire, in four
// accesses of 512 bytes; lane 7 of each eight holds the flag. Access g carries
// units of 16 bytes: an even one 32, one for each lane, an odd one 28. Lanes with
// a flag have room for a word only: they send the first half of their unit with
// the even access and the second with the odd one after it.
#pragma once
#include "context.h"

constexpr u32 kSliceData = 1920, kSliceWire = 2048;
constexpr i64 kSliceElems = kSliceData / kElemBytes;

struct Lane {
  u32 lane;
  bool flag;
  // unit is where the lane's bytes of access g lie in the slice's data.
  MEMBER u32 unit(int g) const {
    return (60 * (g / 2) + (g % 2 ? 32 + lane - lane / 8 : lane)) * 16;
  }
  MEMBER bool holds(int g) const { return g % 2 == 0 || !flag; }
};

DEVICE Lane laneOf(u32 tid) { return {tid % 32, tid % 8 == 7}; }

// loadLanes reads a slice's data, of which left elements remain.
template <bool Whole> DEVICE void loadLanes(const Lane &l, const u8 *p, i64 left, bool aligned, Pack (&v)[4]) {
  UNROLL for (int g = 0; g < 4; g++) {
    // A lane that holds nothing reads what it holds already.
    u32 at = l.holds(g) ? l.unit(g) : l.unit(g & 2);
    if (Whole) load16(p + at, v[g].w);
    else v[g] = loadVec<16>(p, at / kElemBytes, left, aligned);
  }
}

// pair and unpair move the second half of a flag lane's unit to the access that
// carries it, and back.
DEVICE void pair(const Lane &l, Pack (&v)[4]) {
  if (l.flag) UNROLL for (int g = 0; g < 4; g += 2) v[g + 1].d[0] = v[g].d[1];
}
DEVICE void unpair(const Lane &l, Pack (&v)[4]) {
  if (l.flag) UNROLL for (int g = 0; g < 4; g += 2) v[g].d[1] = v[g + 1].d[0];
}

template <bool Whole> DEVICE void storeLanes(const Lane &l, u8 *p, i64 left, bool aligned, Pack (&v)[4]) {
  unpair(l, v);
  UNROLL for (int g = 0; g < 4; g++) {
    if (!l.holds(g)) continue;
    if (Whole) store16(p + l.unit(g), v[g].w);
    else storeVec<16>(p, l.unit(g) / kElemBytes, left, aligned, v[g]);
  }
}

DEVICE void loadWire(const Lane &l, const u8 *wire, Pack (&v)[4]) {
  UNROLL for (int g = 0; g < 4; g++) load16(wire + g * 512 + l.lane * 16, v[g].w);
}

// waitWire repeats the whole warp's load until every flag is there, and then
// loads once more: a lane may have read before the flag's lane did.
DEVICE void waitWire(Context &c, const Lane &l, const u8 *wire, u64 flag, u32 peer, bool unchecked, Pack (&v)[4]) {
  u64 since = 0;
  for (u32 polls = 1;; polls++) {
    loadWire(l, wire, v);
    u64 seen = flag;
    UNROLL for (int g = 0; g < 4; g++) if (l.flag && v[g].d[1] != flag) seen = v[g].d[1];
    bool missing = warpAny(seen != flag);
    if (!missing || unchecked) break;
    if (polls % kPollsBetweenChecks == 0) {
      bool quit = seen != flag && giveUp(c, kForData, peer, flag, seen, since);
      if (warpAny(quit)) break;
    }
    relax();
  }
  loadWire(l, wire, v);
}

// storeWire writes whole lines. The warp must act as one: lanes that come from
// different branches, or go on to different ones, would write a flag before its
// data. The second barrier keeps the compiler from moving the stores into the
// branches that follow.
DEVICE void storeWire(const Lane &l, u8 *wire, u64 flag, bool garbled, const Pack (&v)[4]) {
  warpBarrier();
  UNROLL for (int g = 0; g < 4; g++) {
    Pack w = v[g];
    if (garbled) w.d[0] = w.d[1] = 0;
    if (l.flag) w.d[1] = flag;
    warpLine16(wire + g * 512 + l.lane * 16, w.w[0], w.w[1], w.w[2], w.w[3]);
  }
  warpBarrier();
}
