package ncclenv

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestFromEnvironTakesOnlyNCCLVariablesAndTheFirstOfTwo(t *testing.T) {
	e := FromEnviron([]string{"PATH=/bin", "NCCL_A=1", "NCCL_A=2", "NCCL_B", "XNCCL_C=3", "NCCL_D=a=b"})
	if v, _ := e.String("NCCL_A"); v != "1" {
		t.Errorf("NCCL_A = %q, want the first", v)
	}
	if v, _ := e.String("NCCL_D"); v != "a=b" {
		t.Errorf("NCCL_D = %q", v)
	}
	for _, name := range []string{"PATH", "NCCL_B", "XNCCL_C"} {
		if v, ok := e.String(name); ok {
			t.Errorf("%s = %q, want unset", name, v)
		}
	}
}

func TestInt(t *testing.T) {
	const absent = -2
	tests := []struct {
		text  string
		want  int64
		acted bool
	}{
		{"", absent, false},
		{"12", 12, true},
		{"  12", 12, true},
		{"+12", 12, true},
		{"-1", -1, true},
		{"0x10", 16, true},
		{"010", 8, true},
		{"12 channels", 12, true},
		{"many", 0, true},
		{"9223372036854775807", 9223372036854775807, true},
		{"-9223372036854775808", -9223372036854775808, true},
		{"9223372036854775808", absent, false},
		{"-9223372036854775809", absent, false},
		{"99999999999999999999", absent, false},
	}
	for _, test := range tests {
		e := FromEnviron(nil).With(map[string]string{"NCCL_X": test.text})
		if got := e.Int("NCCL_X", absent); got != test.want {
			t.Errorf("Int(%q) = %d, want %d", test.text, got, test.want)
		}
		if _, acted := e.Acted()["NCCL_X"]; acted != test.acted {
			t.Errorf("%q acted: %v, want %v", test.text, acted, test.acted)
		}
	}
}

func TestNotesSayWhatNCCLSays(t *testing.T) {
	e := FromEnviron([]string{"NCCL_X=0x20", "NCCL_Y=99999999999999999999", "NCCL_Z=1"})
	for range 2 {
		e.Int("NCCL_X", 0)
		e.Int("NCCL_Y", 7)
		e.Int("NCCL_UNSET", 7)
	}
	want := []string{
		"NCCL_X set by environment to 32.",
		"Invalid value 99999999999999999999 for NCCL_Y, using default 7.",
	}
	if got := e.Notes(); !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q", got, want)
	}
}

func TestMisfitsAreTextsThatAreNoWholeNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"abc":   "NCCL_X=abc is no whole number; NCCL reads it as 0",
		"12 ch": "NCCL_X=12 ch is no whole number; NCCL reads it as 12",
		"1_000": "NCCL_X=1_000 is no whole number; NCCL reads it as 1",
		"0b1":   "NCCL_X=0b1 is no whole number; NCCL reads it as 0",
		"1.5":   "NCCL_X=1.5 is no whole number; NCCL reads it as 1",
		"12":    "", " 12": "", "-1": "", "+3": "", "0x10": "", "010": "", "": "",
		"99999999999999999999": "", // told as a note of NCCL's
	} {
		e := FromEnviron(nil).With(map[string]string{"NCCL_X": text})
		for range 2 {
			e.Int("NCCL_X", 0)
		}
		if got := strings.Join(e.Misfits(), "; "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestKnown(t *testing.T) {
	for _, name := range []string{"NCCL_ALGO", "NCCL_MIN_NCHANNELS", "NCCL_DEBUG", "NCCL_WORK_FIFO_BYTES"} {
		if !Known(name) {
			t.Errorf("%s is not known", name)
		}
	}
	for _, name := range []string{"NCCL_", "NCCL_ALGOS", "NCCL_MIN_CHANNELS", "nccl_algo", ""} {
		if Known(name) {
			t.Errorf("%s is known", name)
		}
	}
	if !slices.IsSorted(known) || len(slices.Compact(slices.Clone(known))) != len(known) {
		t.Error("the names are not sorted, each once")
	}
}

func TestOnlyWhatWasLookedUpActed(t *testing.T) {
	e := FromEnviron([]string{"NCCL_A=1", "NCCL_B=2", "NCCL_C="})
	e.Int("NCCL_A", 0)
	e.String("NCCL_C")
	e.String("NCCL_D")
	want := map[string]string{"NCCL_A": "1", "NCCL_C": ""}
	if got := e.Acted(); !maps.Equal(got, want) {
		t.Errorf("acted %v, want %v", got, want)
	}
}

func TestWithStandsAboveAndStartsAfresh(t *testing.T) {
	base := FromEnviron([]string{"NCCL_A=1", "NCCL_B=2"})
	base.Int("NCCL_A", 0)
	e := base.With(map[string]string{"NCCL_B": "3", "NCCL_TYPO": "4"}).With(map[string]string{"NCCL_C": "5"})
	if len(e.Acted()) != 0 {
		t.Errorf("acted before any look-up: %v", e.Acted())
	}
	if got := e.Int("NCCL_B", 0); got != 3 {
		t.Errorf("NCCL_B = %d, want 3", got)
	}
	if got, want := e.Idle(), []string{"NCCL_C", "NCCL_TYPO"}; !slices.Equal(got, want) {
		t.Errorf("idle %v, want %v", got, want)
	}
	if got := base.Int("NCCL_B", 0); got != 2 {
		t.Errorf("With changed its receiver: NCCL_B = %d", got)
	}
}

func TestParseSetting(t *testing.T) {
	name, value, err := ParseSetting("NCCL_ALGO=Ring=x")
	if name != "NCCL_ALGO" || value != "Ring=x" || err != nil {
		t.Errorf("got %q %q %v", name, value, err)
	}
	if _, value, err := ParseSetting("NCCL_ALGO="); value != "" || err != nil {
		t.Errorf("empty value: %q %v", value, err)
	}
	for s, hint := range map[string]string{
		"NCCL_ALGO": "NAME=VALUE", "ALGO=Ring": "NCCL_", "NCCL_=1": "NCCL_", "NCCL_a=1": "capital", "=": "NCCL_", "": "NAME=VALUE",
	} {
		if _, _, err := ParseSetting(s); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("ParseSetting(%q): %v, want a hint at %q", s, err, hint)
		}
	}
}

func TestSeveralGoroutines(t *testing.T) {
	e := FromEnviron([]string{"NCCL_A=1"})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			e.Int("NCCL_A", 0)
			e.String("NCCL_A")
			e.Acted()
			e.Notes()
			e.Idle()
		})
	}
	wg.Wait()
	if len(e.Notes()) > 1 {
		t.Errorf("noted more than once: %q", e.Notes())
	}
}
