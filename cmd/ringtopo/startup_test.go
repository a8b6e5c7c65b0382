package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkStartup measures whole processes, beside that of an empty Go
// program: what a command costs before and after its own work. CPU time is
// given beside the time on the clock.
func BenchmarkStartup(b *testing.B) {
	dir := b.TempDir()
	empty, program := filepath.Join(dir, "empty"), filepath.Join(dir, "ringtopo")
	src := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(src, []byte("package main\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	build(b, empty, src)
	build(b, program, ".")
	b.Run("empty", func(b *testing.B) { runMany(b, empty) })
	for name, args := range map[string][]string{
		"version":       {"version"},
		"machines":      {"machines"},
		"topo-dgx-1v":   {"topo", "-m", "dgx-1v"},
		"rings-v100x4":  {"rings", "-m", "v100x4"},
		"rings-dgx-1v":  {"rings", "-m", "dgx-1v"},
		"rings-p5-x2":   {"rings", "-m", "p5", "--nodes", "2"},
		"json-dgx-h100": {"rings", "-m", "dgx-h100", "-o", "json"},
	} {
		b.Run(name, func(b *testing.B) { runMany(b, program, args...) })
	}
}

func build(b *testing.B, out, src string) {
	b.Helper()
	if text, err := exec.Command("go", "build", "-o", out, src).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
}

func runMany(b *testing.B, program string, args ...string) {
	var cpu float64
	for b.Loop() {
		cmd := exec.Command(program, args...)
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		cpu += float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds())
	}
	b.ReportMetric(cpu/float64(b.N)/1000, "cpu-ms/op")
}
