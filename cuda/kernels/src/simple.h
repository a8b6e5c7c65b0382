// Simple: whole slices, published by a counter after a fence.
#pragma once
#include "context.h"

constexpr u32 kChunkSteps = 4; // FIFO steps in a chunk
#ifndef RT_COPIES
#define RT_COPIES 8 // 16-byte loads that a thread has under way when it copies,
#define RT_FOLDS 4  // and pairs of loads when it folds
#endif

DEVICE u32 sliceSteps(const Context &c) { return kChunkSteps >> c.sliceShift; }

// Move is one slice of elements: a, folded with b if there is b, goes to d and
// if there is e to e.
struct Move {
  const u8 *a, *b;
  u8 *d, *e;
  bool scaleA, finish;
};

DEVICE bool aligned16(const Move &m) {
  return (((u64)m.a | (u64)m.b | (u64)m.d | (u64)m.e) & 15) == 0;
}

// moveElements takes [first, len) element by element: rests and odd addresses.
DEVICE void moveElements(const Recipe &r, const Move &m, u64 first, u64 len, u32 tid, u32 step) {
  for (u64 i = first + tid; i < len; i += step) {
    Word a[1], b[1];
    a[0].d[0] = 0;
    a[0].e[0] = loadElem(m.a + i * kElemBytes);
    if (m.scaleA) scaleAll(r, a);
    if (m.b) {
      b[0].d[0] = 0;
      b[0].e[0] = loadElem(m.b + i * kElemBytes);
      foldAll(r.reduction, a, b);
    }
    if (m.finish) divideAll(r, a);
    storeElem(m.d + i * kElemBytes, a[0].e[0]);
    if (m.e) storeElem(m.e + i * kElemBytes, a[0].e[0]);
  }
}

template <int U, bool B> DEVICE void movePacks(const Recipe &r, const Move &m, u64 at, u64 stride) {
  Pack a[U], b[U];
  UNROLL for (int u = 0; u < U; u++) load16(m.a + at + u * stride, a[u].w);
  if (B) UNROLL for (int u = 0; u < U; u++) load16(m.b + at + u * stride, b[u].w);
  if (m.scaleA) scaleAll(r, a);
  if (B) foldAll(r.reduction, a, b);
  if (B && m.finish) divideAll(r, a);
  UNROLL for (int u = 0; u < U; u++) store16(m.d + at + u * stride, a[u].w);
  if (m.e) UNROLL for (int u = 0; u < U; u++) store16(m.e + at + u * stride, a[u].w);
}

// moveVectors takes all whole vectors: hunks of U lines of a warp first, each
// hunk in one stretch, then what is left line by line.
template <bool B> DEVICE u64 moveVectors(const Recipe &r, const Move &m, u64 bytes, u32 tid, u32 n) {
  constexpr int inFlight = B ? RT_FOLDS : RT_COPIES;
  constexpr u64 line = 32 * 16, hunk = inFlight * line;
  u64 whole = bytes / 16 * 16, hunks = whole / hunk, lane = tid % 32 * 16;
  for (u64 i = tid / 32; i < hunks; i += n / 32) movePacks<inFlight, B>(r, m, i * hunk + lane, line);
  for (u64 at = hunks * hunk + (u64)tid * 16; at < whole; at += (u64)n * 16) movePacks<1, B>(r, m, at, 0);
  return whole / kElemBytes;
}

DEVICE void move(const Recipe &r, const Move &m, u64 len, u32 tid, u32 n) {
  u64 done = 0;
  if (aligned16(m))
    done = m.b ? moveVectors<true>(r, m, len * kElemBytes, tid, n)
               : moveVectors<false>(r, m, len * kElemBytes, tid, n);
  if (done < len) moveElements(r, m, done, len, tid, n);
}

// sliceMove finds the ends of a slice that begins at byte off of the chunk.
DEVICE Move sliceMove(const Context &c, const Step &p, u64 off) {
  u8 *from = c.s->channel.recv[kSimple] + (c.recvStep % kDepth) * c.stepBytes;
  u8 *to = c.s->channel.send[kSimple] + (c.sendStep % kDepth) * c.stepBytes;
  bool direct = p.nextOut != 0; // then prev has written straight here too
  Move m = {};
  m.scaleA = p.input;
  m.finish = p.finish;
  if (p.input) {
    m.a = p.in + off;
    if (p.receive) m.b = from;
    if (p.output) m.d = p.out + off;
  } else if (direct) {
    m.a = p.out + off;
  } else {
    m.a = from;
    m.d = p.out + off;
  }
  if (p.send) {
    u8 *peer = direct ? p.nextOut + off : to;
    if (m.d) m.e = peer;
    else m.d = peer;
  }
  return m;
}

DEVICE void waitSlice(Context &c, const Step &p) {
  if (c.tid == 0 && p.receive && !p.early && !c.off())
    waitCounter(c, c.s->channel.tail, c.recvStep + sliceSteps(c), kForData,
                c.s->channel.prev);
  if (c.tid == 1 && p.send && !p.nextOut) waitCredit(c, c.sendStep + sliceSteps(c));
}

// postSlice publishes what was written and gives back what was read. It follows
// a barrier: the fence is cumulative over the block's stores. Reads need no
// fence, their values were used before the barrier.
DEVICE void postSlice(Context &c, const Step &p, bool wrote) {
  if (p.receive) c.recvStep += sliceSteps(c);
  if (p.send) c.sendStep += sliceSteps(c);
  if (c.off()) return;
  if (p.send && c.tid == c.threads - 1) {
    if (wrote) fenceSystem();
    storeRelaxed(c.s->channel.nextTail, c.sendStep);
  }
  if (p.receive && c.tid == c.threads - 2) storeRelaxed(c.s->channel.prevHead, c.recvStep);
}

// simpleStep runs one primitive. With three warps or more the last one only
// posts, so that its fence overlaps the next slice's copy.
//
// A chunk is published in slices, so that the next rank can begin before its end.
// Each costs a fence and a drain; two ranks wait for each other all the same, and
// have one slice.
DEVICE void simpleStep(Context &c, const Step &p) {
  u64 len = p.len > 0 ? p.len : 0, slice = (len + (16u << c.sliceShift) - 1) >> (4 + c.sliceShift) << 4;
  u64 least = (u64)c.stepBytes / kElemBytes * sliceSteps(c) / 32;
  if (slice < least) slice = least;
  u32 workers = c.threads >= 96 ? c.threads - 32 : c.threads;
  u64 off = 0;
  for (u32 i = 0; i < 1u << c.sliceShift; i++) {
    u64 m = len - off < slice ? len - off : slice;
    if (c.tid < workers) {
      waitSlice(c, p);
      namedBarrier(kWorkers, workers);
      if (p.late) dawdle();
      Move v = sliceMove(c, p, off * kElemBytes);
      if (m > 0 && v.d && !p.garbled && !c.off()) move(c.recipe, v, m, c.tid, workers);
    }
    namedBarrier(kParticipants, c.threads);
    postSlice(c, p, m > 0);
    off += m;
  }
}

// simpleBegin rounds the steps up to whole chunks, so that no slice straddles
// the FIFO's end, and gives the skipped steps back as credits.
DEVICE void simpleBegin(Context &c) {
  constexpr u64 whole = kChunkSteps;
  c.sendStep = (c.sendStep + whole - 1) / whole * whole;
  u64 rounded = (c.recvStep + whole - 1) / whole * whole;
  if (rounded != c.recvStep && c.tid == c.threads - 2 && !c.off())
    storeRelaxed(c.s->channel.prevHead, rounded);
  c.recvStep = rounded;
}
