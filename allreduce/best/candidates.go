package best

import "github.com/ringtopo/ringtopo/allreduce"

// Candidates lists the choices that are worth measuring for a message on a
// class of machines; which of them can run is for the executor to say. Those
// that leave the launch to the executor come first, so that a tie keeps to it.
func Candidates(c Class, bytes int64) []Choice {
	if c.Engine == host {
		return onHost()
	}
	var list []Choice
	add := func(a allreduce.Algo, p allreduce.Proto, launches ...Choice) {
		list = append(list, Choice{Engine: Ours, Algo: a, Proto: p})
		for _, l := range launches {
			l.Engine, l.Algo, l.Proto = Ours, a, p
			list = append(list, l)
		}
	}
	if bytes <= 4*mib {
		add(allreduce.OneShot, allreduce.LL, blocks(16, 32, 64)...)
	}
	if bytes <= 16*mib {
		add(allreduce.OneShot, allreduce.LL128, blocks(16, 32, 64)...)
	}
	if bytes >= 64*kib && bytes <= 16*mib {
		add(allreduce.TwoShot, allreduce.LL128)
	}
	if bytes >= 64*kib {
		add(allreduce.TwoShot, allreduce.Simple, append(blocks(32, 64, 128), Choice{Blocks: 128, Pieces: 2}, Choice{Blocks: 128, Pieces: 8})...)
	}
	if bytes <= 4*mib {
		add(allreduce.Ring, allreduce.LL)
	}
	add(allreduce.Ring, allreduce.LL128)
	add(allreduce.Ring, allreduce.Simple)
	return append(list, Choice{Engine: NCCL}, Choice{Engine: NCCL, Symmetric: true})
}

func blocks(counts ...int) (list []Choice) {
	for _, n := range counts {
		list = append(list, Choice{Blocks: n})
	}
	return list
}

func onHost() (list []Choice) {
	for _, a := range []allreduce.Algo{allreduce.TwoShot, allreduce.OneShot} {
		list = append(list, Choice{Engine: Ours, Algo: a, Proto: allreduce.Simple})
	}
	for _, a := range []allreduce.Algo{allreduce.Ring, allreduce.Tree} {
		for _, p := range allreduce.Protos() {
			list = append(list, Choice{Engine: Ours, Algo: a, Proto: p})
		}
	}
	return list
}
