#include "ring.h"

KERNEL(640) ring_simple(Launch l) {
  SHARED(Shared, s);
  ringKernel<kSimple>(l, s);
}
