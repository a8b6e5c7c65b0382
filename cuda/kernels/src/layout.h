// What the host hands to the kernels. Go mirrors these structures byte by
// byte (allreduce/gpu); all fields are naturally aligned, so the layout is the
// same for every compiler.
#pragma once
#include "device.h"

enum Protocol { kLL = 0, kLL128 = 1, kSimple = 2 };
constexpr u32 kDepth = 8;          // steps in a FIFO
constexpr u32 kMaxLocalRanks = 16; // ranks of one launch
constexpr u32 kMaxDirectRanks = 16; // ranks whose outputs a launch can name

// Channel is one rank's end of its two connections on one channel. It lives in
// that rank's GPU; the words that pointers lead to may lie in another's.
struct Channel {
  u64 *head, *tail;         // polled here: credits from next, steps filled by prev
  u64 *prevHead, *nextTail; // posted here
  u8 *recv[3];              // FIFOs by protocol: what prev writes
  u8 *send[3];              // FIFOs of next
  u64 sendStep, recvStep;   // carried from one launch to the next
  u64 headSeen;             // last credit seen, saves a first poll
  u32 rank, index;          // user rank, position in the ring
  u32 prev, next;           // user ranks
  u64 reserved;
};
static_assert(sizeof(Channel) == 128, "32 lanes copy it");

// Buffers are the data of one local rank.
struct Buffers {
  const u8 *in;
  u8 *out;
};

// Part is a channel's share of an operation, in elements.
struct Part {
  u64 offset, count;
  i64 chunk;
};

// Work is one operation. Where its parts are not in the order of channels, or
// not of three sizes, parts lists them by channel.
struct Work {
  u64 mask;                         // channels that take part
  const Part *parts;                // 0: the first channel has countLo ...
  u64 countLo, countMid, countHi;   // elements of the first, middle and last of them
  u32 chunkLo, chunkMid, chunkHi;   // elements
  u32 stepBytes;                    // of this protocol's FIFO
  u32 protocol, threads;
  u32 reduction, scale, divide;
  u32 direct;                       // Simple: finished chunks go straight into outs
  u64 scalar;
  Buffers local[kMaxLocalRanks];    // by position in the launch
  u8 *outs[kMaxDirectRanks];        // outputs by user rank, where direct
};
static_assert(sizeof(Work) == 472, "mirrored in Go");

// Fault is a planned defect.
enum FaultKind { kNoFault = 0, kDropChunk = 1, kStaleFlag = 3, kStopRank = 4 };

// Launch is the kernel's parameter.
struct Launch {
  Channel *channels; // [local rank][nChannels]
  struct Report *reports; // the same shape
  u32 *abort;        // in host memory; all ranks of the run share it
  const Work *works; // nWorks - 1 further ones, in device memory
  u64 mask;          // channels of the launch: the b-th block that works serves the (b mod n)-th
  u64 timeoutNs;     // of one wait
  u32 nRanks, nLocal, nChannels, nWorks;
  u32 trace;         // record what every block did
  u32 faultKind, faultRank, faultChannel, faultStep;
  u32 spread;        // blocks for each one that works; the others leave at once
  Work work;         // the first one
};
static_assert(sizeof(Launch) == 560, "mirrored in Go");

// Report is what one block left behind.
struct Report {
  u32 stuck;     // 0, or 1 + (0: waited for data, 1: for credit)
  u32 peer, protocol, aborted;
  u64 want, seen, base;
  u32 grid, block, threads, channel; // with trace
  u32 rank, sm, ran;
  u32 took; // nanoseconds, where they fit
};
static_assert(sizeof(Report) == 72, "mirrored in Go");
