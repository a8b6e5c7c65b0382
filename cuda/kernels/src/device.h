// What the kernels need of the machine: thread indices, barriers, and the
// loads, stores and fences between GPUs. With RT_MODEL the same names stand for
// fibres on a CPU, so that the algorithms can be run and checked without a GPU.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef int i32;
typedef long long i64;

#define UNROLL _Pragma("unroll")

#ifdef RT_MODEL
#include "model.h"
#else

#define DEVICE static inline __attribute__((device, always_inline))
#define MEMBER __attribute__((device, always_inline)) inline
#define KERNEL(maxThreads) \
  extern "C" __attribute__((global, launch_bounds(maxThreads, 1))) void
#define SHARED(type, name) static __attribute__((shared)) type name

DEVICE u32 threadIndex() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 blockIndex() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 blockThreads() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE u32 gridBlocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }

// Barriers: the block's own, and named ones for a part of it.
DEVICE void blockBarrier() { asm volatile("bar.sync 0;" ::: "memory"); }
DEVICE void namedBarrier(u32 id, u32 threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
DEVICE void warpBarrier() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }
DEVICE bool warpAny(bool v) {
  u32 r;
  asm volatile(
      "{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.any.pred q, p, 0xffffffff; "
      "selp.u32 %0, 1, 0, q; }"
      : "=r"(r)
      : "r"((u32)v)
      : "memory");
  return r != 0;
}

// Flags and counters between GPUs.
DEVICE u64 loadAcquire(const u64 *p) {
  u64 v;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
DEVICE void storeRelaxed(u64 *p, u64 v) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
DEVICE void storeRelease(u64 *p, u64 v) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
DEVICE void fenceSystem() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
DEVICE u32 loadWord32(const u32 *p) {
  u32 v;
  asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
DEVICE void storeWord32(u32 *p, u32 v) {
  asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

// Payload. Loads are volatile: a line that a peer wrote must not come from a
// stale L1. They carry no memory clobber, so that several can be in flight.
DEVICE void load16(const void *p, u32 *w) {
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
               : "l"(p));
}
DEVICE u64 load8(const void *p) {
  u64 v;
  asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(v) : "l"(p));
  return v;
}
DEVICE u32 load4(const void *p) {
  u32 v;
  asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}
DEVICE u16 load2(const void *p) {
  u16 v;
  asm volatile("ld.volatile.global.u16 %0, [%1];" : "=h"(v) : "l"(p));
  return v;
}
DEVICE u8 load1(const void *p) {
  u32 v;
  asm volatile("ld.volatile.global.u8 %0, [%1];" : "=r"(v) : "l"(p));
  return (u8)v;
}
// store16 is for payload that a later fence publishes, line16 for lines that
// carry their own flag and so must not be split or cached.
DEVICE void store16(void *p, const u32 *w) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(w[0]), "r"(w[1]), "r"(w[2]),
               "r"(w[3])
               : "memory");
}
DEVICE void line16(void *p, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}
// warpLine16 is line16 by all lanes of a warp at once: eight lanes write a line of
// 128 bytes that arrives whole.
DEVICE void warpLine16(void *p, u32 a, u32 b, u32 c, u32 d) { line16(p, a, b, c, d); }

// Atomics inside one GPU.
DEVICE u32 atomicSwapIf(u32 *p, u32 old, u32 v) {
  u32 r;
  asm volatile("atom.cas.b32 %0, [%1], %2, %3;" : "=r"(r) : "l"(p), "r"(old), "r"(v) : "memory");
  return r;
}
DEVICE u32 atomicAdd(u32 *p, u32 v) {
  u32 r;
  asm volatile("atom.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
  return r;
}

DEVICE u64 nanoseconds() {
  u64 v;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(v));
  return v;
}
DEVICE u32 multiprocessor() {
  u32 v;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(v));
  return v;
}
DEVICE void relax() {}

// Half precision through float32, rounded to nearest even.
DEVICE float halfToFloat(u16 h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}
DEVICE u16 floatToHalf(float f) {
  u16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}
#endif
