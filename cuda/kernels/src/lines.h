// LL and LL128: lines that carry their own flag, so that no fence is needed.
#pragma once
#include "context.h"

// ---- LL: 16 bytes = 4 data, 4 flag, 4 data, 4 flag. Each half is written
// atomically, so each half has a flag of its own.

DEVICE u64 waitLine(Context &c, const u8 *line, u32 flag, bool unchecked) {
  u32 w[4];
  u64 since = 0;
  for (u32 polls = 1;; polls++) {
    load16(line, w);
    if ((w[1] == flag && w[3] == flag) || unchecked) break;
    if (polls % kPollsBetweenChecks == 0) {
      u32 seen = w[1] < w[3] ? w[1] : w[3];
      if (giveUp(c, kForData, c.s->channel.prev, c.recvStep + 1, seen, since)) break;
    }
    relax();
  }
  return (u64)w[2] << 32 | w[0];
}

DEVICE void storeLine(u8 *line, u64 data, u32 flag) {
  line16(line, (u32)data, flag, (u32)(data >> 32), flag);
}

// cleanLines rewrites the rest of the slot in 8 steps of every 2^31: a flag
// that was left over is then never 2^32 steps old, when its value returns.
DEVICE void cleanLines(Context &c, u8 *slot, i64 line) {
  if ((c.sendStep & 0x7ffffff8u) != 0x7ffffff8u) return;
  for (; line < (i64)c.stepBytes / 16; line += c.threads)
    storeLine(slot + line * 16, 0, (u32)(c.sendStep + 1));
}

// lineSteps moves U lines that lie a block apart. All loads are under way before
// the first line is waited for. Ragged: some may be partial or lie beyond the
// chunk.
template <int U, bool Ragged>
DEVICE void lineSteps(Context &c, const Step &p, const u8 *from, u8 *to, u32 line, bool in8, bool out8) {
  constexpr i64 n = 8 / kElemBytes;
  Word v[U], r[U];
  if (p.input) UNROLL for (int u = 0; u < U; u++) {
    u32 at = line + u * c.threads;
    if (Ragged) v[u] = loadVec<8>(p.in, at * n, p.len, in8);
    else v[u].d[0] = load8(p.in + (u64)at * 8);
  }
  if (p.receive) {
    UNROLL for (int u = 0; u < U; u++)
      r[u].d[0] = waitLine(c, from + (u64)(line + u * c.threads) * 16, (u32)(c.recvStep + 1), p.early);
    if (p.input) {
      scaleAll(c.recipe, v);
      foldAll(c.recipe.reduction, r, v);
    }
    UNROLL for (int u = 0; u < U; u++) v[u] = r[u];
  } else {
    scaleAll(c.recipe, v);
  }
  if (p.finish) divideAll(c.recipe, v);
  if (p.send) UNROLL for (int u = 0; u < U; u++)
    storeLine(to + (u64)(line + u * c.threads) * 16, p.garbled ? 0 : v[u].d[0], (u32)(c.sendStep + 1));
  if (p.output) UNROLL for (int u = 0; u < U; u++) {
    u32 at = line + u * c.threads;
    if (Ragged) storeVec<8>(p.out, at * n, p.len, out8, v[u]);
    else *(u64 *)(p.out + (u64)at * 8) = v[u].d[0];
  }
}

// endLines hands the slot back and counts. The barrier comes first: all threads
// have read the slot then.
DEVICE void endLines(Context &c, const Step &p) {
  namedBarrier(kParticipants, c.threads);
  if (p.receive) {
    c.recvStep++;
    if (c.tid == c.threads - 32 && !c.off()) storeRelaxed(c.s->channel.prevHead, c.recvStep);
  }
  if (p.send) c.sendStep++;
}

DEVICE void beginLines(Context &c, const Step &p) {
  if (!p.send) return;
  if (c.tid == 0) waitCredit(c, c.sendStep + 1);
  namedBarrier(kParticipants, c.threads);
  if (p.late) dawdle();
}

constexpr int kLinesInFlight = 4;

DEVICE void llStep(Context &c, const Step &p) {
  beginLines(c, p);
  const u8 *from = c.s->channel.recv[kLL] + (c.recvStep % kDepth) * c.stepBytes;
  u8 *to = c.s->channel.send[kLL] + (c.sendStep % kDepth) * c.stepBytes;
  bool in8 = ((u64)p.in & 7) == 0, out8 = ((u64)p.out & 7) == 0;
  u32 bytes = p.len > 0 ? (u32)p.len * kElemBytes : 0, lines = (bytes + 7) / 8, line = c.tid;
  if (c.off()) lines = 0;
  // Lines that are whole and aligned go in groups.
  u32 whole = in8 && out8 && lines ? bytes / 8 : 0;
  for (; line + (kLinesInFlight - 1) * c.threads < whole; line += kLinesInFlight * c.threads)
    lineSteps<kLinesInFlight, false>(c, p, from, to, line, true, true);
  for (; line < whole; line += c.threads) lineSteps<1, false>(c, p, from, to, line, true, true);
  for (; line < lines; line += c.threads) lineSteps<1, true>(c, p, from, to, line, in8, out8);
  if (p.send && !c.off()) cleanLines(c, to, line);
  endLines(c, p);
}

// ---- LL128: a warp writes four times 512 bytes; in every 128-byte line the
// last word is the flag, so 2048 bytes carry 1920. A line arrives whole and in
// order over NVLink (and inside a GPU) if one instruction of the warp writes it;
// lane 7 of each eight holds the flag.
//
// Access g carries units of 16 bytes: an even one 32, one for each lane, an odd
// one 28. Lanes with a flag have room for a word only: they send the first half
// of their unit with the even access and the second with the odd one after it.

constexpr u32 kWarpData = 1920, kWarpWire = 2048;

struct Lane {
  u32 lane;
  bool flag;
  // unit is where the lane's bytes of access g lie in the warp's data.
  MEMBER u32 unit(int g) const {
    return (60 * (g / 2) + (g % 2 ? 32 + lane - lane / 8 : lane)) * 16;
  }
  MEMBER bool holds(int g) const { return g % 2 == 0 || !flag; }
};

// loadLanes reads a warp's data, of which left elements remain.
template <bool Whole> DEVICE void loadLanes(const Lane &l, const u8 *p, i64 left, bool aligned, Pack (&v)[4]) {
  UNROLL for (int g = 0; g < 4; g++) {
    // A lane that holds nothing reads what it holds already.
    u32 at = l.holds(g) ? l.unit(g) : l.unit(g & 2);
    if (Whole) load16(p + at, v[g].w);
    else v[g] = loadVec<16>(p, at / kElemBytes, left, aligned);
  }
  if (l.flag) UNROLL for (int g = 0; g < 4; g += 2) v[g + 1].d[0] = v[g].d[1];
}

template <bool Whole> DEVICE void storeLanes(const Lane &l, u8 *p, i64 left, bool aligned, Pack (&v)[4]) {
  if (l.flag) UNROLL for (int g = 0; g < 4; g += 2) v[g].d[1] = v[g + 1].d[0];
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
DEVICE void waitWire(Context &c, const Lane &l, const u8 *wire, bool unchecked, Pack (&v)[4]) {
  u64 flag = c.recvStep + 1, since = 0;
  for (u32 polls = 1;; polls++) {
    loadWire(l, wire, v);
    u64 seen = flag;
    UNROLL for (int g = 0; g < 4; g++) if (l.flag && v[g].d[1] != flag) seen = v[g].d[1];
    bool missing = warpAny(seen != flag);
    if (!missing || unchecked) break;
    if (polls % kPollsBetweenChecks == 0) {
      bool quit = seen != flag && giveUp(c, kForData, c.s->channel.prev, flag, seen, since);
      if (warpAny(quit)) break;
    }
    relax();
  }
  loadWire(l, wire, v);
}

// storeWire writes whole lines. The warp must act as one: lanes that come from
// different branches would write a flag before its data.
DEVICE void storeWire(const Lane &l, u8 *wire, u64 flag, bool garbled, const Pack (&v)[4]) {
  warpBarrier();
  UNROLL for (int g = 0; g < 4; g++) {
    Pack w = v[g];
    if (garbled) w.d[0] = w.d[1] = 0;
    if (l.flag) w.d[1] = flag;
    warpLine16(wire + g * 512 + l.lane * 16, w.w[0], w.w[1], w.w[2], w.w[3]);
  }
}

template <bool Whole>
DEVICE void warpStep(Context &c, const Step &p, const Lane &l, u32 q, bool in16, bool out16) {
  Pack v[4], r[4];
  const u8 *from = c.s->channel.recv[kLL128] + (c.recvStep % kDepth) * c.stepBytes + q * kWarpWire;
  u8 *to = c.s->channel.send[kLL128] + (c.sendStep % kDepth) * c.stepBytes + q * kWarpWire;
  i64 left = p.len - (i64)q * (kWarpData / kElemBytes);
  if (p.input) loadLanes<Whole>(l, p.in + (u64)q * kWarpData, left, in16, v);
  if (p.receive) {
    waitWire(c, l, from, p.early, r);
    if (p.input) {
      scaleAll(c.recipe, v);
      foldAll(c.recipe.reduction, r, v);
    }
    UNROLL for (int g = 0; g < 4; g++) v[g] = r[g];
  } else {
    scaleAll(c.recipe, v);
  }
  if (p.finish) divideAll(c.recipe, v);
  if (p.send) storeWire(l, to, c.sendStep + 1, p.garbled, v);
  if (p.output) storeLanes<Whole>(l, p.out + (u64)q * kWarpData, left, out16, v);
}

DEVICE void ll128Step(Context &c, const Step &p) {
  beginLines(c, p);
  bool in16 = ((u64)p.in & 15) == 0, out16 = ((u64)p.out & 15) == 0;
  Lane l = {c.tid % 32, c.tid % 8 == 7};
  u32 bytes = p.len > 0 ? (u32)p.len * kElemBytes : 0;
  u32 slices = (bytes + kWarpData - 1) / kWarpData, q = c.tid / 32, step = c.threads / 32;
  if (warpAny(c.off())) slices = 0;
  u32 whole = in16 && out16 && slices ? bytes / kWarpData : 0;
  for (; q < whole; q += step) warpStep<true>(c, p, l, q, true, true);
  for (; q < slices; q += step) warpStep<false>(c, p, l, q, in16, out16);
  endLines(c, p);
}
