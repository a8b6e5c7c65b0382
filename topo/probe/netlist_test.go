package probe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNameList(t *testing.T) {
	for _, test := range []struct {
		list, name string
		port       int
		want       bool
	}{
		{"", "eth0", anyPort, true},
		{"eth", "eth0", anyPort, true},
		{"eth", "veth0", anyPort, false},
		{"=eth", "eth0", anyPort, false},
		{"=eth0", "eth0", anyPort, true},
		{"^eth", "eth0", anyPort, false},
		{"^eth", "ib0", anyPort, true},
		{"^=eth0,=x", "eth01", anyPort, true},
		{"^=eth0", "eth0", anyPort, false},
		{"a,b,", "bond", anyPort, true},
		{",,", "any", anyPort, true},
		{"^,", "any", anyPort, false},
		{"mlx5_0:2", "mlx5_0", 1, false},
		{"mlx5_0:2", "mlx5_0", 2, true},
		{"mlx5_0:2x", "mlx5_0", 2, true},
		{"mlx5_0:", "mlx5_0", 1, false},
		{"mlx5_0:2,mlx5_0:1", "mlx5_0", 1, true},
		{"^mlx5_0:2", "mlx5_0", 1, true},
		{":1", "mlx5_0", 2, true},
	} {
		if got := parseNameList(test.list).allows(test.name, test.port); got != test.want {
			t.Errorf("%q allows %s:%d: %v", test.list, test.name, test.port, got)
		}
	}
}

func interfaces(pairs ...string) *Network {
	n := &Network{}
	for i := 0; i < len(pairs); i += 2 {
		entry := Interface{Name: pairs[i]}
		if pairs[i+1] != "" {
			addr, bits, _ := strings.Cut(pairs[i+1], "/")
			entry.Addr = &addr
			_, _ = fmt.Sscan(bits, &entry.Bits)
		}
		n.Interfaces = append(n.Interfaces, entry)
	}
	return n
}

func TestUsableInterfaces(t *testing.T) {
	all := interfaces("lo", "127.0.0.1/8", "eth0", "10.0.0.1/24", "eth1", "10.0.1.1/24", "docker0", "172.17.0.1/16",
		"tun0", "", "lo", "::1/128", "eth0", "fe80::1/64", "six", "fd00::1/64", "bad", "what")
	withIB := interfaces("lo", "127.0.0.1/8", "eth0", "10.0.0.1/24", "ib0", "10.1.0.1/24", "ibs1", "fd01::1/64")
	docker := interfaces("lo", "127.0.0.1/8", "docker0", "172.17.0.1/16")
	for _, test := range []struct {
		n    *Network
		env  Env
		want string
	}{
		{all, env(), "eth0 eth1 six"},
		{all, env("NCCL_SOCKET_IFNAME", ""), "eth0 eth1 six"},
		{all, env("NCCL_SOCKET_IFNAME", "e"), "eth0 eth1 six"}, // too short to count
		{all, env("NCCL_SOCKET_IFNAME", "eth"), "eth0 eth1"},
		{all, env("NCCL_SOCKET_IFNAME", "no"), ""},
		{all, env("NCCL_SOCKET_IFNAME", "tun"), ""},
		{all, env("NCCL_SOCKET_IFNAME", "=lo"), "lo"},
		{all, env("NCCL_SOCKET_FAMILY", "AF_INET"), "eth0 eth1"},
		{all, env("NCCL_SOCKET_FAMILY", "AF_INET6"), "eth0 six"},
		{all, env("NCCL_SOCKET_FAMILY", "AF_INET6", "NCCL_SOCKET_IFNAME", "lo"), ""},
		{all, env("NCCL_SOCKET_FAMILY", "inet"), "eth0 eth1 six"},
		{all, env("NCCL_COMM_ID", "10.0.1.77:1234"), "eth1"},
		{all, env("NCCL_COMM_ID", "[fd00::9]:1234"), "six"},
		{all, env("NCCL_COMM_ID", "192.168.0.1:1234"), "eth0 eth1 six"},
		{all, env("NCCL_COMM_ID", "no address"), "eth0 eth1 six"},
		{withIB, env(), "ib0 ibs1"},
		{docker, env(), "docker0"},
		{interfaces("lo", "127.0.0.1/8"), env(), "lo"},
		{interfaces("lo", "::1/128"), env(), ""},
	} {
		if got := strings.Join(test.n.usable(test.env), " "); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestInterfacesAreCounted(t *testing.T) {
	var pairs []string
	for i := range 20 {
		pairs = append(pairs, fmt.Sprintf("eth%d", i), fmt.Sprintf("10.0.0.%d/24", i))
	}
	if n := len(interfaces(pairs...).usable(env())); n != maxInterfaces {
		t.Errorf("%d interfaces, want %d", n, maxInterfaces)
	}
}

func TestInterfaceSpeed(t *testing.T) {
	for text, want := range map[string]int{
		"25000\n": 25000, "-1\n": defaultMbps, "0\n": defaultMbps, "": defaultMbps, "4294967295\n": 42949672, "0x10\n": 16, "unknown\n": defaultMbps,
	} {
		files := NewTree()
		files.AddFile("/sys/class/net/eth0/speed", []byte(text))
		if got := interfaceSpeed(files, "eth0"); got != want {
			t.Errorf("speed %q: %d, want %d", text, got, want)
		}
	}
	if got := interfaceSpeed(NewTree(), "eth0"); got != defaultMbps {
		t.Errorf("no speed: %d", got)
	}
}

// card adds a function of a card to a network, with a folder in sysfs.
func card(n *Network, files *Tree, name, dir, guid string, ports ...VerbsPort) {
	if n.Verbs == nil {
		n.Verbs = &Verbs{DMABufErrno: "EOPNOTSUPP"}
	}
	n.Verbs.Devices = append(n.Verbs.Devices, VerbsDevice{Name: name, SysImageGUID: guid, MaxQP: 5, Ports: ports})
	if dir != "" {
		files.AddDir(dir)
		files.AddLink("/sys/class/infiniband/"+name+"/device", dir)
	}
}

var up = VerbsPort{Port: 1, State: portActive, LinkLayer: linkLayerIB, ActiveSpeed: 32, ActiveWidth: 2}

func port(number, linkLayer int) VerbsPort {
	p := up
	p.Port, p.LinkLayer = number, linkLayer
	return p
}

func names(devices []Properties) string {
	var out []string
	for _, d := range devices {
		path := "-"
		if d.PCIPath != nil {
			path = (*d.PCIPath)[strings.LastIndexByte(*d.PCIPath, '/')+1:]
		}
		out = append(out, fmt.Sprintf("%s/%d@%s", d.Name, d.Port, path))
	}
	return strings.Join(out, " ")
}

func TestMergingOfPorts(t *testing.T) {
	const a, b = "/sys/devices/pci0000:00/0000:0a:00", "/sys/devices/pci0000:00/0000:0b:00"
	for name, test := range map[string]struct {
		build func(n *Network, f *Tree)
		env   Env
		want  string
	}{
		"functions of one card": {func(n *Network, f *Tree) {
			card(n, f, "m0", a+".0", "1", up)
			card(n, f, "m1", a+".1", "1", up)
		}, env(), "m0+m1/1@0000:0a:00.0"},
		"ports of one device": {func(n *Network, f *Tree) {
			card(n, f, "m0", a+".0", "1", port(1, linkLayerIB), port(2, linkLayerIB))
		}, env(), "m0+m0/1@0000:0a:00.0"},
		"not beside each other": {func(n *Network, f *Tree) {
			card(n, f, "m0", a+".0", "1", up)
			card(n, f, "m2", b+".0", "2", up)
			card(n, f, "m1", a+".1", "1", up)
			card(n, f, "m3", b+".1", "2", up)
		}, env(), "m0+m1/1@0000:0a:00.0 m2+m3/1@0000:0b:00.0"},
		"three ports": {func(n *Network, f *Tree) {
			card(n, f, "m0", a+".0", "1", port(1, linkLayerIB), port(2, linkLayerIB), port(3, linkLayerIB))
		}, env(), "m0/1@0000:0a:00.0 m0/3@0000:0a:00.0 m0/5@0000:0a:00.0"},
		"a single one beside": {func(n *Network, f *Tree) {
			card(n, f, "m0", a+".0", "1", up)
			card(n, f, "m1", a+".1", "1", up)
			card(n, f, "m2", b+".0", "2", up)
		}, env(), "m0/1@0000:0a:00.0 m1/2@0000:0a:00.0 m2/1@0000:0b:00.0"},
		"other layer": {func(n *Network, f *Tree) {
			card(n, f, "m0", a+".0", "1", port(1, linkLayerIB))
			card(n, f, "m1", a+".1", "1", port(1, linkLayerEthernet))
		}, env(), "m0/1@0000:0a:00.0 m1/2@0000:0a:00.0"},
		"other card": {func(n *Network, f *Tree) {
			card(n, f, "m0", a+".0", "1", up)
			card(n, f, "m1", a+".1", "2", up)
		}, env(), "m0/1@0000:0a:00.0 m1/2@0000:0a:00.0"},
		"not in sysfs": {func(n *Network, f *Tree) {
			card(n, f, "m0", "", "1", up)
			card(n, f, "m1", "", "1", up)
		}, env(), "m0/1@- m1/1@-"},
		"virtual functions": {func(n *Network, f *Tree) {
			card(n, f, "m0", "/sys/devices/pci0000:00/0000:0a:01.3", "1", up)
		}, env(), "m0/1@0000:0a:00.0"},
		"virtual functions apart": {func(n *Network, f *Tree) {
			card(n, f, "m0", "/sys/devices/pci0000:00/0000:0a:01.3", "1", up)
		}, env("NCCL_IB_MERGE_VFS", "0"), "m0/1@0000:0a:01.0"},
		"ports that do not count": {func(n *Network, f *Tree) {
			down, other := up, port(3, 0)
			down.State = 1
			card(n, f, "m0", a+".0", "1", down, port(2, linkLayerIB), other)
		}, env(), "m0/2@0000:0a:00.0"},
	} {
		n, files := interfaces("eth0", "10.0.0.1/24"), NewTree()
		test.build(n, files)
		if got := names(n.ibDevices(files, test.env)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestInfiniBandOff(t *testing.T) {
	n, files := interfaces("eth0", "10.0.0.1/24"), NewTree()
	card(n, files, "m0", "", "1", up)
	for _, e := range []Env{env("NCCL_IB_DISABLE", "1"), env("NCCL_IB_DISABLE", "2x"), env("NCCL_SOCKET_IFNAME", "none"), env("NCCL_IB_HCA", "^m")} {
		if got := n.ibDevices(files, e); len(got) > 0 {
			t.Errorf("devices %v", got)
		}
	}
	for _, e := range []Env{env(), env("NCCL_IB_DISABLE", "off"), env("NCCL_IB_DISABLE", "")} {
		if got := n.ibDevices(files, e); len(got) != 1 {
			t.Errorf("devices %v", got)
		}
	}
}

func TestInfiniBandProperties(t *testing.T) {
	n, files := interfaces("eth0", "10.0.0.1/24"), NewTree()
	slow := up
	slow.ActiveSpeed, slow.ActiveWidth = 0, 1
	card(n, files, "m0", "/sys/devices/a/0000:0a:00.0", "0123:4567:89ab:cdef", slow)
	n.Verbs.DMABufErrno = "EBADF"
	files.AddFile("/sys/kernel/mm/memory_peers/nv_mem_nc/version", nil)
	got := n.ibDevices(files, env())[0]
	if got.GUID != 0xefcdab8967452301 || got.Speed != 100000 || got.PtrSupport != 7 || got.MaxComms != 5 || got.Latency != 0 {
		t.Errorf("properties %+v", got)
	}
	var many []string
	for i := range 40 {
		card(n, files, fmt.Sprintf("x%d", i), "", "1", up)
	}
	for _, d := range n.ibDevices(files, env()) {
		many = append(many, d.Name)
	}
	if len(many) != maxIBPorts || !slices.Contains(many, "x30") {
		t.Errorf("devices %q", many)
	}
}

func TestSpeedsOfLanes(t *testing.T) {
	for active, want := range map[int]int{1: 2500, 2: 5000, 4: 10000, 8: 10000, 16: 14000, 32: 25000, 64: 50000, 128: 100000, 256: 100000, 0: 100000, 48: 14000} {
		if got := laneMbps(active); got != want {
			t.Errorf("speed %d: %d, want %d", active, got, want)
		}
	}
	for active, want := range map[int]int{1: 1, 2: 4, 4: 8, 8: 12, 16: 2, 0: 2, 32: 2} {
		if got := lanes(active); got != want {
			t.Errorf("width %d: %d, want %d", active, got, want)
		}
	}
}
