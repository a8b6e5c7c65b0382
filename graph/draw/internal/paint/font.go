package paint

import (
	"sync"

	"github.com/golang/freetype/truetype"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/math/fixed"
)

// The fonts are embedded so that a picture has the same bytes on every machine.
var (
	regular = sync.OnceValue(func() *truetype.Font { return mustParse(goregular.TTF) })
	bold    = sync.OnceValue(func() *truetype.Font { return mustParse(gobold.TTF) })
)

func mustParse(ttf []byte) *truetype.Font {
	f, err := truetype.Parse(ttf)
	if err != nil {
		panic("paint: embedded font: " + err.Error())
	}
	return f
}

func weight(heavy bool) *truetype.Font {
	if heavy {
		return bold()
	}
	return regular()
}

// Width is how far a text of that size runs, in the size's unit. Viewers that
// take another sans-serif font mostly stay within a tenth of it.
func Width(text string, size float64, heavy bool) float64 {
	f := weight(heavy)
	em := f.FUnitsPerEm()
	var w fixed.Int26_6
	for _, r := range text {
		w += f.HMetric(fixed.Int26_6(em), f.Index(r)).AdvanceWidth
	}
	return float64(w) / float64(em) * size
}

// faces holds the fonts of one picture by size and weight.
type faces map[faceKey]font.Face

type faceKey struct {
	size  float64
	heavy bool
}

func (fs faces) get(size float64, heavy bool) font.Face {
	k := faceKey{size, heavy}
	if fs[k] == nil {
		fs[k] = truetype.NewFace(weight(heavy), &truetype.Options{Size: size, GlyphCacheEntries: 128})
	}
	return fs[k]
}
