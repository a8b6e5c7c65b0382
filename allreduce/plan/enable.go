package plan

import (
	"fmt"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/graph"
)

// byRule marks a protocol that is on where it is known to be safe.
const byRule = 2

// enable sets the bandwidth of what may not be used to 0.
func (t *Tuning) enable() {
	algos, protos := t.asked()
	for c := range nCollectives {
		for a := range allreduce.Algo(nAlgos) {
			for _, p := range allreduce.Protos() {
				on := protos[p] == 1 || protos[p] == byRule && t.safeLL128(a)
				if !on || algos[a] == 0 {
					t.Bandwidth[c][a][p] = 0
				}
				if a == allreduce.Ring && !on {
					t.backup[c][p] = 0
				}
			}
		}
		if t.allOff(c) {
			t.Bandwidth[c][allreduce.Ring] = t.backup[c]
		}
	}
}

// asked says what the user's lists and the communicator leave on.
func (t *Tuning) asked() (algos [nAlgos]int, protos [nProtos]int) {
	protos = [nProtos]int{allreduce.LL: 1, allreduce.LL128: byRule, allreduce.Simple: 1}
	algos = [nAlgos]int{1, 1, 1, 1, 1, 1}
	if t.settings.Protos != nil {
		t.warnUnknown("NCCL_PROTO", "protocol", parseList(*t.settings.Protos, protos[:], allreduce.Proto.String))
	}
	if t.settings.Algos != nil {
		t.warnUnknown("NCCL_ALGO", "algorithm", parseList(*t.settings.Algos, algos[:], allreduce.Algo.String))
	}
	algos[allreduce.CollNetDirect], algos[allreduce.CollNetChain] = 0, 0
	if t.comm.NNodes == 1 {
		algos[allreduce.NVLSTree] = 0
	} else {
		algos[allreduce.NVLS] = 0
	}
	if algos == [nAlgos]int{} {
		algos[allreduce.Ring], algos[allreduce.Tree] = 1, 1
	}
	return algos, protos
}

// parseList reads names with commas between: those listed are on and the others
// off, or the other way round after a ^. Unknown names mean nothing; they are
// given back.
func parseList[T ~uint8](list string, on []int, nameOf func(T) string) (unknown []string) {
	listed, others := 1, 0
	if rest, found := strings.CutPrefix(list, "^"); found {
		list, listed, others = rest, 0, 1
	}
	for i := range on {
		on[i] = others
	}
	for name := range strings.SplitSeq(list, ",") {
		known := name == ""
		for i := range on {
			if strings.EqualFold(name, nameOf(T(i))) {
				on[i], known = listed, true
			}
		}
		if !known {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

func (t *Tuning) warnUnknown(variable, what string, names []string) {
	for _, name := range names {
		t.warn(fmt.Sprintf("%s: there is no %s %q; NCCL passes over the name.", variable, what, name))
	}
}

// safeLL128 says whether 128 bytes are known to arrive whole on all links that
// an algorithm uses.
func (t *Tuning) safeLL128(a allreduce.Algo) bool {
	c, set := t.comm, t.sets[a]
	inter := graph.PXB
	if c.MinSM >= 90 {
		inter = graph.PXN
	}
	return set.TypeInter <= inter && set.TypeIntra <= graph.NVB && c.MinSM == c.MaxSM &&
		(c.MinSM == 70 || c.MinSM == 80 || c.MinSM == 90)
}

func (t *Tuning) allOff(c Collective) bool { return t.Bandwidth[c] == [nAlgos][nProtos]float32{} }
