package fifo

// index finds a state among the nodes: an open hash table of node numbers,
// which takes a third of the time and memory of a map.
type index struct {
	slots []int32 // number of a node + 1; 0 is free
	used  int
}

func newIndex() index { return index{slots: make([]int32, 1<<10)} }

// add enters a state that will be the next of the nodes, and reports whether it
// is new.
func (x *index) add(st state, nodes []node) bool {
	if 2*x.used >= len(x.slots) {
		x.grow(nodes)
	}
	mask := uint64(len(x.slots) - 1)
	i := st.hash() & mask
	for ; x.slots[i] != 0; i = (i + 1) & mask {
		if nodes[x.slots[i]-1].state == st {
			return false
		}
	}
	x.used++
	x.slots[i] = int32(x.used)
	return true
}

func (x *index) grow(nodes []node) {
	x.slots = make([]int32, 2*len(x.slots))
	mask := uint64(len(x.slots) - 1)
	for n := range nodes {
		i := nodes[n].hash() & mask
		for x.slots[i] != 0 {
			i = (i + 1) & mask
		}
		x.slots[i] = int32(n + 1)
	}
}

// hash mixes all parts of a state (the multiply and shift steps of splitmix64).
func (st state) hash() uint64 {
	h := st.visible[0]*0x9e3779b97f4a7c15 ^ st.visible[1]*0xc2b2ae3d27d4eb4f
	h ^= uint64(st.pc[0])<<40 | uint64(st.pc[1])<<48 | uint64(st.seen)<<56
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
