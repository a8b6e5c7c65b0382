// AllReduce without a ring, for GPUs that can all write to each other: one-shot
// by lines for small messages, two-shot by writes for large ones. Contributions
// are folded in the order of the ranks, so that all ranks get the same bits.
#include "simple.h"

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
// then scratch [source rank][scratchBytes].
struct DirectLaunch {
  struct Report *reports; // by block
  u32 *abort;
  u64 timeoutNs;    // of one wait
  u64 count;        // elements
  u64 lineCapacity; // lines of one source
  u64 scratchBytes; // of one source
  u64 flagsOffset, doneOffset, scratchOffset;
  u64 scalar;
  u32 nRanks, nLocal, blocks, pieces; // blocks of one rank
  u32 reduction, scale, divide, trace;
  DirectRank local[kMaxRanks];
  u8 *regions[kMaxRanks]; // by rank, as addressed from this GPU
  u8 *outs[kMaxRanks];
};
static_assert(sizeof(DirectLaunch) == 880, "mirrored in Go");

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

// ---- One-shot: every rank writes its input as lines into every peer's slot
// and folds what arrives in its own. Two slots take turns: a rank that is two
// calls ahead has seen lines of every peer's next call, so every peer has left
// the call that used the slot before.

DEVICE u8 *lineAt(const Call &k, u32 to, u32 from, u64 line) {
  u64 slot = (k.epoch & 1) * k.l.nRanks + from;
  return k.l.regions[to] + (slot * k.l.lineCapacity + line) * 16;
}

DEVICE u64 awaitLine(const Call &k, u32 from, const u8 *line) {
  u32 flag = (u32)k.epoch, w[4];
  u64 since = 0;
  for (u32 polls = 1;; polls++) {
    load16(line, w);
    if (w[1] == flag && w[3] == flag) break;
    u64 seen = w[1] < w[3] ? w[1] : w[3];
    if (polls % kPollsBetweenChecks == 0 && giveUp(k.c, kForData, from, flag, seen, since)) break;
    relax();
  }
  return (u64)w[2] << 32 | w[0];
}

DEVICE Word ownLine(const Call &k, u64 line, bool aligned) {
  Word v[1];
  v[0] = loadVec<8>(k.me.in, line * (8 / kElemBytes), k.l.count, aligned);
  scaleAll(k.c.recipe, v);
  return v[0];
}

DEVICE void pushLine(const Call &k, u64 line, u64 data) {
  u32 flag = (u32)k.epoch, me = k.me.rank;
  for (u32 i = 1; i < k.l.nRanks; i++) {
    u32 peer = me + i < k.l.nRanks ? me + i : me + i - k.l.nRanks;
    line16(lineAt(k, peer, me, line), (u32)data, flag, (u32)(data >> 32), flag);
  }
}

DEVICE void foldLine(const Call &k, u64 line, Word own) {
  Word acc[1], v[1];
  for (u32 r = 0; r < k.l.nRanks; r++) {
    if (r == k.me.rank) v[0] = own;
    else v[0].d[0] = awaitLine(k, r, lineAt(k, k.me.rank, r, line));
    if (r == 0) acc[0] = v[0];
    else foldAll(k.c.recipe.reduction, acc, v);
  }
  divideAll(k.c.recipe, acc);
  bool aligned = ((u64)k.me.out & 7) == 0;
  storeVec<8>(k.me.out, line * (8 / kElemBytes), k.l.count, aligned, acc[0]);
}

KERNEL(512) oneshot(DirectLaunch l) {
  SHARED(u32, aborted);
  Context c = contextOf(l, &aborted);
  u32 local = blockIndex() / l.blocks;
  DirectRank me = l.local[local];
  Call k = {l, c, me, blockIndex() - local * l.blocks, load8(&me.state->epoch) + 1};
  u64 lines = (l.count * kElemBytes + 7) / 8, first = k.block * c.threads + c.tid;
  u64 stride = (u64)l.blocks * c.threads;
  bool aligned = ((u64)me.in & 7) == 0;
  Word own; // of the thread's first line: it has no other where the grid is large enough
  if (first < lines) {
    own = ownLine(k, first, aligned);
    pushLine(k, first, own.d[0]);
  }
  for (u64 i = first + stride; i < lines; i += stride) pushLine(k, i, ownLine(k, i, aligned).d[0]);
  // Twice in 2^31 calls all lines are written, so that none keeps a flag long
  // enough for its value to return.
  if ((k.epoch & 0x7ffffffe) == 0x7ffffffe)
    for (u64 i = lines + first; i < l.lineCapacity; i += stride) pushLine(k, i, 0);
  blockBarrier();
  agree(k);
  if (first < lines) foldLine(k, first, own);
  for (u64 i = first + stride; i < lines; i += stride) foldLine(k, i, ownLine(k, i, aligned));
}

// ---- Two-shot: rank r owns share r of the message. Every rank writes its part
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
    u32 owner = (k.me.rank + i) % k.l.nRanks;
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

// reduceAt folds all ranks' U vectors that lie stride apart and writes the
// result everywhere. B is 16, or 8 for a single element.
template <u32 B, int U> DEVICE void reduceAt(const Call &k, const u8 *in, const u8 *scratch, u64 out, u64 at, u64 stride) {
  Vec<B> acc[U], v[U];
  for (u32 r = 0; r < k.l.nRanks; r++) {
    const u8 *p = r == k.me.rank ? in : scratch + r * k.l.scratchBytes;
    UNROLL for (int u = 0; u < U; u++) v[u] = loadWhole<B>(p + at + u * stride);
    scaleAll(k.c.recipe, v);
    if (r > 0) foldAll(k.c.recipe.reduction, acc, v);
    else UNROLL for (int u = 0; u < U; u++) acc[u] = v[u];
  }
  divideAll(k.c.recipe, acc);
  for (u32 i = 1; i <= k.l.nRanks; i++) {
    u8 *d = k.l.outs[(k.me.rank + i) % k.l.nRanks] + out + at;
    UNROLL for (int u = 0; u < U; u++) {
      if (B == 16) store16(d + u * stride, acc[u].w);
      else storeElem(d + u * stride, acc[u].e[0]);
    }
  }
}

DEVICE void reducePiece(const Call &k, u32 piece) {
  hear(k, false, piece);
  if (k.c.off()) return;
  Stretch s = stretchOf(k, k.me.rank, piece);
  u64 out = s.first * kElemBytes, bytes = s.len * kElemBytes, at = 0;
  const u8 *in = k.me.in + out, *scratch = scratchAt(k, k.me.rank, 0) + s.offset;
  u64 low = (u64)in;
  for (u32 r = 0; r < k.l.nRanks; r++) low |= (u64)(k.l.outs[r] + out);
  if ((low & 15) == 0) {
    constexpr u64 line = 32 * 16, hunk = RT_FOLDS * line;
    u64 whole = bytes / 16 * 16, hunks = whole / hunk, lane = k.c.tid % 32 * 16;
    for (u64 i = k.c.tid / 32; i < hunks; i += k.c.threads / 32)
      reduceAt<16, RT_FOLDS>(k, in, scratch, out, i * hunk + lane, line);
    for (at = hunks * hunk + k.c.tid * 16; at < whole; at += k.c.threads * 16)
      reduceAt<16, 1>(k, in, scratch, out, at, 0);
    at = whole;
  }
  for (at += k.c.tid * kElemBytes; at < bytes; at += k.c.threads * kElemBytes)
    reduceAt<8, 1>(k, in, scratch, out, at, 0);
}

KERNEL(512) twoshot(DirectLaunch l) {
  SHARED(u32, aborted);
  Context c = contextOf(l, &aborted);
  u32 local = blockIndex() / l.blocks;
  DirectRank me = l.local[local];
  Call k = {l, c, me, blockIndex() - local * l.blocks, load8(&me.state->epoch) + 1};
  for (u32 i = 0; i < l.pieces; i++) scatterPiece(k, i);
  for (u32 i = 0; i < l.pieces; i++) reducePiece(k, i);
  tell(k, true, 0);
  hear(k, true, 0);
}
