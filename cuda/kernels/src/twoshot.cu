#include "twoshot.h"

// Two-shot by writes: every rank writes its part of a share into the owner's
// scratch.

DEVICE void reducePiece(const Call &k, u32 piece) {
  hear(k, false, piece);
  if (!k.c.off()) reduceStretch(k, stretchOf(k, k.me.rank, piece), false);
}

KERNEL(512) twoshot(DirectLaunch l) {
  SHARED(u32, aborted);
  Context c = contextOf(l, &aborted);
  Call k = callOf(l, c);
  for (u32 i = 0; i < l.pieces; i++) scatterPiece(k, i);
  for (u32 i = 0; i < l.pieces; i++) reducePiece(k, i);
  tell(k, true, 0);
  hear(k, true, 0);
}
