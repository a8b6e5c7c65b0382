package gpu

import (
	"time"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// A device's reports are those of its rings' blocks, [rank][channel], and behind
// them those of direct algorithms, by block.

const (
	reportBytes   = int64(unsafe.Sizeof(reportWire{}))
	directReports = maxLocalRanks * maxDirectBlocks
)

// ringReports is how many blocks of rings a device has a report for.
func (e *Executor) ringReports(d *device) int64 { return int64(len(d.ranks) * e.layout.Channels()) }

// directReport is where the reports of direct algorithms begin.
func (e *Executor) directReport(d *device) uint64 {
	return uint64(d.reports + cuda.Ptr(e.ringReports(d)*reportBytes))
}

// readReports reads the first n of them.
func (d *device) readReports(n int64) ([]reportWire, error) {
	list := make([]reportWire, n)
	return list, d.Do(func() error { return d.Download(bytesOfAll(list), d.reports) })
}

// stalls lists the waits that did not end.
func (e *Executor) stalls() ([]allreduce.Stall, error) {
	var list []allreduce.Stall
	for _, d := range e.devices {
		reports, err := d.readReports(e.ringReports(d) + directReports)
		if err != nil {
			return nil, err
		}
		for slot, r := range reports {
			if r.stuck != 0 {
				list = append(list, e.stall(d, slot, &r))
			}
		}
	}
	return list, nil
}

// stall says who waited for what. Where the report lies tells the rank: blocks
// write it down in traced runs only.
func (e *Executor) stall(d *device, slot int, r *reportWire) allreduce.Stall {
	s := allreduce.Stall{Algo: allreduce.Ring, Proto: allreduce.Proto(r.protocol), Peer: int(r.peer),
		For: allreduce.Wait(r.stuck - 1), Want: r.want, Seen: r.seen, Base: r.base}
	rings, channels := int(e.ringReports(d)), e.layout.Channels()
	if slot < rings {
		s.Rank, s.Channel = d.ranks[slot/channels], slot%channels
		return s
	}
	slot -= rings
	for _, l := range d.launches { // the last that has such a block has written last
		if l.direct != nil && slot < l.grid.Blocks {
			s.Algo, s.Proto, s.Rank = l.algo, l.proto, d.ranks[slot/int(l.direct.blocks)]
		}
	}
	return s
}

// Blocks says what each block of a ring in the last run recorded of itself; blocks
// of replays record nothing, and a GPU in trouble tells nothing. Where a launch was
// spread, blocks are counted among those that work.
func (e *Executor) Blocks() []allreduce.Block {
	var list []allreduce.Block
	for _, d := range e.devices {
		if !d.traced {
			continue
		}
		reports, err := d.readReports(e.ringReports(d))
		if err != nil {
			return nil
		}
		spread := e.spreadOf(d)
		for _, r := range reports {
			if r.ran != 0 {
				list = append(list, allreduce.Block{Rank: int(r.rank), Index: int(r.block) / spread, Grid: int(r.grid) / spread,
					Threads: int(r.threads), Channel: int(r.channel), SM: int(r.sm), Took: time.Duration(r.took)})
			}
		}
	}
	return list
}
