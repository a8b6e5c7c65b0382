package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/cuda"
)

// Job is what processes of one machine need to find each other; a *launch.Rank
// is one. Its context ends when a process is lost.
type Job interface {
	Exchange(ctx context.Context, data []byte, files ...*os.File) ([]launch.Part, error)
	Context() context.Context
}

// group is the other processes of an executor that has one process per rank.
type group struct {
	job     Job
	rank    int
	cards   []card           // of all ranks
	met     bool             // all are there, and each may have imported from others
	imports map[int]cuda.Ptr // arenas of the ring neighbours
	trouble string           // why LL128 is not safe, on any process
}

// card is what every process tells the others of its rank.
type card struct {
	UUID    [16]byte
	Ordinal int
	Handle  cuda.IPCHandle
	Trouble string // of lines of 128 bytes
	Error   string
}

// Join sets up one process's share of an executor: it holds the rank-th rank, on
// a GPU of its own, the rank-th or the only one that it sees. All processes call
// it with the same layout and options, and then run the same plans in the same
// order. Processes that share a GPU are refused: their kernels would be run by
// turns, and wait for each other for ever.
func Join(l *allreduce.Layout, o Options, job Job, rank int) (*Executor, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if err := checkFault(l, o.Fault, true); err != nil {
		return nil, err
	}
	if o.NoP2P {
		return nil, errNoP2P
	}
	if len(o.Devices) > 0 && len(o.Devices) != l.NRanks {
		return nil, fmt.Errorf("%d GPUs named for %d ranks", len(o.Devices), l.NRanks)
	}
	e := prepared(l, o, nil) // the driver is opened when the others can hear of a failure
	e.local = []int{rank}
	e.group = &group{job: job, rank: rank, imports: map[int]cuda.Ptr{}}
	if err := e.join(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// join goes through the same exchanges on all processes. Where one fails before
// an exchange it says so in it, and all end.
func (e *Executor) join() error {
	g := e.group
	var mine card
	failed := e.prepareJoin(&mine)
	if failed != nil {
		mine.Error = failed.Error()
	}
	if err := g.exchangeCards(mine); err != nil {
		if failed != nil {
			return failed // the others hear of it
		}
		return err
	}
	g.met = true
	mine.Error, mine.Trouble = "", ""
	if failed = e.importNeighbours(&mine); failed != nil {
		mine.Error = failed.Error()
	}
	if err := g.exchangeCards(mine); err != nil {
		if failed != nil {
			return failed // the others hear of it
		}
		return err
	}
	for r, c := range g.cards {
		if c.Trouble != "" {
			g.trouble = fmt.Sprintf("rank %d: %s", r, c.Trouble)
		}
	}
	return e.connectGroup()
}

// prepareJoin opens this process's GPU and offers its memory.
func (e *Executor) prepareJoin(mine *card) (err error) {
	rank := e.group.rank
	if e.driver, err = e.opts.openDriver(); err != nil {
		return err
	}
	ordinal := rank
	switch {
	case len(e.opts.Devices) > 0:
		ordinal = e.opts.Devices[rank]
	case len(e.driver.Devices()) == 1:
		ordinal = 0 // whoever started this process has given it its GPU
	}
	d, err := e.driver.Device(ordinal)
	if err != nil {
		return fmt.Errorf("rank %d: %w", rank, err)
	}
	mine.UUID, mine.Ordinal = d.UUID, d.Ordinal
	dev, err := openDevice(d, []int{rank}, e.layout)
	if err != nil {
		return fmt.Errorf("GPU %d with rank %d: %w", ordinal, rank, err)
	}
	e.devices = []*device{dev}
	e.seats[rank] = seat{dev, 0}
	if e.control, err = newControl(dev); err != nil {
		return err
	}
	return dev.Do(func() error {
		mine.Handle, err = dev.Export(dev.arenas[0])
		return err
	})
}

// exchangeCards tells all ranks about this one and hears of them. It fails on
// all processes when one of them has failed, or when two share a GPU.
func (g *group) exchangeCards(mine card) error {
	data, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	parts, err := g.job.Exchange(g.job.Context(), data)
	if err != nil {
		return err
	}
	g.cards = make([]card, len(parts))
	seen := map[[16]byte]int{}
	for r, p := range parts {
		c := &g.cards[r]
		if err := json.Unmarshal(p.Data, c); err != nil {
			return fmt.Errorf("what rank %d says of itself: %w", r, err)
		}
		if c.Error != "" {
			return fmt.Errorf("rank %d: %s", r, c.Error)
		}
		if other, ok := seen[c.UUID]; ok {
			return fmt.Errorf("ranks %d and %d are processes that share GPU %d: their kernels would wait for each other for ever; give each process a GPU, or run the ranks of a GPU in one process", other, r, c.Ordinal)
		}
		seen[c.UUID] = r
	}
	return nil
}

// neighbours lists the ranks that are next to this one on any ring.
func (e *Executor) neighbours() []int {
	var list []int
	for _, ring := range e.layout.Rings {
		n := len(ring)
		at := slices.Index(ring, e.group.rank)
		list = append(list, ring[(at+1)%n], ring[(at+n-1)%n])
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(r int) bool { return r == e.group.rank })
}

// importNeighbours maps the neighbours' arenas, proves that what is written
// there arrives, and finds out what the links promise.
func (e *Executor) importNeighbours(mine *card) error {
	d, g := e.devices[0], e.group
	for _, r := range e.neighbours() {
		err := d.Do(func() error {
			p, err := d.Import(g.cards[r].Handle)
			if err == nil {
				g.imports[r] = p
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("memory of rank %d on GPU %d: %w", r, g.cards[r].Ordinal, err)
		}
		peer := e.visible(g.cards[r].UUID)
		if peer == nil || !d.Device.NativeAtomics(peer) {
			mine.Trouble = fmt.Sprintf("its link to rank %d is no NVLink that is known of, and may deliver a line of 128 bytes in parts", r)
		}
	}
	return nil
}

// visible finds another process's GPU among those that this one sees.
func (e *Executor) visible(uuid [16]byte) *cuda.Device {
	for _, d := range e.driver.Devices() {
		if d.UUID == uuid {
			return d
		}
	}
	return nil
}

// connectGroup tells the kernels of this process where the neighbours' ends of
// its connections are, once a pattern has crossed each of them.
func (e *Executor) connectGroup() error {
	d, g, shape := e.devices[0], e.group, newArena(e.layout)
	own := shape.at(d.arenas[0])
	at := func(r int) arena {
		if r == g.rank {
			return own
		}
		return shape.at(g.imports[r])
	}
	table := make([]channelWire, e.layout.Channels())
	for c, ring := range e.layout.Rings {
		n, i := len(ring), slices.Index(ring, g.rank)
		prev, next := ring[(i+n-1)%n], ring[(i+1)%n]
		table[c] = channelWire{rank: uint32(g.rank), index: uint32(i), prev: uint32(prev), next: uint32(next),
			head: own.head(c), tail: own.tail(c), recv: own.fifos(c),
			prevHead: at(prev).head(c), nextTail: at(next).tail(c), send: at(next).fifos(c)}
	}
	bytes := int64(min(e.layout.BuffSize[allreduce.Simple], proofBytes))
	if err := g.agree(e.sendPatterns(table, bytes)); err != nil {
		return err
	}
	failed := e.comparePatterns(table, bytes)
	if f := e.opts.Fault; f.Kind == allreduce.SwapNeighbour && f.Rank == g.rank {
		// The neighbour's neighbour may be out of reach: what is sent gets lost.
		w := &table[f.Channel]
		w.nextTail, w.send = own.tail(f.Channel), own.fifos(f.Channel)
	}
	told := d.Do(func() error { return d.Upload(d.channels, bytesOfAll(table)) })
	return g.agree(errors.Join(failed, told))
}

// comparePatterns looks at what the ranks before this one have written into its
// FIFOs, and leaves them empty.
func (e *Executor) comparePatterns(table []channelWire, bytes int64) (failed error) {
	d := e.devices[0]
	for c := range table {
		from := cuda.Ptr(table[c].recv[allreduce.Simple])
		wrong, err := d.countWrong(from, bytes, seedOf(int(table[c].prev), c), d.tables)
		if err == nil && wrong > 0 {
			err = fmt.Errorf("%d of %d words that rank %d wrote by peer access arrived wrong", wrong, bytes/4, table[c].prev)
		}
		if err == nil {
			err = d.Do(func() error { return errors.Join(d.stream.Fill(from, 0, bytes), d.finish(proofLimit)) })
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// sendPatterns writes a pattern into the next ranks' FIFOs.
func (e *Executor) sendPatterns(table []channelWire, bytes int64) error {
	d := e.devices[0]
	for c := range table {
		if err := d.fillPattern(cuda.Ptr(table[c].send[allreduce.Simple]), bytes, seedOf(e.group.rank, c)); err != nil {
			return err
		}
	}
	return nil
}

func seedOf(rank, channel int) uint32 { return uint32(rank<<8 + channel + 1) }

// agree is a barrier that fails on all processes when one has failed.
func (g *group) agree(failed error) error {
	mine := g.cards[g.rank]
	mine.Error = ""
	if failed != nil {
		mine.Error = failed.Error()
	}
	return errors.Join(failed, g.exchangeCards(mine))
}

// meet has all processes start a run together. Where one of them has failed to
// prepare it none starts: that is the error, and another run may follow. After
// apart none may: a process is lost, or no longer waited for.
func (g *group) meet(ctx context.Context, failed error) (err, apart error) {
	var mine []byte
	if failed != nil {
		mine = []byte(failed.Error())
	}
	parts, apart := g.job.Exchange(ctx, mine)
	if apart != nil || failed != nil {
		return failed, apart
	}
	for r, p := range parts {
		if len(p.Data) > 0 {
			return fmt.Errorf("rank %d: %s", r, p.Data), nil
		}
	}
	return nil, nil
}

// dieOf ends a process that is to die, when the others have started.
func (g *group) dieOf(f allreduce.Fault) error {
	if f.Kind == allreduce.KillProcess && f.Rank == g.rank {
		p, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		return p.Kill()
	}
	return nil
}

// watch lets kernels leave their waits when a process is lost. The function that
// it returns ends the watch.
func (g *group) watch(c *control) func() {
	stop := context.AfterFunc(g.job.Context(), func() { c.abort().Store(1) })
	return func() { stop() }
}

// leave unmaps what belongs to others, before anybody frees it. It does not wait
// for the dead, and not long for the living.
func (g *group) leave(d *device) error {
	err := d.Do(func() error {
		var errs []error
		for _, p := range g.imports {
			errs = append(errs, d.Drop(p))
		}
		g.imports = nil
		return errors.Join(errs...)
	})
	g.bye()
	return err
}

// bye lets the others go on that have come as far. To those that would begin a
// run it says that there is none.
func (g *group) bye() {
	if !g.met {
		return
	}
	ctx, cancel := context.WithTimeout(g.job.Context(), 5*time.Second)
	defer cancel()
	_, _ = g.job.Exchange(ctx, []byte("it has left the job"))
}
