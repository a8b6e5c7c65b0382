// One element type, chosen by RT_TYPE (numbered as the planner numbers them),
// and the reductions on it.
#pragma once
#include "device.h"

enum Reduction { kSum = 0, kProd = 1, kMax = 2, kMin = 3 };

#if RT_TYPE == 0
typedef i8 Elem;
#elif RT_TYPE == 1
typedef u8 Elem;
#elif RT_TYPE == 2
typedef i32 Elem;
#elif RT_TYPE == 3
typedef u32 Elem;
#elif RT_TYPE == 4
typedef i64 Elem;
#elif RT_TYPE == 5
typedef u64 Elem;
#elif RT_TYPE == 6
typedef u16 Elem; // float16
#elif RT_TYPE == 7
typedef float Elem;
#elif RT_TYPE == 8
typedef double Elem;
#elif RT_TYPE == 9
typedef u16 Elem; // bfloat16
#else
#error "RT_TYPE must name an element type"
#endif

#define RT_SMALL_FLOAT (RT_TYPE == 6 || RT_TYPE == 9)
#define RT_FLOATING (RT_TYPE >= 6)

constexpr u32 kElemBytes = sizeof(Elem);

#if RT_TYPE == 6
typedef float Arith;
DEVICE Arith widen(Elem e) { return halfToFloat(e); }
DEVICE Elem narrow(Arith a) { return floatToHalf(a); }
#elif RT_TYPE == 9
typedef float Arith;
DEVICE Arith widen(Elem e) { return __builtin_bit_cast(float, (u32)e << 16); }
// Round to nearest even; a NaN becomes 0x7fff, as in float16.
#if __CUDA_ARCH__ >= 800
DEVICE Elem narrow(Arith a) {
  Elem e;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(e) : "f"(a));
  return e;
}
#else
DEVICE Elem narrow(Arith a) {
  u32 bits = __builtin_bit_cast(u32, a);
  if (a != a) return 0x7fff;
  return (Elem)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
#endif
#else
typedef Elem Arith;
DEVICE Arith widen(Elem e) { return e; }
DEVICE Elem narrow(Arith a) { return a; }
#endif

// exact narrows what is an element's value already, or the one NaN of fmin and fmax.
#if RT_TYPE == 9
DEVICE Elem exact(Arith a) { return (Elem)(__builtin_bit_cast(u32, a) >> 16); }
#else
DEVICE Elem exact(Arith a) { return narrow(a); }
#endif

DEVICE Elem sum(Elem a, Elem b) { return narrow((Arith)(widen(a) + widen(b))); }
DEVICE Elem product(Elem a, Elem b) { return narrow((Arith)(widen(a) * widen(b))); }
DEVICE Elem lesser(Elem a, Elem b) {
#if RT_TYPE == 8
  return __builtin_fmin(a, b);
#elif RT_FLOATING
  return exact(__builtin_fminf(widen(a), widen(b)));
#else
  return a < b ? a : b;
#endif
}
DEVICE Elem greater(Elem a, Elem b) {
#if RT_TYPE == 8
  return __builtin_fmax(a, b);
#elif RT_FLOATING
  return exact(__builtin_fmaxf(widen(a), widen(b)));
#else
  return a > b ? a : b;
#endif
}

// Vec is N elements that travel in one access.
template <u32 Bytes> union Vec {
  u32 w[Bytes / 4];
  u64 d[Bytes / 8];
  Elem e[Bytes / kElemBytes];
};
typedef Vec<16> Pack;
typedef Vec<8> Word;

// Recipe is what happens to elements on their way.
struct Recipe {
  u32 reduction;
  u32 scale;  // inputs are multiplied by scalar
  u32 divide; // the finished result is divided by this, unless 0
  u64 scalar; // bits of an element
};

// eachOf combines the elements that share a word, one by one.
template <class F> DEVICE u32 eachOf(u32 a, u32 b, F f) {
  constexpr u32 bits = 8 * kElemBytes, mask = (1u << bits % 32) - 1;
  u32 r = 0;
  UNROLL for (u32 at = 0; at < 32; at += bits) r |= ((u32)f((Elem)(a >> at), (Elem)(b >> at)) & mask) << at;
  return r;
}

// combine puts f of each pair of elements into a. Small elements are taken out of
// their words and put back at once: each would fill a register of its own.
template <u32 B, int U, class F> DEVICE void combine(Vec<B> (&a)[U], const Vec<B> (&b)[U], F f) {
  UNROLL for (int u = 0; u < U; u++) {
    if constexpr (kElemBytes < 4)
      UNROLL for (u32 i = 0; i < B / 4; i++) a[u].w[i] = eachOf(a[u].w[i], b[u].w[i], f);
    else
      UNROLL for (u32 i = 0; i < B / kElemBytes; i++) a[u].e[i] = f(a[u].e[i], b[u].e[i]);
  }
}

#if RT_TYPE <= 1
// Four bytes at once. Carries and borrows must not leave a byte, so its highest
// bit is worked out apart.
constexpr u32 kHigh = 0x80808080;

DEVICE u32 sumOf4(u32 a, u32 b) { return ((a & ~kHigh) + (b & ~kHigh)) ^ ((a ^ b) & kHigh); }

// atLeast4 has all bits set in the bytes of a that are at least those of b.
DEVICE u32 atLeast4(u32 a, u32 b) {
  if (RT_TYPE == 0) a ^= kHigh, b ^= kHigh; // as if they had no sign
  u32 low = (a | kHigh) - (b & ~kHigh), high = ((a & ~b) | (~(a ^ b) & low)) & kHigh;
  return (high >> 7) * 255;
}

template <u32 B, int U, class F> DEVICE void combine4(Vec<B> (&a)[U], const Vec<B> (&b)[U], F f) {
  UNROLL for (int u = 0; u < U; u++) UNROLL for (u32 i = 0; i < B / 4; i++) a[u].w[i] = f(a[u].w[i], b[u].w[i]);
}

template <u32 B, int U> DEVICE void foldBytes(u32 reduction, Vec<B> (&a)[U], const Vec<B> (&b)[U]) {
  if (reduction == kSum) return combine4(a, b, sumOf4);
  u32 flip = reduction == kMin ? ~0u : 0;
  combine4(a, b, [flip](u32 x, u32 y) {
    u32 first = atLeast4(x, y) ^ flip;
    return (x & first) | (y & ~first);
  });
}
#endif

template <u32 B, int U> DEVICE void foldAll(u32 reduction, Vec<B> (&a)[U], const Vec<B> (&b)[U]) {
#if RT_TYPE <= 1
  if (reduction != kProd) return foldBytes(reduction, a, b);
#endif
  switch (reduction) {
  case kSum: return combine(a, b, sum);
  case kProd: return combine(a, b, product);
  case kMin: return combine(a, b, lesser);
  default: return combine(a, b, greater);
  }
}

// scaleAll is the average of floating types: every input is multiplied once.
template <u32 B, int U> DEVICE void scaleAll(const Recipe &r, Vec<B> (&a)[U]) {
#if RT_FLOATING
  if (!r.scale) return;
  Word s;
  s.d[0] = r.scalar;
  Elem by = s.e[0];
  combine(a, a, [by](Elem x, Elem) { return product(x, by); });
#endif
}

// divideAll is the average of integers: the sum is divided once, truncating.
template <u32 B, int U> DEVICE void divideAll(const Recipe &r, Vec<B> (&a)[U]) {
#if !RT_FLOATING
  if (!r.divide) return;
#if RT_TYPE <= 1
  // For 8 bits a multiplication is exact; the shift would round down, below zero too.
  i32 factor = 65536 / (r.divide < 256 ? r.divide : 256) + 1;
  combine(a, a, [factor](Elem x, Elem) { return (Elem)(((i32)x * factor + ((i32)x >> 31 & 65535)) >> 16); });
#else
  Elem by = r.divide;
  combine(a, a, [by](Elem x, Elem) { return (Elem)(x / by); });
#endif
#endif
}

DEVICE Elem loadElem(const u8 *p) {
  Word w;
  w.d[0] = 0;
  if (kElemBytes == 1) w.d[0] = load1(p);
  if (kElemBytes == 2) w.d[0] = load2(p);
  if (kElemBytes == 4) w.w[0] = load4(p);
  if (kElemBytes == 8) w.d[0] = load8(p);
  return w.e[0];
}
DEVICE void storeElem(u8 *p, Elem e) { *(Elem *)p = e; }

// loadVec reads the elements [first, first + N) of p that lie below len, the
// others as zero; aligned says that p is aligned to the vector.
template <u32 B> DEVICE Vec<B> loadVec(const u8 *p, i64 first, i64 len, bool aligned) {
  constexpr i64 n = B / kElemBytes, half = 8 / kElemBytes;
  Vec<B> v;
  p += first * kElemBytes;
  if (aligned && first + n <= len) {
    if (B == 16) load16(p, v.w);
    else v.d[0] = load8(p);
    return v;
  }
  UNROLL for (u32 h = 0; h < B / 8; h++) {
    u64 bits = 0;
    // Seldom taken, so small rather than fast.
    _Pragma("unroll 1") for (i64 i = 0; i < half && first + h * half + i < len; i++) {
      Word w;
      w.d[0] = 0;
      w.e[0] = loadElem(p + (h * half + i) * kElemBytes);
      bits |= w.d[0] << (i * 8 * kElemBytes);
    }
    v.d[h] = bits;
  }
  return v;
}

template <u32 B> DEVICE void storeVec(u8 *p, i64 first, i64 len, bool aligned, const Vec<B> &v) {
  constexpr i64 n = B / kElemBytes, half = 8 / kElemBytes;
  p += first * kElemBytes;
  if (aligned && first + n <= len) {
    if (B == 16) store16(p, v.w);
    else *(u64 *)p = v.d[0];
    return;
  }
  UNROLL for (u32 h = 0; h < B / 8; h++) {
    _Pragma("unroll 1") for (i64 i = 0; i < half && first + h * half + i < len; i++) {
      Word w;
      w.d[0] = v.d[h] >> (i * 8 * kElemBytes);
      storeElem(p + (h * half + i) * kElemBytes, w.e[0]);
    }
  }
}
