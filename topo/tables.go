package topo

import "strings"

// NCCL's tables of words match by prefix, the first entry that fits counts.
type table[T any] []struct {
	prefix string
	value  T
}

func (t table[T]) find(s string) (T, bool) {
	for _, e := range t {
		if strings.HasPrefix(s, e.prefix) {
			return e.value, true
		}
	}
	var none T
	return none, false
}

var classes = table[Class]{
	{"0x060400", ClassSwitch},
	{"0x068000", ClassNVSwitch},
	{"0x068001", ClassCPU},
	{"0x03", ClassGPU},
	{"0x02", ClassNIC},
}

// ParseClass reads a PCI class as sysfs writes it, for example 0x030200. A
// class that is not known is a switch, and ok is false.
func ParseClass(s string) (c Class, ok bool) { return classes.find(s) }

// String gives a PCI class code that reads back as c.
func (c Class) String() string {
	switch c {
	case ClassNVSwitch:
		return "0x068000"
	case ClassCPU:
		return "0x068001"
	case ClassGPU:
		return "0x030200"
	case ClassNIC:
		return "0x020000"
	}
	return "0x060400"
}

var speeds = table[int]{
	{"2.5 GT/s", 15},
	{"5 GT/s", 30},
	{"8 GT/s", 60},
	{"16 GT/s", 120},
	{"32 GT/s", 240},
	{"5.0 GT/s PCIe", 30},
	{"8.0 GT/s PCIe", 60},
	{"16.0 GT/s PCIe", 120},
	{"32.0 GT/s PCIe", 240},
	{"64.0 GT/s PCIe", 480},
}

// DefaultSpeed is what NCCL takes for a lane whose speed it cannot read: 8
// GT/s, in units of 100 Mb/s.
const DefaultSpeed = 60

// DefaultWidth is what NCCL takes for a link whose number of lanes is not
// known.
const DefaultWidth = 16

// ParseSpeed reads the speed of a PCI lane as sysfs writes it, for example
// "16.0 GT/s PCIe", in units of 100 Mb/s. Spellings that NCCL does not know
// give DefaultSpeed, and ok is false.
func ParseSpeed(s string) (speed int, ok bool) {
	if speed, ok = speeds.find(s); ok {
		return speed, true
	}
	return DefaultSpeed, false
}

// SpeedText gives the text that ParseSpeed reads as speed, or "" if there is
// none.
func SpeedText(speed int) string {
	switch speed {
	case 15:
		return "2.5 GT/s PCIe"
	case 30:
		return "5.0 GT/s PCIe"
	case 60:
		return "8.0 GT/s PCIe"
	case 120:
		return "16.0 GT/s PCIe"
	case 240:
		return "32.0 GT/s PCIe"
	case 480:
		return "64.0 GT/s PCIe"
	}
	return ""
}
