package smi

import (
	"fmt"
	"slices"
)

// level is how far apart two PCI devices are.
type level int

// Levels; unknown where NVLinks hide the distance or the text lacks it.
const (
	unknown level = iota
	sameSwitch
	sameSwitches
	sameBridge
	sameNUMA
	farAway
)

var levels = map[string]level{
	"PIX": sameSwitch, "PXB": sameSwitches, "PHB": sameBridge, "NODE": sameNUMA, "SYS": farAway,
}

// level gives the PCI distance of two devices by their indexes.
func (m *Matrix) level(i, j int) level { return levels[m.word(i, j)] }

// groups are sets of devices: group[i] is the smallest index in the set of i.
type groups []int

func apart(n int) groups {
	g := make(groups, n)
	for i := range g {
		g[i] = i
	}
	return g
}

func (g groups) join(i, j int) {
	from, to := max(g[i], g[j]), min(g[i], g[j])
	for k := range g {
		if g[k] == from {
			g[k] = to
		}
	}
}

// members lists the sets among some devices, in order of their smallest index.
func (g groups) members(of []int) [][]int {
	var out [][]int
	at := map[int]int{}
	for _, i := range of {
		k, ok := at[g[i]]
		if !ok {
			k = len(out)
			at[g[i]] = k
			out = append(out, nil)
		}
		out[k] = append(out[k], i)
	}
	return out
}

// within groups the devices that are at most l apart, directly or through
// others, and refuses what no tree can be: two devices that are farther apart
// than the way over a third.
func (m *Matrix) within(l level, name string) (groups, error) {
	g := apart(m.size())
	for i := range g {
		for j := range i {
			if d := m.level(i, j); d != unknown && d <= l {
				g.join(i, j)
			}
		}
	}
	for i := range g {
		for j := range i {
			if g[i] == g[j] && m.level(i, j) > l {
				return nil, m.noTree(name, j, i, l)
			}
		}
	}
	return g, nil
}

// noTree explains two devices that are too far apart.
func (m *Matrix) noTree(name string, i, j int, l level) error {
	way := m.way(i, j, l)
	text := m.label(way[0])
	for k := 1; k < len(way); k++ {
		text += fmt.Sprintf(" -%s- %s", m.word(way[k-1], way[k]), m.label(way[k]))
	}
	return &Error{File: name, Err: ErrNonsense,
		Msg:    fmt.Sprintf("%s and %s are %s apart, but nearer over others: %s", m.label(i), m.label(j), m.word(i, j), text),
		Remedy: "no PCI tree has these distances; was the text edited?"}
}

// way finds a shortest chain of devices that are each at most l apart.
func (m *Matrix) way(from, to int, l level) []int {
	before := map[int]int{from: from}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for k := range m.size() {
			d := m.level(queue[0], k)
			if _, seen := before[k]; !seen && d != unknown && d <= l {
				before[k] = queue[0]
				queue = append(queue, k)
			}
		}
	}
	way := []int{to}
	for at := to; at != from; {
		at = before[at]
		way = append(way, at)
	}
	slices.Reverse(way)
	return way
}
