#include "twoshot.h"

// Two-shot by loads: the owner reads the others' inputs itself, once they are all
// in the call; nobody leaves it before all owners have read.

KERNEL(512) twoshot_loads(DirectLaunch l) {
  SHARED(u32, aborted);
  Context c = contextOf(l, &aborted);
  Call k = callOf(l, c);
  tell(k, false, 0);
  agree(k);
  hear(k, false, 0);
  for (u32 i = 0; i < l.pieces && !c.off(); i++) reduceStretch(k, stretchOf(k, k.me.rank, i), true);
  tell(k, true, 0);
  hear(k, true, 0);
}
