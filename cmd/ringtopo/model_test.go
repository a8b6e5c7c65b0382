package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce/fifo"
)

// The document has the matrix as it is.
func TestProtocolsDocument(t *testing.T) {
	const file = "../../docs/protocols.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out, notes bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &notes}
	if code := a.run(t.Context(), []string{"model", "-o", "markdown"}); code != exitGood {
		t.Fatalf("exit code %d: %s", code, notes.String())
	}
	if strings.Contains(string(text), out.String()) {
		return
	}
	if *update {
		from := strings.Index(string(text), "| Protocol | Slots |")
		to := from + strings.Index(string(text)[from:], "\n\n") + 1
		if err := os.WriteFile(file, []byte(string(text)[:from]+out.String()+string(text)[to:]), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s does not have the matrix of ringtopo model: run this test with -update", file)
}

// A case that does not end as it must is shown, and fails the command.
func TestModelFails(t *testing.T) {
	e := fifo.Matrix()[0]
	e.Want = []fifo.EndKind{fifo.Stuck}
	r, err := fifo.Explore(e.Case)
	if err != nil {
		t.Fatal(err)
	}
	cases := []explored{{e, r, e.Check(r)}}
	if cases[0].err == nil || newModelJSON(cases).OK {
		t.Fatal("a wrong end counts as right")
	}
	var out bytes.Buffer
	if err := writeModel(&out, cases, "table", true); err != nil || !strings.Contains(out.String(), "NO: Simple/2 slots/none: runs end [finished], want [stuck]") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
