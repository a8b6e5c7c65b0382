package launch

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// World is what an outside launcher tells a process of its place.
type World struct {
	Launcher             string // Open MPI, PMI, Slurm or torchrun
	Rank, Size           int
	LocalRank, LocalSize int    // on this host; LocalSize 0: unknown
	Job                  string // tells jobs of one host apart
	Master               string // host:port of rank 0, where the launcher says so
}

// Local reports whether all processes run on this host.
func (w World) Local() bool { return w.LocalSize == w.Size }

// dialect is how one launcher calls things. The first two must be there.
type dialect struct {
	launcher, rank, size, localRank, localSize string
	job                                        []string
	unless                                     string // of another launcher, which has started this process by that one
}

var dialects = []dialect{
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
		[]string{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_ess_jobid"}, "TORCHELASTIC_RUN_ID"},
	{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", []string{"TORCHELASTIC_RUN_ID", "MASTER_PORT"}, ""},
	{"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", []string{"PMI_ID", "HYDRA_JOBID"}, "SLURM_STEP_ID"},
	// Inside an allocation, but not started by srun, there is no step.
	{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", []string{"SLURM_JOB_ID", "SLURM_STEP_ID"}, ""},
}

// FromEnv reads a launcher's variables. ok is false where there are none, or
// where the job has one process only.
func FromEnv(lookup func(string) (string, bool)) (w World, ok bool, err error) {
	for i := range dialects {
		d := &dialects[i]
		_, hasRank := lookup(d.rank)
		_, hasSize := lookup(d.size)
		_, other := lookup(d.unless)
		if !hasRank || !hasSize || d.unless != "" && other {
			continue
		}
		w, err = d.read(lookup)
		return w, err == nil && w.Size > 1, err
	}
	return World{}, false, nil
}

func (d *dialect) read(lookup func(string) (string, bool)) (w World, err error) {
	w.Launcher = d.launcher
	number := func(name string, least, most int) int {
		v, set := lookup(name)
		if name == "" || !set || err != nil {
			return 0
		}
		n, bad := strconv.Atoi(v)
		if bad != nil || n < least || n > most {
			err = fmt.Errorf("%s=%q: want a number from %d to %d", name, v, least, most)
		}
		return n
	}
	w.Size = number(d.size, 1, maxRanks)
	w.Rank = number(d.rank, 0, w.Size-1)
	w.LocalSize = number(d.localSize, 1, w.Size)
	if d.localSize == "" && number("SLURM_STEP_NUM_NODES", 1, w.Size) == 1 { // one node: all of them
		w.LocalSize = w.Size
	}
	w.LocalRank = number(d.localRank, 0, cmp.Or(w.LocalSize, w.Size)-1)
	for _, name := range d.job {
		if v, set := lookup(name); set {
			w.Job += name + "=" + v + " "
		}
	}
	w.Master = master(lookup)
	return w, err
}

// maxRanks bounds a job.
const maxRanks = 1 << 15

func master(lookup func(string) (string, bool)) string {
	host, ok := lookup("MASTER_ADDR")
	port, okToo := lookup("MASTER_PORT")
	if !ok || !okToo {
		return ""
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}
