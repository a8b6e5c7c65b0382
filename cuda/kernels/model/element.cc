// Compares the arithmetic of packed elements with what it stands for, on all pairs
// of values of one byte, or on many of two bytes.
//
//   element SEED
//
// Exit status: 0 as expected, 1 wrong.
#include "fibre.h"

#include "../src/element.h"

static Elem at(u32 word, u32 i) { return (Elem)(word >> i * 8 * kElemBytes); }

static Elem plain(u32 reduction, Elem a, Elem b) {
  Arith x = widen(a), y = widen(b);
  switch (reduction) {
  case kSum: return narrow((Arith)(x + y));
  case kProd: return narrow((Arith)(x * y));
#if RT_FLOATING
  case kMin: return narrow(__builtin_fminf(x, y));
  default: return narrow(__builtin_fmaxf(x, y));
#else
  case kMin: return x < y ? x : y;
  default: return x > y ? x : y;
#endif
  }
}

static void expect(const char *what, Elem got, Elem want, u32 a, u32 b) {
  if (got == want || widen(want) != widen(want)) return; // which NaN it is, is for the GPU to say
  printf("%s of %08x and %08x: %x, want %x\n", what, a, b, (u32)got, (u32)want);
  exit(1);
}

// pairs folds two words both ways round, and each element by itself.
static void pairs(u32 a, u32 b) {
  for (u32 reduction = kSum; reduction <= kMin; reduction++) {
    Word x[1] = {}, y[1] = {};
    x[0].w[0] = y[0].w[1] = a, x[0].w[1] = y[0].w[0] = b;
    foldAll(reduction, x, y);
    for (u32 i = 0; i < 4 / kElemBytes; i++) {
      expect("fold", at(x[0].w[0], i), plain(reduction, at(a, i), at(b, i)), a, b);
      expect("fold", at(x[0].w[1], i), plain(reduction, at(b, i), at(a, i)), b, a);
    }
  }
}

static void quotients(u32 divide) {
  Recipe r = {};
  r.divide = divide;
  for (u32 e = 0; e < 256; e++) {
    Word x[1] = {};
    x[0].w[0] = e * 0x01010101u;
    divideAll(r, x);
    for (u32 i = 0; i < 4; i++) expect("quotient", at(x[0].w[0], i), (Elem)((i32)(Elem)e / (i32)divide), e, divide);
  }
}

int main(int argc, char **argv) {
  std::mt19937_64 random(atoi(argv[1]));
  for (u32 i = 0; i < 1u << 16; i++) pairs((i & 255) | (u32)random() << 8, i >> 8 | (u32)random() << 8);
  if (!RT_FLOATING && kElemBytes == 1)
    for (u32 divide = 1; divide <= 1000; divide++) quotients(divide);
}
