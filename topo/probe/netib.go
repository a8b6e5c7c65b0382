package probe

import (
	"math/bits"
	"strings"

	"github.com/ringtopo/ringtopo/internal/cnum"
)

// Numbers of the verbs interface.
const (
	portActive         = 4
	linkLayerIB        = 1
	linkLayerEthernet  = 2
	maxIBPorts         = 32
	portsPerMergedCard = 2
)

// ibPort is a port that NCCL would use.
type ibPort struct {
	dev     VerbsDevice
	port    VerbsPort
	guid    GUID
	pciPath *string // of the card: functions and, by default, virtual functions count as one
	number  int     // of the port on its card
}

// ibDevices lists the devices of the network over InfiniBand and RoCE; none if
// it is off or has no IP interface for its set-up.
func (n *Network) ibDevices(f Files, env Env) []Properties {
	if n.Verbs == nil || intVar(env, "NCCL_IB_DISABLE", 0) != 0 || len(n.usable(env)) == 0 {
		return nil
	}
	ports := n.ibPorts(f, env)
	cards := mergePorts(ports, intVar(env, "NCCL_IB_MERGE_NICS", 1) != 0)
	support := n.ibPointers(f)
	devices := make([]Properties, len(cards))
	for i, card := range cards {
		devices[i] = cardProperties(card)
		devices[i].PtrSupport = support
	}
	return devices
}

// intVar reads an integer variable.
func intVar(env Env, name string, otherwise int64) int64 {
	s, _ := env(name)
	if s == "" {
		return otherwise
	}
	v, inRange := cnum.Int(s, 0)
	if !inRange {
		return otherwise
	}
	return v
}

// ibPorts lists the ports that are up and that the user wants.
func (n *Network) ibPorts(f Files, env Env) []ibPort {
	list, _ := env("NCCL_IB_HCA")
	wanted := parseNameList(list)
	mergeVFs := intVar(env, "NCCL_IB_MERGE_VFS", 1) != 0
	var ports []ibPort
	for _, d := range n.Verbs.Devices {
		guid, _ := parseGUID(d.SysImageGUID)
		for _, p := range d.Ports {
			up := p.State == portActive && (p.LinkLayer == linkLayerIB || p.LinkLayer == linkLayerEthernet)
			if !up || !wanted.allows(d.Name, p.Port) || len(ports) == maxIBPorts {
				continue
			}
			port := ibPort{dev: d, port: p, guid: GUID(bits.ReverseBytes64(uint64(guid))), number: p.Port}
			if dir, err := realPath(f, "/sys/class/infiniband/"+d.Name+"/device"); err == nil {
				dir = cardPath(dir, mergeVFs)
				port.pciPath = &dir
				port.number += onCard(ports, dir)
			}
			ports = append(ports, port)
		}
	}
	return ports
}

// cardPath turns the path of a function into that of its card: function 0, and
// device 00 where virtual functions count as their card.
func cardPath(dir string, mergeVFs bool) string {
	b := []byte(dir)
	for i, back := range []int{1, 3, 4} {
		if at := len(b) - back; at >= 0 && (i == 0 || mergeVFs) {
			b[at] = '0'
		}
	}
	return string(b)
}

func onCard(ports []ibPort, dir string) int {
	n := 0
	for _, p := range ports {
		if p.pciPath != nil && *p.pciPath == dir {
			n++
		}
	}
	return n
}

// mergePorts groups the ports of one card into one device each, up to two. If
// the groups come out unequal, every port is a device of its own.
func mergePorts(ports []ibPort, merge bool) [][]ibPort {
	var cards [][]ibPort
	for _, p := range ports {
		if i := cardOf(cards, p); merge && i >= 0 {
			cards[i] = append(cards[i], p)
			continue
		}
		cards = append(cards, []ibPort{p})
	}
	for _, c := range cards {
		if len(c) != len(cards[0]) {
			return mergePorts(ports, false)
		}
	}
	return cards
}

// cardOf finds a card with room that a port belongs to, or -1.
func cardOf(cards [][]ibPort, p ibPort) int {
	for i, c := range cards {
		first := c[0]
		if len(c) < portsPerMergedCard && first.pciPath != nil && p.pciPath != nil && *first.pciPath == *p.pciPath &&
			first.guid == p.guid && first.port.LinkLayer == p.port.LinkLayer {
			return i
		}
	}
	return -1
}

// cardProperties describes a card by its first port; only names and speeds add
// up.
func cardProperties(card []ibPort) Properties {
	first := card[0]
	p := Properties{PCIPath: first.pciPath, GUID: first.guid, Port: first.number, MaxComms: first.dev.MaxQP}
	var names []string
	for _, port := range card {
		names = append(names, port.dev.Name)
		p.Speed += laneMbps(port.port.ActiveSpeed) * lanes(port.port.ActiveWidth)
	}
	p.Name = strings.Join(names, "+")
	return p
}

// laneMbps and lanes read the lowest bit that is set; none counts as the last.
func laneMbps(active int) int {
	return byLowestBit(active, []int{2500, 5000, 10000, 10000, 14000, 25000, 50000, 100000})
}

func lanes(active int) int { return byLowestBit(active, []int{1, 4, 8, 12, 2}) }

func byLowestBit(v int, values []int) int {
	return values[min(bits.TrailingZeros32(uint32(v)), len(values)-1)]
}

// ibPointers tells what memory the InfiniBand driver moves.
func (n *Network) ibPointers(f Files) int {
	support := ptrHost
	for _, module := range []string{"nv_mem", "nv_mem_nc"} {
		if _, err := realPath(f, "/sys/kernel/mm/memory_peers/"+module+"/version"); err == nil {
			support |= ptrCUDA
		}
	}
	switch n.Verbs.DMABufErrno {
	case "", "EOPNOTSUPP", "EPROTONOSUPPORT":
	default:
		support |= ptrDMABuf
	}
	return support
}
