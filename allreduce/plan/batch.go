package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Sizes of what a launch carries, in bytes.
const (
	recordBytes    = 64 // of one collective
	batchBytes     = 16 // header of a batch of records
	fixedArgBytes  = 32
	mostArgBytes   = 4096
	batchCapacity  = 1024 // of records on one channel
	recordsPerSet  = 64   // that a batch can name, by distance from its base
	mostFIFOBytes  = 1 << 30
	leastArgsBytes = fixedArgBytes + batchBytes + recordBytes
)

// budget is the room that one launch has.
type budget struct{ args, fifo uint64 }

func (s *Settings) budget() budget {
	return budget{args: min(s.WorkArgs, mostArgBytes) - fixedArgBytes, fifo: s.WorkFIFO / 2}
}

// fits says whether batches and records have room, together in the arguments or
// with the records in the queue.
func (b budget) fits(batches, work int) bool {
	headers := uint64(batchBytes * batches)
	return headers+uint64(work) <= b.args || headers <= b.args && uint64(work) <= b.fifo
}

// check says which variables leave no room to work in.
func (s *Settings) check() error {
	if s.WorkArgs < leastArgsBytes {
		return fmt.Errorf("NCCL_WORK_ARGS_BYTES is %d: want at least %d", s.WorkArgs, leastArgsBytes)
	}
	if f := s.WorkFIFO; f < 2*recordBytes || f > mostFIFOBytes || f&(f-1) != 0 {
		return fmt.Errorf("NCCL_WORK_FIFO_BYTES is %d: want a power of two from %d to %d", f, 2*recordBytes, mostFIFOBytes)
	}
	for _, p := range allreduce.Protos() {
		if s.BuffSize[p] > math.MaxInt32 {
			return fmt.Errorf("%s buffer of %d bytes: want at most %d", p, s.BuffSize[p], math.MaxInt32)
		}
	}
	return nil
}

// Batch names the records that one channel works through with one function.
type Batch struct {
	Function string // for example AllReduce_Sum_f32_RING_LL
	Base     int    // offset of its first record in the launch's work area, bytes
	Records  uint64 // bit i: the record at Base + 64 i belongs to it
	Extends  bool   // the channel's next batch goes on with the same records' list
	Jump     int    // distance to the channel's next batch among all; 0: it is the last
	Slot     int    // its place among all batches
}

// batches are those of each channel, as records are added.
type batches struct {
	byChannel map[int][]Batch
	bytes     map[int]int // of records in a channel's latest batch and those it extends
	total     int
}

func newBatches() *batches {
	return &batches{byChannel: map[int][]Batch{}, bytes: map[int]int{}}
}

// add appends the record at an offset of the work area to a channel's list.
func (b *batches) add(channel int, function string, offset int) {
	list := b.byChannel[channel]
	last := len(list) - 1
	fresh := last < 0 || list[last].Function != function || b.bytes[channel]+recordBytes > batchCapacity
	extension := false
	if !fresh {
		distance := offset - list[last].Base
		extension = distance > (recordsPerSet-1)*recordBytes || distance%recordBytes != 0
	}
	if fresh || extension {
		if extension {
			list[last].Extends = true
		} else {
			b.bytes[channel] = 0
		}
		list = append(list, Batch{Function: function, Base: offset})
		last++
		b.total++
	}
	list[last].Records |= 1 << ((offset - list[last].Base) / recordBytes)
	b.bytes[channel] += recordBytes
	b.byChannel[channel] = list
}

// layOut orders all batches as the kernel's arguments hold them: the first of
// every channel in ascending order, then the second of those that have one, and
// so on.
func (b *batches) layOut() []Batch {
	var channels []int
	for c := range b.byChannel {
		channels = append(channels, c)
	}
	slices.Sort(channels)
	all := make([]Batch, 0, b.total)
	previous := map[int]int{}
	for round := 0; len(all) < b.total; round++ {
		for _, c := range channels {
			if round >= len(b.byChannel[c]) {
				continue
			}
			if round > 0 {
				all[previous[c]].Jump = len(all) - previous[c]
			}
			previous[c] = len(all)
			next := b.byChannel[c][round]
			next.Slot = len(all)
			all = append(all, next)
		}
	}
	return all
}
