package best

import (
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
)

// seed is a table without a measurement of the very machine.
type seed struct {
	name string
	fits func(Class) bool
	rows []Row
}

func ours(upTo int64, a allreduce.Algo, p allreduce.Proto) Row {
	return Row{UpTo: upTo, Choice: Choice{Engine: Ours, Algo: a, Proto: p}}
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

// seeds lists the tables that come along, the most particular first. Without a
// fitting one NCCL's model chooses: where no GPU reaches another directly the
// algorithms without a ring do not run.
func seeds() []seed {
	return []seed{
		{ // docs/measurements/h200x2-compare.txt
			name: "two H200 over NVLink",
			fits: func(c Class) bool {
				return pair(c) && c.Link == NVLink && strings.Contains(c.Device, "H200")
			},
			rows: []Row{
				ours(128*kib, allreduce.OneShot, allreduce.LL),
				ours(8*mib, allreduce.OneShot, allreduce.LL128),
				ours(0, allreduce.TwoShot, allreduce.Simple),
			},
		}, {
			name: "two GPUs over NVLink",
			fits: func(c Class) bool { return pair(c) && c.Link == NVLink },
			rows: []Row{
				ours(128*kib, allreduce.OneShot, allreduce.LL),
				ours(8*mib, allreduce.OneShot, allreduce.LL128),
				ours(0, allreduce.TwoShot, allreduce.Simple),
			},
		}, { // with more ranks one-shot sends each of them everything
			name: "GPUs over NVLink",
			fits: func(c Class) bool { return c.Engine == gpu && c.Link == NVLink && !c.Crowded() },
			rows: []Row{
				ours(64*kib, allreduce.OneShot, allreduce.LL),
				ours(8*mib, allreduce.TwoShot, allreduce.LL128),
				ours(0, allreduce.TwoShot, allreduce.Simple),
			},
		}, {
			name: "several ranks per GPU",
			fits: func(c Class) bool { return c.Engine == gpu && c.Crowded() && (c.Link == Memory || c.Link == NVLink) },
			rows: []Row{
				ours(64*kib, allreduce.OneShot, allreduce.LL),
				ours(0, allreduce.TwoShot, allreduce.Simple),
			},
		}, { // few bytes win over few steps
			name: "GPUs over PCIe",
			fits: func(c Class) bool { return c.Engine == gpu && c.Link == PCIe },
			rows: []Row{
				ours(32*kib, allreduce.OneShot, allreduce.LL),
				ours(0, allreduce.TwoShot, allreduce.Simple),
			},
		}, { // docs/measurements/host-mpi.md
			name: "ranks on a CPU",
			fits: func(c Class) bool { return c.Engine == host },
			rows: []Row{ours(0, allreduce.TwoShot, allreduce.Simple)},
		},
	}
}

const (
	gpu  = "gpu"
	host = "host"
)

func pair(c Class) bool { return c.Engine == gpu && c.Devices == 2 && c.Ranks == 2 }
