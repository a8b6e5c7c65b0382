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
DEVICE Elem narrow(Arith a) {
  u32 bits = __builtin_bit_cast(u32, a);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return (Elem)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
#else
typedef Elem Arith;
DEVICE Arith widen(Elem e) { return e; }
DEVICE Elem narrow(Arith a) { return a; }
#endif

DEVICE Arith lesser(Arith a, Arith b) {
#if RT_TYPE == 8
  return __builtin_fmin(a, b);
#elif RT_FLOATING
  return __builtin_fminf(a, b);
#else
  return a < b ? a : b;
#endif
}
DEVICE Arith greater(Arith a, Arith b) {
#if RT_TYPE == 8
  return __builtin_fmax(a, b);
#elif RT_FLOATING
  return __builtin_fmaxf(a, b);
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

template <u32 B, int U> DEVICE void foldAll(u32 reduction, Vec<B> (&a)[U], const Vec<B> (&b)[U]) {
  constexpr u32 n = B / kElemBytes;
  switch (reduction) {
  case kSum:
    UNROLL for (int u = 0; u < U; u++) UNROLL for (u32 i = 0; i < n; i++) a[u].e[i] =
        narrow((Arith)(widen(a[u].e[i]) + widen(b[u].e[i])));
    break;
  case kProd:
    UNROLL for (int u = 0; u < U; u++) UNROLL for (u32 i = 0; i < n; i++) a[u].e[i] =
        narrow((Arith)(widen(a[u].e[i]) * widen(b[u].e[i])));
    break;
  case kMin:
    UNROLL for (int u = 0; u < U; u++) UNROLL for (u32 i = 0; i < n; i++) a[u].e[i] =
        narrow(lesser(widen(a[u].e[i]), widen(b[u].e[i])));
    break;
  default:
    UNROLL for (int u = 0; u < U; u++) UNROLL for (u32 i = 0; i < n; i++) a[u].e[i] =
        narrow(greater(widen(a[u].e[i]), widen(b[u].e[i])));
  }
}

// scaleAll is the average of floating types: every input is multiplied once.
template <u32 B, int U> DEVICE void scaleAll(const Recipe &r, Vec<B> (&a)[U]) {
#if RT_FLOATING
  if (!r.scale) return;
  Word s;
  s.d[0] = r.scalar;
  Arith f = widen(s.e[0]);
  UNROLL for (int u = 0; u < U; u++) UNROLL for (u32 i = 0; i < B / kElemBytes; i++) a[u].e[i] =
      narrow((Arith)(widen(a[u].e[i]) * f));
#endif
}

// divideAll is the average of integers: the sum is divided once, truncating.
template <u32 B, int U> DEVICE void divideAll(const Recipe &r, Vec<B> (&a)[U]) {
#if !RT_FLOATING
  if (!r.divide) return;
  UNROLL for (int u = 0; u < U; u++) for (u32 i = 0; i < B / kElemBytes; i++) {
#if RT_TYPE == 0
    a[u].e[i] = (Elem)((i32)a[u].e[i] / (i32)r.divide);
#else
    a[u].e[i] = (Elem)(a[u].e[i] / (Elem)r.divide);
#endif
  }
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
