package graphviz

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

const sample = `digraph { graph [outputorder=nodesfirst]
	subgraph cluster_a { bb="0,0,200,100"; label="frame"; lp="20,90"; a [pos="40,40", shape=box]; b [pos="160,40", shape=box] }
	a -> b [pos="e,130,40 70,40 90,40 100,40 120,40", label="two words", lp="100,50"] }`

func TestRenderKeepsGivenPositions(t *testing.T) {
	svg, err := Render(t.Context(), []byte(sample), "nop2", "svg_inline")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<text text-anchor="middle" x="40"`, `d="M70,-40C90,-40 100,-40 120,-40"`, `>two words<`, `<title>cluster_a</title>`} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
}

func TestRenderSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, dot, layout, format, step, want string }{
		{"syntax", "digraph { a -> -> b }", "dot", "svg", "read", "syntax error in line 1"},
		{"empty", "", "dot", "svg", "read", "no reason given"},
		{"layout", "digraph { a }", "spiral", "svg", "layout", `"spiral" not recognized`},
		{"format", "digraph { a }", "dot", "papyrus", "render", `"papyrus" not recognized`},
		{"label", `digraph { a [label=<<B>bold>] }`, "dot", "svg", "layout", "mismatched tag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Render(t.Context(), []byte(c.dot), c.layout, c.format)
			var e *Error
			if !errors.As(err, &e) || e.Step != c.step || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s while %s", err, c.want, c.step)
			}
		})
	}
}

func TestRenderForgivesWarnings(t *testing.T) {
	svg, err := Render(t.Context(), []byte(`digraph { a [label="2 × ẞ", shape=blob] }`), "dot", "svg")
	if err != nil || !bytes.Contains(svg, []byte("2 × ẞ")) {
		t.Errorf("%v\n%s", err, svg)
	}
}

func TestRenderRefusesZeroByte(t *testing.T) {
	if _, err := Render(t.Context(), []byte("digraph { \x00 }"), "dot", "svg"); err == nil {
		t.Error("no error")
	}
}

func TestRenderStopsWhenAsked(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var dense strings.Builder
	dense.WriteString("digraph {")
	for i := range 3000 {
		dense.WriteString(" n" + strings.Repeat("x", i%50) + " -> m" + strings.Repeat("y", i%37))
	}
	dense.WriteString("}")
	_, err := Render(ctx, []byte(dense.String()), "dot", "svg")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestRenderAtTheSameTime(t *testing.T) {
	want, err := Render(t.Context(), []byte(sample), "nop2", "svg")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			got, err := Render(t.Context(), []byte(sample), "nop2", "svg")
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("another picture or error: %v", err)
			}
		})
	}
	all.Wait()
}

func TestLogKeepsItsLimit(t *testing.T) {
	var l limitedLog
	for range 3 {
		if n, err := l.Write(make([]byte, maxLog-1)); n != maxLog-1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if l.Len() != maxLog {
		t.Errorf("kept %d bytes", l.Len())
	}
}

func BenchmarkRender(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Render(b.Context(), []byte(sample), "nop2", "svg"); err != nil {
			b.Fatal(err)
		}
	}
}
