// The kernels' machine on a CPU: every CUDA thread is a fibre, every spin and
// barrier a point where another fibre runs, chosen at random. Memory is that of
// one processor, so this checks algorithms, indices and flags, not fences.
#pragma once
#include <cstdint>
#include <cstring>

#define DEVICE static inline
#define MEMBER inline
#define KERNEL(maxThreads) static void
#define SHARED(type, name) type &name = *(type *)model::sharedMemory(sizeof(type))

namespace model {
struct Index {
  uint32_t thread, block, threads, blocks;
};
const Index &index();
void *sharedMemory(uint64_t bytes);
void yield();
void barrier(uint32_t id, uint32_t threads);
bool vote(bool v);
void storeByWarp(void *p, const uint32_t *w); // seen when all lanes have stored
uint64_t now(); // counts yields, as nanoseconds
} // namespace model

static inline u32 threadIndex() { return model::index().thread; }
static inline u32 blockIndex() { return model::index().block; }
static inline u32 blockThreads() { return model::index().threads; }
static inline u32 gridBlocks() { return model::index().blocks; }
static inline void blockBarrier() { model::barrier(0, model::index().threads); }
static inline void namedBarrier(u32 id, u32 threads) { model::barrier(id, threads); }
static inline bool warpAny(bool v) { return model::vote(v); }
static inline void warpBarrier() { model::vote(false); }
static inline u64 loadAcquire(const u64 *p) { return *(const volatile u64 *)p; }
static inline void storeRelaxed(u64 *p, u64 v) { *(volatile u64 *)p = v; }
static inline void storeRelease(u64 *p, u64 v) { *(volatile u64 *)p = v; }
static inline void fenceSystem() { model::yield(); }
static inline u32 loadWord32(const u32 *p) { return *(const volatile u32 *)p; }
static inline void storeWord32(u32 *p, u32 v) { *(volatile u32 *)p = v; }
static inline void load16(const void *p, u32 *w) { memcpy(w, p, 16); }
template <class T> static inline T loadAs(const void *p) {
  T v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline u64 load8(const void *p) { return loadAs<u64>(p); }
static inline u32 load4(const void *p) { return loadAs<u32>(p); }
static inline u16 load2(const void *p) { return loadAs<u16>(p); }
static inline u8 load1(const void *p) { return loadAs<u8>(p); }
static inline void store16(void *p, const u32 *w) {
  if ((uintptr_t)p % 16) __builtin_trap();
  memcpy(p, w, 16);
}
// The halves of a line arrive at different times.
static inline void line16(void *p, u32 a, u32 b, u32 c, u32 d) {
  if ((uintptr_t)p % 16) __builtin_trap();
  u32 *w = (u32 *)p;
  w[2] = c, w[3] = d;
  w[0] = a, w[1] = b;
}
static inline void warpLine16(void *p, u32 a, u32 b, u32 c, u32 d) {
  u32 w[4] = {a, b, c, d};
  model::storeByWarp(p, w);
}
static inline u32 atomicSwapIf(u32 *p, u32 old, u32 v) {
  u32 was = *p;
  if (was == old) *p = v;
  return was;
}
static inline u32 atomicAdd(u32 *p, u32 v) {
  u32 was = *p;
  *p += v;
  return was;
}
static inline u64 nanoseconds() { return model::now(); }
static inline u32 multiprocessor() { return 0; }
static inline void relax() { model::yield(); }
static inline float halfToFloat(u16 h) { return (float)__builtin_bit_cast(_Float16, h); }
static inline u16 floatToHalf(float f) { return __builtin_bit_cast(u16, (_Float16)f); }
