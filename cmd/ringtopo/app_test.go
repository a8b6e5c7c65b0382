package main

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"box.xml:3: cut\nremedy":      "box.xml:3: cut\nremedy",
		"│ Größe 0→1 \ufffd":          "│ Größe 0→1 \ufffd",
		"a\x00b\x1b[31m\x7f\xffz\xc3": `a\x00b\x1b[31m\x7f\xffz\xc3`,
		"tab\tand\rreturn'":           `tab\tand\rreturn'`,
		"turn\u202eround":             `turn\u202eround`,
	} {
		if got := printable(text); got != want {
			t.Errorf("printable(%q) = %q, want %q", text, got, want)
		}
	}
}
