package host

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"pgregory.net/rapid"
)

// open makes executors for the shared tests. Its limit leaves room for a
// machine that does other things too.
func open(l *allreduce.Layout) (allreduce.Executor, error) {
	return New(l, Options{Limit: time.Minute})
}

func TestContract(t *testing.T) { executortest.Contract(t, open) }

// configurations is how many random ones a run of the tests tries.
func configurations(short, shortRace, full, fullRace int) int {
	switch long := os.Getenv("RINGTOPO_TEST_FULL") != ""; {
	case long && raceEnabled:
		return fullRace
	case long:
		return full
	case raceEnabled:
		return shortRace
	}
	return short
}

// Any rings, trees, sizes, types, operations, algorithms and protocols: every
// bit is as it must be.
func TestRandomConfigurations(t *testing.T) {
	const each = 100 // what rapid tries at a time
	for i := range configurations(500, 100, 10000, 1000) / each {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				c := executortest.Draw(rt, executortest.Limits{Ranks: 16, Channels: 32, Count: 100_000, Tasks: 3})
				if c.Algo.Direct() {
					c.Proto = allreduce.Simple
				}
				if c.Check(rt, open, 2) {
					rt.Fatalf("%v/%v is not run", c.Algo, c.Proto)
				}
			})
		})
	}
}
