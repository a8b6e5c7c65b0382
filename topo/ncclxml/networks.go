package ncclxml

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ringtopo/ringtopo/internal/cnum"
)

// closeGaps gives networks the numbers that a job knows them by: its network
// layer counts its devices from 0, whatever numbers a file was made with.
func (d *Document) closeGaps() {
	var nets []*Element
	var numbers []int
	var walk func(e *Element)
	walk = func(e *Element) {
		if text, ok := e.Get("dev"); ok && e.Name == "net" {
			nets, numbers = append(nets, e), append(numbers, cnum.Int32(text))
		}
		for _, c := range e.Children {
			walk(c)
		}
	}
	walk(d.Root)
	order := slices.Compact(slices.Sorted(slices.Values(numbers)))
	for i, e := range nets {
		if n := slices.Index(order, numbers[i]); n != numbers[i] {
			d.assume(e, fmt.Sprintf("is network %d of the job: networks are counted without gaps", n))
			e.Set("dev", strconv.Itoa(n))
		}
	}
}
