package executortest_test

import (
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"pgregory.net/rapid"
)

func openSerial(l *allreduce.Layout) (allreduce.Executor, error) { return executortest.NewSerial(l) }

func TestSerialKeepsTheContract(t *testing.T) { executortest.Contract(t, openSerial) }

func TestSerialOnRandomConfigurations(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := executortest.Draw(rt, executortest.Limits{Ranks: 9, Channels: 5, Count: 20000, Tasks: 3})
		c.Check(rt, openSerial, 1)
	})
}
