package nccllog

import (
	"cmp"
	"strings"
)

// takeSystem takes a line while a system is being listed. NCCL may log other
// things in between; those are left to the other forms.
func (rd *reader) takeSystem(s *stream, text string) bool {
	if strings.HasPrefix(text, "==========") {
		s.rank.System.complete = true
		return true
	}
	body := strings.TrimLeft(text, " ")
	if !strings.HasPrefix(body, "+ ") && !isNodeName(body) {
		return false
	}
	l, ok := parseSystemLine(text)
	rd.keep(ok, text, func() { s.rank.System.Lines = append(s.rank.System.Lines, l) })
	return true
}

func (rd *reader) takeChain(origin, text string) bool {
	id, ch, ok := parseChain(text)
	s := rd.streams[origin]
	if !ok || s == nil || s.rank.stage != stagePatterns {
		return false
	}
	p := &s.rank.Patterns[len(s.rank.Patterns)-1]
	rd.keep(id == len(p.Chains), text, func() { p.Chains = append(p.Chains, ch) })
	return true
}

func (rd *reader) takeChannel(origin, text string) {
	ch, ok := parseChannel(text)
	rd.keep(ok, text, func() {
		r := rd.at(place{origin, stageChannels, ch.ID == 0, 0}) // only rank 0 writes them
		r.Channels = append(r.Channels, ch)
	})
}

func (rd *reader) takeRing(origin, text string) {
	l, ok := parseRing(text)
	rd.keep(ok, text, func() {
		r := rd.at(place{origin, stageRings, l.Channel == 0, l.Rank})
		r.Rings = append(r.Rings, l)
	})
}

func (rd *reader) takeTrees(origin, text string) {
	trees, ok := parseTrees(text)
	if len(trees) > 0 {
		rd.at(place{origin, stageTrees, true, trees[0].Rank}).Trees = trees
	}
	rd.keep(ok, text, func() {})
}

// takeComm takes the lines that say which rank of which communicator this is:
// at the start, between the searches and the channels, and at the end.
func (rd *reader) takeComm(origin, text string) {
	_, comm, found := strings.Cut(text, "comm ")
	if !found || !strings.Contains(comm, " rank ") {
		return
	}
	st := stageComm
	switch {
	case strings.Contains(comm, "Init START"):
		st = stageStart
	case strings.Contains(comm, "Init COMPLETE"):
		st = stageComplete
	case !strings.Contains(comm, "nNodes "):
		return
	}
	said := Rank{Rank: -1}
	words := strings.Fields(comm)
	for i := range len(words) - 1 {
		said.note(words[i], words[i+1])
	}
	rd.at(place{origin, st, true, said.Rank}).learn(said)
}

// note keeps one word of a comm line and the value after it.
func (r *Rank) note(word, value string) {
	c := cursor{rest: value}
	switch word {
	case "rank":
		r.Rank = c.integer()
	case "nranks", "nRanks":
		r.NRanks = c.integer()
	case "nNodes":
		r.NNodes = c.integer()
	case "busId":
		r.BusID = value
	case "commId":
		r.CommID = value
	}
}

// learn takes over what a comm line said.
func (r *Rank) learn(said Rank) {
	r.NRanks = cmp.Or(said.NRanks, r.NRanks)
	r.NNodes = cmp.Or(said.NNodes, r.NNodes)
	r.BusID = cmp.Or(said.BusID, r.BusID)
	r.CommID = cmp.Or(said.CommID, r.CommID)
}

// nodeKinds are the nodes that NCCL and RCCL name.
var nodeKinds = [...]string{"GPU/", "CPU/", "PCI/", "NVS/", "NIC/", "NET/", "GIN/", "DEV/"}

func isNodeName(text string) bool {
	for _, k := range nodeKinds {
		if strings.HasPrefix(text, k) {
			return true
		}
	}
	return false
}

// isPathLine tells GPU/11000 :GPU/0-11000 ... from NET/IB : No device found.
func isPathLine(text string) bool {
	from, to, ok := strings.Cut(text, " :")
	return ok && isNodeName(from) && (to == "" || isNodeName(to))
}
