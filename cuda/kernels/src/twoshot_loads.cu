#include "twoshot.h"

// Two-shot by loads: the owner reads the others' inputs itself, once they are all
// in the call; nobody leaves it before all owners have read.

KERNEL(512) twoshot_loads(DirectLaunch l) {
  SHARED(u32, aborted);
  Context c = contextOf(l, &aborted);
  u32 local = blockIndex() / l.blocks;
  DirectRank me = l.local[local];
  Call k = {l, c, me, blockIndex() - local * l.blocks, load8(&me.state->epoch) + 1};
  tell(k, false, 0);
  agree(k);
  hear(k, false, 0);
  for (u32 i = 0; i < l.pieces && !c.off(); i++) reduceStretch(k, stretchOf(k, me.rank, i), true);
  tell(k, true, 0);
  hear(k, true, 0);
}
