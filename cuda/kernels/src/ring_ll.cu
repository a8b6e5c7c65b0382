#include "ring.h"

KERNEL(640) ring_ll(Launch l) {
  SHARED(Shared, s);
  ringKernel<kLL>(l, s);
}
