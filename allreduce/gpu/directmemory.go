package gpu

import (
	"errors"
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

const (
	lineCapacity = 1 << 16 // 512 KiB of data from each rank
	sliceData    = 1920    // bytes of a slice of LL128's lines,
	sliceWire    = 2048    // and of its lines
	roundings    = 4096    // bytes by which shares may be rounded up
	leastRoom    = 1 << 20
	mostScratch  = 1 << 30
	mostWires    = 64 << 20
)

// directRoom is what a region has for the data of each rank: scratch bytes for
// plain writes, and wires for lines of 128 bytes, of which there are two sets.
type directRoom struct{ scratch, wires int64 }

// enough makes room for what is needed too, in powers of two.
func (r directRoom) enough(need directRoom) directRoom {
	return directRoom{grown(r.scratch, need.scratch, mostScratch), grown(r.wires, need.wires, mostWires)}
}

// grown doubles have until it is need or most; 0 of both stays 0.
func grown(have, need, most int64) int64 {
	if need = min(need, most); need <= have {
		return have
	}
	size := int64(leastRoom)
	for size < need {
		size *= 2
	}
	return size
}

// directMemory is what the ranks of a device have for direct algorithms. Growth
// makes new memory beside the old, which captured launches may still use.
type directMemory struct {
	states  []uint64 // of the device's ranks; none: nothing is there yet
	regions []uint64 // of all ranks
	room    directRoom
}

// directShape is where the parts of a region lie.
type directShape struct{ flags, done, scratch, wires, bytes int64 }

func directShapeOf(n int64, r directRoom) (s directShape) {
	s.flags = 2 * n * lineCapacity * 16
	s.done = s.flags + maxDirectBlocks*maxPieces*n*8
	s.scratch = roundUp(s.done+maxDirectBlocks*n*8, 256)
	s.wires = roundUp(s.scratch+n*r.scratch, 256)
	s.bytes = s.wires + 2*n*r.wires
	return s
}

func roundUp(v, to int64) int64 { return (v + to - 1) / to * to }

// provideDirect makes the memory that a plan's direct works need.
func (e *Executor) provideDirect(p *allreduce.Plan) error {
	have, any := e.devices[0].direct.room, false
	want := have
	for i := range p.Works {
		w := &p.Works[i]
		if w.Algo.Direct() {
			any = true
			k := directKernelOf(w.Algo, w.Proto, e.opts.Direct)
			want = want.enough(k.room(w.Bytes(), int64(e.layout.NRanks)))
		}
	}
	if !any || want == have && len(e.devices[0].direct.states) > 0 {
		return nil
	}
	if err := e.growDirect(want); err != nil {
		return fmt.Errorf("memory of direct algorithms: %w", err)
	}
	return nil
}

func (e *Executor) growDirect(room directRoom) error {
	regions := make([]uint64, e.layout.NRanks)
	grown, owned := make([]directMemory, len(e.devices)), make([]int, len(e.devices))
	for i, d := range e.devices {
		grown[i] = directMemory{room: room, regions: regions}
		owned[i] = len(d.owned)
		if err := d.Do(func() error { return d.growDirect(&grown[i]) }); err != nil {
			for k, begun := range e.devices[:i+1] {
				err = errors.Join(err, begun.giveBack(owned[k]))
			}
			return err
		}
	}
	for i, d := range e.devices { // now that all have it
		d.direct = grown[i]
	}
	return nil
}

// growDirect allocates a state and a region for each rank of the device.
func (d *device) growDirect(m *directMemory) error {
	for _, rank := range d.ranks {
		state, err := d.zeroed(stateBytes)
		if err != nil {
			return err
		}
		m.states = append(m.states, uint64(state))
		region, err := d.zeroed(directShapeOf(int64(len(m.regions)), m.room).bytes)
		if err != nil {
			return err
		}
		m.regions[rank] = uint64(region)
	}
	return d.stream.Synchronize()
}
