package nccllog

import "strings"

// The parsers below take a line without its prefix. Each says whether the
// whole line fits its form.

// parseSystemStart reads the line above a system; NCCL before 2.12 says width
// for bandwidth.
func parseSystemStart(text string) (*System, bool) {
	c := cursor{rest: text}
	var s System
	c.literal("=== System : max")
	word := c.span("BWbdhitw")
	c.literal(" ")
	s.MaxBW = c.decimal()
	c.literal(" total" + word + " ")
	s.TotalBW = c.decimal()
	c.literal(" ===")
	return &s, c.done()
}

func parseSystemLine(text string) (SystemLine, bool) {
	c := cursor{rest: text}
	var l SystemLine
	l.Column = len(c.span(" "))
	if c.has("+ ") {
		l.Link = c.until("[")
		l.BW = c.decimal()
		c.literal("] - ")
	}
	l.Node, _, _ = strings.Cut(c.rest, " ")
	c.literal(l.Node)
	if c.has(" (") {
		l.Detail = c.until(")")
	}
	return l, c.done() && strings.Contains(l.Node, "/")
}

func parsePathLine(text string) (PathLine, bool) {
	c := cursor{rest: text}
	l := PathLine{From: c.until(" :")}
	for !c.bad && c.rest != "" {
		var p PathTo
		p.Node = c.until(" (")
		p.Hops = c.integer()
		c.literal("/")
		p.BW = c.decimal()
		c.literal("/")
		p.Type = c.until(")")
		c.span(" ")
		l.To = append(l.To, p)
	}
	return l, c.done()
}

// parsePattern reads the head of a pattern; NCCL before 2.12 says speed for
// bandwidth.
func parsePattern(text string) (Pattern, bool) {
	c := cursor{rest: text}
	var p Pattern
	c.literal("Pattern ")
	p.Pattern = c.integer()
	c.literal(", crossNic ")
	p.CrossNIC = c.integer()
	c.literal(", nChannels ")
	p.NChannels = c.integer()
	c.literal(", ")
	c.span("abcdefghijklmnopqrstuvwxyz")
	c.literal(" ")
	p.BWIntra = c.decimal()
	c.literal("/")
	p.BWInter = c.decimal()
	c.literal(", type ")
	p.TypeIntra = c.until("/")
	p.TypeInter = c.until(", sameChannels ")
	p.SameChannels = c.integer()
	return p, c.done()
}

// parseChain reads one channel of a pattern and its number.
func parseChain(text string) (id int, ch Chain, ok bool) {
	c := cursor{rest: text}
	c.span(" ")
	id = c.integer()
	c.literal(" :")
	for _, member := range strings.Fields(c.rest) {
		switch kind, name, _ := strings.Cut(member, "/"); kind {
		case "GPU":
			ch.GPUs = append(ch.GPUs, name)
		case "NET":
			ch.Nets = append(ch.Nets, name)
		default:
			return 0, Chain{}, false
		}
	}
	return id, ch, !c.bad && len(ch.GPUs) > 0
}

func parseChannel(text string) (Channel, bool) {
	c := cursor{rest: text}
	var ch Channel
	c.literal("Channel ")
	ch.ID = c.integer()
	if c.has("/") {
		ch.Of = c.integer()
	}
	c.literal(" :")
	for !c.bad && c.rest != "" {
		if c.span(" "); c.rest != "" {
			ch.Ring = append(ch.Ring, c.integer())
		}
	}
	return ch, c.done() && len(ch.Ring) > 0
}

func parseRing(text string) (RingLine, bool) {
	c := cursor{rest: text}
	var r RingLine
	c.literal("Ring ")
	r.Channel = c.integer()
	c.literal(" : ")
	r.Prev = c.integer()
	c.literal(" -> ")
	r.Rank = c.integer()
	c.literal(" -> ")
	r.Next = c.integer()
	return r, c.done()
}

func parseTree(text string) (TreeLine, bool) {
	c := cursor{rest: text}
	var t TreeLine
	c.literal("Tree ")
	t.Channel = c.integer()
	c.literal(" : ")
	t.Up = c.integer()
	c.literal(" -> ")
	t.Rank = c.integer()
	c.literal(" -> ")
	t.Down = parseDown(&c)
	return t, c.done()
}

// parseTrees reads a rank's place in every tree. A line that NCCL cut gives
// the channels before the cut and is not ok.
func parseTrees(text string) (trees []TreeLine, ok bool) {
	c := cursor{rest: text}
	c.literal("Trees")
	for c.span(" "); !c.bad && c.rest != ""; c.span(" ") {
		var t TreeLine
		c.literal("[")
		t.Channel = c.integer()
		c.literal("] ")
		parseTreePlace(&c, &t)
		if !c.bad {
			trees = append(trees, t)
		}
	}
	return trees, c.done()
}

// parseTreePlace reads children->rank->parent, and parent->rank->children as
// NCCL before 2.8 wrote it.
func parseTreePlace(c *cursor, t *TreeLine) {
	first, _, _ := strings.Cut(c.rest, "->")
	upLast := strings.Contains(first, "/")
	if upLast {
		t.Down = parseDown(c)
	} else {
		t.Up = c.integer()
	}
	c.literal("->")
	t.Rank = c.integer()
	c.literal("->")
	if upLast {
		t.Up = c.integer()
	} else {
		t.Down = parseDown(c)
	}
}

func parseDown(c *cursor) (down [3]int) {
	for i := range down {
		if i > 0 {
			c.literal("/")
		}
		down[i] = c.integer()
	}
	return down
}
