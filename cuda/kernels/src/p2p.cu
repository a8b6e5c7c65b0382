// What one GPU can do with another's memory: patterns to prove that data
// arrives, copies by loads and stores to time it, and a flag that goes to and fro.
#include "device.h"

DEVICE u64 firstUnit() { return (u64)blockIndex() * blockThreads() + threadIndex(); }
DEVICE u64 unitStride() { return (u64)gridBlocks() * blockThreads(); }

// mix makes every word depend on its place and the seed.
DEVICE u32 mix(u64 i, u32 seed) {
  u64 x = (i + 1) * 0x9e3779b97f4a7c15ull ^ ((u64)seed << 32 | seed);
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ull;
  return (u32)(x >> 32);
}

KERNEL(1024) pattern(u32 *p, u64 words, u32 seed) {
  for (u64 i = firstUnit(); i < words; i += unitStride()) p[i] = mix(i, seed);
  fenceSystem();
}

KERNEL(1024) compare(const u32 *p, u64 words, u32 seed, u32 *wrong) {
  u32 bad = 0;
  for (u64 i = firstUnit(); i < words; i += unitStride()) bad += load4(p + i) != mix(i, seed);
  if (bad) atomicAdd(wrong, bad);
}

KERNEL(1024) transfer(const u8 *from, u8 *to, u64 bytes, u32 rounds) {
  constexpr int inFlight = 4;
  u64 whole = bytes / 16, stride = unitStride();
  for (u32 r = 0; r < rounds; r++) {
    u64 i = firstUnit();
    for (; i + (inFlight - 1) * stride < whole; i += inFlight * stride) {
      u32 w[inFlight][4];
      UNROLL for (int u = 0; u < inFlight; u++) load16(from + (i + u * stride) * 16, w[u]);
      UNROLL for (int u = 0; u < inFlight; u++) store16(to + (i + u * stride) * 16, w[u]);
    }
    for (; i < whole; i += stride) {
      u32 w[4];
      load16(from + i * 16, w);
      store16(to + i * 16, w);
    }
  }
}

// bounce sends a counter to the peer and waits for its answer, rounds times.
// The side that is first begins. result: nanoseconds, and rounds completed.
KERNEL(32) bounce(const u64 *mine, u64 *peers, u32 rounds, u32 first, u64 timeoutNs, u64 *result) {
  if (threadIndex() != 0) return;
  u64 start = nanoseconds(), end = start + timeoutNs;
  u32 done = 0;
  for (u32 i = 1; i <= rounds; i++) {
    if (first) storeRelease(peers, i);
    u32 polls = 0;
    while (loadAcquire(mine) < i) {
      relax();
      if (++polls % 1024 == 0 && nanoseconds() > end) goto out;
    }
    if (!first) storeRelease(peers, i);
    done = i;
  }
out:
  result[0] = nanoseconds() - start;
  result[1] = done;
}
