package plan

import (
	"math"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
)

// unset is the value of a variable that nobody gave.
const unset = -2

// Settings are the variables that decide plans. Start from [DefaultSettings] or
// [SettingsFrom].
type Settings struct {
	BuffSize     [allreduce.NumProtos]int // bytes of a connection's FIFO
	Threads      int                      // most threads for Simple and LL; 0 or less: by the tables
	LL128Threads int                      // most threads for LL128; 0 or less: by the tables
	// Algos and Protos are lists as NCCL_ALGO and NCCL_PROTO take them: names
	// with commas between, ^ in front to exclude. Nil allows all.
	Algos, Protos *string
	Thresholds    string // bytes per thread as NCCL_THREAD_THRESHOLDS takes them
	NetOverhead   int    // nanoseconds; -2: by the processor
	WorkArgs      uint64 // bytes of kernel arguments
	WorkFIFO      uint64 // bytes of the queue for work that finds no room there
	NVLSChunk     int    // bytes
	NVLSTreeChunk int    // most bytes; -2: by the number of nodes
	ClusterSize   int    // blocks per cluster on compute capability 9.0
}

// DefaultSettings are those of an unconfigured NCCL.
func DefaultSettings() Settings {
	return Settings{
		BuffSize: allreduce.DefaultBuffSize(),
		Threads:  unset, LL128Threads: unset, NetOverhead: unset,
		WorkArgs: math.MaxInt64, WorkFIFO: 1 << 20,
		NVLSChunk: 131072, NVLSTreeChunk: unset, ClusterSize: 4,
	}
}

// SettingsFrom reads NCCL's variables.
func SettingsFrom(env *ncclenv.Env) Settings {
	s := DefaultSettings()
	number := func(name string, to *int) {
		*to = int(int32(env.Int(name, int64(*to)))) // NCCL stores them in an int
	}
	number("NCCL_NTHREADS", &s.Threads)
	number("NCCL_LL128_NTHREADS", &s.LL128Threads)
	number("NCCL_NET_OVERHEAD", &s.NetOverhead)
	number("NCCL_NVLS_CHUNKSIZE", &s.NVLSChunk)
	number("NCCL_NVLSTREE_MAX_CHUNKSIZE", &s.NVLSTreeChunk)
	number("NCCL_CGA_CLUSTER_SIZE", &s.ClusterSize)
	for p, name := range []string{"NCCL_LL_BUFFSIZE", "NCCL_LL128_BUFFSIZE", "NCCL_BUFFSIZE"} {
		if v := int(int32(env.Int(name, unset))); v != unset {
			s.BuffSize[p] = v
		}
	}
	s.WorkArgs = uint64(env.Int("NCCL_WORK_ARGS_BYTES", int64(s.WorkArgs)))
	s.WorkFIFO = uint64(env.Int("NCCL_WORK_FIFO_BYTES", int64(s.WorkFIFO)))
	if v, set := env.String("NCCL_ALGO"); set {
		s.Algos = &v
	}
	if v, set := env.String("NCCL_PROTO"); set {
		s.Protos = &v
	}
	s.Thresholds, _ = env.String("NCCL_THREAD_THRESHOLDS")
	return s
}
