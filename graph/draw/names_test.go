package draw

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"html"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/graph/draw/internal/paint"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

// hostile are texts that break out of one language or another, or that no
// viewer can show.
var hostile = []string{
	`</text><script>alert(1)</script>`, `"];x[URL="http://example.com"];y["`, `<BR/><IMG SRC="x"/>`, `\G\N\E\L\l`, `\`, `"`, `&amp;&#x1;&lt;`,
	"a\x00b", "\x1b[31m", "\u202egnp.evil", "\ufffe\uffff", "\ufeff", "\u2028line\u2029", "\u0085", "]]>", "--><!--", "%s%n%d", "${HOME}",
	"/* */ // #", strings.Repeat("W", 100), "日本語", "🙂", "é\u0301", "\xff\xfe", "",
}

// named is a machine of two GPUs and a card, all of whose names are given.
func named(t testingTB, host, net string) []Host {
	t.Helper()
	card := topotest.Net(0, 100000)
	card.Name = net
	sys := topotest.Machine(topotest.Socket(topotest.Skylake, 0,
		topotest.GPU(1, 0, 80, topotest.Gen4), topotest.GPU(2, 1, 80, topotest.Gen4), topotest.NIC(3, topotest.Gen4, card)))
	hosts := copies(t, sys, 2)
	hosts[0].Name, hosts[1].Name = host, host
	return hosts
}

// TestNamesStayText: whatever the names of machines, cards and rings are, they
// are texts in the picture and nothing else, and the picture can be read.
func TestNamesStayText(t *testing.T) {
	for i := 0; i < len(hostile); i += 4 {
		name := func(k int) string { return hostile[(i+k)%len(hostile)] }
		hosts := named(t, name(0), name(1))
		o := ring(hosts, 0, inOrder(hosts)...)
		o.Title, o.Tag = name(2), name(3)
		for _, make := range []func([]Host, []Overlay) (*Picture, error){Machines, Cycles} {
			p, err := make(hosts, []Overlay{o})
			if err == nil {
				err = onlyText(t.Context(), p)
			}
			if err != nil {
				t.Errorf("%q, %q, %q, %q: %v", name(0), name(1), name(2), name(3), err)
			}
		}
	}
}

// TestTextsArePlain: in Graphviz's language, too.
func TestTextsArePlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + rapid.SampledFrom(hostile).Draw(t, "hostile")
		got := printable(text)
		if printable(got) != got || utf8.RuneCountInString(got) > utf8.RuneCountInString(text) {
			t.Errorf("%q became %q, and that %q", text, got, printable(got))
		}
		for _, r := range got {
			if !unicode.IsGraphic(r) {
				t.Errorf("%q holds %U", got, r)
			}
		}
		if label := htmlLabel([]line{{text: text, size: 9, color: ink}}); text != "" {
			body := strings.TrimSuffix(strings.TrimPrefix(label, `<<FONT POINT-SIZE="9" COLOR="`+ink+`">`), "</FONT>>")
			if html.UnescapeString(body) != got || strings.ContainsAny(body, `<>"`) {
				t.Errorf("%q is written as %q", got, label)
			}
		}
		quoted := quote(text)
		plain := strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(quoted[1 : len(quoted)-1])
		if html.UnescapeString(plain) != got {
			t.Errorf("%q is quoted as %s", got, quoted)
		}
	})
}

// onlyText looks at a finished picture for anything but figures and texts.
func onlyText(ctx context.Context, p *Picture) error {
	svg, err := p.SVG(ctx)
	if err != nil {
		return err
	}
	elements := []string{"svg", "g", "title", "a", "text", "polygon", "polyline", "path", "ellipse"}
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if e, ok := tok.(xml.StartElement); ok {
			if !slices.Contains(elements, e.Name.Local) {
				return errors.New("an element " + e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || strings.Contains(a.Value, "url(") {
					return errors.New("an attribute " + a.Name.Local + "=" + a.Value)
				}
			}
		}
	}
	if i := bytes.IndexFunc(svg, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x202e || r == 0xfffe }); i >= 0 {
		return errors.New("a control character")
	}
	_, err = paint.Read(svg)
	return err
}

// TestPNGAndSVGAreOfOneSize, up to the last dot.
func TestPNGAndSVGAreOfOneSize(t *testing.T) {
	for _, name := range []string{"v100x4", "power9x4", "pcie8"} {
		p, err := Machines(machine(t, name, 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		svg, err := p.SVG(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d, err := paint.Read(svg)
		if err != nil {
			t.Fatal(err)
		}
		dots, err := p.PNG(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.DecodeConfig(bytes.NewReader(dots))
		if err != nil {
			t.Fatal(err)
		}
		if img.Width != int(math.Ceil(d.Width*pngScale)) || img.Height != int(math.Ceil(d.Height*pngScale)) {
			t.Errorf("%s: %d × %d dots of %v × %v", name, img.Width, img.Height, d.Width, d.Height)
		}
	}
}

// TestCyclesOfRandomMachines: each ring's GPUs stand once on its circle, each
// hop leads with an arrow from one to the next, and says how fast it is.
func TestCyclesOfRandomMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		hosts := copies(t, topotest.Random(pick), 1)
		if hosts != nil {
			hosts[0].Name = rapid.SampledFrom([]string{"box", "racks/7/machines/under-test/box-with-a-long-name.xml"}).Draw(t, "name")
		}
		if hosts == nil || !ranksFit(hosts[0].Graph) || len(inOrder(hosts)) < 2 {
			t.Skip("nothing to draw")
		}
		var overlays []Overlay
		for i := range 1 + pick(5) {
			overlays = append(overlays, ring(hosts, i, rapid.Permutation(inOrder(hosts)).Draw(t, "order")...))
		}
		p, err := Cycles(hosts, overlays)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range faults(p) {
			t.Error(f)
		}
		if len(p.wires) != len(overlays)*len(inOrder(hosts)) {
			t.Fatalf("%d hops of %d rings of %d GPUs", len(p.wires), len(overlays), len(inOrder(hosts)))
		}
		checkHops(t, p, hosts, overlays)
	})
}

func checkHops(t *rapid.T, p *Picture, hosts []Host, overlays []Overlay) {
	boxes, gpus := p.allBoxes(), map[int]*graph.Node{}
	for _, g := range hosts[0].Graph.NodesOf(graph.GPU) {
		gpus[hosts[0].Ranks[g.GPU.Rank]] = g
	}
	for i, o := range overlays {
		look := o.look(i)
		slowest := float32(math.Inf(1))
		for k, hop := range o.Hops {
			w := p.wires[i*len(o.Hops)+k]
			c := circle{index: i}
			if w.from != c.id(hop.From) || w.to != c.id(hop.To) || !w.arrow || w.color != look.color {
				t.Errorf("%s: hop %+v is %+v", o.Title, hop, w)
			}
			a, b := boxes[w.from], boxes[w.to]
			last := w.parts[len(w.parts)-1]
			if !a.touches(w.parts[0][0]) || !b.touches(last[len(last)-1]) {
				t.Errorf("%s: hop %+v from %v to %v", o.Title, hop, w.parts, w.to)
			}
			path, _ := hosts[0].Graph.Path(gpus[hop.From], gpus[hop.To])
			slowest = min(slowest, path.BW)
			if got := w.label[len(w.label)-1].text; got != gbps(path.BW) {
				t.Errorf("%s: hop %+v is labelled %q, want %s", o.Title, hop, got, gbps(path.BW))
			}
		}
		title := boxes[(&circle{index: i}).id(0)[:len("c")+len(number(float64(i)))]+" title"]
		if got := title.lines[len(title.lines)-1].text; got != "slowest hop "+gbps(slowest) {
			t.Errorf("%s: %q, want %s", o.Title, got, gbps(slowest))
		}
	}
}

// TestHostsStandApart: the frames of hosts neither touch nor leave the page.
func TestHostsStandApart(t *testing.T) {
	for _, n := range []int{1, 2, 7, MaxHosts} {
		hosts := machine(t, "v100x4", n)
		p := draw(t, hosts, 1)
		if len(p.frames) != n {
			t.Fatalf("%d frames of %d hosts", len(p.frames), n)
		}
		for i, f := range p.frames {
			if i > 0 && f.area.x <= p.frames[i-1].area.right() {
				t.Errorf("host %d of %d touches the one before", i, n)
			}
			if f.area.x < 0 || f.area.right() > p.size.x || f.area.bottom() > p.size.y {
				t.Errorf("host %d at %v on a page of %v", i, f.area, p.size)
			}
			for _, b := range f.boxes {
				if !inside(b.area, f.area) {
					t.Errorf("host %d: %s at %v is outside of %v", i, b.id, b.area, f.area)
				}
			}
			for _, socket := range f.frames {
				if !inside(socket.area, f.area) {
					t.Errorf("host %d: %s at %v is outside of %v", i, socket.id, socket.area, f.area)
				}
			}
		}
	}
}

func inside(a, b rect) bool {
	return a.x >= b.x && a.y >= b.y && a.right() <= b.right() && a.bottom() <= b.bottom()
}

// TestRanksOutsideAreTold: graphs whose ranks leave their host's list.
func TestRanksOutsideAreTold(t *testing.T) {
	sys := topotest.Machine(topo.CPU{Devices: []topo.Device{topotest.GPU(1, 3, 80, topotest.Gen4)}})
	g, err := graph.Build(sys, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Machines([]Host{{Name: "box", Graph: g, Ranks: []int{0}}}, nil); err == nil || !strings.Contains(err.Error(), "rank 3") {
		t.Errorf("got %v", err)
	}
}
