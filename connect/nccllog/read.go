package nccllog

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine is the longest line that is read: a Channel line with two million
// ranks.
const maxLine = 16 << 20

// Read reads log text to its end. Lines that are not NCCL's are skipped, and
// lines of NCCL's that do not fit their form are listed as damaged: only r's
// own errors and a line of more than 16 MiB end it early, with what was read
// so far.
func Read(r io.Reader) (*Log, error) {
	rd := reader{log: &Log{}, streams: map[string]*stream{}}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	for sc.Scan() {
		rd.line++
		rd.take(strings.TrimSuffix(sc.Text(), "\r"))
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return rd.log, fmt.Errorf("line %d has more than %d bytes: this is not an NCCL log", rd.line+1, maxLine)
	} else if err != nil {
		return rd.log, fmt.Errorf("line %d: %w", rd.line+1, err)
	}
	return rd.log, nil
}

// reader keeps the lines of different origins apart.
type reader struct {
	log     *Log
	line    int
	streams map[string]*stream
}

// stream is what one thread logs: one communicator after the other, of one
// rank each; in a log without prefixes it is everything.
type stream struct {
	rank   *Rank         // of the last line
	byRank map[int]*Rank // the last of each rank
}

// stage is how far a communicator's set-up has come. A line of an earlier
// stage than the last one belongs to the next communicator.
type stage int

const (
	stageStart stage = iota
	stageSystem
	stagePaths
	stagePatterns
	stageComm
	stageJoins
	stageChannels
	stageRings
	stageTrees
	stageComplete
)

const info = "NCCL INFO "

// take sorts one line.
func (rd *reader) take(line string) {
	prefix, text, found := strings.Cut(line, info)
	if !found {
		prefix, text = "", line
	}
	if v := versionIn(text); v != "" {
		rd.log.Version = cmp.Or(rd.log.Version, v)
		return
	}
	origin := originOf(prefix)
	if !rd.takeForm(origin, text) {
		rd.takeComm(origin, text)
	}
}

// versionIn gives the version that a line names, "" if it names none.
func versionIn(text string) string {
	_, v, _ := strings.Cut(text, "NCCL version ")
	v, _, _ = strings.Cut(v, " ")
	if v == "" || v[0] < '0' || v[0] > '9' {
		return ""
	}
	return v
}

// originOf keeps host:pid:tid [device] of a prefix, which launchers and time
// stamps lengthen at its front.
func originOf(prefix string) string {
	fields := strings.Fields(prefix)
	return strings.Join(fields[max(0, len(fields)-2):], " ")
}

// takeForm takes a line that has one of the forms of the graph's lines; it is
// false for all others.
func (rd *reader) takeForm(origin, text string) bool {
	if s := rd.streams[origin]; s != nil && s.inSystem() {
		return rd.takeSystem(s, text)
	}
	if !strings.HasPrefix(text, "comm ") {
		text, _, _ = strings.Cut(text, " comm 0x") // RCCL adds it to some lines
	}
	switch {
	case strings.HasPrefix(text, "=== System : "):
		s, ok := parseSystemStart(text)
		rd.keep(ok, text, func() { rd.at(place{origin, stageSystem, true, -1}).System = s })
	case strings.HasPrefix(text, "Pattern "):
		p, ok := parsePattern(text)
		rd.keep(ok, text, func() {
			r := rd.at(place{origin, stagePatterns, p.Pattern == ringPattern, -1})
			r.Patterns = append(r.Patterns, p)
		})
	case strings.HasPrefix(text, "Tree "):
		t, ok := parseTree(text)
		rd.keep(ok, text, func() {
			r := rd.at(place{origin, stageJoins, t.Channel == 0, t.Rank})
			r.Joins = append(r.Joins, t)
		})
	case strings.HasPrefix(text, "Channel ") && !strings.Contains(text, "->"):
		rd.takeChannel(origin, text)
	case strings.HasPrefix(text, "Ring ") && !strings.ContainsAny(text, "[v"):
		rd.takeRing(origin, text)
	case strings.HasPrefix(text, "Trees ["):
		rd.takeTrees(origin, text)
	case isPathLine(text):
		p, ok := parsePathLine(text)
		rd.keep(ok, text, func() {
			r := rd.at(place{origin, stagePaths, false, -1})
			r.Paths = append(r.Paths, p)
		})
	case strings.Contains(text, " :") && strings.Contains(text, "GPU/"):
		return rd.takeChain(origin, text)
	default:
		return false
	}
	return true
}

// ringPattern is the first pattern that a communicator searches.
const ringPattern = 4

// keep does store if the line was whole, and otherwise notes the damage.
func (rd *reader) keep(ok bool, text string, store func()) {
	if ok {
		store()
		return
	}
	rd.log.Damaged = append(rd.log.Damaged, Damage{rd.line, clip(text), "does not end as it begins"})
}

// clip shortens a line for a message.
func clip(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

// place is where a line belongs.
type place struct {
	origin string
	stage  stage
	first  bool // the first line of its stage
	rank   int  // -1 if the line does not say
}

// at gives the rank that a line belongs to.
func (rd *reader) at(p place) *Rank {
	s := rd.streams[p.origin]
	if s == nil {
		s = &stream{byRank: map[int]*Rank{}}
		rd.streams[p.origin] = s
	}
	if !s.rank.takes(p) {
		s.rank = s.byRank[p.rank]
	}
	if !s.rank.takes(p) {
		s.rank = &Rank{Origin: p.origin, Rank: -1}
		rd.log.Ranks = append(rd.log.Ranks, s.rank)
	}
	s.rank.stage = p.stage
	if p.rank >= 0 {
		s.rank.Rank = p.rank
		s.byRank[p.rank] = s.rank
	}
	return s.rank
}

// takes says whether a line can continue what r has logged so far.
func (r *Rank) takes(p place) bool {
	switch {
	case r == nil, p.stage < r.stage, p.stage == r.stage && p.first:
		return false
	}
	return p.rank < 0 || r.Rank < 0 || p.rank == r.Rank
}

func (s *stream) inSystem() bool {
	return s.rank.stage == stageSystem && s.rank.System != nil && !s.rank.System.complete
}
