package job

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/topo"
)

// Words are the distances of a machine in nvidia-smi's words: X, NV#, PIX, PXB,
// PHB, NODE, SYS. Rows are GPUs in rank order.
type Words struct {
	GPU [][]string // columns are GPUs in rank order
	NIC [][]string // columns are networks by device number
	// Assumed says what the words rest on where the machine does not tell.
	Assumed []string
}

// place is where a device hangs.
type place struct {
	cpu      int            // index
	switches []*topo.Device // from the CPU down
	device   *topo.Device
}

// SMIWords puts distances as nvidia-smi topo -m does. A topology does not tell
// host bridges apart: devices that meet at a CPU count as NODE where the machine
// has several NUMA domains, as servers have, else as PHB.
func SMIWords(sys *topo.System) Words { return smiWords(sys, len(sys.CPUs)) }

// smiWords takes the number of NUMA domains of the whole machine: which GPUs take
// part does not change what they are to each other.
func smiWords(sys *topo.System, domains int) Words {
	var gpus, nets []place
	for i := range sys.CPUs {
		collect(sys.CPUs[i].Devices, place{cpu: i}, func(p place) {
			if p.device.GPU != nil {
				gpus = append(gpus, p)
			}
			if p.device.NIC != nil {
				for range p.device.NIC.Nets {
					nets = append(nets, p)
				}
			}
		})
	}
	slices.SortStableFunc(gpus, func(a, b place) int { return cmp.Compare(a.device.GPU.Rank, b.device.GPU.Rank) })
	nets = byNet(nets)
	meet := "PHB"
	if domains > 1 {
		meet = "NODE"
	}
	w := Words{GPU: make([][]string, len(gpus)), NIC: make([][]string, len(gpus))}
	for i, a := range gpus {
		for j, b := range gpus {
			w.GPU[i] = append(w.GPU[i], gpuWord(a, b, i == j, meet))
		}
		w.NIC[i] = []string{}
		for _, n := range nets {
			w.NIC[i] = append(w.NIC[i], pciWord(a, n, meet))
		}
		if slices.Contains(w.GPU[i], meet) || slices.Contains(w.NIC[i], meet) {
			w.Assumed = []string{"devices that meet at a CPU are " + meet + " in nvidia-smi's words (the topology does not tell host bridges apart)"}
		}
	}
	return w
}

// collect visits every device below a place.
func collect(devices []topo.Device, at place, visit func(place)) {
	for i := range devices {
		d := &devices[i]
		p := place{cpu: at.cpu, switches: at.switches, device: d}
		visit(p)
		below := place{cpu: at.cpu, switches: append(at.switches[:len(at.switches):len(at.switches)], d)}
		collect(d.Devices, below, visit)
	}
}

// byNet orders the places of networks, one for each, by device number.
func byNet(nets []place) []place {
	type numbered struct {
		place
		dev int
	}
	var all []numbered
	seen := map[*topo.Device]int{}
	for _, p := range nets {
		all = append(all, numbered{p, p.device.NIC.Nets[seen[p.device]].Dev})
		seen[p.device]++
	}
	slices.SortStableFunc(all, func(a, b numbered) int { return cmp.Compare(a.dev, b.dev) })
	out := make([]place, len(all))
	for i, n := range all {
		out[i] = n.place
	}
	return out
}

func gpuWord(a, b place, same bool, meet string) string {
	if same {
		return "X"
	}
	if n := nvlinks(a.device, b.device); n > 0 {
		return fmt.Sprintf("NV%d", n)
	}
	return pciWord(a, b, meet)
}

// nvlinks counts the links between two GPUs: those that join them directly,
// else those that both have to NVSwitch.
func nvlinks(a, b *topo.Device) int {
	if n := max(linksTo(a, b.BusID), linksTo(b, a.BusID)); n > 0 {
		return n
	}
	return min(linksToSwitch(a), linksToSwitch(b))
}

func linksTo(d *topo.Device, target topo.BusID) (n int) {
	for _, l := range d.GPU.NVLinks {
		if l.Class == topo.ClassGPU && l.Target == target {
			n += l.Count
		}
	}
	return n
}

func linksToSwitch(d *topo.Device) (n int) {
	for _, l := range d.GPU.NVLinks {
		if l.Class != topo.ClassGPU && l.Class != topo.ClassCPU {
			n += l.Count
		}
	}
	return n
}

// pciWord says where the ways of two devices to their CPU meet.
func pciWord(a, b place, meet string) string {
	if a.cpu != b.cpu {
		return "SYS"
	}
	shared := 0
	for shared < min(len(a.switches), len(b.switches)) && a.switches[shared] == b.switches[shared] {
		shared++
	}
	switch {
	case shared == 0:
		return meet
	case shared == len(a.switches) && shared == len(b.switches):
		return "PIX"
	}
	return "PXB"
}

// Words gives the distances of a box in nvidia-smi's words: its own, where the
// machine was read from them.
func (b Box) Words() (Words, error) {
	if b.Machine.matrix == nil {
		return smiWords(b.System, max(len(b.System.CPUs), b.Machine.domains())), nil
	}
	gpus := slices.SortedFunc(slices.Values(b.Graph.NodesOf(graph.GPU)), func(x, y *graph.Node) int {
		return cmp.Compare(x.GPU.Rank, y.GPU.Rank)
	})
	devs := make([]int, len(gpus))
	for i, g := range gpus {
		devs[i] = g.GPU.Dev
	}
	m, err := b.Machine.matrix.Select(devs)
	if err != nil {
		return Words{}, fmt.Errorf("%s: %w", b.Machine.Name, err)
	}
	return Words{m.GPU, m.NIC, nil}, nil
}
