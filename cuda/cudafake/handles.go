package cudafake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtopo/ringtopo/cuda"
)

const badHandle = cuda.Result(400)

// behaveHandles numbers what the driver makes, and refuses what it has not made
// or has destroyed.
func (d *Driver) behaveHandles(api *cuda.API) {
	api.PrimaryRetain = func(c *uintptr, dev int32) cuda.Result { d.contexts[dev]++; return d.make("context", c) }
	api.PrimaryRelease = func(dev int32) cuda.Result { d.contexts[dev]--; return 0 }

	api.ModuleLoadDataEx = func(m *uintptr, _ *byte, _ uint32, _ *int32, _ *uintptr) cuda.Result { return d.make("module", m) }
	api.ModuleUnload = func(m uintptr) cuda.Result { return d.destroy("module", m) }

	api.StreamCreate = func(s *uintptr, _ uint32) cuda.Result { return d.make("stream", s) }
	api.StreamDestroy = func(s uintptr) cuda.Result { return d.destroy("stream", s) }
	api.StreamSync = func(s uintptr) cuda.Result { return d.known("stream", s) }
	api.StreamQuery = func(s uintptr) cuda.Result { return d.known("stream", s) }
	api.StreamWaitValue = func(s uintptr, _ cuda.Ptr, _ uint32, _ uint32) cuda.Result { return d.known("stream", s) }
	api.StreamWaitEvent = func(s, e uintptr, _ uint32) cuda.Result { return max(d.known("stream", s), d.known("event", e)) }

	api.StreamCapture = func(s uintptr, _ int32) cuda.Result { return d.known("stream", s) }
	api.StreamEndCapture = func(s uintptr, g *uintptr) cuda.Result { return max(d.known("stream", s), d.make("graph", g)) }
	api.GraphInstantiate = func(e *uintptr, g uintptr, _ uint64) cuda.Result {
		return max(d.known("graph", g), d.make("executable graph", e))
	}
	api.GraphLaunch = func(e, s uintptr) cuda.Result { return max(d.known("executable graph", e), d.known("stream", s)) }
	api.GraphExecDestroy = func(e uintptr) cuda.Result { return d.destroy("executable graph", e) }
	api.GraphDestroy = func(g uintptr) cuda.Result { return d.destroy("graph", g) }

	api.EventCreate = func(e *uintptr, _ uint32) cuda.Result { return d.make("event", e) }
	api.EventDestroy = func(e uintptr) cuda.Result { return d.destroy("event", e) }
	api.EventRecord = func(e, s uintptr) cuda.Result { return max(d.known("event", e), d.known("stream", s)) }
	api.EventQuery = func(e uintptr) cuda.Result { return d.known("event", e) }
	api.EventElapsed = func(ms *float32, a, b uintptr) cuda.Result {
		*ms = 0.01
		return max(d.known("event", a), d.known("event", b))
	}
}

func (d *Driver) make(kind string, h *uintptr) cuda.Result {
	d.next++
	*h = d.next
	if kind != "context" { // the device's, counted there
		d.handles[d.next] = kind
	}
	return 0
}

func (d *Driver) known(kind string, h uintptr) cuda.Result {
	if d.handles[h] != kind {
		return badHandle
	}
	return 0
}

func (d *Driver) destroy(kind string, h uintptr) cuda.Result {
	if d.handles[h] != kind {
		return badHandle
	}
	delete(d.handles, h)
	return 0
}

// Left lists all that was made and not destroyed, such as "2 allocations, 1
// stream"; it is empty where nothing is left.
func (d *Driver) Left() string {
	live, contexts := d.Live(), d.Contexts()
	d.mu.Lock()
	defer d.mu.Unlock()
	count := map[string]int{"allocation": live, "context": contexts}
	for _, kind := range d.handles {
		count[kind]++
	}
	for _, n := range d.imports {
		count["import"] += n
	}
	var list []string
	for kind, n := range count {
		if n != 0 {
			list = append(list, fmt.Sprintf("%d %s", n, kind))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
