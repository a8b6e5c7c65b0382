package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Setting is one configuration of an AllReduce.
type Setting struct {
	Bytes    int64           `json:"bytes"`    // of the message
	World    int             `json:"world"`    // ranks
	Channels int             `json:"channels"` // 0: as the planner chooses
	Algo     string          `json:"algo"`     // a name, auto, or best
	Proto    string          `json:"proto"`    // a name, or auto
	BuffSize int             `json:"buffsize"` // bytes of a connection's FIFO
	Threads  int             `json:"threads"`  // 0: as the planner chooses
	DType    allreduce.DType `json:"dtype"`
	Op       allreduce.Op    `json:"op"`
	InPlace  bool            `json:"inPlace"`
}

// Auto leaves a choice to the planner. Best, as an algorithm, asks for the best
// choice that is known of the machine.
const (
	Auto = "auto"
	Best = "best"
)

// axis is a property of a setting that can be varied.
type axis struct {
	name string
	get  func(*Setting) string
	set  func(*Setting, string) error
}

// axes are all that can be varied, in the order in which tables show them.
var axes = []axis{
	{"algo", func(s *Setting) string { return s.Algo }, setAlgo},
	{"proto", func(s *Setting) string { return s.Proto }, setProto},
	{"world", func(s *Setting) string { return strconv.Itoa(s.World) }, setInt(func(s *Setting) *int { return &s.World }, 1)},
	{"channels", func(s *Setting) string { return orAuto(s.Channels) }, setInt(func(s *Setting) *int { return &s.Channels }, 0)},
	{"threads", func(s *Setting) string { return orAuto(s.Threads) }, setInt(func(s *Setting) *int { return &s.Threads }, 0)},
	{"buffsize", func(s *Setting) string { return FormatBytes(int64(s.BuffSize)) }, setBuffSize},
	{"dtype", func(s *Setting) string { return s.DType.String() }, func(s *Setting, v string) error { return s.DType.UnmarshalText([]byte(v)) }},
	{"op", func(s *Setting) string { return s.Op.String() }, func(s *Setting, v string) error { return s.Op.UnmarshalText([]byte(v)) }},
	{"inplace", func(s *Setting) string { return strconv.FormatBool(s.InPlace) }, setInPlace},
	{"bytes", func(s *Setting) string { return FormatBytes(s.Bytes) }, setBytes},
}

// AxisNames lists what can be varied.
func AxisNames() []string {
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = a.name
	}
	return names
}

func findAxis(name string) (axis, error) {
	i := slices.IndexFunc(axes, func(a axis) bool { return a.name == name })
	if i < 0 {
		return axis{}, fmt.Errorf("unknown setting %q: there are %s", name, strings.Join(AxisNames(), ", "))
	}
	return axes[i], nil
}

// Get gives one property as text.
func (s Setting) Get(name string) (string, error) {
	a, err := findAxis(name)
	if err != nil {
		return "", err
	}
	return a.get(&s), nil
}

// With gives the setting with one property changed.
func (s Setting) With(name, value string) (Setting, error) {
	a, err := findAxis(name)
	if err != nil {
		return s, err
	}
	if err := a.set(&s, value); err != nil {
		return s, fmt.Errorf("%s %q: %w", name, value, err)
	}
	return s, nil
}

// String names every property, for messages.
func (s Setting) String() string {
	var b strings.Builder
	for i, a := range axes {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%s", a.name, a.get(&s))
	}
	return b.String()
}

func orAuto(v int) string {
	if v == 0 {
		return Auto
	}
	return strconv.Itoa(v)
}

func setAlgo(s *Setting, v string) error {
	for _, word := range []string{Auto, Best} {
		if strings.EqualFold(v, word) {
			s.Algo = word
			return nil
		}
	}
	a, err := allreduce.ParseAlgo(v)
	s.Algo = a.String()
	return err
}

func setProto(s *Setting, v string) error {
	if strings.EqualFold(v, Auto) {
		s.Proto = Auto
		return nil
	}
	p, err := allreduce.ParseProto(v)
	s.Proto = p.String()
	return err
}

// setInt reads a number from least on, or auto for 0 where that is allowed.
func setInt(field func(*Setting) *int, least int) func(*Setting, string) error {
	return func(s *Setting, v string) error {
		if least == 0 && strings.EqualFold(v, Auto) {
			*field(s) = 0
			return nil
		}
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return fmt.Errorf("want a number from 1 on")
		}
		*field(s) = n
		return nil
	}
}

func setBytes(s *Setting, v string) (err error) {
	s.Bytes, err = ParseBytes(v)
	return err
}

func setBuffSize(s *Setting, v string) error {
	n, err := ParseBytes(v)
	s.BuffSize = int(n)
	return err
}

func setInPlace(s *Setting, v string) (err error) {
	s.InPlace, err = strconv.ParseBool(v)
	return err
}

// ParseBytes reads a size in bytes as [allreduce.ParseBytes] does.
func ParseBytes(text string) (int64, error) { return allreduce.ParseBytes(text) }

// FormatBytes writes a size with the largest unit that leaves a whole number.
func FormatBytes(n int64) string { return allreduce.FormatBytes(n) }
