package smi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/topo"
)

// domain is a NUMA domain of the machine.
type domain struct {
	devices []int
	numa    int
	cpus    string // list of CPUs, "" if not known
}

// domains groups the devices by NUMA domain. Where NVLinks hide how far apart
// GPUs are, those with one NUMA number, or without numbers with one list of
// CPUs, are taken together.
func (m *Matrix) domains(name string) ([]domain, []topo.Assumption, error) {
	g, err := m.within(sameNUMA, name)
	if err != nil {
		return nil, nil, err
	}
	all := make([]int, m.size())
	for i := range all {
		all[i] = i
	}
	far := m.farGroups(g)
	for i := range m.GPUs {
		for j := range i {
			if a, b := g[i], g[j]; a != b && m.sameHome(i, j) && !far[a][b] {
				g.join(a, b)
				far.merge(a, b)
			}
		}
	}
	var out []domain
	for _, devices := range g.members(all) {
		out = append(out, domain{devices: devices, numa: -1, cpus: m.cpusOf(devices)})
	}
	return out, m.number(out), nil
}

// sameHome tells whether the columns behind the distances put two GPUs into one
// domain. Without any of them, all GPUs are.
func (m *Matrix) sameHome(i, j int) bool {
	a, b := m.GPUs[i], m.GPUs[j]
	if numaA, ok := a.numa(); ok {
		if numaB, ok := b.numa(); ok {
			return numaA == numaB
		}
	}
	return a.CPUs == b.CPUs
}

// pairs tells something of each two groups, named by their smallest index.
type pairs [][]bool

// farGroups tells which groups have devices that are known to be in different
// domains.
func (m *Matrix) farGroups(g groups) pairs {
	p := make(pairs, len(g))
	for i := range p {
		p[i] = make([]bool, len(g))
	}
	for i := range g {
		for j := range g {
			if m.level(i, j) == farAway {
				p[g[i]][g[j]] = true
			}
		}
	}
	return p
}

// merge makes one group of two.
func (p pairs) merge(a, b int) {
	for k := range p {
		either := p[a][k] || p[b][k]
		p[a][k], p[b][k], p[k][a], p[k][b] = either, either, either, either
	}
}

// numa reads the first number of the column NUMA Affinity.
func (g GPU) numa() (int, bool) {
	end := strings.IndexFunc(g.NUMA, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(g.NUMA)
	}
	n, err := strconv.Atoi(g.NUMA[:end])
	return n, err == nil && n <= maxNUMA
}

// maxNUMA is more than any kernel numbers.
const maxNUMA = 1 << 16

func (m *Matrix) cpusOf(devices []int) string {
	for _, i := range devices {
		if i < len(m.GPUs) && validCPUs(m.GPUs[i].CPUs) {
			return m.GPUs[i].CPUs
		}
	}
	return ""
}

// number gives each domain the NUMA number of its first GPU that has one, if no
// other domain took it, else a free one.
func (m *Matrix) number(domains []domain) []topo.Assumption {
	taken := map[int]bool{}
	var free []int // indexes of domains without a number
	for d := range domains {
		for _, i := range domains[d].devices {
			if i >= len(m.GPUs) {
				break
			}
			if n, ok := m.GPUs[i].numa(); ok && !taken[n] {
				domains[d].numa = n
				taken[n] = true
				break
			}
		}
		if domains[d].numa < 0 {
			free = append(free, d)
		}
	}
	var assumed []topo.Assumption
	next := 0
	for _, d := range free {
		for taken[next] {
			next++
		}
		taken[next] = true
		domains[d].numa = next
		assumed = append(assumed, topo.Assumption{What: fmt.Sprintf("NUMA domain of %s numbered %d", m.list(domains[d].devices), next)})
	}
	return assumed
}

// list names devices for messages.
func (m *Matrix) list(devices []int) string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = m.label(d)
	}
	return strings.Join(names, ", ")
}
