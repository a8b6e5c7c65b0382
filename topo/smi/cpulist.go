package smi

import (
	"fmt"
	"strconv"
	"strings"
)

// maxCPU is more than any machine has.
const maxCPU = 1 << 14

// parseCPUs reads a list of CPUs such as 0-23,48-71. ok is false if it is none.
func parseCPUs(list string) (cpus []int, ok bool) {
	for _, part := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		a, err1 := strconv.ParseUint(first, 10, 16)
		b, err2 := strconv.ParseUint(last, 10, 16)
		if err1 != nil || err2 != nil || b < a || b > maxCPU || len(cpus) > maxCPU {
			return nil, false
		}
		for c := int(a); c <= int(b); c++ {
			cpus = append(cpus, c)
		}
	}
	return cpus, true
}

func validCPUs(list string) bool {
	_, ok := parseCPUs(list)
	return ok
}

// mask writes a list of CPUs as the kernel writes a mask: groups of 32 bits in
// hexadecimal, the highest first. "" for no valid list.
func mask(list string) string {
	cpus, ok := parseCPUs(list)
	if !ok {
		return ""
	}
	highest := 0
	for _, c := range cpus {
		highest = max(highest, c)
	}
	words := make([]uint32, highest/32+1)
	for _, c := range cpus {
		words[c/32] |= 1 << (c % 32)
	}
	groups := make([]string, len(words))
	for i, w := range words {
		groups[len(words)-1-i] = fmt.Sprintf("%08x", w)
	}
	return strings.Join(groups, ",")
}
