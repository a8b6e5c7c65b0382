package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Machine can time settings.
type Machine interface {
	// Open sets one up. A setting that cannot run there is a *SkipError.
	Open(ctx context.Context, s Setting) (Session, error)
	// Estimate guesses how long one run of a setting takes.
	Estimate(s Setting) time.Duration
}

// Session times one setting, again and again.
type Session interface {
	// Run makes one AllReduce and gives its time.
	Run(ctx context.Context) (time.Duration, error)
	// Ran says what the setting became.
	Ran() Ran
	Close() error
}

// SkipError says why a setting cannot run on a machine.
type SkipError struct{ Reason string }

func (e *SkipError) Error() string { return e.Reason }

// Progress is told before each group of samples: what is done of all.
type Progress func(done, total int, s Setting)

// Run measures a recipe, going on with what res already holds: samples of
// earlier passes stay. On an error or an interrupt res keeps what was measured,
// and says that it is not finished.
func Run(ctx context.Context, m Machine, res *Result, progress Progress) error {
	res.Finished = false
	points, err := res.Recipe.Points()
	if err != nil {
		return err
	}
	if err := measure(ctx, m, res, points, progress); err != nil {
		return err
	}
	if res.Recipe.Interact {
		joint, err := Joint(res)
		if err != nil {
			return err
		}
		if err := measure(ctx, m, res, joint, progress); err != nil {
			return err
		}
	}
	res.Finished = true
	return nil
}

// measure makes the passes over some settings: forth, back, forth, ...
func measure(ctx context.Context, m Machine, res *Result, points []Point, progress Progress) error {
	total := len(points) * res.Recipe.Cycles
	for cycle := range res.Recipe.Cycles {
		for i := range points {
			at := i
			if cycle%2 == 1 {
				at = len(points) - 1 - i
			}
			target := res.point(points[at])
			if target.Skipped != "" || len(target.Passes) > cycle {
				continue
			}
			if progress != nil {
				progress(cycle*len(points)+i, total, target.Setting)
			}
			if err := sample(ctx, m, res.Recipe, target); err != nil {
				return fmt.Errorf("%v: %w", target.Setting, err)
			}
		}
	}
	return nil
}

// point finds a setting's measurement, or adds one.
func (r *Result) point(p Point) *Measurement {
	for i := range r.Points {
		if r.Points[i].Setting == p.Setting {
			return &r.Points[i]
		}
	}
	r.Points = append(r.Points, Measurement{Point: p})
	return &r.Points[len(r.Points)-1]
}

// sample takes one pass's samples of one setting. A pass that is cut short is
// left out, so that all passes weigh the same.
func sample(ctx context.Context, m Machine, r *Recipe, target *Measurement) (err error) {
	session, err := m.Open(ctx, target.Setting)
	var skip *SkipError
	if errors.As(err, &skip) {
		target.Skipped = skip.Reason
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	ran := session.Ran()
	target.Ran = &ran
	pass := make([]float64, 0, r.Iterations)
	for i := range r.Warmup + r.Iterations {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := session.Run(ctx)
		if err != nil {
			return err
		}
		if i >= r.Warmup {
			pass = append(pass, float64(d.Nanoseconds())/1e3)
		}
	}
	target.Passes = append(target.Passes, pass)
	return nil
}

// Estimate guesses how long a recipe takes, without its interactions, which
// depend on what is found; joint is how many settings they can add.
func Estimate(m Machine, r *Recipe) (d time.Duration, points, joint int, err error) {
	list, err := r.Points()
	if err != nil {
		return 0, 0, 0, err
	}
	for _, p := range list {
		d += m.Estimate(p.Setting) * time.Duration(r.Cycles*(r.Warmup+r.Iterations))
	}
	if r.Interact {
		joint = len(r.Vary) * (len(r.Vary) - 1) / 2
	}
	return d, len(list), joint, nil
}
