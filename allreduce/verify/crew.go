package verify

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// crew does the parts of a job on all processors. Each member keeps its memory
// from job to job.
type crew struct{ members []*member }

// member is one of a crew, with memory for what it found and what it expects.
type member struct{ found, want []byte }

func grow(b *[]byte, n int64) []byte {
	if int64(len(*b)) < n {
		*b = make([]byte, n)
	}
	return (*b)[:n]
}

// do has the parts 0 to n-1 done, and gives the error of the first part that
// failed. After an error no new part is begun.
func (c *crew) do(n int, part func(m *member, i int) error) error {
	size := max(1, min(runtime.GOMAXPROCS(0), n))
	for len(c.members) < size {
		c.members = append(c.members, &member{})
	}
	if size == 1 {
		return c.alone(n, part)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	var mu sync.Mutex
	first, failed := n, error(nil)
	for _, m := range c.members[:size] {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := part(m, i); err != nil {
					next.Store(int64(n))
					mu.Lock()
					if i < first {
						first, failed = i, err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return failed
}

func (c *crew) alone(n int, part func(m *member, i int) error) error {
	for i := range n {
		if err := part(c.members[0], i); err != nil {
			return err
		}
	}
	return nil
}

// stretch is a part of a message in bytes.
type stretch struct{ at, n int64 }

// stretches cuts a message into parts for a crew.
func stretches(bytes int64) []stretch {
	var list []stretch
	for at := int64(0); at < bytes; at += stretchBytes {
		list = append(list, stretch{at, min(stretchBytes, bytes-at)})
	}
	return list
}
