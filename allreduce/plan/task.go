package plan

import (
	"math/bits"
	"slices"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Task is one AllReduce as the user asks for it.
type Task struct {
	Count int64 // elements
	DType allreduce.DType
	Op    allreduce.Op
}

// Bytes is the size of the message.
func (t Task) Bytes() int64 { return t.Count * int64(t.DType.Size()) }

// trafficPerByte is how often an AllReduce moves each byte.
const trafficPerByte = 2

// job is a task under way through the planner.
type job struct {
	Task
	call   int // index among the user's tasks
	choice Choice
}

func (j *job) traffic() uint64 { return uint64(j.Bytes()) * trafficPerByte }

// kind tells the queues apart whose channels are counted for themselves.
type kind int

const (
	kindPeers kind = iota // rings and trees
	kindNVLS
	nKinds = 4 // NCCL has two more for CollNet
)

func (j *job) kind() kind {
	if j.choice.Algo == allreduce.NVLS || j.choice.Algo == allreduce.NVLSTree {
		return kindNVLS
	}
	return kindPeers
}

// bin sorts traffic roughly: four bins for every doubling from 1 KiB to 1 GiB,
// larger first.
func bin(traffic uint64) int {
	x := uint32(min(traffic, 1<<30) >> 10)
	top := bits.Len32(x|1) - 1
	if top < 2 {
		return 80 - int(x&3)
	}
	return 80 - (4*(top-1) + int(x>>(top-2)&3))
}

// class is what tasks must share to be aggregated.
type class struct {
	op    allreduce.Op
	dtype allreduce.DType
}

// classOf: min and max are one operator with an argument.
func classOf(t Task) class {
	op := t.Op
	if op == allreduce.Min {
		op = allreduce.Max
	}
	return class{op, t.DType}
}

// order sorts the tasks of a group: classes by their largest task, the tasks of
// a class by ascending size, equal ones as they came. Empty tasks drop out.
func order(tasks []Task) [][]*job {
	var jobs []*job
	for i, t := range tasks {
		if t.Count > 0 {
			jobs = append(jobs, &job{Task: t, call: i})
		}
	}
	// Largest first; within a bin the later one first.
	slices.Reverse(jobs)
	slices.SortStableFunc(jobs, func(a, b *job) int { return bin(a.traffic()) - bin(b.traffic()) })
	place := map[class]int{}
	var classes [][]*job
	for _, j := range jobs {
		at, known := place[classOf(j.Task)]
		if !known {
			at = len(classes)
			place[classOf(j.Task)] = at
			classes = append(classes, nil)
		}
		classes[at] = append(classes[at], j)
	}
	for _, jobs := range classes {
		slices.Reverse(jobs)
	}
	return classes
}

// aggregate cuts a class into runs whose members have less than four times the
// first one's traffic: they are chosen for together.
func aggregate(class []*job) [][]*job {
	var runs [][]*job
	for len(class) > 0 {
		n := 1
		for n < len(class) && class[n].traffic() < 4*class[0].traffic() {
			n++
		}
		runs = append(runs, class[:n])
		class = class[n:]
	}
	return runs
}
