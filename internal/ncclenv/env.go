package ncclenv

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ringtopo/ringtopo/internal/cnum"
)

// prefix is that of all variables that an Env holds.
const prefix = "NCCL_"

// Env is a set of NCCL variables. It may be used by several goroutines.
type Env struct {
	vars map[string]string
	set  map[string]bool // given by With

	mu     sync.Mutex
	looked map[string]bool
	acted  map[string]string
	notes  []string
	misfit []string // what Misfits tells
}

func newEnv() *Env {
	return &Env{
		vars:   map[string]string{},
		set:    map[string]bool{},
		looked: map[string]bool{},
		acted:  map[string]string{},
	}
}

// FromEnviron takes NCCL's variables from an environment as os.Environ gives
// it. Of a name that is there twice the first counts, as for getenv.
func FromEnviron(environ []string) *Env {
	e := newEnv()
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if _, twice := e.vars[name]; ok && !twice && strings.HasPrefix(name, prefix) {
			e.vars[name] = value
		}
	}
	return e
}

// With gives a copy in which the given variables stand above those of e.
// Nothing has been looked up in the copy yet.
func (e *Env) With(set map[string]string) *Env {
	c := newEnv()
	maps.Copy(c.vars, e.vars)
	maps.Copy(c.set, e.set)
	for name, value := range set {
		c.vars[name] = value
		c.set[name] = true
	}
	return c
}

// ParseSetting takes NAME=VALUE apart. The name must be one of NCCL's.
func ParseSetting(s string) (name, value string, err error) {
	name, value, ok := strings.Cut(s, "=")
	switch {
	case !ok:
		return "", "", fmt.Errorf("setting %q has no value; the form is NAME=VALUE, for example NCCL_MIN_NCHANNELS=12", s)
	case !strings.HasPrefix(name, prefix) || len(name) == len(prefix):
		return "", "", fmt.Errorf("setting %q: the name must start with %s", s, prefix)
	case strings.ContainsFunc(name, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') }):
		return "", "", fmt.Errorf("setting %q: a name has capital letters, digits and _ only", s)
	}
	return name, value, nil
}

// String looks a variable up as text. An empty one is there, too.
func (e *Env) String(name string) (value string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.looked[name] = true
	if value, ok = e.vars[name]; ok {
		e.acted[name] = value
	}
	return value, ok
}

// Int looks an integer up. Unset or empty it is the default. The text is read
// as strtoll does with base 0: 0x and 0 are prefixes, what follows the digits
// is ignored, no digits are 0. Out of the range of 64 bits it is the default
// again, and does not act. Where NCCL keeps an int the low 32 bits count.
func (e *Env) Int(name string, absent int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.looked[name]
	e.looked[name] = true
	text := e.vars[name]
	if text == "" {
		return absent
	}
	v, ok := cnum.Int(text, 0)
	if !ok {
		e.note(first, fmt.Sprintf("Invalid value %s for %s, using default %d.", text, name, absent))
		return absent
	}
	e.acted[name] = text
	e.note(first, fmt.Sprintf("%s set by environment to %d.", name, v))
	if strict, err := strconv.ParseInt(strings.TrimSpace(text), 0, 64); first && (err != nil || strict != v) {
		e.misfit = append(e.misfit, fmt.Sprintf("%s=%s is no whole number; NCCL reads it as %d", name, text, v))
	}
	return v
}

// note keeps a line once per variable, as NCCL reads each only once.
func (e *Env) note(first bool, line string) {
	if first {
		e.notes = append(e.notes, line)
	}
}

// Acted gives the variables that were looked up and set, with their texts.
func (e *Env) Acted() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.acted)
}

// Notes gives NCCL's lines about the integers that were looked up, in that
// order.
func (e *Env) Notes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.notes)
}

// Misfits tells, in the order of look-up, which integers were read from texts
// that are no whole numbers.
func (e *Env) Misfits() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.misfit)
}

// Idle gives the variables of With that were never looked up, sorted: their
// names may be misspelled.
func (e *Env) Idle() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var idle []string
	for name := range e.set {
		if !e.looked[name] {
			idle = append(idle, name)
		}
	}
	slices.Sort(idle)
	return idle
}
