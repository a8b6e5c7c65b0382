package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
)

// maxThreads fills in the largest block of every algorithm and protocol.
func (t *Tuning) maxThreads() {
	ring := t.sets[allreduce.Ring]
	simple := 512
	if float32(ring.BWIntra*float32(ring.NChannels)) <= 12 {
		simple = 256
	}
	pick := func(otherwise int) int {
		return t.pick("NCCL_NTHREADS", t.settings.Threads, 64, 512, otherwise)
	}
	t.MaxThreads[allreduce.Ring][allreduce.Simple] = pick(simple)
	t.MaxThreads[allreduce.Tree][allreduce.Simple] = pick(512)
	for _, a := range []allreduce.Algo{allreduce.CollNetDirect, allreduce.CollNetChain, allreduce.NVLS, allreduce.NVLSTree} {
		t.MaxThreads[a][allreduce.Simple] = 640
	}
	ll, ll128 := pick(512), t.pick("NCCL_LL128_NTHREADS", t.settings.LL128Threads, 160, 640, 640)
	for _, a := range []allreduce.Algo{allreduce.Ring, allreduce.Tree} {
		t.MaxThreads[a][allreduce.LL], t.MaxThreads[a][allreduce.LL128] = ll, ll128
	}
}

// pick takes what the user asked for, as far as it is allowed.
func (t *Tuning) pick(name string, asked, least, most, otherwise int) int {
	warn := func(why string, limit, use int) int {
		t.warn(fmt.Sprintf("Invalid %s %d (%s).", name, asked, fmt.Sprintf(why, limit)))
		return use
	}
	switch {
	case asked <= 0:
		return otherwise
	case asked%32 != 0:
		return warn("must be a multiple of %d", 32, most)
	case asked > most:
		return warn("maximum %d", most, most)
	case asked < least:
		return warn("minimum %d", least, least)
	}
	return asked
}

func (t *Tuning) warn(text string) {
	for _, w := range t.Warnings {
		if w == text {
			return
		}
	}
	t.Warnings = append(t.Warnings, text)
}

// thresholds fills in the bytes that a thread of a channel must have to do.
func (t *Tuning) thresholds() {
	for a := range t.Thresholds {
		t.Thresholds[a] = [nProtos]int64{8, 8, 64}
	}
	t.Thresholds[allreduce.Ring][allreduce.LL] *= int64(t.comm.NRanks)
	t.Thresholds[allreduce.CollNetDirect][allreduce.Simple] = 512
	t.Thresholds[allreduce.CollNetChain][allreduce.Simple] = 512
	for i, word := range strings.Fields(t.settings.Thresholds) {
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil || i >= 2*nProtos {
			break
		}
		if v >= 0 {
			t.Thresholds[i/nProtos][i%nProtos] = v
		}
	}
}
