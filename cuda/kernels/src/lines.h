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

DEVICE void lineStep(Context &c, const Step &p, const u8 *from, u8 *to, i64 line, bool alignedIn,
                     bool alignedOut) {
  constexpr i64 n = 8 / kElemBytes;
  Word v[1], r[1];
  if (p.input) {
    v[0] = loadVec<8>(p.in, line * n, p.len, alignedIn);
    scaleAll(c.recipe, v);
  }
  if (p.receive) {
    r[0].d[0] = waitLine(c, from + line * 16, (u32)(c.recvStep + 1), p.early);
    if (p.input) foldAll(c.recipe.reduction, r, v);
    v[0] = r[0];
  }
  if (p.finish) divideAll(c.recipe, v);
  if (p.send) storeLine(to + line * 16, p.garbled ? 0 : v[0].d[0], (u32)(c.sendStep + 1));
  if (p.output) storeVec<8>(p.out, line * n, p.len, alignedOut, v[0]);
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

DEVICE void llStep(Context &c, const Step &p) {
  beginLines(c, p);
  const u8 *from = c.s->channel.recv[kLL] + (c.recvStep % kDepth) * c.stepBytes;
  u8 *to = c.s->channel.send[kLL] + (c.sendStep % kDepth) * c.stepBytes;
  bool alignedIn = ((u64)p.in & 7) == 0, alignedOut = ((u64)p.out & 7) == 0;
  i64 lines = p.len > 0 ? (p.len * kElemBytes + 7) / 8 : 0, line = c.tid;
  if (c.off()) lines = 0;
  for (; line < lines; line += c.threads) lineStep(c, p, from, to, line, alignedIn, alignedOut);
  if (p.send && !c.off()) cleanLines(c, to, line);
  endLines(c, p);
}

// ---- LL128: a warp writes four times 512 bytes; in every 128-byte line the
// last word is the flag, so 2048 bytes carry 1920. A line arrives whole and in
// order over NVLink (and inside a GPU); lane 7 of each eight holds the flag.
//
// Lanes without a flag hold 16 bytes each: of access g the bytes from
// (28 g + i) 16 on, i counting them. A flag lane's other word is word 4 g + j of
// the last 128 bytes, j counting flag lanes.

constexpr u32 kWarpData = 1920, kWarpWire = 2048, kTailData = 1792;

struct Lane {
  u32 lane;
  bool flag;
  MEMBER u32 offset(int g) const {
    return flag ? kTailData + (g * 4 + lane / 8) * 8 : (g * 28 + lane - lane / 8) * 16;
  }
};

DEVICE void loadLanes(const Lane &l, const u8 *p, i64 first, i64 len, bool aligned, Pack (&v)[4]) {
  UNROLL for (int g = 0; g < 4; g++) {
    i64 at = first + l.offset(g) / kElemBytes;
    if (l.flag) {
      v[g].d[0] = loadVec<8>(p, at, len, aligned).d[0];
      v[g].d[1] = 0;
    } else {
      v[g] = loadVec<16>(p, at, len, aligned);
    }
  }
}

DEVICE void storeLanes(const Lane &l, u8 *p, i64 first, i64 len, bool aligned, const Pack (&v)[4]) {
  UNROLL for (int g = 0; g < 4; g++) {
    i64 at = first + l.offset(g) / kElemBytes;
    if (l.flag) {
      Word w;
      w.d[0] = v[g].d[0];
      storeVec<8>(p, at, len, aligned, w);
    } else {
      storeVec<16>(p, at, len, aligned, v[g]);
    }
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
  warpBarrier();
  loadWire(l, wire, v);
}

DEVICE void warpStep(Context &c, const Step &p, const Lane &l, const u8 *from, u8 *to, i64 first,
                     bool alignedIn, bool alignedOut) {
  Pack v[4], r[4];
  if (p.input) {
    loadLanes(l, p.in, first, p.len, alignedIn, v);
    scaleAll(c.recipe, v);
  }
  if (p.receive) {
    waitWire(c, l, from, p.early, r);
    if (p.input) foldAll(c.recipe.reduction, r, v);
    UNROLL for (int g = 0; g < 4; g++) v[g] = r[g];
  }
  if (p.finish) divideAll(c.recipe, v);
  if (p.send) {
    u64 flag = c.sendStep + 1;
    UNROLL for (int g = 0; g < 4; g++) {
      Pack w = v[g];
      if (p.garbled) w.d[0] = w.d[1] = 0;
      if (l.flag) w.d[1] = flag;
      line16(to + g * 512 + l.lane * 16, w.w[0], w.w[1], w.w[2], w.w[3]);
    }
  }
  if (p.output) storeLanes(l, p.out, first, p.len, alignedOut, v);
}

DEVICE void ll128Step(Context &c, const Step &p) {
  beginLines(c, p);
  const u8 *from = c.s->channel.recv[kLL128] + (c.recvStep % kDepth) * c.stepBytes;
  u8 *to = c.s->channel.send[kLL128] + (c.sendStep % kDepth) * c.stepBytes;
  bool alignedIn = ((u64)p.in & 15) == 0, alignedOut = ((u64)p.out & 15) == 0;
  Lane l = {c.tid % 32, c.tid % 8 == 7};
  i64 slices = p.len > 0 ? (p.len * kElemBytes + kWarpData - 1) / kWarpData : 0;
  if (warpAny(c.off())) slices = 0;
  for (i64 q = c.tid / 32; q < slices; q += c.threads / 32)
    warpStep(c, p, l, from + q * kWarpWire, to + q * kWarpWire, q * (kWarpData / kElemBytes),
             alignedIn, alignedOut);
  endLines(c, p);
}
