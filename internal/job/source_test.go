package job

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/internal/ncclenv"
	"github.com/ringtopo/ringtopo/topo/machines"
	"github.com/ringtopo/ringtopo/topo/probe"
)

const tiny = `<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49" affinity="ff">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" rank="0" gdr="1"/>
    </pci>
  </cpu>
</system>
`

// tinyGPU is a CPU with one GPU in words, as JSON and as YAML.
const tinyGPU = `{"numa": 0, "arch": "x86_64", "devices": [{"busId": "0000:3b:00.0", "class": "gpu", "gpu": {"rank": 0, "dev": 0, "sm": 80, "gdr": true}}]}`

func noEnv() *ncclenv.Env { return ncclenv.FromEnviron(nil) }

func utf16Text(s, mark string, order binary.AppendByteOrder) string {
	text := []byte(mark)
	for _, unit := range utf16.Encode([]rune(s)) {
		text = order.AppendUint16(text, unit)
	}
	return string(text)
}

func TestReadRecognisesContent(t *testing.T) {
	good := map[string]string{
		"plain":           tiny,
		"blank lines":     "\n\n  " + tiny,
		"byte order mark": "\ufeff" + tiny,
		"comment first":   "<!-- a machine -->\n" + tiny,
		"UTF-16, little":  utf16Text(tiny, "\xff\xfe", binary.LittleEndian),
		"UTF-16, big":     utf16Text(tiny, "\xfe\xff", binary.BigEndian),
		"JSON":            `{"schema": "ringtopo.machine/v1", "cpus": [` + tinyGPU + `]}`,
		"YAML":            "# a machine\n---\nname: box\nschema: ringtopo.machine/v1\ncpus:\n- " + tinyGPU + "\n",
		"YAML, a mark":    "\ufeffschema: ringtopo.machine/v1\ncpus: [" + tinyGPU + "]\n",
		"YAML, UTF-16":    utf16Text("schema: ringtopo.machine/v1\r\ncpus: ["+tinyGPU+"]\r\n", "\xff\xfe", binary.LittleEndian),
	}
	for name, text := range good {
		m, err := (Source{}).read(strings.NewReader(text), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if doc, _, err := m.Select(nil); err != nil || doc.Root.Name != "system" {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad := map[string]string{
		"":                   "is empty",
		" \n\t":              "x: ",
		"hello":              "x: ",
		"{}":                 "the schema is",
		"<graphs/>":          "graph file",
		"schema: x":          "the schema is",
		"a schema: x":        "x: ",
		"<system version=\"": "the file ends",
	}
	for text, want := range bad {
		if _, err := (Source{}).read(strings.NewReader(text), "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not say %q", text, err, want)
		}
	}
	broken := errors.New("broken")
	if _, err := (Source{}).read(iotest.ErrReader(broken), "x"); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestOpenNames(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "machine.txt")
	if err := os.WriteFile(file, []byte(tiny), 0o600); err != nil {
		t.Fatal(err)
	}
	src := Source{Stdin: strings.NewReader(tiny), Env: noEnv()}
	for _, name := range []string{"v100x4", file, Stdin, "../../topo/probe/testdata/machines/dgx1v"} {
		m, err := src.Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if doc, _, err := m.Select(nil); err != nil || doc == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var unknown *machines.UnknownError
	if _, err := src.Open("v100x5"); !errors.As(err, &unknown) {
		t.Errorf("unknown name: %v", err)
	}
	if _, err := src.Open(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := src.Open(dir); err == nil || !strings.Contains(err.Error(), "not a recording") {
		t.Errorf("plain folder: %v", err)
	}
}

// fakeNVML is a management library that knows nothing.
type fakeNVML struct{ err error }

func (f fakeNVML) Devices() ([]probe.Device, error) { return nil, f.err }

func TestLiveWithoutDriver(t *testing.T) {
	src := Source{Sources: probe.Sources{NVML: fakeNVML{probe.ErrNoGPU}}, Env: noEnv()}
	m, err := src.Open(Auto)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Select(nil); !errors.Is(err, probe.ErrNoGPU) {
		t.Errorf("got %v", err)
	}
}

func TestTopologyFileOfLiveMachine(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.xml")
	if err := os.WriteFile(broken, []byte("<system"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(file string) error {
		_, err := Source{Env: ncclenv.FromEnviron([]string{"NCCL_TOPO_FILE=" + file})}.Open(Auto)
		return err
	}
	if err := open(broken); err == nil {
		t.Error("a broken NCCL_TOPO_FILE is accepted")
	}
	if err := open(filepath.Join(dir, "missing.xml")); err != nil {
		t.Errorf("a missing NCCL_TOPO_FILE is passed over by NCCL, but: %v", err)
	}
}

func TestWithConf(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for file, text := range map[string]string{
		first:  "# comment\nNCCL_MIN_NCHANNELS=4\nnot a setting\nNCCL_MAX_NCHANNELS=8",
		second: "NCCL_MAX_NCHANNELS=16\nNCCL_NVB_DISABLE=1\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ, err := WithConf([]string{"NCCL_MIN_NCHANNELS=2"}, []string{first, filepath.Join(dir, "missing"), second})
	if err != nil {
		t.Fatal(err)
	}
	env := ncclenv.FromEnviron(environ)
	got := []int64{env.Int("NCCL_MIN_NCHANNELS", 0), env.Int("NCCL_MAX_NCHANNELS", 0), env.Int("NCCL_NVB_DISABLE", 0)}
	if diff := cmp.Diff([]int64{2, 8, 1}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := WithConf(nil, []string{dir}); err == nil {
		t.Error("a folder is read as a configuration file")
	}
	if !slices.Equal(ConfFiles(""), []string{"/etc/nccl.conf"}) || len(ConfFiles("/home/u")) != 2 {
		t.Errorf("files: %v, %v", ConfFiles(""), ConfFiles("/home/u"))
	}
}
