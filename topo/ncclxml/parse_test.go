package ncclxml

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// vectorFiles lists the machines whose results are known.
func vectorFiles(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"machines/*.xml", "fuzz/machines/*.xml"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "testdata", "vectors", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	return files
}

func decodeFile(t testing.TB, file string) *Document {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Decode(bytes.NewReader(text), filepath.Base(file))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func decode(t testing.TB, text string) *Document {
	t.Helper()
	d, err := Decode(strings.NewReader(text), "m.xml")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func written(t testing.TB, d *Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := Encode(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sameContent is what a document keeps when it is written and read.
var sameContent = cmp.Options{
	cmpopts.IgnoreUnexported(Document{}),
	cmpopts.IgnoreFields(Element{}, "Line", "SelfClosed"),
	cmpopts.EquateEmpty(),
}

// same is sameContent without comments, and fast.
func same(a, b *Element) bool {
	return a.Name == b.Name && slices.Equal(a.Attrs, b.Attrs) && slices.EqualFunc(a.Children, b.Children, same)
}

func TestVectorsComeBackWithoutLoss(t *testing.T) {
	for _, file := range vectorFiles(t) {
		d := decodeFile(t, file)
		text := written(t, d)
		again, err := Decode(strings.NewReader(text), d.Name)
		if err != nil {
			t.Fatalf("%s: written, it is refused: %v", file, err)
		}
		if !same(d.Root, again.Root) {
			t.Errorf("%s changed (-read +written):\n%s", file, cmp.Diff(d, again, sameContent))
		}
		if written(t, again) != text {
			t.Errorf("%s: written twice it differs", file)
		}
	}
}

// Files that NCCL's own code wrote come back to the byte.
func TestDumpsComeBackToTheByte(t *testing.T) {
	n := 0
	for _, file := range vectorFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\n      <pci ") || strings.Contains(string(text), " />") {
			continue // not in the form of a dump
		}
		n++
		if got := written(t, decodeFile(t, file)); got != string(text) {
			t.Errorf("%s differs", file)
		}
	}
	if n < 20 {
		t.Errorf("only %d files compared", n)
	}
}

func TestForms(t *testing.T) {
	const plain = `<system version="1"><cpu numaid="0" x="a&amp;b"/></system>`
	want := decode(t, plain)
	for name, text := range map[string]string{
		"declaration":               `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + plain,
		"byte order mark":           "\xef\xbb\xbf" + plain,
		"blanks around":             " \r\n\t" + plain + "\n\n",
		"other processing":          plain + "<?done?>",
		"single quotes":             strings.ReplaceAll(plain, `"`, `'`),
		"line breaks in a tag":      strings.ReplaceAll(plain, " ", "\n"),
		"tabs in a tag":             strings.ReplaceAll(plain, " ", "\t"),
		"several blanks":            strings.ReplaceAll(plain, " ", "  "),
		"blanks before the end":     strings.NewReplacer("/>", "  />", "1\">", "1\" >").Replace(plain),
		"numeric entity":            strings.ReplaceAll(plain, "&amp;", "&#38;"),
		"character data of blanks":  strings.ReplaceAll(plain, "><", ">\n \t<"),
		"two tags, not self-closed": strings.ReplaceAll(plain, "/>", "></cpu>"),
	} {
		d, err := Decode(strings.NewReader(text), "m.xml")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, d, sameContent); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestCommentsStay(t *testing.T) {
	const text = `<!-- before -->
<!-- and before -->
<system version="1">
  <!-- a=b -->
  <cpu numaid="0">
    <!-- <pci/> -->
  </cpu>
  <!-- two
  lines -->
</system>
<!-- after -->
`
	if got := written(t, decode(t, text)); got != text {
		t.Errorf("got\n%s", got)
	}
	// NCCL takes no = in the first word of a comment, so it never gets one.
	if got := written(t, decode(t, `<system><!--a=b--></system>`)); !strings.Contains(got, "<!-- a=b -->") {
		t.Errorf("got\n%s", got)
	}
}

func TestNothingIsDropped(t *testing.T) {
	const text = `<system version="1" name="box" x:y="1">
  <rack id="7">
    <cpu odd="&lt;&quot;&#9;&#10;&#13;'&gt;"/>
  </rack>
</system>
`
	got := written(t, decode(t, text))
	if want := strings.ReplaceAll(text, "&gt;", ">"); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestLinesAreThoseOfTheTags(t *testing.T) {
	d := decode(t, "\n\n<system\n version=\"1\">\n\n  <cpu numaid=\"0\">\n  <!--\n\n-->\n<pci/></cpu>\n</system>")
	cpu := d.Root.Children[0]
	if got := []int{d.Root.Line, cpu.Line, cpu.Children[0].Line}; !cmp.Equal(got, []int{3, 6, 10}) {
		t.Errorf("lines %v, want 3, 6, 10", got)
	}
}

func TestMalformedFilesAreRefusedWithPlaceAndReason(t *testing.T) {
	for _, test := range []struct {
		name, text string
		kind       error
		want       string
	}{
		{"empty", "", ErrSyntax, "m.xml: no XML element"},
		{"blank", "  \n", ErrSyntax, "no XML element"},
		{"only a comment", "<!-- x -->", ErrSyntax, "no XML element"},
		{"plain text", "hello\n<system/>", ErrSyntax, `m.xml:1: text "hello" outside`},
		{"text before", "\n\nThis file has\n<system/>", ErrSyntax, `m.xml:3: text "This file has"`},
		{"text inside", "<system>\n<cpu>\n  0-7</cpu></system>", ErrSyntax, `m.xml:3: in cpu: text "0-7"`},
		{"text after", "<system/>\nend", ErrSyntax, `m.xml:2: text "end"`},
		{"character data section", "<system><![CDATA[x]]></system>", ErrSyntax, `text "x"`},
		{"second root", "<system/>\n<system/>", ErrSyntax, "m.xml:2: a second root element <system>"},
		{"glued", `<system a="1"b="2"/>`, ErrSyntax, "no space between two attributes"},
		{"glued, single", `<system a='1'b='2'/>`, ErrSyntax, "no space between two attributes"},
		{"twice", `<system a="1" a="2"/>`, ErrSyntax, "attribute a is there twice"},
		{"no quotes", `<system a=1/>`, ErrSyntax, "m.xml:1: unquoted"},
		{"no value", `<system a/>`, ErrSyntax, "m.xml:1: attribute name without ="},
		{"wrong order", "<system>\n<cpu>\n<pci></cpu></system>", ErrSyntax, "m.xml:3: in pci: </cpu> comes where </pci> is due for line 3"},
		{"closed too often", "<system/></system>", ErrSyntax, "</system> closes nothing"},
		{"doctype", "<!DOCTYPE system [<!ENTITY a 'b'>]><system/>", ErrSyntax, "<!DOCTYPE> is not part"},
		{"entity", "<system a='&lol;'/>", ErrSyntax, "invalid character entity &lol;"},
		{"not UTF-8", "<system a='\xff'/>", ErrSyntax, "invalid UTF-8"},
		{"UTF-16", "\xff\xfe<\x00s\x00", ErrSyntax, "invalid UTF-8"},
		{"binary", "\x00\x01\x02", ErrSyntax, "illegal character"},
		{"other encoding", `<?xml version="1.0" encoding="latin1"?><system/>`, ErrSyntax, "save the file as UTF-8"},
		{"other version of XML", `<?xml version="2.0"?><system/>`, ErrSyntax, "version"},
		{"ends in elements", "<system>\n<cpu>\n<pci>\n", ErrTruncated, "m.xml:4: the file ends early: not closed are <pci> of line 3, <cpu> of line 2, <system> of line 1"},
		{"ends, and is of no use", "<system version='2'>\n<cpu>", ErrOtherFormat, "RCCL (AMD GPUs, version 2 with xgmi links); besides, it ends early, at line 2"},
		{"ends in a part", "\n<pci>\n", ErrOtherFormat, "m.xml:2: this is a part of a topology file: its root <system> is missing; besides, it ends early"},
		{"graphs that end", "<graphs version='1'>", ErrTruncated, "not closed are <graphs> of line 1"},
		{"ends in a tag", "<system>\n<cpu num", ErrTruncated, "not closed are <system> of line 1"},
		{"ends in the first tag", "<system vers", ErrTruncated, "the file ends inside a tag"},
		{"ends in a comment", "<!-- ", ErrTruncated, "the file ends"},
	} {
		_, err := Decode(strings.NewReader(test.text), "m.xml")
		var typed *Error
		if !errors.As(err, &typed) || !errors.Is(err, test.kind) {
			t.Errorf("%s: %v, want an *Error of kind %v", test.name, err, test.kind)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v\nwant %q", test.name, err, test.want)
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, os.ErrPermission }

func TestReadErrorsArePassedOn(t *testing.T) {
	_, err := Decode(brokenReader{}, "m.xml")
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "m.xml") {
		t.Errorf("got %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, os.ErrInvalid }

func TestWriteErrorsArePassedOn(t *testing.T) {
	if err := Encode(fullDisk{}, decode(t, "<system version='1'/>")); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
