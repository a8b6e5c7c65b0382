// Runs the kernels without a ring of all ranks on fibres and checks
// every bit over calls of changing size, grid and algorithm.
//
//   direct RANKS ROUNDS SEED
#include "fibre.h"

#include "../src/oneshot.cu"
#include "../src/oneshot_ll128.cu"
#include "../src/twoshot.cu"
#include "../src/twoshot_ll128.cu"
#include "../src/twoshot_loads.cu"

using std::vector;

static constexpr u32 kMaxBlocks = 6, kLines = 400, kScratch = 4096, kSlicesRoom = 24;

struct World {
  u32 n;
  std::mt19937_64 random;
  vector<State> states;
  vector<u8 *> regions;
  vector<vector<u8>> memory;

  u64 flagsOffset() const { return 2 * n * kLines * 16; }
  u64 doneOffset() const { return flagsOffset() + kMaxBlocks * kMaxPieces * n * 8; }
  u64 scratchOffset() const { return (doneOffset() + kMaxBlocks * n * 8 + 15) / 16 * 16; }
  u64 wiresOffset() const { return (scratchOffset() + n * kScratch + 127) / 128 * 128; }
  u64 bytes() const { return wiresOffset() + 2 * n * kSlicesRoom * kSliceWire; }
  u32 pick(u32 below) { return random() % below; }
  u8 *alloc(u64 bytes) {
    memory.emplace_back(bytes + 128);
    return (u8 *)(((u64)memory.back().data() + 127) & ~127ull);
  }
};

struct Input {
  vector<vector<Elem>> in;
  vector<u8 *> out;
};

static Input drawInput(World &w, DirectLaunch &l) {
  Input t;
  u32 odd = w.pick(2) ? 0 : w.pick(16 / kElemBytes);
  bool inPlace = w.pick(2);
  for (u32 r = 0; r < w.n; r++) {
    vector<Elem> x(l.count);
    for (Elem &e : x) e = narrow((Arith)((i32)w.pick(200) - 100) / 4);
    u8 *out = w.alloc((l.count + 2) * kElemBytes + 32) + 16 + odd * kElemBytes;
    memset(out - kElemBytes, 0x5a, (l.count + 2) * kElemBytes);
    u8 *in = inPlace ? out : w.alloc(l.count * kElemBytes + 16) + w.pick(2) * kElemBytes;
    memcpy(in, x.data(), l.count * kElemBytes);
    l.local[r] = {&w.states[r], in, out, r};
    l.outs[r] = out;
    l.ins[r] = in;
    t.in.push_back(x);
    t.out.push_back(out);
  }
  return t;
}

// Kind is a kernel, and the largest message that fits its memory here.
struct Kind {
  const char *name;
  std::function<void(DirectLaunch)> kernel;
  u64 (*most)(u32 ranks);
};

static const Kind kinds[] = {
    {"one-shot", oneshot, [](u32) -> u64 { return kLines * 8; }},
    {"one-shot by LL128", oneshot_ll128, [](u32) -> u64 { return kSlicesRoom * kSliceData; }},
    {"two-shot by writes", twoshot, [](u32 n) -> u64 { return kScratch * n - 64 * n; }},
    {"two-shot by loads", twoshot_loads, [](u32) -> u64 { return 20000; }},
    {"two-shot by LL128", twoshot_ll128, [](u32 n) -> u64 { return (kSlicesRoom - n) * kSliceData; }},
};

static bool check(const World &w, const DirectLaunch &l, const Input &t, const Kind &kind) {
  Recipe recipe = {l.reduction, l.scale, l.divide, l.scalar};
  for (u64 i = 0; i < l.count; i++) {
    Word acc[1], x[1];
    for (u32 r = 0; r < w.n; r++) {
      x[0].d[0] = 0;
      x[0].e[0] = t.in[r][i];
      scaleAll(recipe, x);
      if (r == 0) acc[0] = x[0];
      else foldAll(recipe.reduction, acc, x);
    }
    divideAll(recipe, acc);
    for (u32 r = 0; r < w.n; r++)
      if (memcmp(t.out[r] + i * kElemBytes, &acc[0].e[0], kElemBytes))
        return printf("wrong: %s rank %u element %llu of %llu blocks %u pieces %u\n",
                      kind.name, r, i, l.count, l.blocks, l.pieces), false;
  }
  u8 guard[8];
  memset(guard, 0x5a, 8);
  for (u8 *o : t.out)
    if (memcmp(o - kElemBytes, guard, kElemBytes) || memcmp(o + l.count * kElemBytes, guard, kElemBytes))
      return printf("a guard element was overwritten\n"), false;
  return true;
}

static bool round(World &w, u32 *abort) {
  DirectLaunch l = {};
  const Kind &kind = kinds[w.pick(sizeof kinds / sizeof *kinds)];
  for (u32 r = 0; r < w.n; r++) l.regions[r] = w.regions[r];
  l.flagsOffset = w.flagsOffset(), l.doneOffset = w.doneOffset(), l.scratchOffset = w.scratchOffset();
  l.wiresOffset = w.wiresOffset(), l.wireBytes = kSlicesRoom * kSliceWire;
  vector<Report> reports(w.n * kMaxBlocks);
  l.reports = reports.data();
  l.abort = abort, l.timeoutNs = 1ull << 40;
  l.lineCapacity = kLines, l.scratchBytes = kScratch;
  u64 most = kind.most(w.n) / kElemBytes;
  l.count = 1 + w.pick(w.pick(2) ? 40 : most);
  l.nRanks = l.nLocal = w.n;
  l.blocks = 1 + w.pick(kMaxBlocks), l.pieces = 1 + w.pick(3);
  l.reduction = w.pick(4);
  Input t = drawInput(w, l);
  model::Grid grid;
  grid.launch(w.n * l.blocks, 32 * (1 + w.pick(3)), [&] { kind.kernel(l); });
  grid.run(w.random());
  for (Report &r : reports)
    if (r.stuck) return printf("stuck: %s\n", kind.name), false;
  return check(w, l, t, kind);
}

int main(int argc, char **argv) {
  World w;
  w.n = atoi(argv[1]);
  w.random.seed(atoi(argv[3]));
  w.states.resize(w.n);
  // Start just before the cleaning of stale flags in some runs.
  u64 start = w.pick(2) ? 0 : 0x7ffffffe - 3;
  for (u32 r = 0; r < w.n; r++) {
    w.states[r].epoch = start;
    w.regions.push_back(w.alloc(w.bytes()));
  }
  size_t lasting = w.memory.size();
  u32 abort = 0;
  for (int i = 0; i < atoi(argv[2]); i++) {
    if (!round(w, &abort)) return 1;
    w.memory.resize(lasting);
  }
}
