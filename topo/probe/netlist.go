package probe

import (
	"strings"

	"github.com/ringtopo/ringtopo/internal/cnum"
)

// nameList is a user's choice of devices: a list of prefixes, or of exact names
// after "=", or of what to leave out after "^". A name may carry ":port".
type nameList struct {
	not, exact bool
	names      []namePort
}

type namePort struct {
	name string
	port int // anyPort, or the only one meant
}

const anyPort = -1

func parseNameList(s string) nameList {
	var l nameList
	s, l.not = strings.CutPrefix(s, "^")
	s, l.exact = strings.CutPrefix(s, "=")
	for _, item := range strings.Split(s, ",") {
		name, port, hasPort := strings.Cut(item, ":")
		if name == "" {
			continue
		}
		p := namePort{name, anyPort}
		if hasPort {
			v, _ := cnum.Int(port, 10)
			p.port = int(int32(v))
		}
		l.names = append(l.names, p)
	}
	return l
}

// allows tells whether the list picks a port of a device.
func (l nameList) allows(name string, port int) bool { return l.matches(name, port) != l.not }

// matches tells whether the list names a device. An empty one names all.
func (l nameList) matches(name string, port int) bool {
	for _, n := range l.names {
		fits := strings.HasPrefix(name, n.name)
		if l.exact {
			fits = name == n.name
		}
		if fits && (n.port == anyPort || port == anyPort || n.port == port) {
			return true
		}
	}
	return len(l.names) == 0
}
