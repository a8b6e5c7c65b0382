package draw

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the expected files in testdata")

// TestGolden keeps a whole picture's text, so that a change of any place shows.
func TestGolden(t *testing.T) {
	hosts := machine(t, "v100x4", 1)
	p, err := Machines(hosts, []Overlay{ring(hosts, 0, 0, 2, 1, 3)})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "testdata/v100x4.dot", p.DOT())
	if p, err = Cycles(hosts, []Overlay{ring(hosts, 0, 0, 2, 1, 3)}); err != nil {
		t.Fatal(err)
	}
	compare(t, "testdata/v100x4-ring.dot", p.DOT())
}

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: (run with -update if that is right)\n%s", file, diff)
	}
}

// TestSamePictureTwice makes each picture anew: no map's order may show.
func TestSamePictureTwice(t *testing.T) {
	first, second := pictures(t), pictures(t)
	for name, p := range first {
		if !bytes.Equal(p.DOT(), second[name].DOT()) {
			t.Errorf("%s differs the second time", name)
		}
	}
}

func TestQuoteHoldsAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		q := quote(s)
		body := q[1 : len(q)-1]
		if strings.ContainsAny(body, "\n\r\x00") {
			t.Errorf("%q: control characters", q)
		}
		body = strings.NewReplacer(`\\`, "", `\"`, "").Replace(body)
		if strings.ContainsAny(body, `"\`) {
			t.Errorf("%q is not closed where it should be", q)
		}
	})
}

// TestNamesOfAnyKind has Graphviz read names that would break its language.
func TestNamesOfAnyKind(t *testing.T) {
	hosts := machine(t, "h200x2", 1)
	for _, name := range []string{`a "b" \N <c> & d`, "tab\there\nline", "bad \xff utf", "机器 №1", `\`, ""} {
		hosts[0].Name = name
		p, err := Machines(hosts, []Overlay{{Title: name, Tag: name, Hops: []Hop{{From: 0, To: 1}, {From: 1, To: 0}}}})
		if err != nil {
			t.Fatal(err)
		}
		svg, err := p.SVG(t.Context())
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		_, texts := textBoxes(t, svg)
		shown := strings.ReplaceAll(texts[0].text, "\u00a0", " ")
		if want := printable(name) + "  ·  2 GPUs (sm_90), 1 NIC"; shown != want {
			t.Errorf("%q is shown as %q", name, shown)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1.5: "1.5", 1.005: "1", 2.999: "3", -0.001: "0", 1e6: "1000000"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestBezierMeetsItsEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "n")
		var pts []point
		for range n {
			pts = append(pts, point{rapid.Float64Range(0, 500).Draw(t, "x"), rapid.Float64Range(0, 500).Draw(t, "y")})
		}
		curve := bezier(pts, corner)
		if len(curve)%3 != 1 || curve[0] != pts[0] || curve[len(curve)-1] != pts[n-1] {
			t.Errorf("%v from %v", curve, pts)
		}
	})
}
