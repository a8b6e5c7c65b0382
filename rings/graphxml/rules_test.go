package graphxml

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

const attrs = ` pattern="4" crossnic="0" nchannels="1" speedintra="20" speedinter="18.5" latencyinter="1.5" typeintra="NVB" typeinter="PXN" samechannels="1"`

func file(graphs ...string) string {
	return `<graphs version="1">` + strings.Join(graphs, "\n") + "</graphs>"
}

func one(attributes string, devs ...string) string {
	return "<graph id=\"0\"" + attributes + "><channel>\n" + gpus(devs...) + "</channel></graph>"
}

func gpus(devs ...string) string {
	text := ""
	for _, d := range devs {
		text += `<gpu dev="` + d + `"/>` + "\n"
	}
	return text
}

func TestEveryField(t *testing.T) {
	p, notes, err := preset(file(one(attrs, "2", "0", "3", "1")), node(t, "v100x4", 1), rings.CrossAuto)
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	want := &rings.Set{Pattern: rings.Ring, NChannels: 1, SameChannels: 1, BWIntra: 20, BWInter: 18.5, LatencyInter: 1.5,
		TypeIntra: graph.NVB, TypeInter: graph.PXN, Intra: [][]int{{2, 0, 3, 1}}}
	if !reflect.DeepEqual(p.Ring, want) {
		t.Errorf("ring %+v, want %+v", p.Ring, want)
	}
	if p.Tree != nil || p.NVLS != nil {
		t.Errorf("tree %v, NVLS %v out of nowhere", p.Tree, p.NVLS)
	}
}

func TestDeviceNumbersAreHexadecimal(t *testing.T) {
	g := node(t, "dgx-2", 1)
	devs := []string{"0x0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "B", "0xc", "0XD", "e", "f"}
	p, _, err := preset(file(one(attrs, devs...)), g, rings.CrossAuto)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; !slices.Equal(p.Ring.Intra[0], want) {
		t.Errorf("ranks %v", p.Ring.Intra[0])
	}
	devs[10] = "10" // sixteen
	if _, _, err = preset(file(one(attrs, devs...)), g, rings.CrossAuto); err == nil || !strings.Contains(err.Error(), "GPU 0x10") {
		t.Errorf("error %v, want no GPU 0x10", err)
	}
}

func TestChannelCount(t *testing.T) {
	g := node(t, "v100x4", 1, 0, 1)
	two := `<graph id="0"` + attrs + "><channel>" + gpus("0", "1") + "</channel><channel>" + gpus("1", "0") + "</channel></graph>"
	p, notes, err := preset(file(two), g, rings.CrossAuto)
	if err != nil || len(p.Ring.Intra) != 1 {
		t.Errorf("nchannels 1 of 2: %v, %v", p.Ring, err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "only that many of its 2") {
		t.Errorf("notes %q", notes)
	}
	if p, _, err = preset(file(strings.Replace(two, `nchannels="1"`, `nchannels="0"`, 1)), g, rings.CrossAuto); err != nil || p.Ring.NChannels != 0 || p.Ring.Intra != nil {
		t.Errorf("nchannels 0: %+v, %v", p.Ring, err)
	}
	_, _, err = preset(file(strings.Replace(two, `nchannels="1"`, `nchannels="3"`, 1)), g, rings.CrossAuto)
	if err == nil || !strings.Contains(err.Error(), "channel 2 is missing") {
		t.Errorf("nchannels 3 of 2: %v", err)
	}
}

// A later graph of the same id is laid over the earlier ones.
func TestLaterGraphsOverwrite(t *testing.T) {
	g := node(t, "v100x4", 1, 0, 1)
	first := strings.Replace(`<graph id="0"`+attrs+"><channel>"+gpus("0", "1")+"</channel><channel>"+gpus("0", "1")+"</channel></graph>",
		`nchannels="1"`, `nchannels="2"`, 1)
	second := strings.Replace(strings.Replace(one(attrs, "1", "0"), `nchannels="1"`, `nchannels="2"`, 1), `speedintra="20"`, `speedintra="3"`, 1)
	other := strings.Replace(one(attrs, "7"), `id="0"`, `id="2"`, 1) // CollNet: nobody reads it
	p, _, err := preset(file(first, other, second), g, rings.CrossAuto)
	if err != nil {
		t.Fatal(err)
	}
	if want := [][]int{{1, 0}, {0, 1}}; !reflect.DeepEqual(p.Ring.Intra, want) || p.Ring.BWIntra != 3 {
		t.Errorf("channels %v at %v, want %v at 3", p.Ring.Intra, p.Ring.BWIntra, want)
	}
}

func TestCrossNIC(t *testing.T) {
	g := node(t, "v100x4", 1, 0, 1)
	plain := one(attrs, "0", "1")
	crossing := strings.Replace(one(attrs, "1", "0"), `crossnic="0"`, `crossnic="1"`, 1)
	p, notes, err := preset(file(plain, crossing), g, rings.CrossNever)
	if err != nil || p.Ring.CrossNIC != 0 || p.Ring.Intra[0][0] != 0 || len(notes) != 1 {
		t.Errorf("never: %+v, %q, %v", p.Ring, notes, err)
	}
	if p, _, err = preset(file(plain, crossing), g, rings.CrossAuto); err != nil || p.Ring.CrossNIC != 1 || p.Ring.Intra[0][0] != 1 {
		t.Errorf("auto: %+v, %v", p.Ring, err)
	}
	if p, _, err = preset(file(crossing), g, rings.CrossNever); err != nil || p.Ring != nil {
		t.Errorf("nothing but crossing: %+v, %v", p.Ring, err)
	}
}

func TestNetworks(t *testing.T) {
	channel := func(nets ...string) string {
		text := `<graph id="0"` + attrs + "><channel>"
		for _, n := range nets {
			text += `<net dev="` + n + `"/>`
		}
		return file(text + gpus("0", "1", "2", "3") + "</channel></graph>")
	}
	g := node(t, "power9x4", 2)
	p, _, err := preset(channel("1", "0x0"), g, rings.CrossAuto)
	if err != nil || !reflect.DeepEqual(p.Ring.Inter, [][2]int64{{1, 0}}) {
		t.Errorf("two: %v, %v", p.Ring, err)
	}
	p, notes, err := preset(channel("1"), g, rings.CrossAuto)
	if err != nil || p.Ring.Inter[0] != [2]int64{1, 0} || len(notes) != 1 {
		t.Errorf("one: %v, %q, %v", p.Ring, notes, err)
	}
	for _, test := range []struct {
		nets []string
		want string
	}{{[]string{"0", "1", "0"}, "names 3 networks"}, {[]string{"0", "2"}, "network 0x2, but the node has 0x0, 0x1"}} {
		if _, _, err := preset(channel(test.nets...), g, rings.CrossAuto); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.nets, err, test.want)
		}
	}
	// Inside one node networks do not matter.
	if p, notes, err = preset(channel("7"), node(t, "power9x4", 1), rings.CrossAuto); err != nil || p.Ring.Inter != nil || len(notes) > 0 {
		t.Errorf("inside a node: %+v, %q, %v", p.Ring, notes, err)
	}
}

func TestNVLSNamesTheHeadOnly(t *testing.T) {
	text := strings.Replace(one(attrs, "2"), `id="0"`, `id="3"`, 1)
	p, _, err := preset(file(text), node(t, "v100x4", 1), rings.CrossAuto)
	if err != nil {
		t.Fatal(err)
	}
	if want := [][]int{{2, 0, 0, 0}}; !reflect.DeepEqual(p.NVLS.Intra, want) {
		t.Errorf("heads %v, want %v", p.NVLS.Intra, want)
	}
}

func TestUnknownPathTypeIsLOC(t *testing.T) {
	text := strings.Replace(one(attrs, "0", "1"), `"NVB"`, `"P2C"`, 1)
	p, notes, err := preset(file(text), node(t, "v100x4", 1, 0, 1), rings.CrossAuto)
	if err != nil || p.Ring.TypeIntra != graph.LOC || len(notes) != 1 || !strings.Contains(notes[0], `typeintra "P2C"`) {
		t.Errorf("%+v, %q, %v", p.Ring, notes, err)
	}
}

func TestLatencyMayBeMissing(t *testing.T) {
	text := strings.Replace(one(attrs, "0", "1"), ` latencyinter="1.5"`, "", 1)
	if p, _, err := preset(file(text), node(t, "v100x4", 1, 0, 1), rings.CrossAuto); err != nil || p.Ring.LatencyInter != 0 {
		t.Errorf("%+v, %v", p.Ring, err)
	}
}

func TestErrorsNameThePlaceAndAWayOut(t *testing.T) {
	good := one(attrs, "0", "1")
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"no id", file(strings.Replace(good, ` id="0"`, "", 1)), []string{"g.xml:1: graph: id is missing"}},
		{"no pattern", file("\n" + strings.Replace(good, ` pattern="4"`, "", 1)), []string{`g.xml:2: graph id "0": pattern is missing`}},
		{"no crossnic", file(strings.Replace(good, ` crossnic="0"`, "", 1)), []string{"crossnic is missing"}},
		{"no nchannels", file(strings.Replace(good, ` nchannels="1"`, "", 1)), []string{"nchannels is missing"}},
		{"no speed", file(strings.Replace(good, ` speedinter="18.5"`, "", 1)), []string{"speedinter is missing"}},
		{"no type", file(strings.Replace(good, ` typeinter="PXN"`, "", 1)), []string{"typeinter is missing"}},
		{"no samechannels", file(strings.Replace(good, ` samechannels="1"`, "", 1)), []string{"samechannels is missing"}},
		{"no dev", file(strings.Replace(good, ` dev="1"`, "", 1)), []string{"g.xml:3: gpu: dev is missing"}},
		{"negative count", file(strings.Replace(good, `nchannels="1"`, `nchannels="-1"`, 1)), []string{"nchannels is -1", "0 to 32"}},
		{"high count", file(strings.Replace(good, `nchannels="1"`, `nchannels="33"`, 1)), []string{"nchannels is 33"}},
		{"negative speed", file(strings.Replace(good, `"18.5"`, `"-1"`, 1)), []string{`speedinter "-1"`}},
		{"endless speed", file(strings.Replace(good, `"20"`, `"inf"`, 1)), []string{`speedintra "inf"`}},
		{"other GPU", file(one(attrs, "0", "5")), []string{`g.xml:3: gpu dev "5"`, "no GPU 0x5", "it has 0x0, 0x1", "/etc/nccl.conf"}},
		{"twice", file(one(attrs, "0", "0")), []string{"0x0 is in channel 0 twice"}},
		{"too few", file(one(attrs, "0")), []string{"channel 0 names 1 GPUs, not all 2", "NCCL_GRAPH_FILE"}},
		{"empty NVLS", file(strings.Replace(one(attrs), `id="0"`, `id="3"`, 1)), []string{"names 0 GPUs, not the head"}},
		{"33 channels", file(`<graph id="0"` + attrs + ">" + strings.Repeat("<channel>"+gpus("0", "1")+"</channel>", 33) + "</graph>"), []string{"more than 32 channels"}},
		{"a topology", `<system version="1"/>`, []string{"this is a topology file"}},
		{"version 2", `<graphs version="2"/>`, []string{`version "2"`}},
		{"no version", `<graphs/>`, []string{"version is missing"}},
		{"no root", `<graph id="0"/>`, []string{"without its root"}},
		{"cut off", strings.TrimSuffix(file(good), "</channel></graph></graphs>"), []string{"not closed are <channel> of line 1, <graph> of line 1"}},
	} {
		_, _, err := preset(test.text, node(t, "v100x4", 1, 0, 1), rings.CrossAuto)
		var typed *ncclxml.Error
		if !errors.As(err, &typed) {
			t.Errorf("%s: %v, want an *ncclxml.Error", test.name, err)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nhas no %q", test.name, err, want)
			}
		}
	}
}
