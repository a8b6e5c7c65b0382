package plan

import (
	"errors"
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/connect"
)

// ErrOverrun is wrapped where a group cannot be planned on because an earlier
// task already reached past the last channel.
var ErrOverrun = errors.New("channels are used up")

// mostBytes is the largest message, so that traffic fits in 64 bits.
const mostBytes = 1 << 60

// Planner lays tasks over the channels of one communicator.
type Planner struct {
	*Tuning
	layout   *allreduce.Layout
	channels []int
	mended   bool
}

// Option changes a Planner.
type Option interface{ apply(*Planner) }

type optionFunc func(*Planner)

func (f optionFunc) apply(p *Planner) { f(p) }

// OnChannels lays messages over these channels only, in this order, as if the
// communicator had no others.
func OnChannels(list []int) Option { return optionFunc(func(p *Planner) { p.channels = list }) }

// Mended keeps groups from running past the last channel, as NCCL's arithmetic
// can: a task that would do so begins on the channel after the full one.
func Mended() Option { return optionFunc(func(p *Planner) { p.mended = true }) }

// New sets a planner up.
func New(c *connect.Comm, s Settings, opts ...Option) (*Planner, error) {
	if c.NRanks < 1 || c.NNodes < 1 || c.NChannels < 1 {
		return nil, fmt.Errorf("communicator of %d ranks, %d nodes, %d channels: want at least one of each", c.NRanks, c.NNodes, c.NChannels)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	layout, err := allreduce.NewLayout(c, s.BuffSize)
	if err != nil {
		return nil, err
	}
	p := &Planner{layout: layout}
	for _, o := range opts {
		o.apply(p)
	}
	if err := p.checkChannels(c.NChannels); err != nil {
		return nil, err
	}
	if p.channels != nil {
		few := *c
		few.NChannels = len(p.channels)
		few.NVLSChannels = min(few.NVLSChannels, few.NChannels)
		c = &few
	}
	p.Tuning = NewTuning(c, s)
	return p, nil
}

func (p *Planner) checkChannels(n int) error {
	var seen uint64
	for _, c := range p.channels {
		if c < 0 || c >= n {
			return fmt.Errorf("channel %d: the communicator has channels 0 to %d", c, n-1)
		}
		if seen>>c&1 != 0 {
			return fmt.Errorf("channel %d is listed twice", c)
		}
		seen |= 1 << c
	}
	if p.channels != nil && len(p.channels) == 0 {
		return errors.New("an empty list of channels")
	}
	return nil
}

// Layout is what executors must be set up with to run the plans.
func (p *Planner) Layout() *allreduce.Layout { return p.layout }

// Plan lays a group of tasks over channels: usually one launch, more where the
// group is too large for one. Tasks without elements drop out.
func (p *Planner) Plan(tasks []Task, force Force) ([]*Launch, error) {
	for i, t := range tasks {
		if t.Count < 0 || t.Count > mostBytes/int64(t.DType.Size()) {
			return nil, fmt.Errorf("operation %d: %d elements of %s: want 0 to %d", i, t.Count, t.DType, mostBytes/int64(t.DType.Size()))
		}
	}
	queue, err := p.queue(tasks, force)
	if err != nil {
		return nil, err
	}
	return p.launches(queue)
}

// launches fills one launch after the other.
func (p *Planner) launches(queue []*job) ([]*Launch, error) {
	var launches []*Launch
	for len(queue) > 0 {
		l, rest, err := p.launch(queue)
		if err != nil {
			return nil, err
		}
		launches, queue = append(launches, l), rest
	}
	return launches, nil
}

// queue chooses for every task and puts them in the order of launch.
func (p *Planner) queue(tasks []Task, force Force) ([]*job, error) {
	classes, n := order(tasks), 0
	for _, class := range classes {
		n += len(class)
	}
	var queues [nKinds][]*job
	for _, class := range classes {
		for _, run := range aggregate(class) {
			if err := p.chooseFor(run, ceil(n, p.comm.NChannels), force); err != nil {
				return nil, err
			}
			k := run[0].kind()
			queues[k] = append(queues[k], run...)
		}
	}
	return append(queues[kindPeers], queues[kindNVLS]...), nil
}

// chooseFor chooses once for all tasks of an aggregate.
func (p *Planner) chooseFor(run []*job, pipe int, force Force) error {
	var bytes int64
	for _, j := range run {
		bytes += j.Bytes()
	}
	choice, err := p.Choose(bytes, run[0].DType, run[0].Op, pipe, force)
	if err != nil {
		return fmt.Errorf("%d bytes of %s: %w", bytes, run[0].DType, err)
	}
	for _, j := range run {
		j.choice = choice
	}
	return nil
}

func (p *Planner) limit(k kind) int {
	if k == kindNVLS {
		return p.comm.NVLSChannels
	}
	return p.comm.NChannels
}

// launch fills one launch from the head of the queue.
func (p *Planner) launch(queue []*job) (*Launch, []*job, error) {
	room := p.settings.budget()
	n, targets := p.targets(queue, room)
	l := &Launch{Plan: &allreduce.Plan{Layout: p.layout}}
	b, last := newBatches(), kind(-1)
	var at cursor
	for ; n > 0; n-- {
		j := queue[0]
		if k := j.kind(); k != last {
			at, last = cursor{limit: p.limit(k), target: targets[k]}, k
		}
		if at.channel >= at.limit {
			return nil, nil, fmt.Errorf("operation %d: %w: %d of %d", j.call, ErrOverrun, at.channel, at.limit)
		}
		s := p.place(&at, j)
		if !room.fits(b.total+s.last-s.first+1, l.WorkBytes+recordBytes) {
			break
		}
		if err := l.add(p.Tuning, j, s, at.limit, p.channels, b); err != nil {
			return nil, nil, fmt.Errorf("operation %d: %w", j.call, err)
		}
		at.advance(s, j.DType.Size())
		queue = queue[1:]
	}
	if len(l.Details) == 0 {
		return nil, nil, fmt.Errorf("operation %d does not fit in one launch: raise NCCL_WORK_ARGS_BYTES (%d)", queue[0].call, p.settings.WorkArgs)
	}
	l.finish(p.Tuning, b)
	return l, queue, nil
}

// place lays a job out from the cursor on.
func (p *Planner) place(at *cursor, j *job) spread {
	before := *at
	s := at.place(j.Count, j.DType.Size())
	if p.mended && s.last >= at.limit {
		*at = cursor{limit: before.limit, channel: before.channel + 1, target: before.target}
		s = at.place(j.Count, j.DType.Size())
	}
	return s
}

// targets says how many tasks of the queue may fit, and what traffic each
// channel should get from those of one kind.
func (p *Planner) targets(queue []*job, room budget) (n int, targets [nKinds]uint64) {
	var traffic [nKinds]uint64
	var channels [nKinds]int
	for _, j := range queue {
		if !room.fits(ceil(n, 4), (n+1)*recordBytes) {
			break
		}
		n++
		k := j.kind()
		traffic[k] += j.traffic()
		channels[k] = min(channels[k]+j.choice.NChannels, p.limit(k))
	}
	for k := range targets {
		targets[k] = minTraffic
		if channels[k] > 0 {
			targets[k] = max(minTraffic, traffic[k]/uint64(channels[k]))
		}
	}
	return n, targets
}
