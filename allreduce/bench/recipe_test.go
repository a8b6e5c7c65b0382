package bench_test

import (
	"encoding/json"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// Two recipes are the same if they measure the same in the same way, whatever they
// are called; a result brings its own back from JSON.
func TestSameRecipes(t *testing.T) {
	text := `{name: a, vary: {proto: [LL], channels: ["2", "4"]}, baseline: {bytes: 1KiB}}`
	r := recipe(t, text)
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	back := &bench.Recipe{}
	if err := json.Unmarshal(b, back); err != nil {
		t.Fatal(err)
	}
	back.Name, back.About = "b", "renamed"
	if !r.Same(back) || !back.Same(r) {
		t.Errorf("%s: not the same", b)
	}
	for name, change := range map[string]func(*bench.Recipe){
		"levels": func(r *bench.Recipe) { r.Vary["channels"] = []string{"2"} }, "baseline": func(r *bench.Recipe) { r.Baseline["bytes"] = "2KiB" },
		"grid": func(r *bench.Recipe) { r.Grid = map[string][]string{"world": {"2"}} }, "interact": func(r *bench.Recipe) { r.Interact = true },
		"warmup": func(r *bench.Recipe) { r.Warmup++ }, "cycles": func(r *bench.Recipe) { r.Cycles++ }, "iterations": func(r *bench.Recipe) { r.Iterations++ },
		"limit": func(r *bench.Recipe) { r.CVLimit *= 2 }, "tie": func(r *bench.Recipe) { r.Tie *= 2 },
	} {
		other := recipe(t, text)
		change(other)
		if r.Same(other) || other.Same(r) {
			t.Errorf("%s: the same", name)
		}
	}
}
