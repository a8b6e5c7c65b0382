// Runs the ring kernel of all ranks on fibres and checks every bit.
//
//   ring RANKS CHANNELS ROUNDS SEED [FAULT RANK CHANNEL STEP]
//
// Exit status: 0 as expected, 1 wrong data, 2 stuck (with the report printed).
#include "fibre.h"

#include "../src/ring_ll.cu"
#include "../src/ring_ll128.cu"
#include "../src/ring_simple.cu"

#include <algorithm>

using std::vector;

struct World {
  u32 n, nChannels;
  u32 buffer[3];
  vector<vector<u32>> rings;
  vector<Channel> channels;
  vector<Report> reports;
  vector<vector<u8>> memory;
  u32 abort = 0;
  std::mt19937_64 random;

  u32 pick(u32 below) { return random() % below; }
  u8 *alloc(u64 bytes) {
    memory.emplace_back(bytes + 128);
    return (u8 *)(((u64)memory.back().data() + 127) & ~127ull);
  }
};

static void connectRing(World &w, u32 c) {
  vector<u32> ring(w.n);
  for (u32 i = 0; i < w.n; i++) ring[i] = i;
  std::shuffle(ring.begin() + 1, ring.end(), w.random);
  w.rings.push_back(ring);
  auto at = [&](u32 pos) -> Channel & { return w.channels[ring[pos % w.n] * w.nChannels + c]; };
  for (u32 i = 0; i < w.n; i++) {
    Channel &ch = at(i);
    ch.rank = ring[i], ch.index = i;
    ch.prev = ring[(i + w.n - 1) % w.n], ch.next = ring[(i + 1) % w.n];
    ch.head = (u64 *)w.alloc(128), ch.tail = (u64 *)w.alloc(128);
    for (int p = 0; p < 3; p++) ch.recv[p] = w.alloc(w.buffer[p]);
  }
  for (u32 i = 0; i < w.n; i++) {
    Channel &a = at(i), &b = at(i + 1);
    a.nextTail = b.tail, b.prevHead = a.head;
    for (int p = 0; p < 3; p++) a.send[p] = b.recv[p];
  }
}

static Elem randomElem(World &w) {
  Word v;
#if RT_SMALL_FLOAT
  v.d[0] = 0;
  v.e[0] = narrow((float)((i32)w.pick(2001) - 1000) / 64);
#elif RT_FLOATING
  v.e[0] = (Elem)((i32)w.pick(2000001) - 1000000) / 999;
#else
  v.d[0] = w.random();
#endif
  return v.e[0];
}

struct Case {
  Work work;
  u64 count;
  vector<vector<Elem>> in;
  vector<u8 *> out; // with a guard element before and behind
};

// drawWork lays a random message over random channels, as the planner may.
static Case drawWork(World &w, u32 maxThreads, u32 protocol) {
  Case t = {};
  Work &k = t.work;
  k.protocol = protocol;
  k.threads = 32 * (1 + w.pick(maxThreads / 32));
  k.reduction = w.pick(4);
  if (w.pick(5) == 0) {
    k.reduction = kSum;
    k.scale = RT_FLOATING, k.divide = RT_FLOATING ? 0 : w.n;
    Word s;
    s.d[0] = 0;
    s.e[0] = narrow((Arith)(1.0 / w.n));
    k.scalar = s.d[0];
  }
  k.direct = w.pick(2);
  do k.mask = w.random() & ((1ull << w.nChannels) - 1);
  while (!k.mask);
  k.stepBytes = w.buffer[k.protocol] / kDepth;
  u64 data = k.protocol == kSimple ? k.stepBytes * 4
             : k.protocol == kLL   ? k.stepBytes / 2
                                   : k.stepBytes / 16 * 15;
  u32 grain = k.protocol == kSimple ? 512 : k.protocol == kLL ? 16 : 1920;
  k.chunkLo = k.chunkMid = k.chunkHi = (data / grain - w.pick(data / grain)) * grain / kElemBytes;
  u32 parts = __builtin_popcountll(k.mask), cell = 16 / kElemBytes;
  u64 most = w.pick(4) ? 40 * cell : 2500;
  k.countLo = cell * (1 + w.pick(most / cell));
  if (parts > 2) k.countMid = cell * (1 + w.pick(most / cell));
  if (parts > 1) k.countHi = 1 + w.pick(most);
  else k.countLo -= w.pick(cell);
  t.count = k.countLo + (parts > 2 ? (parts - 2) * k.countMid : 0) + k.countHi;
  bool inPlace = w.pick(2);
  u32 odd = w.pick(2) ? 0 : w.pick(cell);
  for (u32 r = 0; r < w.n; r++) {
    vector<Elem> x(t.count);
    for (Elem &e : x) e = randomElem(w);
    u8 *out = w.alloc((t.count + 2) * kElemBytes + 32) + 16 + odd * kElemBytes;
    memset(out - kElemBytes, 0x5a, (t.count + 2) * kElemBytes);
    u8 *in = out;
    if (!inPlace) in = w.alloc(t.count * kElemBytes + 16) + w.pick(2) * kElemBytes;
    memcpy(in, x.data(), t.count * kElemBytes);
    k.local[r] = {in, out};
    k.outs[r] = out;
    t.in.push_back(x);
    t.out.push_back(out);
  }
  return t;
}

// expect folds in the order of the ring: chunk c starts at position c + 1.
static Elem expect(const World &w, const Case &t, u64 i, const vector<u32> &ring, u32 chunk) {
  const Work &k = t.work;
  Recipe r = {k.reduction, k.scale, k.divide, k.scalar};
  Word acc[1], x[1];
  for (u32 q = 0; q < w.n; q++) {
    x[0].d[0] = 0;
    x[0].e[0] = t.in[ring[(chunk + 1 + q) % w.n]][i];
    scaleAll(r, x);
    if (q == 0) acc[0] = x[0];
    else foldAll(r.reduction, acc, x);
  }
  divideAll(r, acc);
  return acc[0].e[0];
}

static bool check(const World &w, const Case &t) {
  for (u32 c = 0; c < w.nChannels; c++) {
    if (!(t.work.mask >> c & 1)) continue;
    Part p = partOf(t.work, c, FromParameter());
    for (u64 e = 0; e < p.count; e++) {
      u64 loop = e / (w.n * p.chunk) * (w.n * p.chunk), rest = p.count - loop, k = p.chunk;
      u64 cell = 16 / kElemBytes;
      if (rest < w.n * k) k = ((rest + w.n - 1) / w.n + cell - 1) / cell * cell;
      Elem want = expect(w, t, p.offset + e, w.rings[c], (e - loop) / k);
      for (u32 r = 0; r < w.n; r++)
        if (memcmp(t.out[r] + (p.offset + e) * kElemBytes, &want, kElemBytes)) {
          printf("wrong: rank %u channel %u element %llu protocol %u threads %u direct %u\n", r, c,
                 p.offset + e, t.work.protocol, t.work.threads, t.work.direct);
          return false;
        }
    }
  }
  u8 guard[8];
  memset(guard, 0x5a, 8);
  for (u8 *o : t.out)
    if (memcmp(o - kElemBytes, guard, kElemBytes) || memcmp(o + t.count * kElemBytes, guard, kElemBytes))
      return printf("a guard element was overwritten\n"), false;
  return true;
}

static int round(World &w, Launch l, u32 nWorks) {
  u32 block = 128 + 32 * w.pick(2), protocol = w.pick(3);
  vector<Case> cases;
  for (u32 i = 0; i < nWorks; i++) cases.push_back(drawWork(w, block, protocol));
  vector<Work> more;
  for (u32 i = 0; i < nWorks; i++) {
    l.mask |= cases[i].work.mask;
    if (i > 0) more.push_back(cases[i].work);
  }
  l.work = cases[0].work, l.works = more.data(), l.nWorks = nWorks;
  l.trace = 1;
  model::Grid grid;
  grid.launch(w.n * __builtin_popcountll(l.mask) * l.spread, block, [&] { protocol == kSimple ? ring_simple(l) : protocol == kLL ? ring_ll(l) : ring_ll128(l); });
  grid.run(w.random());
  bool stuck = false;
  for (Report &r : w.reports)
    if (r.stuck) {
      stuck = true;
      printf("stuck: rank %u channel %u waits for %s of %u: want %llu seen %llu base %llu\n", r.rank,
             r.channel, r.stuck == 1 ? "data" : "credit", r.peer, r.want, r.seen, r.base);
    }
  if (stuck) return 2;
  for (const Case &t : cases)
    if (!check(w, t)) return 1;
  return 0;
}

int main(int argc, char **argv) {
  auto arg = [&](int i) { return i < argc ? (u32)atoi(argv[i]) : 0; };
  World w;
  w.n = arg(1), w.nChannels = arg(2);
  w.random.seed(arg(4));
  u32 sizes[3] = {8 * 32 * (1 + w.pick(20)), 8 * 2048 * (1 + w.pick(3)), 8 * 512 * (1 + w.pick(3))};
  memcpy(w.buffer, sizes, sizeof sizes);
  w.channels.resize(w.n * w.nChannels);
  w.reports.resize(w.n * w.nChannels);
  for (u32 c = 0; c < w.nChannels; c++) connectRing(w, c);
  size_t lasting = w.memory.size();
  Launch l = {};
  l.channels = w.channels.data(), l.reports = w.reports.data(), l.abort = &w.abort;
  l.timeoutNs = argc > 5 ? 3000000 : 1ull << 40;
  l.nRanks = l.nLocal = w.n, l.nChannels = w.nChannels, l.spread = 1 + w.pick(3);
  l.faultKind = arg(5), l.faultRank = arg(6), l.faultChannel = arg(7), l.faultStep = arg(8);
  for (u32 i = 0; i < arg(3); i++) {
    if (int rc = round(w, l, 1 + w.pick(3))) return rc;
    w.memory.resize(lasting);
  }
  return 0;
}
