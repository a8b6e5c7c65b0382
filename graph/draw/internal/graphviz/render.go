package graphviz

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed graphviz.wasm
var wasm []byte

// Error is a picture that Graphviz refused.
type Error struct {
	Step string // what it was doing: read, layout or render
	Log  string // what it printed
}

func (e *Error) Error() string {
	first, _, _ := strings.Cut(strings.TrimSpace(e.Log), "\n")
	if first == "" {
		first = "no reason given"
	}
	return fmt.Sprintf("graphviz: %s: %s", e.Step, first)
}

// Render draws a graph in the DOT language with one of Graphviz's layouts
// (neato, dot) in one of its formats (svg, svg_inline, json, dot).
func Render(ctx context.Context, dot []byte, layout, format string) ([]byte, error) {
	if bytes.IndexByte(dot, 0) >= 0 {
		return nil, errors.New("graphviz: the text has a zero byte")
	}
	s, err := open(ctx)
	if err != nil {
		return nil, fmt.Errorf("graphviz: %w", err)
	}
	defer s.close()
	out, err := s.render(dot, layout, format)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("graphviz: %w", context.Cause(ctx))
	}
	return out, err
}

// render makes the calls that a C program would make.
func (s *sandbox) render(dot []byte, layout, format string) ([]byte, error) {
	gvc, err := s.context()
	if err != nil {
		return nil, err
	}
	g := s.call("agmemread", s.text(dot))
	if err := s.check("read", g == 0); err != nil {
		return nil, err
	}
	rc := s.call("gvLayout", gvc, g, s.text([]byte(layout)))
	if err := s.check("layout", rc != 0); err != nil {
		return nil, err
	}
	result := s.call("malloc", 8)
	rc = s.call("gvRenderData", gvc, g, s.text([]byte(format)), result, result+4)
	if err := s.check("render", rc != 0); err != nil {
		return nil, err
	}
	return bytes.Clone(s.bytes(s.word(result), s.word(result+4))), s.err
}

// context makes Graphviz's context with the plugins built in. The table of
// plugins that the module exports lacks the empty entry that must end it.
func (s *sandbox) context() (uint32, error) {
	const entry, entries = 8, 3
	table := s.call("malloc", entry*(entries+1))
	s.store(table, append(bytes.Clone(s.bytes(s.global("lt_preloaded_symbols"), entry*entries)), make([]byte, entry)...))
	gvc := s.call("gvContextPlugins", table, 1)
	return gvc, s.check("start", gvc == 0)
}

// check gives the error of the last calls, if there was any. Warnings, such as
// those of letters whose width Graphviz has to guess, are no errors.
func (s *sandbox) check(step string, failed bool) error {
	if s.err != nil {
		return fmt.Errorf("graphviz: %s: %w", step, s.err)
	}
	if failed || strings.HasPrefix(s.log.String(), "Error:") {
		return &Error{Step: step, Log: s.log.String()}
	}
	return nil
}
