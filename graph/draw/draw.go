package draw

import (
	"errors"
	"fmt"

	"github.com/ringtopo/ringtopo/graph"
)

// Host is one machine of a picture.
type Host struct {
	Name  string
	Graph *graph.Graph
	Ranks []int // user rank by rank in the graph; nil: the same
}

// Overlay is one ring to lay over the machines. Its hops follow each other.
type Overlay struct {
	Title string // for example channel 0
	Tag   string // stands at its lines, for example 0
	Color string // for example #0072b2; empty: chosen here
	Hops  []Hop
}

// Hop is one step of a ring, from one user rank to another. Where the network
// carries it, Nets says which devices send and receive.
type Hop struct {
	From, To int
	Nets     *Nets
}

// Nets are the network devices at both ends of a hop, by their ids in the
// graphs of the hosts of the hop's ranks.
type Nets struct{ Out, In graph.NodeID }

// Limits on what still makes a picture.
const (
	MaxHosts    = 64
	MaxOverlays = 64
)

// ErrTooMuch is wrapped by errors about pictures that nobody could read.
var ErrTooMuch = errors.New("too much for one picture")

// gpuPlace is where a user rank lives.
type gpuPlace struct {
	host int
	node *graph.Node
}

// placesOf finds the GPU of every user rank.
func placesOf(hosts []Host) (map[int]gpuPlace, error) {
	if len(hosts) == 0 {
		return nil, errors.New("no machine to draw")
	}
	if len(hosts) > MaxHosts {
		return nil, fmt.Errorf("%w: %d machines, more than %d", ErrTooMuch, len(hosts), MaxHosts)
	}
	places := map[int]gpuPlace{}
	for i := range hosts {
		for _, n := range hosts[i].Graph.NodesOf(graph.GPU) {
			rank, err := hosts[i].rank(n)
			if err != nil {
				return nil, err
			}
			if _, taken := places[rank]; taken {
				return nil, fmt.Errorf("%s: %s: rank %d is there twice", hosts[i].Name, n, rank)
			}
			places[rank] = gpuPlace{i, n}
		}
	}
	return places, nil
}

// rank gives the user rank of one of the host's GPUs.
func (h *Host) rank(n *graph.Node) (int, error) {
	if h.Ranks == nil {
		return n.GPU.Rank, nil
	}
	if r := n.GPU.Rank; r < 0 || r >= len(h.Ranks) {
		return 0, fmt.Errorf("%s: %s has rank %d, but only %d user ranks are given", h.Name, n, r, len(h.Ranks))
	}
	return h.Ranks[n.GPU.Rank], nil
}

// checkOverlays refuses hops between ranks that are not there.
func checkOverlays(overlays []Overlay, places map[int]gpuPlace) error {
	if len(overlays) > MaxOverlays {
		return fmt.Errorf("%w: %d rings, more than %d", ErrTooMuch, len(overlays), MaxOverlays)
	}
	for _, o := range overlays {
		for _, hop := range o.Hops {
			for _, rank := range []int{hop.From, hop.To} {
				if _, ok := places[rank]; !ok {
					return fmt.Errorf("%s: hop %d to %d: no GPU has rank %d", o.Title, hop.From, hop.To, rank)
				}
			}
			if hop.From == hop.To {
				return fmt.Errorf("%s: hop from rank %d to itself", o.Title, hop.From)
			}
		}
	}
	return nil
}
