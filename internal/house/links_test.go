package house

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// A link in Markdown, and a heading of it.
var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fences   = regexp.MustCompile("(?ms)^```.*?^```")
)

// Every link of the pages leads to a file or a heading that is there.
func TestLinksLeadSomewhere(t *testing.T) {
	pages, count := os.DirFS(root), 0
	for _, page := range markdown(t, pages) {
		text := prose(t, pages, page)
		for _, m := range links.FindAllSubmatch(text, -1) {
			count++
			if why := deadLink(pages, page, string(m[1])); why != "" {
				t.Errorf("%s: link %s: %s", page, m[1], why)
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d links found", count)
	}
}

// Every page under docs can be reached by links from the README.
func TestPagesAreReached(t *testing.T) {
	pages := os.DirFS(root)
	reached := map[string]bool{}
	for todo := []string{"README.md"}; len(todo) > 0; {
		page := todo[0]
		todo = todo[1:]
		if reached[page] || path.Ext(page) != ".md" {
			continue
		}
		reached[page] = true
		for _, m := range links.FindAllSubmatch(prose(t, pages, page), -1) {
			target, _, _ := strings.Cut(string(m[1]), "#")
			if target != "" && !isElsewhere(target) {
				todo = append(todo, path.Join(path.Dir(page), target))
			}
		}
	}
	for _, page := range markdown(t, pages) {
		if !reached[page] {
			t.Errorf("no link leads to %s", page)
		}
	}
}

// markdown gives the README and the pages under docs.
func markdown(t *testing.T, pages fs.FS) []string {
	t.Helper()
	found := []string{"README.md"}
	err := fs.WalkDir(pages, "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(name) == ".md" {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// prose is a page without its examples.
func prose(t *testing.T, pages fs.FS, page string) []byte {
	t.Helper()
	text, err := fs.ReadFile(pages, page)
	if err != nil {
		t.Fatal(err)
	}
	return fences.ReplaceAll(bytes.ReplaceAll(text, []byte("\r"), nil), nil)
}

// deadLink says why a link on a page leads nowhere; "" if it does not, or leads
// out of the project.
func deadLink(pages fs.FS, page, link string) string {
	if isElsewhere(link) {
		return ""
	}
	target, anchor, _ := strings.Cut(link, "#")
	file := page
	if target != "" {
		file = path.Join(path.Dir(page), target)
	}
	if _, err := fs.Stat(pages, file); err != nil {
		return err.Error()
	}
	if anchor == "" {
		return ""
	}
	text, err := fs.ReadFile(pages, file)
	if err != nil {
		return err.Error()
	}
	for _, m := range headings.FindAllSubmatch(fences.ReplaceAll(text, nil), -1) {
		if slug(string(m[1])) == anchor {
			return ""
		}
	}
	return "no such heading"
}

func isElsewhere(link string) bool { return strings.Contains(link, "://") }

// slug is the name by which a heading is linked to.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

func TestDeadLinksAreSeen(t *testing.T) {
	pages := os.DirFS(root)
	for _, c := range []struct {
		page, link string
		dead       bool
	}{
		{"README.md", "docs/rings.md", false},
		{"README.md", "docs", false},
		{"docs/rings.md", "../README.md#read-on", false},
		{"README.md", "#read-on", false},
		{"README.md", "https://example.com/nothing", false},
		{"README.md", "rings.md", true},
		{"docs/rings.md", "docs/rings.md", true},
		{"README.md", "#nothing", true},
		{"docs/rings.md", "../README.md#nothing", true},
	} {
		if why := deadLink(pages, c.page, c.link); (why != "") != c.dead {
			t.Errorf("%s on %s: %q", c.link, c.page, why)
		}
	}
	if got := slug("Kernels: `Simple`, LL & co"); got != "kernels-simple-ll--co" {
		t.Errorf("heading is %q", got)
	}
}
