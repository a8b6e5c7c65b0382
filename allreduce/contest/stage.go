package contest

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// WrongError says that an entry gave wrong bits.
type WrongError struct {
	Entry  string
	When   string // before or after the rounds
	Result verify.Result
}

func (e *WrongError) Error() string {
	return fmt.Sprintf("%s: %d elements are wrong %s: first %v", e.Entry, e.Result.Wrong, e.When, e.Result.First)
}

// stage holds the buffers of a match and knows what must be in them.
type stage struct {
	match  *Match
	trials []*verify.Trial // by entry; the same for entries on the same memory
	owners []int           // entry whose plan a trial was made of
}

// stage allocates the buffers.
func (m *Match) stage() (*stage, error) {
	s := &stage{match: m}
	for i := range m.Entries {
		if err := s.enter(i); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", m.Entries[i].Name, err), s.close())
		}
	}
	return s, nil
}

func (s *stage) enter(i int) error {
	e := &s.match.Entries[i]
	for j := range i {
		if s.match.Entries[j].memory() == e.memory() {
			s.trials, s.owners = append(s.trials, s.trials[j]), append(s.owners, s.owners[j])
			return nil
		}
	}
	t, err := verify.NewTrial(e.memory(), e.Plan, verify.Options{Pattern: s.pattern(), Seed: 3, InPlace: s.match.InPlace})
	if err != nil {
		return err
	}
	s.trials, s.owners = append(s.trials, t), append(s.owners, i)
	return Adopt(e.memory(), t, s.match.InPlace)
}

// Adopt makes a trial's buffers known to a player that must know them before it
// uses them: NCCL's symmetric windows. Others need nothing.
func Adopt(p Player, t *verify.Trial, inPlace bool) error {
	r, ok := p.(registrar)
	if !ok {
		return nil
	}
	for _, args := range t.Args() {
		lists := [][]allreduce.Span{args.Recv, args.Send}
		if inPlace {
			lists = lists[:1]
		}
		for _, spans := range lists {
			var list []allreduce.Buffer
			for _, span := range spans {
				list = append(list, span.Buf)
			}
			if err := r.Register(list); err != nil {
				return err
			}
		}
	}
	return nil
}

// work is the AllReduce of the match: all entries have the same.
func (s *stage) work() *allreduce.Work { return &s.match.Entries[0].Plan.Works[0] }

func (s *stage) ranks() int { return s.match.Entries[0].Plan.Layout.NRanks }

// pattern gives random data where two ranks leave no choice in the order of
// additions, else small numbers whose sums are exact in any order.
func (s *stage) pattern() verify.Pattern {
	if s.ranks() <= 2 && s.work().Op != allreduce.Avg {
		return verify.Random
	}
	return verify.Marked
}

// known says whether the bits of an entry's result can be told.
func (s *stage) known(i int) bool {
	w := s.work()
	exact := !w.DType.IsFloat() || w.Op != allreduce.Avg || bits.OnesCount(uint(s.ranks())) == 1
	return exact || !s.match.Entries[i].Loose && s.owners[i] == i
}

// warm runs every entry once: some make connections or load kernels then, which
// must not happen while others are captured or timed.
func (s *stage) warm(ctx context.Context) error {
	for i := range s.match.Entries {
		if err := s.run(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) run(ctx context.Context, i int) error {
	e := &s.match.Entries[i]
	if _, err := e.Player.Run(ctx, e.Plan, s.trials[i].Args()); err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	return nil
}

func (s *stage) ready(i int, how How) (Replay, error) {
	e := &s.match.Entries[i]
	return e.Player.Ready(e.Plan, s.trials[i].Args(), callsPerLaunch, how)
}

// check sees whether an entry gives the right bits: by a launch of what is timed,
// in place by one run, since a launch sums again and again. It gives the number
// of wrong elements of a loose entry.
func (s *stage) check(ctx context.Context, i int, r Replay, when string) (wrong int64, err error) {
	e := &s.match.Entries[i]
	if err := s.trials[i].Fill(); err != nil {
		return 0, err
	}
	if s.match.InPlace {
		err = s.run(ctx, i)
	} else if _, err = r.Run(ctx, 1); err != nil {
		err = fmt.Errorf("%s: %w", e.Name, err)
	}
	if err != nil || !s.known(i) {
		return 0, err
	}
	result, err := s.trials[i].Check()
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: %w", e.Name, err)
	case result.OK() || e.Loose:
		return result.Wrong, nil
	}
	return 0, &WrongError{Entry: e.Name, When: when, Result: result}
}

func (s *stage) close() error {
	var errs []error
	for i, t := range s.trials {
		if s.owners[i] == i {
			errs = append(errs, t.Close())
		}
	}
	return errors.Join(errs...)
}
