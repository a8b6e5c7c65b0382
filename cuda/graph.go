package cuda

// Graph is work that was captured once and can be launched again and again.
type Graph struct {
	ctx   *Context
	graph uintptr
	exec  uintptr
}

// threadLocal capture forbids unsafe calls on this thread only.
const threadLocal = 1

// Capture records what f enqueues on s instead of running it.
func (s *Stream) Capture(f func() error) (*Graph, error) {
	drv := s.ctx.drv
	if err := drv.check("cuStreamBeginCapture", drv.api.StreamCapture(s.handle, threadLocal), ""); err != nil {
		return nil, err
	}
	g := &Graph{ctx: s.ctx}
	failed := f()
	err := drv.check("cuStreamEndCapture", drv.api.StreamEndCapture(s.handle, &g.graph), "")
	if failed != nil || err != nil {
		if g.graph != 0 {
			drv.api.GraphDestroy(g.graph)
		}
		if failed != nil {
			return nil, failed
		}
		return nil, err
	}
	if err := drv.check("cuGraphInstantiateWithFlags", drv.api.GraphInstantiate(&g.exec, g.graph, 0), ""); err != nil {
		drv.api.GraphDestroy(g.graph)
		return nil, err
	}
	return g, nil
}

// Launch enqueues the captured work.
func (g *Graph) Launch(s *Stream) error {
	return g.ctx.drv.check("cuGraphLaunch", g.ctx.drv.api.GraphLaunch(g.exec, s.handle), "")
}

// Destroy frees the graph.
func (g *Graph) Destroy() error {
	err := g.ctx.drv.check("cuGraphExecDestroy", g.ctx.drv.api.GraphExecDestroy(g.exec), "")
	if e := g.ctx.drv.check("cuGraphDestroy", g.ctx.drv.api.GraphDestroy(g.graph), ""); err == nil {
		err = e
	}
	return err
}
