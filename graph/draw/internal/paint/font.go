package paint

import (
	"sync"

	"github.com/golang/freetype/truetype"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
)

// The fonts are embedded so that a picture has the same bytes on every machine.
var (
	regular = sync.OnceValues(func() (*truetype.Font, error) { return truetype.Parse(goregular.TTF) })
	bold    = sync.OnceValues(func() (*truetype.Font, error) { return truetype.Parse(gobold.TTF) })
)

func face(size float64, heavy bool) (font.Face, error) {
	load := regular
	if heavy {
		load = bold
	}
	f, err := load()
	if err != nil {
		return nil, err
	}
	return truetype.NewFace(f, &truetype.Options{Size: size, Hinting: font.HintingNone}), nil
}

// Width is how far a text of that size runs, in the size's unit. Viewers that
// take another sans-serif font stay within a tenth of it.
func Width(text string, size float64, heavy bool) float64 {
	const fine = 64 // measured large, so that rounding to 1/64 does not add up
	f, err := face(size*fine, heavy)
	if err != nil {
		return 0.6 * size * float64(len(text)) // cannot happen: the fonts are embedded
	}
	return float64(font.MeasureString(f, text)) / 64 / fine
}
