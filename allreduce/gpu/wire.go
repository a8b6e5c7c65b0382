package gpu

import "unsafe"

// What kernels read and write, byte by byte as cuda/kernels/src/layout.h and
// direct.h have it. Addresses are uint64.

const (
	maxLocalRanks  = 16 // ranks of one launch
	maxDirectRanks = 16 // ranks whose outputs a launch can name
	maxPieces      = 16 // of a block's stretch in two-shot
)

type channelWire struct {
	head, tail         uint64
	prevHead, nextTail uint64
	recv, send         [3]uint64
	sendStep, recvStep uint64
	headSeen           uint64
	rank, index        uint32
	prev, next         uint32
	_                  uint64
}

type partWire struct {
	offset, count uint64
	chunk         int64
}

type bufferWire struct{ in, out uint64 }

type workWire struct {
	mask                       uint64
	parts                      uint64
	countLo, countMid, countHi uint64
	chunkLo, chunkMid, chunkHi uint32
	stepBytes                  uint32
	protocol, threads          uint32
	reduction, scale, divide   uint32
	direct                     uint32
	scalar                     uint64
	local                      [maxLocalRanks]bufferWire
	outs                       [maxDirectRanks]uint64
}

type launchWire struct {
	channels, reports, abort, works               uint64
	mask, timeoutNs                               uint64
	nRanks, nLocal, nChannels, nWorks             uint32
	trace                                         uint32
	faultKind, faultRank, faultChannel, faultStep uint32
	spread                                        uint32
	work                                          workWire
}

type reportWire struct {
	stuck, peer, protocol, _      uint32
	want, seen, base              uint64
	grid, block, threads, channel uint32
	rank, sm, ran, took           uint32
}

// stateBytes is the size of a rank's State, which only kernels read.
const stateBytes = 16

type directRankWire struct{ state, in, out, rank uint64 }

type directWire struct {
	reports, abort, timeoutNs      uint64
	count, lineCapacity            uint64
	scratchBytes, wireBytes        uint64
	flagsOffset, doneOffset        uint64
	scratchOffset, wiresOffset     uint64
	scalar                         uint64
	nRanks, nLocal, blocks, pieces uint32
	reduction, scale, divide       uint32
	_                              uint32 // whether blocks record themselves: those of rings do only
	local                          [maxLocalRanks]directRankWire
	regions                        [maxDirectRanks]uint64
	outs, ins                      [maxDirectRanks]uint64
}

// bytesOf is the memory of a value.
func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// bytesOfAll is the memory of a slice's elements.
func bytesOfAll[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), int(unsafe.Sizeof(s[0]))*len(s))
}
