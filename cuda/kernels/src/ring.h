// Ring AllReduce: one block serves one channel of one rank. Every protocol's
// kernel is a module of its own, since compiling it takes the driver longer than
// all else before a first result.
#pragma once
#include "ll128.h"
#include "simple.h"

// The first work is a kernel parameter, further ones lie in memory. The two are
// read by different means, since code that can read either would have to copy
// the parameter to where it has an address.
struct FromParameter {
  template <class T> MEMBER T operator()(const T &field) const { return field; }
};
struct FromMemory {
  template <class T> MEMBER T operator()(const T &field) const {
    if constexpr (sizeof(T) == 4) return (T)load4(&field);
    else return (T)load8(&field);
  }
};

template <class Get> DEVICE Part partOf(const Work &w, u32 channel, Get get) {
  u64 mask = get(w.mask), countLo = get(w.countLo), countMid = get(w.countMid), countHi = get(w.countHi);
  u32 chunkLo = get(w.chunkLo), chunkMid = get(w.chunkMid), chunkHi = get(w.chunkHi);
  const Part *table = get(w.parts);
  u32 place = __builtin_popcountll(mask & ((1ull << channel) - 1)), n = __builtin_popcountll(mask);
  if (table) {
    table += channel;
    return {load8(&table->offset), load8(&table->count), (i64)load8(&table->chunk)};
  }
  if (place == 0) return {0, countLo, chunkLo};
  u64 offset = countLo + (u64)(place - 1) * countMid;
  if (place == n - 1) return {offset, countHi, chunkHi};
  return {offset, countMid, chunkMid};
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

template <int P> DEVICE void runStep(Context &c, const Step &p) {
  if (P == kSimple) simpleStep(c, p);
  else if (P == kLL128) ll128Step(c, p);
  else llStep(c, p);
}

// lastChunk shares out what is left for a last, shorter loop.
DEVICE i64 lastChunk(i64 rest, u32 n) {
  constexpr i64 cell = 16 / kElemBytes;
  i64 share = rest >> 31 ? (rest + n - 1) / n : ((u32)rest + n - 1) / n;
  return (share + cell - 1) / cell * cell;
}

// Job is what one block does for one work.
struct Job {
  bool active;
  u32 threads, stepBytes;
  Recipe recipe;
  Part part;
  const u8 *in;
  u8 *out, *nextOut;
};

template <int P, class Get> DEVICE Job jobOf(const Work &w, const Channel &ch, u32 channel, u32 local, Get get) {
  Job j = {};
  j.active = get(w.mask) >> channel & 1;
  j.threads = get(w.threads);
  j.stepBytes = get(w.stepBytes);
  j.recipe = {get(w.reduction), get(w.scale), get(w.divide), get(w.scalar)};
  j.part = partOf(w, channel, get);
  j.in = get(w.local[local].in);
  j.out = get(w.local[local].out);
  if (P == kSimple && get(w.direct)) j.nextOut = get(w.outs[ch.next]);
  return j;
}

// allReduce sends every chunk once round the ring to be reduced and once more
// to be handed out: primitive i handles the chunk that lies i + 1 positions
// behind this rank.
template <int P> DEVICE void allReduce(const Launch &l, const Job &job, Context &c, u32 channel, u32 &got) {
  const Channel &ch = c.s->channel;
  i64 k = job.part.chunk, count = job.part.count;
  u32 n = l.nRanks;
  for (i64 e = 0; e < count; e += n * job.part.chunk) {
    i64 rest = count - e;
    if (rest < n * k) k = lastChunk(rest, n);
    u32 j = ch.index;
    for (u32 i = 0; i < 2 * n - 1; i++) {
      j = j ? j - 1 : n - 1;
      u64 at = (job.part.offset + e + j * k) * kElemBytes;
      Step p = {};
      p.receive = i > 0;
      p.send = i < 2 * n - 2;
      p.input = i < n;
      p.output = i >= n - 1;
      p.finish = i == n - 1;
      p.len = rest - j * k < k ? rest - j * k : k;
      p.in = job.in + at;
      p.out = job.out + at;
      if (job.nextOut && p.output) p.nextOut = job.nextOut + at;
      plant(l, ch, channel, c, p, got);
      runStep<P>(c, p);
      c.sent += p.send;
      got += p.receive;
    }
  }
}

// passBy counts the steps of a work in which the thread takes no part, since it
// may take part in the next.
template <int P> DEVICE void passBy(Context &c, const Job &job, u32 n) {
  constexpr u64 steps = P == kSimple ? kChunkSteps : 1; // of a chunk
  u64 passed = 0;
  for (u64 e = 0; e < job.part.count; e += n * job.part.chunk) passed += (2 * n - 2) * steps;
  c.sendStep = (c.sendStep + steps - 1) / steps * steps + passed;
  c.recvStep = (c.recvStep + steps - 1) / steps * steps + passed;
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

// The thread that waits for credits, and so knows the last one.
template <int P> constexpr u32 kCreditThread = P == kSimple ? 1 : 0;

template <int P> DEVICE void ringKernel(const Launch &l, Shared &s) {
  u64 begin = l.trace ? nanoseconds() : 0;
  if (blockIndex() % l.spread) return;
  u32 tid = threadIndex(), n = __builtin_popcountll(l.mask), place = blockIndex() / l.spread, local = place / n;
  u32 channel = channelOf(l.mask, place - local * n);
  u64 slot = (u64)local * l.nChannels + channel;
  if (tid < 32) ((u32 *)&s.channel)[tid] = ((const u32 *)(l.channels + slot))[tid];
  if (tid == 0) s.aborted = 0;
  blockBarrier();

  Context c = {};
  c.s = &s;
  c.aborted = &s.aborted;
  c.protocol = P;
  c.report = l.reports + slot;
  c.abort = l.abort;
  c.limitNs = l.timeoutNs;
  c.tid = tid;
  c.sliceShift = l.nRanks > 2;
  c.sendStep = c.baseSend = s.channel.sendStep;
  c.recvStep = c.baseRecv = s.channel.recvStep;
  c.headSeen = s.channel.headSeen;
  if (l.trace && tid == 0) record(l, c.report, channel, s.channel.rank);
  u32 got = 0;
  Job job = jobOf<P>(l.work, s.channel, channel, local, FromParameter());
  for (u32 i = 1;; i++) {
    if (job.active && tid < job.threads) {
      c.threads = job.threads;
      c.stepBytes = job.stepBytes;
      c.recipe = job.recipe;
      if (P == kSimple) simpleBegin(c);
      allReduce<P>(l, job, c, channel, got);
    }
    if (job.active && tid >= job.threads) passBy<P>(c, job, l.nRanks);
    if (i >= l.nWorks) break;
    blockBarrier(); // the next work's barriers are for other threads
    job = jobOf<P>(l.works[i - 1], s.channel, channel, local, FromMemory());
  }
  Channel *kept = l.channels + slot;
  if (tid == kCreditThread<P>) kept->headSeen = c.headSeen;
  if (tid == 0) {
    kept->sendStep = c.sendStep;
    kept->recvStep = c.recvStep;
    if (l.trace) c.report->took = (u32)(nanoseconds() - begin);
  }
}
