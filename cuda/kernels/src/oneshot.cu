#include "direct.h"

// One-shot: every rank writes its input as lines into every peer's slot
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
  Call k = callOf(l, c);
  u64 lines = (l.count * kElemBytes + 7) / 8, first = k.block * c.threads + c.tid;
  u64 stride = (u64)l.blocks * c.threads;
  bool aligned = ((u64)k.me.in & 7) == 0;
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
