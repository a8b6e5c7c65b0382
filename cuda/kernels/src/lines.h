// LL: lines of 16 bytes that carry their own flags, so that no fence is needed.
#pragma once
#include "context.h"

// 16 bytes = 4 data, 4 flag, 4 data, 4 flag. Each half is written atomically, so
// each half has a flag of its own.

// waitLines polls U lines that lie stride bytes apart until all their flags are
// there. All are read at once: one after the other, each would cost the latency
// of memory.
template <int U>
DEVICE void waitLines(Context &c, const u8 *line, u64 stride, u32 flag, bool unchecked, Word (&v)[U]) {
  u32 w[U][4];
  u64 since = 0;
  for (u32 polls = 1;; polls++) {
    UNROLL for (int u = 0; u < U; u++) load16(line + u * stride, w[u]);
    u32 seen = flag;
    UNROLL for (int u = 0; u < U; u++) {
      if (w[u][1] != flag) seen = w[u][1];
      if (w[u][3] != flag) seen = w[u][3];
    }
    if (seen == flag || unchecked) break;
    if (polls % kPollsBetweenChecks == 0 && giveUp(c, kForData, c.s->channel.prev, c.recvStep + 1, seen, since)) break;
    relax();
  }
  UNROLL for (int u = 0; u < U; u++) v[u].d[0] = (u64)w[u][2] << 32 | w[u][0];
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
    waitLines<U>(c, from + (u64)line * 16, (u64)c.threads * 16, (u32)(c.recvStep + 1), p.early, r);
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
