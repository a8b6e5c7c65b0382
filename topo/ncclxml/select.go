package ncclxml

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/internal/cnum"
	"github.com/ringtopo/ringtopo/topo"
)

// Select gives the machine as the ranks of a job on it see it: each rank knows
// the way to its own GPU and to every network, and what the ranks know is fused
// in rank order. The result is a document of its own with rank attributes 0 to
// n-1; d does not change.
//
// devs are device numbers: rank i runs on devs[i]. Without any, all GPUs take
// part, in the order of their rank attributes where every GPU has one, else by
// device number. A number that is not there or is given twice is a
// *DeviceError, everything else an *Error.
func (d *Document) Select(devs []int) (*Document, error) {
	if err := d.Expect(Topology); err != nil {
		return nil, err
	}
	if err := d.validate(); err != nil {
		return nil, err
	}
	out := &Document{Name: d.Name, Tail: d.Tail, Assumed: slices.Clone(d.Assumed), left: map[topo.BusID]bool{}}
	seats, err := d.seats(out)
	if err != nil {
		return nil, err
	}
	job, err := d.assign(seats, devs)
	if err != nil {
		return nil, err
	}
	for _, s := range seats {
		if !slices.Contains(job, s) {
			out.left[s.bus()] = true
		}
	}
	out.Root = fuse(d.Root, job)
	out.closeGaps()
	return out, nil
}

// seat is a GPU of the file and the way to it: system, cpu, pci..., gpu.
type seat struct {
	path []*Element
	dev  int
}

func (s *seat) gpu() *Element { return s.path[len(s.path)-1] }

func (s *seat) bus() topo.BusID {
	id, _ := s.path[len(s.path)-2].Get("busid")
	return topo.ParseBusID(id)
}

// seats lists the GPUs of the file. Where none has a device number they are
// counted.
func (d *Document) seats(out *Document) ([]*seat, error) {
	var seats []*seat
	numbered := 0
	collectSeats(d.Root, nil, &seats)
	for _, s := range seats {
		if dev, ok := s.gpu().Get("dev"); ok {
			s.dev = cnum.Int32(dev)
			numbered++
		}
	}
	if len(seats) == 0 {
		return nil, d.noGPUs()
	}
	if len(seats) > MaxGPUs {
		return nil, d.tooLarge(d.Root, fmt.Sprintf("%d GPUs, NCCL takes %d", len(seats), MaxGPUs))
	}
	for i, s := range seats {
		if numbered == 0 {
			s.dev = i
			out.assume(s.gpu(), "dev missing: GPUs counted in the order of the file")
		} else if _, ok := s.gpu().Get("dev"); !ok {
			return nil, d.nonsense(s.gpu(), "dev is missing", "number the GPUs as nvidia-smi does: dev=\"0\" and so on")
		}
	}
	return seats, d.distinct(seats, "dev", func(s *seat) int { return s.dev })
}

func collectSeats(e *Element, path []*Element, seats *[]*seat) {
	path = append(path, e)
	if e.Name == "gpu" {
		*seats = append(*seats, &seat{path: slices.Clone(path)})
		return
	}
	for _, c := range accepted(e) {
		collectSeats(c, path, seats)
	}
}

// assign orders the seats by rank.
func (d *Document) assign(seats []*seat, devs []int) ([]*seat, error) {
	if len(devs) > 0 {
		return d.pick(seats, devs)
	}
	job := slices.Clone(seats)
	if slices.ContainsFunc(job, func(s *seat) bool { _, ok := s.gpu().Get("rank"); return !ok }) {
		slices.SortStableFunc(job, func(a, b *seat) int { return cmp.Compare(a.dev, b.dev) })
		return job, nil
	}
	slices.SortStableFunc(job, func(a, b *seat) int { return cmp.Compare(a.rank(), b.rank()) })
	return job, d.distinct(job, "rank", (*seat).rank)
}

func (s *seat) rank() int {
	rank, _ := s.gpu().Get("rank")
	return cnum.Int32(rank)
}

func (d *Document) pick(seats []*seat, devs []int) ([]*seat, error) {
	byDev := map[int]*seat{}
	have := make([]int, 0, len(seats))
	for _, s := range seats {
		byDev[s.dev] = s
		have = append(have, s.dev)
	}
	slices.Sort(have)
	job := make([]*seat, 0, len(devs))
	for i, dev := range devs {
		s := byDev[dev]
		twice := slices.Contains(devs[:i], dev)
		if s == nil || twice {
			return nil, &DeviceError{File: d.Name, Dev: dev, Duplicate: twice, Have: have}
		}
		job = append(job, s)
	}
	return job, nil
}

// distinct refuses two GPUs with the same number of some kind.
func (d *Document) distinct(seats []*seat, key string, number func(*seat) int) error {
	seen := map[int]*seat{}
	for _, s := range seats {
		n := number(s)
		if other := seen[n]; other != nil {
			return d.nonsense(s.gpu(), fmt.Sprintf("%s %d is also that of %s", key, n, other.gpu().at()),
				"each GPU needs its own; several ranks on one GPU are not supported")
		}
		seen[n] = s
	}
	return nil
}
