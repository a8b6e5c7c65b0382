package ncclxml

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// endless repeats a text up to a size, without holding it.
type endless struct {
	head, body string
	left       int
	at         int
}

func hostile(head, body string) *endless { return &endless{head: head, body: body, left: 256 << 20} }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && e.left > 0 {
		if e.at < len(e.head) {
			p[n] = e.head[e.at]
		} else {
			p[n] = e.body[(e.at-len(e.head))%len(e.body)]
		}
		n++
		e.at++
		e.left--
	}
	return n, nil
}

// 256 MB of any kind are refused after a small part of them, in memory that
// does not grow with the file.
func TestHostileFilesAreRefusedInBoundedMemory(t *testing.T) {
	for _, test := range []struct{ name, head, body, want string }{
		{"deep nesting", "", "<a>", "nested more than 64"},
		{"deep system", "<system version='1'>", "<cpu>", "nested more than 64"},
		{"wide", "<system>", "<cpu/>", "more than 65536 elements"},
		{"one value", "<system a='", "x", "longer than 65536"},
		{"one name", "<", "x", "longer than 65536"},
		{"one attribute name", "<system ", "x", "longer than 65536"},
		{"one comment", "<system><!--", " x ", "longer than 65536"},
		{"one text", "<system>", "x", "outside of tags"},
		{"blanks", "", " ", "longer than 65536"},
		{"blanks in a tag", "<system", "\n", "longer than 65536"},
		{"attributes", "<system", " a='' b=''", "longer than 65536"},
		{"comments", "", "<!---->", "more than 65536 elements and comments"},
		{"processing", "", "<?a b?>", "more than 8388608 bytes"},
		{"directive", "<!DOCTYPE a [", "<!ENTITY b 'c'>", "longer than 65536"},
		{"entities", "<system a='", "&amp;", "longer than 65536"},
		{"closing", "", "</a>", "closes nothing"},
		{"zeros", "", "\x00", "illegal character"},
		{"blank lines between", "<system>", "\n<!--x-->\n", "more than 65536 elements and comments"},
		{"character data", "<system>", "<![CDATA[ ]]>", "more than 8388608 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := hostile(test.head, test.body)
			before := allocated()
			_, err := Decode(r, "m.xml")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if strings.HasPrefix(test.want, "more") || strings.HasPrefix(test.want, "longer") || strings.HasPrefix(test.want, "nested") {
				if !errors.Is(err, ErrLimit) {
					t.Errorf("%v is no ErrLimit", err)
				}
			}
			if len(err.Error()) > 4096 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
			if r.at > MaxBytes+(64<<10) {
				t.Errorf("read %d bytes before refusing", r.at)
			}
			// In all, not at once: what lives at one time is less.
			if got := allocated() - before; got > 64<<20 {
				t.Errorf("%d MiB allocated", got>>20)
			}
			if got := live(); got > 64<<20 {
				t.Errorf("%d MiB still in use", got>>20)
			}
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func live() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestLimitsLeaveRoom(t *testing.T) {
	depth := strings.Repeat("<cpu>", MaxDepth-1) + strings.Repeat("</cpu>", MaxDepth-1)
	var attributes strings.Builder
	for i := range MaxAttributes {
		attributes.WriteString(" a" + strings.Repeat("x", i) + "=''")
	}
	for name, text := range map[string]string{
		"depth":      "<system>" + depth + "</system>",
		"elements":   "<system>" + strings.Repeat("<cpu/>", MaxElements-1) + "</system>",
		"attributes": "<system" + attributes.String() + "/>",
		"tag":        "<system a='" + strings.Repeat("x", MaxTag-14) + "'/>",
	} {
		if _, err := Decode(strings.NewReader(text), "m.xml"); err != nil {
			t.Errorf("%s at its limit: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"depth":      "<system><cpu>" + depth + "</cpu></system>",
		"elements":   "<system>" + strings.Repeat("<cpu/>", MaxElements) + "</system>",
		"attributes": "<system z=''" + attributes.String() + "/>",
		"tag":        "<system a='" + strings.Repeat("x", MaxTag-13) + "'/>",
	} {
		if _, err := Decode(strings.NewReader(text), "m.xml"); !errors.Is(err, ErrLimit) {
			t.Errorf("%s beyond its limit: %v", name, err)
		}
	}
}

// A machine within the limits, however odd, is handled at once.
func TestLargeMachinesAreRefused(t *testing.T) {
	gpus := func(n int) string {
		var b strings.Builder
		b.WriteString(`<system version="1">`)
		for i := 0; i < n; i += 64 {
			fmt.Fprintf(&b, `<cpu numaid="%d">`, i)
			for j := range min(64, n-i) {
				fmt.Fprintf(&b, `<pci busid="%04x:%02x:00.0"><gpu dev="%d" sm="90"/></pci>`, i, j, i+j)
			}
			b.WriteString("</cpu>")
		}
		return b.String() + "</system>"
	}
	nets := func(perNIC, nics int) string {
		return `<system version="1"><cpu>` + strings.Repeat("<nic>"+strings.Repeat("<net/>", perNIC)+"</nic>", nics) + `</cpu></system>`
	}
	for _, test := range []struct{ name, text, want string }{
		{"children", nets(129, 1), "129 elements directly inside, NCCL takes 128"},
		{"elements", nets(128, 32), "4130 elements, more than the 4096"},
		{"GPUs", gpus(257), "257 GPUs, NCCL takes 256"},
	} {
		_, err := decode(t, test.text).Select(nil)
		if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	if got := len(ranksIn(chosen(t, decode(t, gpus(256))).Root)); got != 256 {
		t.Errorf("%d of 256 GPUs", got)
	}
}
