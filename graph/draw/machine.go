package draw

import "fmt"

// layout is a whole picture of machines on its way.
type layout struct {
	hosts    []*hostPlan
	overlays []Overlay
	network  []*bundle // between NICs
	networkH []float64
	hasNet   bool // the network is drawn
	peers    bool // some PCI switches are joined directly
	virtual  bool // some devices have no link of their own
	m        metrics
	y        rows
	pic      Picture
}

// Machines draws hosts side by side with rings laid over them.
func Machines(hosts []Host, overlays []Overlay) (*Picture, error) {
	places, err := placesOf(hosts)
	if err != nil {
		return nil, err
	}
	if err := checkOverlays(overlays, places); err != nil {
		return nil, err
	}
	l := &layout{overlays: overlays, hasNet: len(hosts) > 1 || usesNet(overlays)}
	if err := l.planHosts(hosts); err != nil {
		return nil, err
	}
	if err := l.addHops(places); err != nil {
		return nil, err
	}
	l.measure()
	l.place()
	l.emit()
	return &l.pic, nil
}

func usesNet(overlays []Overlay) bool {
	for _, o := range overlays {
		for _, hop := range o.Hops {
			if hop.Nets != nil {
				return true
			}
		}
	}
	return false
}

func (l *layout) planHosts(hosts []Host) error {
	columns := 0
	for i := range hosts {
		p, err := planHost(&hosts[i], i, columns)
		if err != nil {
			return err
		}
		columns += len(p.columns)
		l.hosts = append(l.hosts, p)
	}
	l.m = metricsFor(columns, l.hasNet)
	for _, p := range l.hosts {
		p.addRoads(l.m.stacked)
		if l.hasNet {
			p.addNetRoads()
		}
	}
	return nil
}

func (l *layout) addHops(places map[int]gpuPlace) error {
	for i, o := range l.overlays {
		for _, hop := range o.Hops {
			from, to := places[hop.From], places[hop.To]
			switch {
			case hop.Nets != nil:
				if err := l.addNetHop(i, hop, from, to); err != nil {
					return fmt.Errorf("%s: hop %d to %d: %w", o.Title, hop.From, hop.To, err)
				}
			case from.host != to.host:
				l.addNominalHop(i, from, to)
			default:
				p := l.hosts[from.host]
				p.addSteps(stepsBetweenGPUs(p.host.Graph, from.node, to.node), i, o.Tag)
			}
		}
	}
	return nil
}

// addNetHop lays a hop from a GPU up to its NIC, over the network, and down to
// the other GPU.
func (l *layout) addNetHop(overlay int, hop Hop, from, to gpuPlace) error {
	tag := l.overlays[overlay].Tag
	src, dst := l.hosts[from.host], l.hosts[to.host]
	out, err := findNet(src.host, hop.Nets.Out)
	if err != nil {
		return err
	}
	in, err := findNet(dst.host, hop.Nets.In)
	if err != nil {
		return err
	}
	up, _ := src.host.Graph.Path(from.node, out)
	src.addSteps(stepsAlong(up), overlay, tag)
	down, _ := dst.host.Graph.Path(in, to.node)
	dst.addSteps(stepsAlong(down), overlay, tag)
	a, b := src.nics[cardOn(up, out)], dst.nics[cardOn(down, in)]
	if a == nil || b == nil || a == b {
		return nil // one card both sends and receives: nothing crosses the picture
	}
	l.addCrossing(&a.port, &b.port, rider{
		overlay: overlay, forward: true, text: tag,
		tip: fmt.Sprintf("%s to %s, %s", netName(out), netName(in), gbps(min(out.Net.BW, in.Net.BW))),
	})
	return nil
}

// addNominalHop lays a hop between hosts of which one has no network device.
func (l *layout) addNominalHop(overlay int, from, to gpuPlace) {
	a, b := l.hosts[from.host].gpus[from.node], l.hosts[to.host].gpus[to.node]
	l.addCrossing(&a.port, &b.port, rider{
		overlay: overlay, forward: true, text: l.overlays[overlay].Tag + ": no NIC", tip: "the machine has no network",
	})
}

// addCrossing lays a hop through the network.
func (l *layout) addCrossing(a, b *port, r rider) {
	bundle := &bundle{a: a, b: b, riders: []rider{r}}
	join(bundle)
	l.network = append(l.network, bundle)
}
