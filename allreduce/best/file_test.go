package best_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/best"
)

type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func reread(t fataler, f *best.File) *best.File {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	back, err := best.Read(bytes.NewReader(text), "tuning.json")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return back
}

// sample is a file with a table of everything.
func sample() *best.File {
	tuned := twoShot
	tuned.Blocks, tuned.Threads, tuned.Pieces = 64, 512, 2
	f := &best.File{}
	f.Put(best.Table{Class: h200x2,
		Rows: []best.Row{{UpTo: 4096, Choice: oneShot}, {UpTo: 1 << 20, Choice: tuned}, {Choice: best.Choice{Engine: best.NCCL, Symmetric: true}}},
		Trial: best.Trial{Date: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Software: map[string]string{"nccl": "2.28.9"},
			DType: allreduce.BFloat16, Op: allreduce.Max, How: "graph", Rounds: 5,
			Sizes: []best.Size{{Bytes: 4096, Candidates: []best.Candidate{{Choice: oneShot, Median: 2.5}}}}}})
	return f
}

func TestFilesAreReadBack(t *testing.T) {
	f := sample()
	back := reread(t, f)
	f.Name = "tuning.json"
	if !reflect.DeepEqual(f, back) {
		t.Errorf("%+v comes back as %+v", f, back)
	}
	c, from, ok := best.For(h200x2, back).Choose(5000)
	if !ok || c.Blocks != 64 || from.String() != "table tuning.json of 2026-11-30" {
		t.Errorf("%v from %v", c, from)
	}
	other := h200x2
	other.Ranks = 4
	if _, from, _ := best.For(other, back).Choose(5000); from.Kind != best.FromSeed {
		t.Errorf("another class has its choice from %v", from)
	}
}

// A table written by hand has no date.
func TestTableWithoutDate(t *testing.T) {
	f := &best.File{}
	f.Put(best.Table{Class: h200x2, Rows: []best.Row{{Choice: ring}}})
	if _, from, _ := best.For(h200x2, reread(t, f)).Choose(1); from.String() != "table tuning.json" {
		t.Errorf("from %s", from)
	}
}

// A new table of a class takes the old one's place and leaves the others.
func TestPut(t *testing.T) {
	f := sample()
	other := f.Tables[0]
	other.Class.Device = "NVIDIA H100"
	f.Put(other)
	f.Put(best.Table{Class: h200x2, Rows: []best.Row{{Choice: ring}}})
	if len(f.Tables) != 2 || f.Tables[0].Rows[0].Choice != ring || f.Tables[1].Class.Device != "NVIDIA H100" {
		t.Errorf("tables %+v", f.Tables)
	}
}

func TestHostileFiles(t *testing.T) {
	text, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	good := string(text)
	with := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in %s", old, good)
		}
		return strings.Replace(good, old, new, 1)
	}
	for want, text := range map[string]string{
		"it is no JSON: unexpected end":                   "",
		"it is no JSON: invalid character":                "{]",
		"after top-level value":                           good + "{}",
		"cannot unmarshal array":                          "[]",
		`schema: it is ""`:                                "{}",
		`schema: it is "ringtopo.tuning/v9"`:              with(best.Schema, "ringtopo.tuning/v9"),
		`unknown field "colour"`:                          with(`"rows"`, `"colour":1,"rows"`),
		`tables[0].machine: engine "abacus"`:              with(`"engine":"gpu"`, `"engine":"abacus"`),
		"tables[0].machine: no device":                    with(`"NVIDIA H200"`, `""`),
		"tables[0].machine: 0 ranks":                      with(`"ranks":2`, `"ranks":0`),
		`tables[0].machine: link "string"`:                with(`"nvlink"`, `"string"`),
		`rows[0]: engine "theirs"`:                        with(`"engine":"ours"`, `"engine":"theirs"`),
		"rows[0]: symmetric windows are NCCL's":           with(`"proto":"LL"`, `"proto":"LL","symmetric":true`),
		"rows[2]: blocks, threads and pieces":             with(`"symmetric":true`, `"blocks":8`),
		"rows[0]: NVLS runs on no engine of ours":         with(`"OneShot"`, `"NVLS"`),
		`unknown algorithm "Star"`:                        with(`"OneShot"`, `"Star"`),
		"rows[2]: NCCL runs on GPUs only":                 with(`"engine":"gpu"`, `"engine":"host"`),
		"rows[0]: it names no algorithm, or":              with(`"algo":"OneShot"`, `"algo":null`),
		"tables[0].rows[0]: it names no algorithm, or no": with(`,"proto":"LL"`, ``),
		"rows[1]: 99999 blocks":                           with(`"blocks":64`, `"blocks":99999`),
		"rows[1]: -64 blocks":                             with(`"blocks":64`, `"blocks":-64`),
		"rows[1]: 500 threads":                            with(`"threads":512`, `"threads":500`),
		"rows[1]: 65 pieces":                              with(`"pieces":2`, `"pieces":65`),
		"rows[1]: it ends at 4096 bytes, want more than":  with(`"upToBytes":1048576`, `"upToBytes":4096`),
		"rows[0]: it ends at -1 bytes":                    with(`"upToBytes":4096`, `"upToBytes":-1`),
		"rows[1]: it ends at 0 bytes":                     with(`"upToBytes":1048576,`, ``),
		"rows[2]: the last row ends at 9999999 bytes":     with(`"engine":"nccl"`, `"upToBytes":9999999,"engine":"nccl"`),
		"rows: there are none":                            `{"schema":"` + best.Schema + `","tables":[{"machine":{"engine":"gpu","device":"x","devices":1,"ranks":1,"link":"pcie"},"rows":[]}]}`,
		"tables[1].machine: there is another table":       strings.Replace(good, `"tables":[`, `"tables":[`+good[strings.Index(good, `[`)+1:len(good)-2]+`,`, 1),
		"it is larger than 4194304 bytes":                 strings.Repeat(" ", 4<<20) + good,
	} {
		_, err := best.Read(strings.NewReader(text), "t.json")
		var e *best.FileError
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "t.json: ") || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "bench --tune") {
			t.Errorf("%.80s: error %v, want %q", text, err, want)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tuning.json")
	text, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(path, want string) {
		t.Helper()
		_, err := best.Open(path)
		var e *best.FileError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	check(os.Chmod(dir, 0o700))
	check(os.WriteFile(path, text, 0o600))
	f, err := best.Open(path)
	check(err)
	if len(f.Tables) != 1 || f.Name != path {
		t.Errorf("read %+v", f)
	}
	link := filepath.Join(dir, "link.json")
	check(os.Symlink(path, link))
	if _, err := best.Open(link); err != nil {
		t.Errorf("a link to one's own table: %v", err)
	}
	refused(filepath.Join(dir, "none.json"), "none.json: no such file")
	refused(dir, "no regular file")
	check(os.Chmod(path, 0o620))
	refused(path, "others may write to it (mode 0620): take that away with chmod go-w")
	check(os.Chmod(path, 0o602))
	refused(path, "others may write")
	check(os.Chmod(path, 0o644))
	check(os.Chmod(dir, 0o777))
	refused(path, "its folder "+dir+": others may write")
	refused(link, "its folder")
	check(os.Chmod(dir, os.ModeSticky|0o777))
	if _, err := best.Open(path); err != nil {
		t.Errorf("in a folder where nobody can replace it: %v", err)
	}
	if os.Geteuid() == 0 { // whose sticky folder it is may
		check(os.Chown(dir, 4321, -1))
		refused(path, "its folder "+dir+": it belongs to user 4321")
		check(os.Chown(dir, 0, -1))
		check(os.Chown(path, 4321, -1))
		refused(path, "it belongs to user 4321, neither to you nor to root")
	}
}

func TestDefaultPath(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/home/me/.config")
	t.Setenv("HOME", "/home/me")
	if p, err := best.DefaultPath(); err != nil || !strings.HasSuffix(p, filepath.Join("ringtopo", "tuning.json")) {
		t.Errorf("%s, %v", p, err)
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "")
	if _, err := best.DefaultPath(); err == nil || !strings.Contains(err.Error(), "--tuning") {
		t.Errorf("without a home: %v", err)
	}
}

// The table that the documentation shows can be read.
func TestDocumentedTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/benchmarking.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(text), "```json\n")
	if !ok {
		t.Fatal("the documentation shows no table")
	}
	block, _, _ = strings.Cut(block, "```")
	f, err := best.Read(strings.NewReader(block), "docs")
	if err != nil {
		t.Fatal(err)
	}
	if c, from, _ := best.For(h200x2, f).Choose(1 << 20); c.Blocks != 128 || from.Date != "2026-11-30" {
		t.Errorf("%s from %s", c, from)
	}
}

// Whatever a file says, it is refused with its name, or it answers for every
// size and is read back the same.
func FuzzRead(f *testing.F) {
	text, err := json.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schema":"ringtopo.tuning/v1","tables":null}`))
	f.Add([]byte(`{"schema":"ringtopo.tuning/v1","tables":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := best.Read(bytes.NewReader(text), "fuzz")
		if err != nil {
			var e *best.FileError
			if !errors.As(err, &e) || e.File != "fuzz" {
				t.Fatalf("error %v", err)
			}
			return
		}
		for _, table := range file.Tables {
			s := best.For(table.Class, file)
			for _, bytes := range []int64{1, 1 << 12, 1 << 40} {
				if _, from, ok := s.Choose(bytes); !ok || from.Kind != best.FromTable {
					t.Fatalf("%d bytes: from %v", bytes, from)
				}
			}
		}
		if back := reread(t, file); len(back.Tables) != len(file.Tables) {
			t.Fatalf("%d tables come back as %d", len(file.Tables), len(back.Tables))
		}
	})
}
