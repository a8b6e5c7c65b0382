package probe

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// golden lists the machines that can be asked again: all but the one whose
// network plugin is not there.
func golden(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/machines/*")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, dir := range dirs {
		if IsRecording(dir) && filepath.Base(dir) != "net-plugin" {
			out = append(out, dir)
		}
	}
	if len(out) < 10 {
		t.Fatalf("only %d machines", len(out))
	}
	return out
}

// TestCaptureKeepsTheMachine records each machine while it is probed live, and
// probes the recording: for the same job, for others, and with other variables.
func TestCaptureKeepsTheMachine(t *testing.T) {
	for _, dir := range golden(t) {
		s := play(t, dir)
		o := Options{Env: env("NCCL_HOSTID", "recorded")}
		live, err := Live(s, o)
		if err != nil {
			t.Fatal(err)
		}
		captured := filepath.Join(t.TempDir(), "new", "recording")
		r, err := Capture(captured, s, o, false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(live.Document.Root, r.Document.Root); diff != "" {
			t.Errorf("%s: -live +captured:\n%s", dir, diff)
		}
		last := len(live.Ranks) - 1
		for _, other := range []Options{
			{},
			{GPUs: []int{last}},
			{Set: map[string]string{"NCCL_IB_DISABLE": "1"}},
			{Set: map[string]string{"NCCL_SOCKET_IFNAME": "^=none"}},
			{Set: map[string]string{"NCCL_IB_MERGE_VFS": "0"}},
		} {
			again, err := Replay(captured, other)
			if err != nil {
				t.Fatal(err)
			}
			other.Env = o.Env
			want, err := Live(s, other)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Document.Root, again.Document.Root); diff != "" {
				t.Errorf("%s with %v %v: -live +replayed:\n%s", dir, other.GPUs, other.Set, diff)
			}
		}
	}
}

func TestCaptureKeepsVariables(t *testing.T) {
	o := Options{GPUs: []int{3, 1}, Env: env("NCCL_HOSTID", "h", "NCCL_IB_HCA", "mlx5_2", "PATH", "x"), Set: map[string]string{"NCCL_IB_MERGE_NICS": "0"}}
	dir := filepath.Join(t.TempDir(), "r")
	r, err := Capture(dir, play(t, "testdata/machines/dgx1v"), o, false)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Replay(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Document.Root, again.Document.Root); diff != "" {
		t.Errorf("-captured +replayed:\n%s", diff)
	}
	text := string(xmlOf(t, again.Document))
	if strings.Contains(text, "mlx5_0") || !strings.Contains(text, "mlx5_2") || strings.Count(text, "<gpu") != 2 {
		t.Errorf("not the job that was recorded:\n%s", text)
	}
	// What follows from the answers is the same as what was noted of them.
	p, _, err := Load(dir, map[string]string{"NCCL_NET": "IB"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Network.Properties != nil {
		t.Error("the recorded network is kept although a variable changes")
	}
}

func xmlOf(t *testing.T, doc *ncclxml.Document) []byte {
	t.Helper()
	var b strings.Builder
	if err := ncclxml.Encode(&b, doc); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

// TestMask looks for what identifies the machine in all of a masked recording,
// and compares the topology but for that.
func TestMask(t *testing.T) {
	identity := regexp.MustCompile(`host_hash="[^"]*"|guid="[^"]*"`)
	for _, dir := range golden(t) {
		s := play(t, dir)
		p := s.Network.(played).p
		secrets := []string{"secret-host", "0f6c6b7e"}
		if v := p.Network.Verbs; v != nil {
			for _, d := range v.Devices {
				secrets = append(secrets, d.SysImageGUID)
			}
		}
		for _, i := range p.Network.Interfaces {
			if addr, ok := i.address(); ok && !addr.IsLoopback() {
				secrets = append(secrets, *i.Addr)
			}
		}
		o := Options{Env: env("NCCL_HOSTID", "secret-host")}
		live, err := Live(s, o)
		if err != nil {
			t.Fatal(err)
		}
		captured := filepath.Join(t.TempDir(), "r")
		if _, err := Capture(captured, s, o, true); err != nil {
			t.Fatal(err)
		}
		replayed, err := Replay(captured, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, got := xmlOf(t, live.Document), xmlOf(t, replayed.Document)
		if diff := cmp.Diff(string(identity.ReplaceAll(want, nil)), string(identity.ReplaceAll(got, nil))); diff != "" {
			t.Errorf("%s: -live +masked:\n%s", dir, diff)
		}
		for _, name := range []string{sysfsFile, hostFile, netFile, ranksFile, expectFile} {
			data, err := os.ReadFile(filepath.Join(captured, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range secrets {
				if strings.Contains(string(data), `"`+secret) {
					t.Errorf("%s: %s tells %s", dir, name, secret)
				}
			}
		}
	}
}

func TestMaskKeepsWhatIsEqual(t *testing.T) {
	n := interfaces("eth0", "10.5.0.7/16", "eth1", "10.5.3.1/16", "eth2", "192.168.7.9/24", "eth0", "fe80::5/64", "x", "fd12::1/64", "lo", "127.0.0.1/8", "none", "")
	for _, d := range []string{"aaaa", "bbbb", "aaaa", "0000"} {
		card(n, NewTree(), "m", "", d, up)
	}
	uuid, id := "00112233445566778899aabbccddeeff", "secret"
	p := &Prober{Network: *n, Host: Host{HostID: &id, BootID: "b", Devices: []Device{{Fabric: &Fabric{ClusterUUID: uuid}}, {Fabric: &Fabric{ClusterUUID: strings.Repeat("0", 32)}}}},
		Env: env("NCCL_COMM_ID", "10.5.9.9:55", "NCCL_HOSTID", "secret")}
	job := jobFile{Env: map[string]string{"NCCL_COMM_ID": "10.5.9.9:55", "NCCL_IB_HCA": "mlx5"}}
	before := n.usable(p.Env)
	newMasker().mask(p, &job)
	if diff := cmp.Diff(before, p.Network.usable(p.Env)); diff != "" {
		t.Errorf("interfaces in the subnet of NCCL_COMM_ID, -before +after:\n%s", diff)
	}
	v := p.Network.Verbs.Devices
	if v[0].SysImageGUID != v[2].SysImageGUID || v[0].SysImageGUID == v[1].SysImageGUID || v[3].SysImageGUID != "0000" || len(v[0].SysImageGUID) != 16 {
		t.Errorf("GUIDs %+v", v)
	}
	if job.Env["NCCL_IB_HCA"] != "mlx5" || job.Env["NCCL_COMM_ID"] == "10.5.9.9:55" || !strings.HasSuffix(job.Env["NCCL_COMM_ID"], ":55") {
		t.Errorf("variables %v", job.Env)
	}
	if v, _ := p.Env("NCCL_HOSTID"); v != "host" || *p.Host.HostID != "host" {
		t.Errorf("host id %q %q", v, *p.Host.HostID)
	}
	if d := p.Host.Devices; d[0].Fabric.ClusterUUID == uuid || d[1].Fabric.ClusterUUID != strings.Repeat("0", 32) {
		t.Errorf("cluster ids %v %v", d[0].Fabric, d[1].Fabric)
	}
}

func TestCaptureRefuses(t *testing.T) {
	s := play(t, "testdata/machines/lo-only")
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Capture(full, s, Options{}, false); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a full folder: %v", err)
	}
	mine := filepath.Join(full, "mine")
	for _, dir := range []string{mine, filepath.Join(mine, "below")} {
		var save *SaveError
		if _, err := Capture(dir, s, Options{}, false); !errors.As(err, &save) || !strings.HasPrefix(err.Error(), dir+": not a ") {
			t.Errorf("in place of a file: %v", err)
		}
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("the file is lost: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(full))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".recording") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
	if _, err := Capture(t.TempDir(), s, Options{GPUs: []int{9}}, false); !errors.As(err, new(*DeviceError)) {
		t.Errorf("of a GPU that is not there: %v", err)
	}
	if _, err := Capture(t.TempDir(), s, Options{File: &ncclxml.Document{}}, false); err == nil {
		t.Error("with a topology file")
	}
}

func TestLoadRefuses(t *testing.T) {
	good, err := filepath.Abs("testdata/machines/lo-only")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		file, text, want string
	}{
		"no folder":        {"", "", "no such file"},
		"broken JSON":      {hostFile, "{", hostFile},
		"bad GUID":         {netFile, `{"properties": [{"guid": "0xzz"}]}`, "guid"},
		"bad link":         {sysfsFile, "-- symlinks --\nsys/a sys/b\n", "path -> target"},
		"file and folder":  {sysfsFile, "-- symlinks --\n-- a --\nx\n-- a/b --\nx\n", "not a directory"},
		"missing part":     {ranksFile, "\x00", ranksFile},
		"base of nothing":  {caseFile, `{"base": ""}`, "not the name of a recording"},
		"base elsewhere":   {caseFile, `{"base": "../x"}`, "not the name of a recording"},
		"base not there":   {caseFile, `{"base": "x"}`, "neither beside"},
		"variant unsound":  {caseFile, `{"base"`, caseFile},
		"numbers for text": {ranksFile, `{"ranks": "all"}`, ranksFile},
	} {
		dir := filepath.Join(t.TempDir(), "r")
		if test.file != "" {
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, test.file)
			if test.text == "\x00" {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, []byte(test.text), 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := Load(dir, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPluginStays(t *testing.T) {
	r, err := Replay("testdata/machines/net-plugin", Options{GPUs: []int{7}, Set: map[string]string{"NCCL_IB_DISABLE": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(xmlOf(t, r.Document)); !strings.Contains(text, `name="rdmap144s27"`) {
		t.Errorf("the plugin's devices are gone:\n%s", text)
	}
	r, err = Replay("testdata/machines/net-plugin", Options{GPUs: []int{7}, Set: map[string]string{"NCCL_NET": "Socket"}})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(xmlOf(t, r.Document)); !strings.Contains(text, `name="eth0"`) {
		t.Errorf("sockets are not used:\n%s", text)
	}
}
