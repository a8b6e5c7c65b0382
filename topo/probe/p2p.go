package probe

import "github.com/ringtopo/ringtopo/topo"

// blocked lists the pairs of ranks that NVML allows no access in one of the
// directions.
func (h *Host) blocked(ranks []Rank) [][2]int {
	var pairs [][2]int
	for i, a := range ranks {
		for _, b := range ranks[:i] {
			if h.denies(a, b) || h.denies(b, a) {
				pairs = append(pairs, [2]int{b.Rank, a.Rank})
			}
		}
	}
	return pairs
}

func (h *Host) denies(a, b Rank) bool {
	from, to := h.device(topo.ParseBusID(a.BusID)), h.device(topo.ParseBusID(b.BusID))
	if from == nil || to == nil || to.Index < 0 {
		return false
	}
	for _, status := range [][]int{from.P2PRead, from.P2PWrite} {
		if to.Index < len(status) && status[to.Index] != success {
			return true
		}
	}
	return false
}
