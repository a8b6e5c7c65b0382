package draw

import (
	"image/color"
	"math"
	"strconv"
	"testing"
)

func luminance(t *testing.T, name string) float64 {
	t.Helper()
	v, err := strconv.ParseUint(name[1:], 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	g := color.GrayModel.Convert(color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}).(color.Gray)
	return float64(g.Y) / 255
}

// TestRingsDifferInGrey: whoever sees no colours tells any two of the first
// seven rings apart by pattern or by lightness.
func TestRingsDifferInGrey(t *testing.T) {
	var o Overlay
	for i := range ringColors {
		for j := range i {
			a, b := o.look(i), o.look(j)
			if a.dash == b.dash && math.Abs(luminance(t, a.color)-luminance(t, b.color)) < 0.08 {
				t.Errorf("rings %d and %d: %v, %v", j, i, b, a)
			}
		}
	}
}

func TestLooksRepeatLate(t *testing.T) {
	seen := map[look]int{}
	var o Overlay
	for i := range len(ringColors) * len(ringDashes) {
		l := o.look(i)
		if j, ok := seen[l]; ok {
			t.Fatalf("rings %d and %d look alike", j, i)
		}
		seen[l] = i
	}
	if l := (&Overlay{Color: "#123456"}).look(0); l.color != "#123456" {
		t.Errorf("the given colour became %v", l)
	}
}

// TestTextIsLegible: rings and texts against the paper and the fills below them.
func TestTextIsLegible(t *testing.T) {
	contrast := func(a, b string) float64 {
		la, lb := luminance(t, a), luminance(t, b)
		return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
	}
	for _, fill := range []string{hostFill, socketFill, cpuFill, pciFill, gpuFill, nicFill, switchFill, netFill} {
		for _, text := range []string{ink, softInk} {
			if c := contrast(text, fill); c < 2.4 {
				t.Errorf("%s on %s: %.1f", text, fill, c)
			}
		}
	}
	for _, c := range ringColors {
		if v := contrast(c, hostFill); v < 1.5 {
			t.Errorf("ring %s on %s: %.1f", c, hostFill, v)
		}
	}
}

func TestWidthFollowsBandwidth(t *testing.T) {
	last := 0.
	for _, bw := range []float32{12, 20, 24, 40, 60, 120, 240, 370.8, 450} {
		w := bandwidthWidth(bw)
		if w <= last {
			t.Errorf("%v GB/s is drawn %v wide, not more than %v", bw, w, last)
		}
		last = w
	}
	for _, bw := range []float32{-1, 0, 1e30, float32(math.Inf(1))} {
		if w := bandwidthWidth(bw); !(w >= minWidth && w <= maxWidth) {
			t.Errorf("%v GB/s is drawn %v wide", bw, w)
		}
	}
}

func TestGbps(t *testing.T) {
	for v, want := range map[float32]string{
		12: "12 GB/s", 12.5: "12.5 GB/s", 20.6: "20.6 GB/s", 370.8: "371 GB/s", 0.39: "0.4 GB/s", 123.6: "124 GB/s", 4e10: "4e+10 GB/s",
	} {
		if got := gbps(v); got != want {
			t.Errorf("gbps(%v) = %s, want %s", v, got, want)
		}
	}
}
