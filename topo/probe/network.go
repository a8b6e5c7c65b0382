package probe

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Network is what the network layer says: the file net.json of a recording.
type Network struct {
	// Selected is the network that NCCL picks: IB, Socket or PLUGIN. With the
	// properties of its devices it is an answer; where Properties is nil, both
	// follow from what is below.
	Selected   string       `json:"selected"`
	DMABuf     []int        `json:"dmaBufSupport"` // by rank
	Properties []Properties `json:"properties"`
	CollNet    []Properties `json:"collnet,omitempty"` // of a CollNet plugin

	Verbs      *Verbs      `json:"verbs"` // nil: no library
	Interfaces []Interface `json:"interfaces"`
}

// Kinds of network.
const (
	netIB     = "IB"
	netSocket = "Socket"
	netPlugin = "PLUGIN"
)

// Properties is what a network says of one of its devices.
type Properties struct {
	Name       string  `json:"name"`
	PCIPath    *string `json:"pciPath"` // below /sys/devices; nil if there is none
	GUID       GUID    `json:"guid"`
	PtrSupport int     `json:"ptrSupport"` // ptrHost and so on
	Speed      int     `json:"speed"`      // Mb/s
	Port       int     `json:"port"`
	Latency    float32 `json:"latency"` // us
	MaxComms   int     `json:"maxComms"`
}

// What memory a network moves: a sum of these.
const (
	ptrHost   = 1
	ptrCUDA   = 2
	ptrDMABuf = 4
)

// GUID identifies a card. In JSON it is a text of hexadecimal digits after 0x.
type GUID uint64

// String gives it as topology files have it.
func (g GUID) String() string { return fmt.Sprintf("0x%x", uint64(g)) }

// MarshalJSON implements json.Marshaler.
func (g GUID) MarshalJSON() ([]byte, error) { return json.Marshal(g.String()) }

// UnmarshalJSON implements json.Unmarshaler.
func (g *GUID) UnmarshalJSON(data []byte) error {
	v, err := strconv.ParseUint(strings.Trim(string(data), `"`), 0, 64)
	if err != nil {
		return fmt.Errorf("guid: %w", err)
	}
	*g = GUID(v)
	return nil
}

// Verbs is what the InfiniBand library says.
type Verbs struct {
	// DMABufErrno is how a registration of a file that is not there fails:
	// EOPNOTSUPP where the kernel knows no DMA-BUF, EBADF where it does.
	DMABufErrno string        `json:"dmaBufErrno"`
	Devices     []VerbsDevice `json:"devices"`
}

// VerbsDevice is one InfiniBand or RoCE device.
type VerbsDevice struct {
	Name         string      `json:"name"`
	SysImageGUID string      `json:"sysImageGuid"` // 16 hexadecimal digits
	MaxQP        int         `json:"maxQp"`
	Ports        []VerbsPort `json:"ports"`
}

// VerbsPort is one port of it, with the numbers of the verbs interface.
type VerbsPort struct {
	Port        int `json:"port"`
	State       int `json:"state"`     // 4 is active
	LinkLayer   int `json:"linkLayer"` // 1 InfiniBand, 2 Ethernet
	ActiveSpeed int `json:"activeSpeed"`
	ActiveWidth int `json:"activeWidth"`
}

// Interface is one address of a network interface, in the order of getifaddrs.
type Interface struct {
	Name string  `json:"name"`
	Addr *string `json:"addr"` // nil: an interface without an IP address
	Bits int     `json:"prefixLength,omitempty"`
}

// Env looks a variable up.
type Env func(name string) (value string, ok bool)

// devices gives the network that NCCL picks and what its devices say.
func (n *Network) devices(f Files, env Env) (kind string, devices []Properties, err error) {
	if n.Properties != nil {
		return n.Selected, n.Properties, nil
	}
	want, named := env("NCCL_NET")
	wants := func(kind string) bool { return !named || strings.EqualFold(want, kind) }
	if wants(netIB) {
		if devices := n.ibDevices(f, env); len(devices) > 0 {
			return netIB, devices, nil
		}
	}
	if wants(netSocket) {
		if devices := n.socketDevices(f, env); len(devices) > 0 {
			return netSocket, devices, nil
		}
	}
	return "", nil, n.noNetwork(want, env)
}

// NetworkError says that NCCL finds no network, without which it does not start.
type NetworkError struct{ Msg string }

func (e *NetworkError) Error() string { return e.Msg }

func (n *Network) noNetwork(want string, env Env) error {
	names := "none"
	var all []string
	for _, i := range n.Interfaces {
		if i.Addr != nil {
			all = append(all, i.Name)
		}
	}
	if len(all) > 0 {
		names = strings.Join(all, ", ")
	}
	if ifname, ok := env("NCCL_SOCKET_IFNAME"); ok && len(ifname) > 1 {
		return &NetworkError{fmt.Sprintf("NCCL_SOCKET_IFNAME=%s matches no network interface, and NCCL would not start; "+
			"interfaces with an address: %s", ifname, names)}
	}
	if want != "" {
		return &NetworkError{fmt.Sprintf("NCCL_NET=%s gives no network device, and NCCL would not start; "+
			"unset it, or name IB or Socket", want)}
	}
	return &NetworkError{"no usable network interface, and NCCL would not start; interfaces with an address: " + names}
}
