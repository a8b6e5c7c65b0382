// Ring AllReduce: one block serves one channel of one rank.
#include "lines.h"
#include "simple.h"

DEVICE Part partOf(const Work &w, u32 channel) {
  if (w.parts) return w.parts[channel];
  u32 place = __builtin_popcountll(w.mask & ((1ull << channel) - 1));
  u32 n = __builtin_popcountll(w.mask);
  if (place == 0) return {0, w.countLo, w.chunkLo};
  u64 offset = w.countLo + (u64)(place - 1) * w.countMid;
  if (place == n - 1) return {offset, w.countHi, w.chunkHi};
  return {offset, w.countMid, w.chunkMid};
}

DEVICE u32 channelOf(u64 mask, u32 place) {
  while (place--) mask &= mask - 1;
  return __builtin_ctzll(mask);
}

// plant puts the launch's fault into a primitive if this is its place.
DEVICE void plant(const Launch &l, const Channel &ch, u32 channel, Context &c, Step &p, u32 seen) {
  if (l.faultKind == kNoFault || l.faultChannel != channel) return;
  bool sender = l.faultRank == ch.rank && p.send && c.sent == l.faultStep;
  bool receiver = l.faultRank == ch.prev && p.receive && seen == l.faultStep;
  p.garbled = sender && l.faultKind == kDropChunk;
  p.late = sender && l.faultKind == kStaleFlag;
  p.early = receiver && l.faultKind == kStaleFlag;
  if (sender && l.faultKind == kStopRank) c.stopped = true;
}

DEVICE void runStep(Context &c, const Step &p) {
  if (c.protocol == kSimple) simpleStep(c, p);
  else if (c.protocol == kLL128) ll128Step(c, p);
  else llStep(c, p);
}

// allReduce sends every chunk once round the ring to be reduced and once more
// to be handed out: primitive i handles the chunk that lies i + 1 positions
// behind this rank.
DEVICE void allReduce(const Launch &l, Context &c, u32 channel, const Buffers &b, u32 &got) {
  const Work &w = c.s->work;
  const Channel &ch = c.s->channel;
  Part part = partOf(w, channel);
  i64 n = l.nRanks, ix = ch.index, k = part.chunk;
  u8 *nextOut = w.direct ? w.outs[ch.next] : 0;
  for (i64 e = 0; e < (i64)part.count; e += n * part.chunk) {
    i64 rest = (i64)part.count - e;
    if (rest < n * k) {
      constexpr i64 cell = 16 / kElemBytes;
      k = ((rest + n - 1) / n + cell - 1) / cell * cell;
    }
    for (i64 i = 0; i < 2 * n - 1; i++) {
      i64 j = (ix - 1 - i + 2 * n) % n;
      u64 at = (part.offset + e + j * k) * kElemBytes;
      Step p = {};
      p.receive = i > 0;
      p.send = i < 2 * n - 2;
      p.input = i < n;
      p.output = i >= n - 1;
      p.finish = i == n - 1;
      p.len = rest - j * k < k ? rest - j * k : k;
      p.in = b.in + at;
      p.out = b.out + at;
      if (nextOut && p.output) p.nextOut = nextOut + at;
      plant(l, ch, channel, c, p, got);
      runStep(c, p);
      c.sent += p.send;
      got += p.receive;
    }
  }
}

// prepare takes what of the work concerns all threads.
DEVICE bool prepare(Context &c, u32 channel) {
  const Work &w = c.s->work;
  if (!(w.mask >> channel & 1) || c.tid >= w.threads) return false;
  c.threads = w.threads;
  c.protocol = w.protocol;
  c.stepBytes = w.stepBytes;
  c.recipe = {w.reduction, w.scale, w.divide, w.scalar};
  if (w.protocol == kSimple) simpleBegin(c);
  return true;
}

DEVICE void fetchWork(const Launch &l, Shared &s, u32 i, u32 tid, u32 threads) {
  if (i == 0) {
    if (tid == 0) s.work = l.work;
    return;
  }
  const u32 *from = (const u32 *)(l.works + (i - 1));
  for (u32 j = tid; j < sizeof(Work) / 4; j += threads) ((u32 *)&s.work)[j] = from[j];
}

DEVICE void record(const Launch &l, Report *r, u32 channel, u32 rank) {
  r->grid = gridBlocks();
  r->block = blockIndex();
  r->threads = blockThreads();
  r->channel = channel;
  r->rank = rank;
  r->sm = multiprocessor();
  r->ran = 1;
}

// keepSteps tells all threads of the block where a work left the connections;
// some took no part in it. Credits were seen by one thread.
DEVICE void keepSteps(Context &c, u32 channel) {
  Channel &ch = c.s->channel;
  bool active = c.s->work.mask >> channel & 1;
  if (active && c.tid == 0) {
    ch.sendStep = c.sendStep;
    ch.recvStep = c.recvStep;
  }
  if (active && c.tid == (c.protocol == kSimple)) ch.headSeen = c.headSeen;
  blockBarrier();
  c.sendStep = ch.sendStep;
  c.recvStep = ch.recvStep;
  c.headSeen = ch.headSeen;
}

KERNEL(640) ring(Launch l) {
  SHARED(Shared, s);
  u32 tid = threadIndex(), n = __builtin_popcountll(l.mask);
  u32 local = blockIndex() / n, channel = channelOf(l.mask, blockIndex() % n);
  u64 slot = (u64)local * l.nChannels + channel;
  if (tid < 32) ((u32 *)&s.channel)[tid] = ((const u32 *)(l.channels + slot))[tid];
  if (tid == 0) s.aborted = 0;
  fetchWork(l, s, 0, tid, blockThreads());
  blockBarrier();

  Context c = {};
  c.s = &s;
  c.aborted = &s.aborted;
  c.report = l.reports + slot;
  c.abort = l.abort;
  c.limitNs = l.timeoutNs;
  c.tid = tid;
  c.sendStep = c.baseSend = s.channel.sendStep;
  c.recvStep = c.baseRecv = s.channel.recvStep;
  c.headSeen = s.channel.headSeen;
  if (l.trace && tid == 0) record(l, c.report, channel, s.channel.rank);
  u32 got = 0;
  for (u32 i = 0; i < l.nWorks; i++) {
    if (i > 0) {
      blockBarrier();
      fetchWork(l, s, i, tid, blockThreads());
      blockBarrier();
    }
    if (prepare(c, channel)) {
      allReduce(l, c, channel, s.work.local[local], got);
    }
    keepSteps(c, channel);
  }
  if (tid == 0) {
    Channel *ch = l.channels + slot;
    ch->sendStep = c.sendStep;
    ch->recvStep = c.recvStep;
    ch->headSeen = c.headSeen;
  }
}
