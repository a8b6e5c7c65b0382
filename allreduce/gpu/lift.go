package gpu

import (
	"errors"
	"sync"

	"github.com/ringtopo/ringtopo/cuda"
)

// lifts are pieces of pinned host memory that data of buffers goes through.
// From there GPUs copy at the speed of their link, several times that of
// pageable memory, and the processors fill the next piece meanwhile.
type lifts struct {
	mu   sync.Mutex
	made []*cuda.HostMemory
	free chan *cuda.HostMemory
}

const (
	liftBytes = 1 << 20
	mostLifts = 16
)

func newLifts() *lifts { return &lifts{free: make(chan *cuda.HostMemory, mostLifts)} }

// take gives a piece that nobody else uses, a new one as long as there are few.
func (l *lifts) take(d *device) (*cuda.HostMemory, error) {
	select {
	case m := <-l.free:
		return m, nil
	default:
	}
	m, err := l.make(d)
	if m == nil && err == nil {
		m = <-l.free
	}
	return m, err
}

// make allocates one more; nil: there are enough.
func (l *lifts) make(d *device) (*cuda.HostMemory, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.made) == mostLifts {
		return nil, nil
	}
	var m *cuda.HostMemory
	err := d.Do(func() (err error) {
		m, err = d.AllocHost(liftBytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	l.made = append(l.made, m)
	return m, nil
}

func (l *lifts) give(m *cuda.HostMemory) { l.free <- m }

// release frees all, on the thread of d. Nobody may use one any more.
func (l *lifts) release(d *device) error {
	var errs []error
	for _, m := range l.made {
		errs = append(errs, d.FreeHost(m))
	}
	l.made = nil
	return errors.Join(errs...)
}
