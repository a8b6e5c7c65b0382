package bench

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Recipe says what an experiment varies and how carefully it measures.
type Recipe struct {
	Name     string `yaml:"name" json:"name"`
	About    string `yaml:"about" json:"about"`
	Question string `yaml:"question" json:"question,omitempty"`
	// Baseline is where every axis is varied from, by name; what it leaves out
	// is DefaultBaseline's.
	Baseline map[string]string `yaml:"baseline" json:"baseline"`
	// Vary lists the levels of each axis that is varied alone.
	Vary map[string][]string `yaml:"vary" json:"vary,omitempty"`
	// Grid lists the levels of axes of which every combination is measured.
	Grid map[string][]string `yaml:"grid" json:"grid,omitempty"`
	// Interact asks for the joint settings of all pairs of axes in Vary whose
	// levels made a difference, each at the level that made the largest.
	Interact bool `yaml:"interact" json:"interact,omitempty"`

	Warmup     int `yaml:"warmup" json:"warmup"`         // runs before each group of samples, not counted
	Cycles     int `yaml:"cycles" json:"cycles"`         // passes over all settings, every other one backwards
	Iterations int `yaml:"iterations" json:"iterations"` // samples of a setting in one pass
	// CVLimit is the coefficient of variation above which a setting's samples
	// are not used for conclusions; Tie is the relative difference below which
	// two settings count as equally fast.
	CVLimit float64 `yaml:"cvLimit" json:"cvLimit"`
	Tie     float64 `yaml:"tie" json:"tie"`
}

// ErrRecipe is wrapped by every error about what a recipe says.
var ErrRecipe = errors.New("the recipe cannot be used")

// Limits of a recipe, so that a slip of the pen does not run for days.
const (
	maxSettings = 10000
	maxRuns     = 10_000_000
)

// DefaultBaseline is where a recipe that says nothing starts.
func DefaultBaseline() Setting {
	return Setting{
		Bytes: 1 << 20, World: 4, Algo: "Ring", Proto: "Simple",
		BuffSize: allreduce.DefaultBuffSize()[allreduce.Simple], DType: allreduce.Float32, Op: allreduce.Sum,
	}
}

//go:embed recipes/*.yaml
var shipped embed.FS

// Shipped lists the names of the recipes that come with the program.
func Shipped() []string {
	entries, _ := fs.ReadDir(shipped, "recipes") // embedded, cannot fail
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	return names
}

// OpenShipped reads a recipe that comes with the program.
func OpenShipped(name string) (*Recipe, error) {
	f, err := shipped.Open(path.Join("recipes", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("%w: there is none named %q: there are %s", ErrRecipe, name, strings.Join(Shipped(), ", "))
	}
	defer func() { _ = f.Close() }() // embedded
	return ReadRecipe(f, name)
}

// ReadRecipe reads and checks a YAML recipe; name is for messages.
func ReadRecipe(r io.Reader, name string) (*Recipe, error) {
	rec := &Recipe{Warmup: 2, Cycles: 2, Iterations: 20, CVLimit: 0.10, Tie: 0.03}
	d := yaml.NewDecoder(io.LimitReader(r, 1<<20))
	d.KnownFields(true)
	err := d.Decode(rec)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %s is empty", ErrRecipe, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrRecipe, name, err)
	}
	if rec.Name == "" {
		rec.Name = name
	}
	if err := rec.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrRecipe, name, err)
	}
	return rec, nil
}

// Same tells whether another recipe measures the same in the same way.
func (r *Recipe) Same(o *Recipe) bool {
	return maps.Equal(r.Baseline, o.Baseline) && sameLevels(r.Vary, o.Vary) && sameLevels(r.Grid, o.Grid) && r.Interact == o.Interact &&
		r.Warmup == o.Warmup && r.Cycles == o.Cycles && r.Iterations == o.Iterations && r.CVLimit == o.CVLimit && r.Tie == o.Tie
}

func sameLevels(a, b map[string][]string) bool { return maps.EqualFunc(a, b, slices.Equal) }

// Validate says what a recipe asks for that cannot be.
func (r *Recipe) Validate() error {
	if r.Warmup < 0 || r.Cycles < 1 || r.Iterations < 1 {
		return errors.New("want warmup from 0, cycles and iterations from 1 on")
	}
	if !(r.CVLimit > 0 && r.Tie >= 0) || math.IsInf(r.CVLimit, 0) || math.IsInf(r.Tie, 0) { // nor NaN: results could not be kept
		return errors.New("want cvLimit above 0 and tie from 0 on, both finite")
	}
	if len(r.Vary) == 0 && len(r.Grid) == 0 {
		return errors.New("nothing is varied: give vary or grid")
	}
	if r.Interact && len(r.Vary) < 2 {
		return errors.New("interact needs at least two axes under vary")
	}
	points, err := r.Points()
	if err != nil {
		return err
	}
	runs := float64(len(points)) * float64(r.Cycles) * (float64(r.Warmup) + float64(r.Iterations)) // overflows nowhere
	switch {
	case len(points) > maxSettings:
		return fmt.Errorf("%d settings are too many: want at most %d", len(points), maxSettings)
	case runs > maxRuns:
		return fmt.Errorf("%d settings in %d cycles of %d and %d runs are too many: want at most %d runs in all", len(points), r.Cycles, r.Warmup, r.Iterations, maxRuns)
	}
	return nil
}

// Start is the setting that everything is compared with.
func (r *Recipe) Start() (Setting, error) {
	s := DefaultBaseline()
	for _, a := range axes {
		if v, ok := r.Baseline[a.name]; ok {
			var err error
			if s, err = s.With(a.name, v); err != nil {
				return s, fmt.Errorf("baseline: %w", err)
			}
		}
	}
	for name := range r.Baseline {
		if _, err := findAxis(name); err != nil {
			return s, fmt.Errorf("baseline: %w", err)
		}
	}
	return s, nil
}

// Points lists the settings to measure before any interaction: the baseline
// first, then each axis alone, then the grid; no setting twice.
func (r *Recipe) Points() ([]Point, error) {
	start, err := r.Start()
	if err != nil {
		return nil, err
	}
	points := []Point{{Setting: start}}
	add := func(p Point) {
		if !slices.ContainsFunc(points, func(q Point) bool { return q.Setting == p.Setting }) {
			points = append(points, p)
		}
	}
	if err := known(r.Vary); err != nil {
		return nil, fmt.Errorf("vary: %w", err)
	}
	for _, a := range axes {
		for _, v := range r.Vary[a.name] {
			s, err := start.With(a.name, v)
			if err != nil {
				return nil, fmt.Errorf("vary: %w", err)
			}
			add(Point{Setting: s, Axes: []string{a.name}})
		}
	}
	grid, err := r.grid(start)
	if err != nil {
		return nil, fmt.Errorf("grid: %w", err)
	}
	for _, p := range grid {
		add(p)
	}
	return points, nil
}

func known(levels map[string][]string) error {
	for name, values := range levels {
		if _, err := findAxis(name); err != nil {
			return err
		}
		if len(values) == 0 {
			return fmt.Errorf("%s has no levels", name)
		}
	}
	return nil
}

func (r *Recipe) grid(start Setting) ([]Point, error) {
	if len(r.Grid) == 0 {
		return nil, nil
	}
	if err := known(r.Grid); err != nil {
		return nil, err
	}
	points := []Point{{Setting: start}}
	for _, a := range axes {
		values, ok := r.Grid[a.name]
		if !ok {
			continue
		}
		if len(points)*len(values) > maxSettings {
			return nil, fmt.Errorf("more than %d combinations", maxSettings)
		}
		var next []Point
		for _, p := range points {
			for _, v := range values {
				s, err := p.Setting.With(a.name, v)
				if err != nil {
					return nil, err
				}
				next = append(next, Point{Setting: s, Axes: append(slices.Clone(p.Axes), a.name)})
			}
		}
		points = next
	}
	return points, nil
}
