package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// below lists the elements of a name with what they hang from.
func below(root *ncclxml.Element, name string) map[*ncclxml.Element][]*ncclxml.Element {
	out := map[*ncclxml.Element][]*ncclxml.Element{}
	var visit func(e *ncclxml.Element, above []*ncclxml.Element)
	visit = func(e *ncclxml.Element, above []*ncclxml.Element) {
		if e.Name == name {
			out[e] = above
		}
		for _, c := range e.Children {
			visit(c, append(above[:len(above):len(above)], e))
		}
	}
	visit(root, nil)
	return out
}

// noNetwork tells whether a machine has none that NCCL would use, without which
// there is nothing to compare.
func noNetwork(err error) bool {
	var network *NetworkError
	return errors.As(err, &network)
}

// TestServersAreFoundWhole: each rank's GPU is found once, where it hangs, with
// the speed that counts and as many links as are up.
func TestServersAreFoundWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRack(t)
		live, err := Live(r.sources(r.tree), Options{})
		if noNetwork(err) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		gpus := below(live.Document.Root, "gpu")
		if len(gpus) != len(r.host.CUDA) {
			t.Fatalf("%d GPUs of %d", len(gpus), len(r.host.CUDA))
		}
		for gpu, above := range gpus {
			rank, err := strconv.Atoi(value(gpu, "rank"))
			if err != nil {
				t.Fatal(err)
			}
			id := r.host.CUDA[rank].BusID
			pci := above[len(above)-1]
			if value(pci, "busid") != id || value(gpu, "dev") != fmt.Sprint(slices.Index(r.gpus, id)) {
				t.Errorf("rank %d is on %s as device %s, want %s", rank, value(pci, "busid"), value(gpu, "dev"), id)
			}
			if got := value(pci, "link_speed"); got != r.link[id] {
				t.Errorf("%s: speed %q, want %q", id, got, r.link[id])
			}
			checkPlace(t, r, id, above)
			checkLinks(t, r, id, gpu)
		}
	})
}

// checkPlace compares the way from a device up to its socket.
func checkPlace(t *rapid.T, r *rack, id string, above []*ncclxml.Element) {
	at := id
	for i := len(above) - 2; i >= 1; i-- {
		got := value(above[i], "busid")
		if above[i].Name == "cpu" {
			got = "cpu " + value(above[i], "numaid")
		}
		if got != r.above[at] {
			t.Errorf("%s hangs from %q, want %q", at, got, r.above[at])
			return
		}
		at = got
	}
	if !strings.HasPrefix(at, "cpu ") {
		t.Errorf("%s hangs from no socket: %s", id, at)
	}
}

// checkLinks counts a GPU's links to each target: those that are up, of the
// first that NCCL asks for.
func checkLinks(t *rapid.T, r *rack, id string, gpu *ncclxml.Element) {
	d := r.host.Devices[slices.Index(r.gpus, id)]
	want := map[string]int{}
	limit := map[int]int{5: 0, 7: 6, 8: 12, 9: 18}[d.ComputeCapability[0]]
	for _, l := range d.NVLinks {
		if l.Link < limit && l.P2PSupported == 1 && l.State == 1 && l.RemoteReturn == 0 {
			want[strings.ToLower(l.RemoteBusIDLegacy)]++
		}
	}
	got := map[string]int{}
	for _, c := range gpu.Children {
		if c.Name == "nvlink" {
			got[value(c, "target")] += number(c, "count")
			class := "0x030200"
			if target := value(c, "target"); target == hiddenPeer || r.above[target] == "cpu -1" && r.link[target] == "" && pciPath(r.tree, target) == "" {
				class = "0x068000" // what sysfs does not show counts as a switch
			}
			if value(c, "tclass") != class {
				t.Errorf("%s: link to %s of class %s, want %s", id, value(c, "target"), value(c, "tclass"), class)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: links -want +got:\n%s", id, diff)
	}
}

// TestNetworksAreFoundWhole: each device of the network that is used is there
// once on its card, and they are counted from 0. What is on no card stands once
// below each socket whose GPUs' ranks put it there.
func TestNetworksAreFoundWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRack(t)
		e := env("NCCL_IB_MERGE_NICS", r.one("merge", "0", "1"), "NCCL_IB_DISABLE", r.one("off", "0", "1"))
		live, err := Live(r.sources(r.tree), Options{Env: e})
		if noNetwork(err) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, devices, err := r.net.devices(r.tree, e)
		if err != nil {
			t.Fatal(err)
		}
		nets := below(live.Document.Root, "net")
		names, seen := map[string]*ncclxml.Element{}, map[string]bool{}
		for n, above := range nets {
			name, place := value(n, "name"), above[len(above)-2]
			names[name] = n
			if place.Name == "cpu" {
				name += " below socket " + value(place, "numaid")
			}
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		for i, d := range devices {
			n := names[d.Name]
			if n == nil {
				t.Fatalf("no device %s", d.Name)
			}
			// Devices of one name are one, that has the last one's number.
			last := i
			for k, other := range devices[i:] {
				if other.Name == d.Name {
					last = i + k
				}
			}
			if value(n, "dev") != fmt.Sprint(last) || value(n, "speed") == "" || value(n, "maxconn") == "" {
				t.Errorf("%s is %v, want dev %d", d.Name, n.Attrs, last)
			}
			above := nets[n]
			holder := above[len(above)-2] // of the nic element
			switch {
			case d.PCIPath == nil && holder.Name != "cpu":
				t.Errorf("%s is on a %s, but it is no device", d.Name, holder.Name)
			case d.PCIPath != nil && value(holder, "busid") != filepath.Base(*d.PCIPath):
				t.Errorf("%s is on %s, want %s", d.Name, value(holder, "busid"), *d.PCIPath)
			}
		}
	})
}

// TestServersComeBackFromRecordings records servers whole and with files that
// cannot be read, and probes the recordings as the servers: with the same GPUs,
// with others, and with other variables.
func TestServersComeBackFromRecordings(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		r := drawRack(t)
		s := r.sources(r.unreadable(rapid.SampledFrom([]error{fs.ErrPermission, fs.ErrInvalid}).Draw(t, "error")))
		at := filepath.Join(dir, fmt.Sprint(n))
		o := Options{Env: env("NCCL_HOSTID", "box")}
		live, err := Live(s, o)
		captured, err2 := Capture(at, s, o, false)
		if noNetwork(err) && noNetwork(err2) {
			t.Skip(err)
		}
		if err != nil || err2 != nil {
			t.Fatalf("live: %v, recorded: %v", err, err2)
		}
		if diff := cmp.Diff(live.Document.Root, captured.Document.Root); diff != "" {
			t.Fatalf("-live +captured:\n%s", diff)
		}
		for _, other := range []Options{
			{},
			{GPUs: rapid.Permutation(devicesOf(live)).Draw(t, "order")},
			{GPUs: rapid.Permutation(devicesOf(live)).Draw(t, "some")[:1]},
			{Set: map[string]string{"NCCL_IB_DISABLE": "1"}},
			{Set: map[string]string{"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": r.one("ifname", "eth", "ib", "^lo", "=lo", "bond")}},
			{Set: map[string]string{"NCCL_IB_MERGE_NICS": "0", "NCCL_DMABUF_ENABLE": "0"}},
		} {
			again, err1 := Replay(at, other)
			other.Env = o.Env
			want, err2 := Live(s, other)
			if noNetwork(err1) && noNetwork(err2) {
				continue
			}
			if err1 != nil || err2 != nil {
				t.Fatalf("%v %v: replayed: %v, live: %v", other.GPUs, other.Set, err1, err2)
			}
			if diff := cmp.Diff(want.Document.Root, again.Document.Root); diff != "" {
				t.Errorf("%v %v: -live +replayed:\n%s", other.GPUs, other.Set, diff)
			}
		}
	})
}

func devicesOf(r *Result) []int {
	var out []int
	for _, rank := range r.Ranks {
		out = append(out, rank.CUDADev)
	}
	return out
}

// TestMaskedServers: a masked recording tells the same machine, and none of its
// addresses and ids.
func TestMaskedServers(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		r := drawRack(t)
		at := filepath.Join(dir, fmt.Sprint(n))
		o := Options{Env: env("NCCL_HOSTID", "secret-host")}
		live, err := Live(r.sources(r.tree), o)
		if noNetwork(err) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Capture(at, r.sources(r.tree), o, true); err != nil {
			t.Fatal(err)
		}
		p, ranks, err := Load(at, nil)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := p.Probe(ranks)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"host_hash", "guid"} {
			blank(live.Document.Root, key)
			blank(doc.Root, key)
		}
		if diff := cmp.Diff(live.Document.Root, doc.Root); diff != "" {
			t.Errorf("-live +masked:\n%s", diff)
		}
		for i, iface := range p.Network.Interfaces {
			if a := r.net.Interfaces[i].Addr; a != nil && iface.Addr != nil && *a == *iface.Addr && !strings.HasPrefix(*a, "fe80") {
				t.Errorf("%s still has %s", iface.Name, *a)
			}
		}
		if p.Host.Hostname != "host" || p.Host.HostID == nil || strings.Contains(*p.Host.HostID, "secret") {
			t.Errorf("host %q, id %v", p.Host.Hostname, p.Host.HostID)
		}
	})
}

// blank empties an attribute everywhere.
func blank(e *ncclxml.Element, key string) {
	if _, ok := e.Get(key); ok {
		e.Set(key, "")
	}
	for _, c := range e.Children {
		blank(c, key)
	}
}

// TestServersMakeTopologies: what a probe finds is a file that can be read and,
// unless it says what is wrong with it, a machine.
func TestServersMakeTopologies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRack(t)
		live, err := Live(r.sources(r.tree), Options{})
		if noNetwork(err) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := ncclxml.Encode(&text, live.Document); err != nil {
			t.Fatal(err)
		}
		doc, err := ncclxml.Decode(bytes.NewReader(text.Bytes()), "found")
		if err != nil {
			t.Fatalf("%v in\n%s", err, text.String())
		}
		sys, err := doc.System()
		if err != nil {
			if !strings.Contains(err.Error(), "found") {
				t.Errorf("the error does not say where: %v", err)
			}
			return
		}
		if len(sys.CPUs) == 0 {
			t.Error("a machine without a socket")
		}
	})
}
