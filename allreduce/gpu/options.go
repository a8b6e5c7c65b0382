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
	Driver *cuda.Driver `json:"-"`
	// Devices is the GPU's ordinal for each rank. Empty: ranks take the GPUs in
	// turn, neighbours in rank on one GPU where there are more ranks than GPUs.
	Devices []int
	// RanksPerGPU puts so many ranks on each GPU where Devices is empty; 0: as many
	// as it takes to have all ranks on the GPUs that there are.
	RanksPerGPU int
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
	// Spread is how many blocks a ring is launched with for each one that works;
	// 0 and 1: no others. The others leave at once, and so keep the working blocks
	// of a GPU apart: neighbours share its way out. Launches of several ranks on a
	// GPU have no others.
	Spread int
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

// PlacementError says why ranks cannot be placed on the GPUs of this machine, and
// how they could.
type PlacementError struct{ Reason string }

func (e *PlacementError) Error() string { return e.Reason }

func misplaced(format string, args ...any) error {
	return &PlacementError{fmt.Sprintf(format, args...)}
}

// spread names a GPU for each of n ranks, perGPU to each; 0: as many as it takes.
func spread(n, perGPU, gpus int) ([]int, error) {
	least := (n + gpus - 1) / gpus
	switch {
	case perGPU < 0:
		return nil, misplaced("%d ranks per GPU: want at least 1", perGPU)
	case perGPU == 0:
		perGPU = least
	case perGPU < least:
		return nil, misplaced("%d ranks at %d per GPU need %d GPUs, this machine has %d: put %d on each, or take fewer ranks", n, perGPU, (n+perGPU-1)/perGPU, gpus, least)
	}
	list := make([]int, n)
	for r := range list {
		list[r] = r / perGPU
	}
	return list, nil
}

// place gives each of n ranks a GPU.
func place(drv *cuda.Driver, n int, o *Options) (list []*cuda.Device, err error) {
	wanted := o.Devices
	if len(wanted) == 0 {
		if wanted, err = spread(n, o.RanksPerGPU, len(drv.Devices())); err != nil {
			return nil, err
		}
	}
	if len(wanted) != n {
		return nil, misplaced("%d GPUs named for %d ranks", len(wanted), n)
	}
	count := map[int]int{}
	for rank, ordinal := range wanted {
		d, err := drv.Device(ordinal)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		if d.Major < 7 {
			return nil, misplaced("rank %d: GPU %d (%s) has compute capability %d.%d, the kernels need 7.0", rank, ordinal, d.Name, d.Major, d.Minor)
		}
		if count[ordinal]++; count[ordinal] > maxLocalRanks {
			return nil, misplaced("rank %d: GPU %d would hold more than %d ranks: use more GPUs, or fewer ranks", rank, ordinal, maxLocalRanks)
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
