package gpu

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/kernels"
)

// way is how one GPU writes to another, from the best to the worst.
type way int

const (
	sameGPU way = iota
	nvlink      // peer access over a link that keeps 128 bytes together
	pcie        // peer access without that promise
	staged      // through host memory
)

// reach is how every device of this process reaches every other.
type reach struct {
	ways  map[[2]*device]way
	notes []string
}

// proofBytes cross every pair before it is trusted; proofLimit is how long that
// may take.
const (
	proofBytes = 1 << 20
	proofLimit = 5 * time.Second
)

// explore enables peer access between all pairs and proves it with data: some
// platforms allow it and then corrupt or lose what is written.
func (e *Executor) explore() (*reach, error) {
	r := &reach{ways: map[[2]*device]way{}}
	if !e.opts.NoP2P {
		if err := e.load(between("pattern")); err != nil {
			return nil, err
		}
	}
	for _, a := range e.devices {
		for _, b := range e.devices {
			if a == b {
				continue
			}
			w, why, err := e.try(a, b)
			if err != nil {
				return nil, err
			}
			if w == staged {
				r.notes = append(r.notes, fmt.Sprintf("GPU %d reaches GPU %d through host memory: %s", a.Device.Ordinal, b.Device.Ordinal, why))
			}
			r.ways[[2]*device{a, b}] = w
		}
	}
	return r, nil
}

// try finds the way from a to b, and why it is no better.
func (e *Executor) try(a, b *device) (way, string, error) {
	if e.opts.NoP2P {
		return staged, "peer access was switched off", nil
	}
	can, err := a.Device.CanAccess(b.Device)
	if err != nil {
		return 0, "", err
	}
	if !can {
		return staged, "the driver offers no peer access", nil
	}
	if err := a.Do(func() error { return a.EnablePeer(b.Context) }); err != nil {
		return staged, err.Error(), nil
	}
	ok, err := prove(a, b)
	if err != nil {
		return 0, "", fmt.Errorf("prove peer access from GPU %d to %d: %w", a.Device.Ordinal, b.Device.Ordinal, err)
	}
	if !ok {
		return staged, "data written by peer access arrived wrong", nil
	}
	if a.Device.NativeAtomics(b.Device) {
		return nvlink, "", nil
	}
	return pcie, "", nil
}

// prove has a write a pattern into b's memory and b compare it.
func prove(a, b *device) (ok bool, err error) {
	var p cuda.Ptr
	if err = b.Do(func() error {
		p, err = b.Alloc(proofBytes + proofResult)
		return err
	}); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, b.Do(func() error { return b.Free(p) })) }()
	seed := uint32(a.Device.Ordinal*64 + b.Device.Ordinal + 1)
	if err := b.clear(p); err != nil {
		return false, err
	}
	if err := a.writePattern(p, seed); err != nil {
		return false, err
	}
	return b.hasPattern(p, seed)
}

const proofResult = 256 // bytes behind the pattern, for the number of wrong words

var proofGrid = cuda.Grid{Blocks: 8, Threads: 512}

func (d *device) clear(p cuda.Ptr) error {
	return d.Do(func() error {
		if err := d.stream.Fill(p, 0, proofBytes+proofResult); err != nil {
			return err
		}
		return d.finish(proofLimit)
	})
}

func (d *device) writePattern(p cuda.Ptr, seed uint32) error {
	return d.Do(func() error {
		f, err := d.function(between("pattern"))
		if err != nil {
			return err
		}
		if err := kernels.Pattern(f, d.stream, proofGrid, uint64(p), proofBytes/4, seed); err != nil {
			return err
		}
		return d.finish(proofLimit)
	})
}

func (d *device) hasPattern(p cuda.Ptr, seed uint32) (bool, error) {
	wrong := uint32(1)
	err := d.Do(func() error {
		f, err := d.function(between("compare"))
		if err != nil {
			return err
		}
		if err := kernels.Compare(f, d.stream, proofGrid, uint64(p), proofBytes/4, seed, uint64(p)+proofBytes); err != nil {
			return err
		}
		if err := d.finish(proofLimit); err != nil {
			return err
		}
		return d.Download(bytesOf(&wrong), p+proofBytes)
	})
	return wrong == 0, err
}

// finish waits for the queue, but no longer than limit.
func (d *device) finish(limit time.Duration) error {
	for end := time.Now().Add(limit); ; {
		done, err := d.stream.Done()
		if done || err != nil {
			return err
		}
		if time.Now().After(end) {
			return d.giveUp(limit)
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// way from one rank to another. Data goes forth and credits come back, so the
// worse direction counts.
func (e *Executor) way(from, to int) way {
	a, b := e.seats[from].device, e.seats[to].device
	if a == b {
		return sameGPU
	}
	return max(e.reach.ways[[2]*device{a, b}], e.reach.ways[[2]*device{b, a}])
}

// lineTrouble is why LL128 is not safe here, empty if it is: its lines must
// arrive whole and in order on every hop of every ring.
func (e *Executor) lineTrouble() string {
	if e.group != nil {
		return e.group.trouble
	}
	for c, ring := range e.layout.Rings {
		for i, from := range ring {
			to := ring[(i+1)%len(ring)]
			switch e.way(from, to) {
			case pcie:
				return fmt.Sprintf("channel %d goes from rank %d to %d over PCIe, which may deliver a line of 128 bytes in parts", c, from, to)
			case staged:
				return fmt.Sprintf("channel %d goes from rank %d to %d through host memory, which may deliver a line of 128 bytes in parts", c, from, to)
			}
		}
	}
	return ""
}

// writable says whether finished chunks can go straight into neighbours'
// outputs on all rings.
func (e *Executor) writable() bool {
	if e.layout.NRanks > maxDirectRanks || e.group != nil {
		return false
	}
	for _, ring := range e.layout.Rings {
		for i, from := range ring {
			if e.way(from, ring[(i+1)%len(ring)]) == staged {
				return false
			}
		}
	}
	return true
}
