// What one block knows while it serves a channel, and how it waits.
#pragma once
#include "element.h"
#include "layout.h"

enum Barrier { kWholeBlock = 0, kWorkers = 1, kParticipants = 2 };
enum WaitFor { kForData = 0, kForCredit = 1 };

struct Shared {
  Channel channel;
  u32 aborted;
};

// Step is one primitive: what a chunk undergoes here.
struct Step {
  bool receive, send, input, output; // where it comes from and goes to
  bool finish;                       // the reduction ends here
  i64 len;                           // elements, 0 or less for an empty chunk
  const u8 *in;                      // the chunk in the input
  u8 *out, *nextOut;                 // in the outputs; nextOut 0: through the FIFO
  bool garbled;                      // fault: the chunk is announced, not written
  bool early;                        // fault: the flag is not checked here
  bool late;                         // fault: the chunk comes late
};

struct Context {
  Shared *s;
  u32 *aborted; // of the block, in shared memory
  Report *report;
  u32 *abort;
  u64 limitNs; // of one wait
  u32 tid, threads;
  u64 sendStep, recvStep, headSeen;
  u64 baseSend, baseRecv;
  u32 protocol, stepBytes;
  u32 sliceShift; // a chunk of Simple has 1 << sliceShift slices
  Recipe recipe;
  bool stopped; // fault: this rank does nothing any more
  u32 sent;     // chunks

  MEMBER bool off() const { return stopped || *(volatile u32 *)aborted; }
};

// giveUp is polled by long waits, with the time at which the wait was first
// seen to be long: it tells whether to stop waiting. The first thread of a block
// that must stop says in the report what it waited for.
DEVICE bool giveUp(Context &c, WaitFor what, u32 peer, u64 want, u64 seen, u64 &since) {
  if (c.off()) return true;
  u64 now = nanoseconds();
  if (since == 0) since = now;
  bool told = loadWord32(c.abort) != 0;
  if (!told && now - since < c.limitNs) return false;
  if (atomicSwapIf(c.aborted, 0, 1) == 0) {
    Report *r = c.report;
    r->peer = peer;
    r->protocol = c.protocol;
    r->want = want;
    r->seen = seen;
    r->base = what == kForData ? c.baseRecv : c.baseSend;
    r->aborted = told;
    r->stuck = 1 + what;
    storeWord32(c.abort, 1);
  }
  return true;
}

constexpr u32 kPollsBetweenChecks = 1024;

// waitCounter polls a counter until it reaches want. The acquire orders the
// payload loads of this thread, and through the barrier that follows those of
// the others, after it.
DEVICE u64 waitCounter(Context &c, const u64 *p, u64 want, WaitFor what, u32 peer) {
  u64 seen = loadAcquire(p), since = 0;
  for (u32 polls = 1; seen < want; polls++) {
    if (polls % kPollsBetweenChecks == 0 && giveUp(c, what, peer, want, seen, since)) break;
    relax();
    seen = loadAcquire(p);
  }
  return seen;
}

// waitCredit waits until the FIFO of next has room up to step end.
DEVICE void waitCredit(Context &c, u64 end) {
  if (c.headSeen + kDepth >= end || c.off()) return;
  c.headSeen = waitCounter(c, c.s->channel.head, end - kDepth, kForCredit, c.s->channel.next);
}

// dawdle holds a late chunk back for long enough that a reader that does not
// wait has read.
DEVICE void dawdle() {
  for (u64 end = nanoseconds() + 1000000; nanoseconds() < end;) relax();
}
