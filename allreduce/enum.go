package allreduce

import (
	"fmt"
	"strings"
)

// parse finds the index of a name, whatever its case.
func parse(kind, s string, names []string) (int, error) {
	for i, name := range names {
		if strings.EqualFold(name, s) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q: want one of %s", kind, s, strings.Join(names, ", "))
}

// name is the i-th name, or the number itself where there is none.
func name(kind string, i int, names []string) string {
	if i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}
