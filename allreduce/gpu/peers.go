package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// Usable says why no executor can be made on this machine, as an error that
// wraps allreduce.ErrNoDevice; nil if one can.
func Usable() error {
	_, err := (&Options{}).openDriver()
	return err
}

// Peers measures what GPUs can do with each other's memory.
type Peers struct {
	devices []*device
	reach   *reach
	bytes   int64
	areas   [][2]cuda.Ptr // of each device: what it sends, and a slot for each peer
}

// OpenPeers prepares measurements between GPUs, all that there are without
// devices, that move bytes at a time.
func OpenPeers(o Options, bytes int64) (*Peers, error) {
	drv, err := o.openDriver()
	if err != nil {
		return nil, err
	}
	if bytes < 1<<12 || bytes%16 != 0 {
		return nil, fmt.Errorf("%d bytes: want a multiple of 16, at least 4096", bytes)
	}
	if len(o.Devices) == 0 {
		for i := range drv.Devices() {
			o.Devices = append(o.Devices, i)
		}
	}
	p := &Peers{bytes: bytes}
	if err := p.open(drv, o); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Peers) open(drv *cuda.Driver, o Options) (err error) {
	seen := map[int]bool{}
	for _, ordinal := range o.Devices {
		if seen[ordinal] {
			return fmt.Errorf("GPU %d is named twice", ordinal)
		}
		seen[ordinal] = true
		d, err := drv.Device(ordinal)
		if err != nil {
			return err
		}
		g, err := openDevice(d, nil, &allreduce.Layout{NRanks: 1, Rings: [][]int{{0}}})
		if err != nil {
			return err
		}
		p.devices = append(p.devices, g)
	}
	for _, d := range p.devices {
		if err := d.Do(func() error { return p.allocate(d) }); err != nil {
			return fmt.Errorf("memory to measure GPU %d: %w", d.Device.Ordinal, err)
		}
	}
	e := &Executor{opts: o, devices: p.devices}
	p.reach, err = e.explore()
	return err
}

func (p *Peers) allocate(d *device) error {
	var area [2]cuda.Ptr
	for i, n := range []int64{p.bytes, int64(len(p.devices)) * p.bytes} {
		var err error
		if area[i], err = d.zeroed(n + proofResult); err != nil {
			return err
		}
	}
	p.areas = append(p.areas, area)
	return d.finish(proofLimit)
}

// Close frees everything, if all GPUs answer; else the error has a *HungError for
// each that does not.
func (p *Peers) Close() error {
	devices := p.devices
	p.devices = nil
	return inTime(devices, grace, func() error {
		var errs []error
		for _, d := range devices {
			errs = append(errs, d.close())
		}
		return errors.Join(errs...)
	})
}

// Matrix has a row for each GPU that sends and a column for each that receives.
type Matrix [][]float64

// PeerReport is what was found of a set of GPUs. Bandwidths are GB/s, measured
// by kernels' loads and stores; latencies are microseconds one way.
type PeerReport struct {
	Schema    string       `json:"schema"`
	GPUs      []PeerDevice `json:"gpus"`
	Bytes     int64        `json:"bytes"`
	Reach     [][]string   `json:"reach"`     // self, NVLink, PCIe, host
	Write     Matrix       `json:"write"`     // row's kernel writes; the diagonal copies in its own memory
	Read      Matrix       `json:"read"`      // column's kernel reads
	Both      Matrix       `json:"both"`      // each writes to the other at once: one way
	OneToMany []float64    `json:"oneToMany"` // writes to all others at once: all together
	ManyToOne []float64    `json:"manyToOne"` // all others write to it at once: all together
	Latency   Matrix       `json:"latencyUs"` // of a flag
	Wrong     [][]int64    `json:"wrong"`     // 32-bit words that arrived wrong
	OK        bool         `json:"ok"`        // no word was wrong
	Notes     []string     `json:"notes,omitempty"`
}

// PeerDevice is a GPU of a report.
type PeerDevice struct {
	Ordinal int    `json:"ordinal"`
	Name    string `json:"name"`
	BusID   string `json:"busId"`
}

// PeerSchema names the version of PeerReport's JSON form.
const PeerSchema = "ringtopo.p2p/v1"

var wayNames = []string{"self", "NVLink", "PCIe", "host"}

// Measure takes the best of rounds for every entry. Pairs that reach each other
// only through host memory are left at 0.
func (p *Peers) Measure(ctx context.Context, rounds int) (*PeerReport, error) {
	n := len(p.devices)
	r := &PeerReport{Schema: PeerSchema, Bytes: p.bytes, OK: true, Notes: p.reach.notes,
		Write: matrix[float64](n), Read: matrix[float64](n), Both: matrix[float64](n), Latency: matrix[float64](n),
		Reach: matrix[string](n), Wrong: matrix[int64](n), OneToMany: make([]float64, n), ManyToOne: make([]float64, n)}
	for i, d := range p.devices {
		r.GPUs = append(r.GPUs, PeerDevice{d.Device.Ordinal, d.Device.Name, d.Device.BusID})
		for j := range p.devices {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := p.measurePair(r, i, j, rounds); err != nil {
				return nil, fmt.Errorf("GPU %d to %d: %w", d.Device.Ordinal, p.devices[j].Device.Ordinal, err)
			}
		}
		if err := p.measureMany(r, i, rounds); err != nil {
			return nil, fmt.Errorf("GPU %d with all others: %w", d.Device.Ordinal, err)
		}
	}
	return r, nil
}

func matrix[T any](n int) [][]T {
	m := make([][]T, n)
	for i := range m {
		m[i] = make([]T, n)
	}
	return m
}

func (p *Peers) wayOf(i, j int) way {
	if i == j {
		return sameGPU
	}
	return max(p.reach.ways[[2]*device{p.devices[i], p.devices[j]}], p.reach.ways[[2]*device{p.devices[j], p.devices[i]}])
}

// slot is where device j receives from device i.
func (p *Peers) slot(j, i int) cuda.Ptr { return p.areas[j][1] + cuda.Ptr(int64(i)*p.bytes) }

func (p *Peers) measurePair(r *PeerReport, i, j, rounds int) (err error) {
	w := p.wayOf(i, j)
	r.Reach[i][j] = wayNames[w]
	if w == staged {
		return nil
	}
	to := p.slot(j, i)
	seed := uint32(i*64 + j + 1)
	if err := p.devices[i].fillPattern(p.areas[i][0], p.bytes, seed); err != nil {
		return err
	}
	if r.Write[i][j], err = p.best(rounds, 1, stroke{i, p.areas[i][0], to}); err != nil {
		return err
	}
	wrong, err := p.devices[j].countWrong(to, p.bytes, seed, p.areas[j][0]+cuda.Ptr(p.bytes))
	if err != nil {
		return err
	}
	r.Wrong[i][j] = wrong
	r.OK = r.OK && wrong == 0
	if i == j {
		r.Read[i][j] = r.Write[i][j]
		return nil
	}
	if r.Read[i][j], err = p.best(rounds, 1, stroke{j, p.areas[i][0], to}); err != nil {
		return err
	}
	if r.Both[i][j], err = p.best(rounds, 2, stroke{i, p.areas[i][0], to}, stroke{j, p.areas[j][0], p.slot(i, j)}); err != nil {
		return err
	}
	r.Latency[i][j], err = p.latency(i, j, rounds)
	return err
}

// measureMany lets one device write to all others, and all others to it.
func (p *Peers) measureMany(r *PeerReport, i, rounds int) (err error) {
	var out, in []stroke
	for j := range p.devices {
		if j != i && p.wayOf(i, j) != staged {
			out = append(out, stroke{i, p.areas[i][0], p.slot(j, i)})
			in = append(in, stroke{j, p.areas[j][0], p.slot(i, j)})
		}
	}
	if len(out) == 0 {
		return nil
	}
	if r.OneToMany[i], err = p.best(rounds, 1, out...); err != nil {
		return err
	}
	r.ManyToOne[i], err = p.best(rounds, 1, in...)
	return err
}

// stroke is one copy by a device's kernel.
type stroke struct {
	by       int
	from, to cuda.Ptr
}

// best runs strokes side by side, rounds times after one to warm up, and gives
// GB/s of all together divided by share.
func (p *Peers) best(rounds, share int, strokes ...stroke) (float64, error) {
	best := time.Duration(0)
	for round := range rounds + 1 {
		took, err := p.strike(strokes)
		if err != nil {
			return 0, err
		}
		if round > 0 && (best == 0 || took < best) {
			best = took
		}
	}
	return float64(p.bytes) * float64(len(strokes)) / float64(share) / float64(best.Nanoseconds()), nil
}

// strike runs strokes side by side and gives the longest time. Strokes of one
// device share its multiprocessors.
func (p *Peers) strike(strokes []stroke) (time.Duration, error) {
	byDevice := map[int][]stroke{}
	for _, s := range strokes {
		byDevice[s.by] = append(byDevice[s.by], s)
	}
	var mu sync.Mutex
	var longest time.Duration
	var errs []error
	var wg sync.WaitGroup
	for i, list := range byDevice {
		wg.Go(func() {
			d := p.devices[i]
			var took time.Duration
			err := d.Do(func() (err error) {
				took, err = d.copies(list, p.bytes)
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			longest, errs = max(longest, took), append(errs, err)
		})
	}
	wg.Wait()
	return longest, errors.Join(errs...)
}
