package gpu

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// DefaultLimit is how long one wait of a kernel may last.
const DefaultLimit = 10 * time.Second

// Options are the settings of an executor.
type Options struct {
	// Driver is the CUDA driver; nil opens it.
	Driver *cuda.Driver
	// Devices is the GPU's ordinal for each rank. Empty: ranks take the GPUs in
	// turn, neighbours in rank on one GPU where there are more ranks than GPUs.
	Devices []int
	// Limit is how long one wait may last before a run counts as stuck; 0 means
	// DefaultLimit.
	Limit time.Duration
	// NoP2P connects GPUs through host memory even where they reach each other.
	NoP2P bool
	// NoDirect keeps finished chunks in the FIFOs: none is written straight into
	// a neighbour's output.
	NoDirect bool
	// Fault is a defect to have; it strikes in every run.
	Fault allreduce.Fault
	// Direct tunes the algorithms without a ring.
	Direct DirectTuning
}

// openDriver opens the driver. Its typed errors wrap allreduce.ErrNoDevice.
func (o *Options) openDriver() (*cuda.Driver, error) {
	drv := o.Driver
	if drv == nil {
		var err error
		if drv, err = cuda.Open(); err != nil {
			if errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice) {
				return nil, fmt.Errorf("%w: %w", allreduce.ErrNoDevice, err)
			}
			return nil, err
		}
	}
	if len(drv.Devices()) == 0 {
		return nil, fmt.Errorf("%w: %w", allreduce.ErrNoDevice, cuda.ErrNoDevice)
	}
	return drv, nil
}

// place gives each of n ranks a GPU.
func place(drv *cuda.Driver, n int, wanted []int) ([]*cuda.Device, error) {
	gpus := len(drv.Devices())
	if len(wanted) == 0 {
		perGPU := (n + gpus - 1) / gpus
		for r := range n {
			wanted = append(wanted, r/perGPU)
		}
	}
	if len(wanted) != n {
		return nil, fmt.Errorf("%d GPUs named for %d ranks", len(wanted), n)
	}
	count := map[int]int{}
	var list []*cuda.Device
	for rank, ordinal := range wanted {
		d, err := drv.Device(ordinal)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		if d.Major < 7 {
			return nil, fmt.Errorf("rank %d: GPU %d (%s) has compute capability %d.%d, the kernels need 7.0", rank, ordinal, d.Name, d.Major, d.Minor)
		}
		if count[ordinal]++; count[ordinal] > maxLocalRanks {
			return nil, fmt.Errorf("rank %d: GPU %d would hold more than %d ranks, use more GPUs", rank, ordinal, maxLocalRanks)
		}
		list = append(list, d)
	}
	return list, nil
}

// checkFault says what is impossible about a fault in a layout.
func checkFault(l *allreduce.Layout, f allreduce.Fault, processes bool) error {
	switch {
	case f.Kind == allreduce.NoFault:
		return nil
	case int(f.Kind) >= allreduce.NumFaults:
		return fmt.Errorf("fault %v: unknown", f.Kind)
	case f.Rank < 0 || f.Rank >= l.NRanks:
		return fmt.Errorf("fault %v: rank %d, want 0 to %d", f.Kind, f.Rank, l.NRanks-1)
	case f.Channel < 0 || f.Channel >= l.Channels():
		return fmt.Errorf("fault %v: channel %d, want 0 to %d", f.Kind, f.Channel, l.Channels()-1)
	case f.Step < 0:
		return fmt.Errorf("fault %v: step %d", f.Kind, f.Step)
	case f.Kind == allreduce.KillProcess && !processes:
		return fmt.Errorf("fault %v: all ranks are in one process; it needs one process per GPU", f.Kind)
	}
	return nil
}
