package connect_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/connect"
)

func TestOptionsFrom(t *testing.T) {
	change := func(f func(*connect.Options)) connect.Options {
		o := connect.DefaultOptions()
		f(&o)
		return o
	}
	for name, c := range map[string]struct {
		set  []string
		want connect.Options
	}{
		"nothing": {nil, connect.Options{
			MinChannels: -2, MaxChannels: -2, MinCTAs: 1, MaxCTAs: 32, NVLSChannels: 16,
			MinP2P: 1, MaxP2P: 32, PerNetPeer: -1, WorkArgsBytes: math.MaxInt64,
		}},
		"bounds": {[]string{"NCCL_MIN_NCHANNELS=0x10", "NCCL_MAX_NCHANNELS=010"},
			change(func(o *connect.Options) { o.MinChannels, o.MaxChannels = 16, 8 })},
		"old bounds": {[]string{"NCCL_MIN_NRINGS=3", "NCCL_MAX_NRINGS=4"},
			change(func(o *connect.Options) { o.MinChannels, o.MaxChannels = 3, 4 })},
		"what is out of range is not set": {[]string{"NCCL_MIN_NCHANNELS=99999999999999999999"}, connect.DefaultOptions()},
		"32 bits count": {[]string{"NCCL_MAX_NCHANNELS=4294967299"},
			change(func(o *connect.Options) { o.MaxChannels = 3 })},
		"the rest": {[]string{
			"NCCL_MIN_CTAS=2", "NCCL_MAX_CTAS=9", "NCCL_NVLS_NCHANNELS=8", "NCCL_MIN_P2P_NCHANNELS=3",
			"NCCL_MAX_P2P_NCHANNELS=5", "NCCL_NCHANNELS_PER_NET_PEER=7", "NCCL_WORK_ARGS_BYTES=4096",
		}, connect.Options{
			MinChannels: -2, MaxChannels: -2, MinCTAs: 2, MaxCTAs: 9, NVLSChannels: 8,
			MinP2P: 3, MaxP2P: 5, PerNetPeer: 7, WorkArgsBytes: 4096,
		}},
		"negative bytes are many": {[]string{"NCCL_WORK_ARGS_BYTES=-1"},
			change(func(o *connect.Options) { o.WorkArgsBytes = math.MaxUint64 })},
	} {
		if d := cmp.Diff(c.want, from(c.set...)); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}
