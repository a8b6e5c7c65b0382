package connect

import (
	"fmt"
	"math"

	"github.com/ringtopo/ringtopo/rings"
)

// Options are the settings that decide channel counts; use [DefaultOptions] as
// a start.
type Options struct {
	MinChannels, MaxChannels int // bounds a user asked for; -2: none
	MinCTAs, MaxCTAs         int
	NVLSChannels             int
	MinP2P, MaxP2P           int    // bounds of point-to-point channels
	PerNetPeer               int    // point-to-point channels to a remote peer; -1: by bandwidth
	WorkArgsBytes            uint64 // space for a kernel's arguments
}

// DefaultOptions are NCCL's.
func DefaultOptions() Options {
	return Options{
		MinChannels: unset, MaxChannels: unset,
		MinCTAs: 1, MaxCTAs: rings.MaxChannels, NVLSChannels: 16,
		MinP2P: 1, MaxP2P: rings.MaxChannels, PerNetPeer: -1,
		WorkArgsBytes: math.MaxInt64,
	}
}

// unset is the value of a bound that the user did not give.
const unset = -2

// Env looks up NCCL's variables.
type Env interface {
	Int(name string, def int64) int64
}

// OptionsFrom reads the settings from NCCL's variables. Older names count where
// newer ones are not set.
func OptionsFrom(env Env) Options {
	o := DefaultOptions()
	get := func(name string, def int) int { return int(int32(env.Int(name, int64(def)))) }
	newer := func(name, old string) int {
		if v := get(name, unset); v != unset {
			return v
		}
		return get(old, unset)
	}
	o.MaxChannels = newer("NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS")
	o.MinChannels = newer("NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS")
	o.MinCTAs = get("NCCL_MIN_CTAS", o.MinCTAs)
	o.MaxCTAs = get("NCCL_MAX_CTAS", o.MaxCTAs)
	o.NVLSChannels = get("NCCL_NVLS_NCHANNELS", o.NVLSChannels)
	o.MinP2P = get("NCCL_MIN_P2P_NCHANNELS", o.MinP2P)
	o.MaxP2P = get("NCCL_MAX_P2P_NCHANNELS", o.MaxP2P)
	o.PerNetPeer = get("NCCL_NCHANNELS_PER_NET_PEER", o.PerNetPeer)
	o.WorkArgsBytes = uint64(env.Int("NCCL_WORK_ARGS_BYTES", math.MaxInt64))
	return o
}

// bounds are the limits on channels in force.
type bounds struct{ minChannels, maxChannels, minCTAs, maxCTAs int }

// argChannels is how many channels' work fits in a kernel's arguments.
func (o Options) argChannels() int {
	return int(min(uint64(rings.MaxChannels), (o.WorkArgsBytes-32)/16))
}

// bounds resolves the settings, and says what it had to bend.
func (o Options) bounds(warn func(string)) bounds {
	b := bounds{minChannels: 0, maxChannels: rings.MaxChannels, minCTAs: o.MinCTAs, maxCTAs: o.MaxCTAs}
	if o.MaxChannels != unset {
		b.maxChannels = o.MaxChannels
	}
	b.maxChannels = min(b.maxChannels, o.argChannels(), rings.MaxChannels)
	if b.maxChannels < 1 {
		warn(fmt.Sprintf("User asked for a maximum of %d channels, setting it to 1", b.maxChannels))
		b.maxChannels = 1
	}
	if o.MinChannels != unset {
		b.minChannels = o.MinChannels
	}
	if b.minChannels > rings.MaxChannels {
		warn(fmt.Sprintf("User asked for a minimum of %d channels, limiting to %d", b.minChannels, rings.MaxChannels))
		b.minChannels = rings.MaxChannels
	}
	b.minChannels = max(b.minChannels, 0)
	capCTAs := func(name string, v *int) {
		if *v > rings.MaxChannels {
			warn(fmt.Sprintf("%s %d is larger than #channels upper limit %d, cap it to %d", name, *v, rings.MaxChannels, rings.MaxChannels))
			*v = rings.MaxChannels
		}
	}
	capCTAs("minCTAs", &b.minCTAs)
	capCTAs("maxCTAs", &b.maxCTAs)
	if b.maxCTAs < 1 { // NCCL goes on without any channel
		warn(fmt.Sprintf("maxCTAs %d leaves no channel, setting it to 1", b.maxCTAs))
		b.maxCTAs = 1
	}
	if b.minCTAs > b.maxCTAs {
		warn(fmt.Sprintf("minCTAs %d is larger than maxCTAs %d, set both to %d", b.minCTAs, b.maxCTAs, b.maxCTAs))
		b.minCTAs = b.maxCTAs
	}
	return b
}
