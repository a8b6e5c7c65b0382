package gpu

import (
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

// MostChannels is how many channels a plan's works may use here: the blocks of
// all ranks of a GPU must run at once. Where it is less than the plan has, plan
// again on the first so many channels, and say so. Where not even one fits the
// error is a *PlacementError.
func (e *Executor) MostChannels(p *allreduce.Plan) (int, error) {
	if e.closed {
		return 0, errClosed
	}
	for i := range p.Works {
		if err := e.load(e.kernelOf(&p.Works[i])); err != nil {
			return 0, err
		}
	}
	most := allreduce.MaxChannels
	for _, d := range e.devices {
		err := d.Do(func() error {
			for i := range p.Works {
				w := &p.Works[i]
				if w.Algo.Direct() {
					continue // they take what there is
				}
				f, err := d.function(e.kernelOf(w))
				if err != nil {
					return err
				}
				blocks, err := f.Resident(p.Threads)
				if err != nil {
					return err
				}
				most = min(most, blocks/len(d.ranks))
			}
			return nil
		})
		if err != nil {
			return 0, fmt.Errorf("GPU %d: %w", d.Device.Ordinal, err)
		}
	}
	if most < 1 {
		return 0, misplaced("the blocks of %d threads of all ranks on one GPU do not fit even with one channel: use fewer ranks per GPU", p.Threads)
	}
	return most, nil
}
