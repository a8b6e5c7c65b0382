package rings_test

import (
	"errors"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

func TestUnknownCompat(t *testing.T) {
	_, err := rings.Search(alone(t, topotest.V100x4()), rings.Options{Compat: "nccl-1.0"})
	if !errors.Is(err, rings.ErrCompat) {
		t.Errorf("got %v", err)
	}
}

func TestOptionsFrom(t *testing.T) {
	for text, want := range map[string]rings.Options{
		"":                    {CrossNIC: rings.CrossAuto, Multicast: rings.MulticastAuto},
		"NCCL_CROSS_NIC=0":    {CrossNIC: rings.CrossNever},
		"NCCL_CROSS_NIC=1":    {CrossNIC: rings.CrossAlways},
		"NCCL_CROSS_NIC=2":    {CrossNIC: rings.CrossAuto},
		"NCCL_CROSS_NIC=no":   {CrossNIC: rings.CrossNever},
		"NCCL_NVLS_ENABLE=0":  {CrossNIC: rings.CrossAuto, Multicast: rings.MulticastNever},
		"NCCL_NVLS_ENABLE=1":  {CrossNIC: rings.CrossAuto, Multicast: rings.MulticastForced},
		"NCCL_NVLS_ENABLE=2":  {CrossNIC: rings.CrossAuto, Multicast: rings.MulticastAuto},
		"NCCL_NVLS_ENABLE=-1": {CrossNIC: rings.CrossAuto, Multicast: rings.MulticastForced},
	} {
		got := rings.OptionsFrom(ncclenv.FromEnviron([]string{text}))
		if got.CrossNIC != want.CrossNIC || got.Multicast != want.Multicast || got.Compat != rings.NCCL2223 {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// NVLS is searched for where more than two GPUs can multicast.
func TestWhenNVLSIsSearched(t *testing.T) {
	box := func(gpus, sm, links int) *topo.System {
		cpu := topotest.Socket(topotest.AMD, 0)
		for i := range gpus {
			d := topotest.GPU(4+i, i, sm, topotest.Gen5)
			if links > 0 {
				d.GPU.NVLinks = []topo.NVLink{topotest.ToSwitch(links)}
			}
			cpu.Devices = append(cpu.Devices, d)
		}
		return topotest.Machine(cpu)
	}
	for name, c := range map[string]struct {
		sys      *topo.System
		setting  rings.Multicast
		searched bool
		channels int
	}{
		"three H100":              {box(3, 90, 18), rings.MulticastAuto, true, 3},
		"two are too few":         {box(2, 90, 18), rings.MulticastAuto, false, 0},
		"A100 cannot":             {box(3, 80, 12), rings.MulticastAuto, false, 0},
		"no NVSwitch":             {box(3, 90, 0), rings.MulticastAuto, false, 0},
		"switched off":            {box(3, 90, 18), rings.MulticastNever, false, 0},
		"forced upon A100":        {box(3, 80, 12), rings.MulticastForced, true, 0},
		"forced without switch":   {box(3, 90, 0), rings.MulticastForced, true, 0},
		"forced with two":         {box(2, 90, 18), rings.MulticastForced, false, 0},
		"more GPUs than channels": {box(36, 90, 18), rings.MulticastAuto, true, 32},
	} {
		t.Run(name, func(t *testing.T) {
			opt := rings.DefaultOptions()
			opt.Multicast = c.setting
			r, err := rings.Search(alone(t, c.sys), opt)
			if err != nil {
				t.Fatal(err)
			}
			if (r.NVLS != nil) != c.searched || r.NVLS != nil && r.NVLS.NChannels != c.channels {
				t.Errorf("NVLS %+v, want searched %v with %d channels", r.NVLS, c.searched, c.channels)
			}
		})
	}
}

// Rails: with NCCL_CROSS_NIC=1 an odd channel starts where the even one before
// it ended, and ends where that started.
func TestRailsAlternate(t *testing.T) {
	g := others(t, topotest.Box{CPU: topotest.Skylake, GPUsPerSwitch: 1, SM: 80, Speed: topotest.Gen4}.Machine())
	for _, cross := range []rings.CrossNIC{rings.CrossAlways, rings.CrossAuto, rings.CrossNever} {
		opt := rings.DefaultOptions()
		opt.CrossNIC = cross
		r, err := rings.Search(g, opt)
		if err != nil {
			t.Fatal(err)
		}
		if cross == rings.CrossNever && r.Ring.CrossNIC != 0 || cross == rings.CrossAlways && r.Ring.CrossNIC != 1 {
			t.Errorf("setting %d: crossNic %d", cross, r.Ring.CrossNIC)
		}
		for c, ends := range r.Ring.Inter {
			if r.Ring.CrossNIC == 0 && ends[0] != ends[1] {
				t.Errorf("setting %d: channel %d crosses from %d to %d", cross, c, ends[0], ends[1])
			}
			if r.Ring.CrossNIC == 1 && c%2 == 1 && ends != [2]int64{r.Ring.Inter[c-1][1], r.Ring.Inter[c-1][0]} {
				t.Errorf("setting %d: channel %d goes from %d to %d, the one before it %v", cross, c, ends[0], ends[1], r.Ring.Inter[c-1])
			}
		}
	}
}

// A machine of 100 GPUs is searched, too.
func TestManyGPUs(t *testing.T) {
	cpu := topotest.Socket(topotest.AMD, 0)
	for i := range 5 {
		sw := topotest.Switch(1+i, topotest.Gen4)
		for j := range 20 {
			sw.Devices = append(sw.Devices, topotest.GPU(0x10+20*i+j, 20*i+j, 80, topotest.Gen4))
		}
		cpu.Devices = append(cpu.Devices, sw)
	}
	g := alone(t, topotest.Machine(cpu))
	if n := len(g.NodesOf(graph.GPU)); n != 100 {
		t.Fatalf("%d GPUs", n)
	}
	r := search(t, g)
	checkPermutations(t, g, r)
}
