#include "ring.h"

KERNEL(640) ring_ll128(Launch l) {
  SHARED(Shared, s);
  ringKernel<kLL128>(l, s);
}
