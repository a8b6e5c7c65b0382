package gpu

import (
	"errors"
	"sync"
	"time"

	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/kernels"
)

// repeats of a copy in one measured kernel: launch and start are then small
// beside it.
const repeats = 4

// copies times kernels that copy side by side, each on its share of the
// multiprocessors, and gives the time of one copy.
func (d *device) copies(list []stroke, bytes int64) (time.Duration, error) {
	f, err := d.function(between("transfer"))
	if err != nil {
		return 0, err
	}
	side := make([]*cuda.Stream, len(list)-1)
	defer func() {
		for _, s := range side {
			if s != nil {
				_ = s.Destroy()
			}
		}
	}()
	for i := range side {
		if side[i], err = d.NewStream(); err != nil {
			return 0, err
		}
	}
	g := cuda.Grid{Blocks: max(1, d.Device.SMs/len(list)), Threads: 512}
	if err := d.start.Record(d.stream); err != nil {
		return 0, err
	}
	for i, s := range append(side, d.stream) {
		if s != d.stream {
			if err := s.Wait(d.start); err != nil {
				return 0, err
			}
		}
		if err := kernels.Transfer(f, s, g, uint64(list[i].from), uint64(list[i].to), uint64(bytes), repeats); err != nil {
			return 0, err
		}
	}
	if err := d.join(side); err != nil {
		return 0, err
	}
	if err := d.stop.Record(d.stream); err != nil {
		return 0, err
	}
	if err := d.finish(proofLimit + time.Duration(repeats*bytes)); err != nil {
		return 0, err
	}
	took, err := d.stop.Since(d.start)
	return took / repeats, err
}

// join lets the main queue go on when the others are done.
func (d *device) join(side []*cuda.Stream) error {
	for _, s := range side {
		e, err := d.NewEvent()
		if err != nil {
			return err
		}
		err = errors.Join(e.Record(s), d.stream.Wait(e))
		if err := errors.Join(err, e.Destroy()); err != nil {
			return err
		}
	}
	return nil
}

func (d *device) fillPattern(p cuda.Ptr, bytes int64, seed uint32) error {
	return d.Do(func() error {
		f, err := d.function(between("pattern"))
		if err != nil {
			return err
		}
		if err := kernels.Pattern(f, d.stream, cuda.Grid{Blocks: d.Device.SMs, Threads: 512}, uint64(p), uint64(bytes)/4, seed); err != nil {
			return err
		}
		return d.finish(proofLimit)
	})
}

// countWrong compares with a pattern; the count goes through device memory.
func (d *device) countWrong(p cuda.Ptr, bytes int64, seed uint32, count cuda.Ptr) (int64, error) {
	var wrong uint32
	err := d.Do(func() error {
		f, err := d.function(between("compare"))
		if err != nil {
			return err
		}
		if err := d.stream.Fill(count, 0, 4); err != nil {
			return err
		}
		if err := kernels.Compare(f, d.stream, cuda.Grid{Blocks: d.Device.SMs, Threads: 512}, uint64(p), uint64(bytes)/4, seed, uint64(count)); err != nil {
			return err
		}
		if err := d.finish(proofLimit); err != nil {
			return err
		}
		return d.Download(bytesOf(&wrong), count)
	})
	return int64(wrong), err
}

// latency is the time of a flag from one device to another in microseconds: half
// of a round trip, the best of rounds.
func (p *Peers) latency(i, j, rounds int) (float64, error) {
	const trips = 1000
	best := 0.0
	for range rounds {
		us, err := p.bounce(i, j, trips)
		if err != nil {
			return 0, err
		}
		if best == 0 || us < best {
			best = us
		}
	}
	return best, nil
}

var errNoAnswer = errors.New("a flag was not answered in time")

// bounce uses the last words of both devices' areas: a flag, and 16 bytes of
// result beside it.
func (p *Peers) bounce(i, j, trips int) (float64, error) {
	flag := func(k int) cuda.Ptr { return p.areas[k][0] + cuda.Ptr(p.bytes) + 64 }
	ends := [2]int{i, j}
	for _, k := range ends {
		d := p.devices[k]
		err := d.Do(func() error {
			if _, err := d.function(between("bounce")); err != nil {
				return err
			}
			if err := d.stream.Fill(flag(k), 0, 64); err != nil {
				return err
			}
			return d.finish(proofLimit)
		})
		if err != nil {
			return 0, err
		}
	}
	var results [2][2]uint64
	var errs [2]error
	var wg sync.WaitGroup
	for side, k := range ends {
		wg.Go(func() {
			d, first := p.devices[k], uint32(1-side)
			errs[side] = d.Do(func() error {
				f, err := d.function(between("bounce"))
				if err != nil {
					return err
				}
				if err := kernels.Bounce(f, d.stream, cuda.Grid{Blocks: 1, Threads: 32}, uint64(flag(k)), uint64(flag(ends[1-side])),
					uint32(trips), first, uint64(proofLimit.Nanoseconds()), uint64(flag(k))+32); err != nil {
					return err
				}
				if err := d.finish(2 * proofLimit); err != nil {
					return err
				}
				return d.Download(bytesOf(&results[side]), flag(k)+32)
			})
		})
	}
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return 0, err
	}
	if results[0][1] != uint64(trips) {
		return 0, errNoAnswer
	}
	return float64(results[0][0]) / float64(trips) / 2 / 1e3, nil
}
