package verify

import (
	"fmt"
	"strings"
)

// Pattern is the kind of an input.
type Pattern uint8

// Patterns. All depend on the rank except Ones.
const (
	// Random bits: all of them for integers, finite values of mixed size and
	// sign for floats, so that a wrong order of additions shows.
	Random Pattern = iota
	// Ones everywhere: a wrong count of inputs shows, whatever the order.
	Ones
	// Ramp counts up with the element: an element out of place shows.
	Ramp
	// Marked is constant within a chunk, with rank and chunk in the value: a
	// chunk out of place shows.
	Marked
	numPatterns
)

var patternNames = [...]string{"random", "ones", "ramp", "marked"}

// Patterns lists all.
func Patterns() []Pattern { return []Pattern{Random, Ones, Ramp, Marked} }

func (p Pattern) String() string {
	if p < numPatterns {
		return patternNames[p]
	}
	return fmt.Sprintf("Pattern(%d)", uint8(p))
}

// ParsePattern reads a name such as "ramp".
func ParsePattern(s string) (Pattern, error) {
	for i, name := range patternNames {
		if strings.EqualFold(s, name) {
			return Pattern(i), nil
		}
	}
	return 0, fmt.Errorf("unknown pattern %q: want one of %s", s, strings.Join(patternNames[:], ", "))
}
