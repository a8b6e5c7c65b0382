package ncclxml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTwoElementsAlikeFuseIntoTheFirst(t *testing.T) {
	// Virtual cards have no attributes to tell them apart: the second rank
	// finds the second card's network missing in the first.
	d := decode(t, machine(`<nic><net dev="0"/></nic>`, `<nic><net dev="1"/></nic>`, gpuAt("10", ` dev="0"`), gpuAt("11", ` dev="1"`)))
	nics := chosen(t, d).Root.Children[0].Children[:2]
	if a, b := len(nics[0].Children), len(nics[1].Children); a != 2 || b != 1 {
		t.Errorf("%d and %d networks, want 2 and 1", a, b)
	}
	if nics = chosen(t, d, 0).Root.Children[0].Children[:2]; len(nics[0].Children) != 1 {
		t.Errorf("a single rank fuses nothing, but there are %d networks", len(nics[0].Children))
	}
}

func TestFormsOfTagsDoNotFuse(t *testing.T) {
	d := decode(t, machine(`<nic></nic>`, `<nic/>`, gpuAt("10", ` dev="0"`), gpuAt("11", ` dev="1"`)))
	if nics := chosen(t, d).Root.Children[0].Children; nics[0].SelfClosed || !nics[1].SelfClosed || nics[2].Name != "pci" {
		t.Errorf("got\n%s", written(t, chosen(t, d)))
	}
}

func TestKeptElementsStayWhole(t *testing.T) {
	d := decode(t, machine(gpuAt("10", ` dev="0"`), `<pci busid="0000:20:00.0" keep="1"><pci busid="0000:21:00.0"/></pci>`,
		`<pci busid="0000:22:00.0" keep="0"><pci busid="0000:23:00.0"/></pci>`))
	text := written(t, chosen(t, d))
	if !strings.Contains(text, `<pci busid="0000:20:00.0">`) || !strings.Contains(text, "0000:21") || strings.Contains(text, "0000:22") {
		t.Errorf("got\n%s", text)
	}
}

// literally does what the rules say, step by step: for each rank a whole copy
// with marks, trimmed, then fused.
func literally(d *Document, devs []int) *Element {
	var fused *Element
	for rank, dev := range devs {
		tree := copyTree(d.Root)
		markRank(tree, dev, rank)
		trim(tree, nil)
		if fused == nil {
			fused = tree
		} else {
			fuseLiterally(fused, tree)
		}
	}
	return fused
}

func copyTree(e *Element) *Element {
	c := *e
	c.Attrs = slices.Clone(e.Attrs)
	c.Children = nil
	for _, child := range e.Children {
		if slices.Contains(nesting[e.Name], child.Name) {
			c.Children = append(c.Children, copyTree(child))
		}
	}
	return &c
}

func markRank(e *Element, dev, rank int) {
	if v, _ := e.Get("dev"); e.Name == "net" || e.Name == "gpu" && v == strconv.Itoa(dev) {
		e.Set("keep", "1")
		if e.Name == "gpu" {
			e.Set("rank", strconv.Itoa(rank))
		}
	}
	for _, c := range e.Children {
		markRank(c, dev, rank)
	}
}

func trim(e, parent *Element) bool {
	if v, _ := e.Get("keep"); v == "1" {
		e.Attrs = slices.DeleteFunc(e.Attrs, func(a Attr) bool { return a.Key == "keep" })
		return true
	}
	kept := false
	for _, c := range slices.Clone(e.Children) {
		kept = trim(c, e) || kept
	}
	if !kept && (e.Name == "pci" || e.Name == "cpu") {
		parent.Children = slices.DeleteFunc(parent.Children, func(c *Element) bool { return c == e })
	}
	return kept
}

func fuseLiterally(dst, src *Element) {
	for _, s := range src.Children {
		i := slices.IndexFunc(dst.Children, func(c *Element) bool {
			if c.Name != s.Name || c.SelfClosed != s.SelfClosed || len(c.Attrs) != len(s.Attrs) {
				return false
			}
			for _, a := range s.Attrs {
				if v, ok := c.Get(a.Key); !ok || v != a.Value {
					return false
				}
			}
			return true
		})
		if i < 0 {
			dst.Children = append(dst.Children, copyTree(s))
		} else {
			fuseLiterally(dst.Children[i], s)
		}
	}
}

func TestSelectDoesWhatTheRulesSay(t *testing.T) {
	for _, file := range vectorFiles(t) {
		d := decodeFile(t, file)
		seats, err := d.seats(&Document{})
		if err != nil {
			t.Fatal(err)
		}
		job, err := d.assign(seats, nil)
		if err != nil {
			t.Fatal(err)
		}
		var devs []int
		for _, s := range job {
			devs = append(devs, s.dev)
		}
		slices.Reverse(devs)
		for n := 1; n <= len(devs); n *= 2 {
			literal := &Document{Root: literally(d, devs[:n])}
			literal.closeGaps()
			want := written(t, literal)
			if got := written(t, chosen(t, d, devs[:n]...)); got != want {
				t.Fatalf("%s, GPUs %v:\n%s", file, devs[:n], cmp.Diff(want, got))
			}
		}
	}
}

// drawTree makes a tree with few different elements, so that many are alike.
func drawTree(t *rapid.T, name string, depth int, gpus *int) *Element {
	e := &Element{Name: name, SelfClosed: rapid.Bool().Draw(t, "form")}
	for _, key := range []string{"busid", "keep", "x"} {
		if v := rapid.SampledFrom([]string{"", "", "", "1", "2"}).Draw(t, key); v != "" {
			e.Attrs = append(e.Attrs, Attr{key, v})
		}
	}
	if name == "gpu" {
		e.Set("dev", strconv.Itoa(*gpus))
		*gpus++
	}
	names := nesting[name]
	if len(names) == 0 || depth == 0 {
		return e
	}
	for range rapid.IntRange(0, 4).Draw(t, "children") {
		e.Children = append(e.Children, drawTree(t, rapid.SampledFrom(names).Draw(t, "name"), depth-1, gpus))
	}
	return e
}

func TestSelectDoesWhatTheRulesSayOnAnyTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gpus := 0
		root := drawTree(t, "system", 5, &gpus)
		root.Set("version", "1")
		if gpus == 0 {
			t.Skip("no GPU")
		}
		devs := rapid.Permutation(count0(gpus)).Draw(t, "devs")
		devs = devs[:rapid.IntRange(1, gpus).Draw(t, "n")]
		d := &Document{Name: "drawn", Root: root}
		job, err := d.Select(devs)
		if err != nil {
			t.Fatal(err)
		}
		want, got := render(literally(d, devs)), render(job.Root)
		if want != got {
			t.Fatalf("GPUs %v of\n%s\n%s", devs, render(root), cmp.Diff(want, got))
		}
	})
}

func count0(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}
	return v
}

// render shows the form of tags, too.
func render(e *Element) string {
	text := fmt.Sprint(e.Name, e.SelfClosed, e.Attrs, "(")
	for _, c := range e.Children {
		text += render(c) + "\n"
	}
	return text + ")"
}
