package draw

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/graph/draw/internal/graphviz"
	"github.com/ringtopo/ringtopo/graph/draw/internal/paint"
)

// fixed is Graphviz's layout that takes all places as given.
const fixed = "nop2"

// SVG gives the picture as a file of its own that loads nothing else.
func (p *Picture) SVG(ctx context.Context) ([]byte, error) {
	svg, err := graphviz.Render(ctx, p.DOT(), fixed, "svg")
	if err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(withoutDoctype(svg), graphvizDots, dashDot), nil
}

// Graphviz's dots are so far apart that a line of them can hardly be seen.
var (
	graphvizDots = []byte(`stroke-dasharray="1,5"`)
	dashDot      = []byte(`stroke-dasharray="7,2,1.5,2"`)
)

// withoutDoctype leaves out the line that names a file on a remote host.
func withoutDoctype(svg []byte) []byte {
	before, rest, found := bytes.Cut(svg, []byte("<!DOCTYPE"))
	if !found {
		return svg
	}
	_, after, _ := bytes.Cut(rest, []byte(">\n"))
	return slices.Concat(before, after)
}

// PNG gives the picture in dots, one and a half for each point.
func (p *Picture) PNG(ctx context.Context) ([]byte, error) {
	svg, err := p.SVG(ctx)
	if err != nil {
		return nil, err
	}
	png, err := paint.PNG(ctx, svg, pngScale)
	if errors.Is(err, paint.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", ErrTooMuch, err)
	}
	return png, err
}

const pngScale = 1.5
