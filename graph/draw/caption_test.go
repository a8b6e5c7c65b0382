package draw

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
)

// captionOf is the text below a picture, in one line.
func (p *Picture) captionOf() string {
	var parts []string
	boxes := p.allBoxes()
	for i := 0; ; i++ {
		b, ok := boxes[fmt.Sprintf("caption %d", i)]
		if !ok {
			return strings.Join(parts, " ")
		}
		parts = append(parts, b.lines[0].text)
	}
}

// words that stand on links, and how the caption begins to explain each.
var captionWords = map[string]*regexp.Regexp{
	" NVn: ": regexp.MustCompile(`\bNV\d`), " SYS: ": regexp.MustCompile(`\bSYS\b`), " C2C: ": regexp.MustCompile(`\bC2C\b`),
	" PIX: ": regexp.MustCompile(`\bPIX\b`), " PXB: ": regexp.MustCompile(`\bPXB\b`), " PHB: ": regexp.MustCompile(`\bPHB\b`),
	" DIS: ": regexp.MustCompile(`\bDIS\b`),
}

// checkCaption: each word on a link is explained, and no other.
func checkCaption(t interface{ Errorf(string, ...any) }, name string, p *Picture) {
	var said []string
	for _, w := range p.wires {
		for _, l := range w.label {
			said = append(said, l.text)
		}
	}
	for _, f := range p.frames {
		for _, b := range f.boxes { // the NVSwitch
			for _, l := range b.lines {
				said = append(said, l.text)
			}
		}
	}
	caption := " " + p.captionOf()
	for meaning, word := range captionWords {
		if got, want := strings.Contains(caption, meaning), slices.ContainsFunc(said, word.MatchString); got != want {
			t.Errorf("%s: explains %q: %v, used: %v, in %q", name, meaning, got, want, caption)
		}
	}
}

func TestCaptionsExplainWhatIsSaid(t *testing.T) {
	for name, p := range pictures(t) {
		if p.captionOf() != "" { // circles have none
			checkCaption(t, name, p)
		}
	}
}

func TestCaptionsOfRandomMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		hosts := copies(t, topotest.Random(pick), 1+pick(4))
		if hosts == nil || !ranksFit(hosts[0].Graph) {
			t.Skip("nothing to draw")
		}
		p := draw(t, hosts, pick(3))
		checkCaption(t, "drawn", p)
		if joined := slices.ContainsFunc(hosts[0].Graph.Links(), func(l *graph.Link) bool { return l.Type == graph.LinkLOC }); strings.Contains(p.captionOf(), "Dash-dotted: PCI switches") != joined {
			t.Errorf("switches joined on the board: %v, but the caption is %q", joined, p.captionOf())
		}
	})
}

// TestBusyPicturesSayOnce what all links have alike, and only that.
func TestBusyPicturesSayOnce(t *testing.T) {
	hosts := machine(t, "dgx-h100", 4)
	p := draw(t, hosts, 1)
	for _, want := range []string{"All PCI links: 48 GB/s.", "All NICs: 400 Gb/s."} {
		if !strings.Contains(p.captionOf(), want) {
			t.Errorf("no %q in %q", want, p.captionOf())
		}
	}
	texts, _ := p.inked()
	for _, text := range texts {
		if text.text == "48 GB/s" || text.text == "400 Gb/s" {
			t.Errorf("%q is said again at %v", text.text, text.rect)
		}
	}
	mixed := slices.Concat(machine(t, "dgx-h100", 3), machine(t, "dgx-1v", 1))
	for i := range mixed {
		mixed[i].Ranks = nil
		for r := range mixed[i].Graph.NodesOf(graph.GPU) {
			mixed[i].Ranks = append(mixed[i].Ranks, 8*i+r)
		}
	}
	p, err := Machines(mixed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(p.captionOf(), "All PCI") || strings.Contains(p.captionOf(), "All NICs") {
		t.Errorf("unlike machines are said to be alike: %q", p.captionOf())
	}
}

// TestTitlesCount what a host has.
func TestTitlesCount(t *testing.T) {
	for name, want := range map[string]string{
		"v100x4": "v100x4  ·  4 GPUs (sm_70)", "dgx-1v": "dgx-1v  ·  8 GPUs (sm_70), 4 NICs",
		"h200x2": "h200x2  ·  2 GPUs (sm_90), 1 NIC", "dgx-2": "dgx-2  ·  16 GPUs (sm_70), 8 NICs",
	} {
		p, err := Machines(machine(t, name, 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.frames[0].title[0].text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestCardsSaySpeeds: a card names its first device, how many more it has, and
// how fast they are.
func TestCardsSaySpeeds(t *testing.T) {
	card := func(bus int, nets ...int) []string {
		d := topotest.NIC(bus, topotest.Gen4)
		for i, mbps := range nets {
			n := topotest.Net(i, mbps)
			n.Name = fmt.Sprintf("mlx5_%d", i)
			d.NIC.Nets = append(d.NIC.Nets, n)
		}
		hosts := copies(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, topotest.GPU(1, 0, 80, topotest.Gen4), d)), 1)
		p := draw(t, hosts, 0)
		var out []string
		for id, b := range p.allBoxes() {
			if strings.HasPrefix(id, "h0 NIC/") {
				for _, l := range b.lines {
					out = append(out, l.text)
				}
			}
		}
		return out
	}
	for _, c := range []struct{ got, want []string }{
		{card(2, 100000), []string{"mlx5_0", "100 Gb/s"}},
		{card(2, 200000, 200000), []string{"mlx5_0 +1", "2 × 200 Gb/s"}},
		{card(2), []string{"NIC", "02:00.0"}},
		{card(2, 25000, 25000, 25000), []string{"mlx5_0 +2", "3 × 25 Gb/s"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestCaptionsExplainThinLines: what has no link of its own is said to have none,
// and nothing else is.
func TestCaptionsExplainThinLines(t *testing.T) {
	for name, p := range pictures(t) {
		thin := slices.ContainsFunc(p.wires, func(w wire) bool { return w.dash == dotted && w.width == minWidth && !w.arrow })
		if got := strings.Contains(p.captionOf(), "Thin, dash-dotted:"); got != thin {
			t.Errorf("%s: explained %v, drawn %v: %q", name, got, thin, p.captionOf())
		}
		if name == "h200x2" && !thin {
			t.Error("h200x2: its eth0 seems to have a PCI link")
		}
	}
}
