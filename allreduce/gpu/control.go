package gpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/ringtopo/ringtopo/cuda"
)

// control are words in pinned host memory that host and kernels share.
type control struct {
	memory *cuda.HostMemory
	epoch  uint32
}

// Words, on cache lines of their own.
const (
	abortWord    = 0   // kernels leave their waits when it is set, and set it when they time out
	gateWord     = 128 // queues start when it reaches the run's number
	controlBytes = 4096
)

func newControl(d *device) (*control, error) {
	c := &control{}
	err := d.Do(func() (err error) {
		c.memory, err = d.AllocHost(controlBytes)
		return err
	})
	return c, err
}

func (c *control) word(off int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&c.memory.Bytes[off]))
}

func (c *control) abort() *atomic.Uint32 { return c.word(abortWord) }
func (c *control) gate() *atomic.Uint32  { return c.word(gateWord) }

func (c *control) abortPtr() uint64  { return uint64(c.memory.Ptr) + abortWord }
func (c *control) gatePtr() cuda.Ptr { return c.memory.Ptr + gateWord }
