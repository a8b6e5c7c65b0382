package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand visits all commands but those of the library.
func everyCommand(t *testing.T, visit func(cmd *cobra.Command)) {
	t.Helper()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		visit(cmd)
		for _, sub := range cmd.Commands() {
			if !slices.Contains([]string{"help", "completion"}, sub.Name()) {
				walk(sub)
			}
		}
	}
	walk((&app{}).root(&bytes.Buffer{}))
}

// TestHelpIsWhole: every command that users see says in a sentence what it does
// and shows how, and every flag says what it is for.
func TestHelpIsWhole(t *testing.T) {
	everyCommand(t, func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short help %q", cmd.CommandPath(), cmd.Short)
		}
		if cmd.Example == "" {
			t.Errorf("%s: no example", cmd.CommandPath())
		}
		for _, line := range strings.Split(cmd.Long, "\n") {
			if len(line) > 100 {
				t.Errorf("%s: a line of %d: %s", cmd.CommandPath(), len(line), line)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: help %q", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
	})
}

// examples are the example lines of all commands, each with its arguments, up
// to the first pipe.
func examples(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	everyCommand(t, func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			line = strings.TrimSpace(line)
			command, _, _ := strings.Cut(line, " | ")
			args := words(command)
			if len(args) == 0 || args[0] != "ringtopo" {
				t.Errorf("%s: example %q", cmd.CommandPath(), line)
				continue
			}
			out[line] = args[1:]
		}
	})
	return out
}

// words splits a line as a shell does, with double quotes.
func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

// TestExamplesAreUnderstood parses every example of the help, and finds the
// command that it is an example of.
func TestExamplesAreUnderstood(t *testing.T) {
	for line, args := range examples(t) {
		understood(t, line, args)
	}
}

func understood(t *testing.T, line string, args []string) {
	t.Helper()
	root := (&app{}).root(&bytes.Buffer{})
	cmd, rest, err := root.Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err == nil {
		err = refuseEmpty(cmd.Flags())
	}
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

// TestDocumentsAreUnderstood parses every command line in the code of the README
// and of docs/, also of those that are not run because they measure.
func TestDocumentsAreUnderstood(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```") {
			for line := range strings.Lines(block) {
				command, isCommand := strings.CutPrefix(strings.TrimPrefix(line, "$ "), "ringtopo ")
				if i%2 == 0 || !isCommand {
					continue
				}
				seen++
				command, _, _ = strings.Cut(command, " #")
				command, _, _ = strings.Cut(command, " | ")
				command, _, _ = strings.Cut(command, " > ")
				understood(t, filepath.Base(file)+": "+line, words(strings.TrimSpace(command)))
			}
		}
	}
	if seen < 25 {
		t.Errorf("only %d command lines were found", seen)
	}
}

// TestExamplesRun runs those that need neither a GPU nor much time, in an empty
// folder.
func TestExamplesRun(t *testing.T) {
	quick := []string{"machines", "topo", "rings", "render", "schedule", "plan", "version"}
	all := examples(t)
	t.Chdir(t.TempDir())
	ran := 0
	for line, args := range all {
		needs := slices.Contains(quick, args[0]) || args[0] == "probe" && slices.Contains(args, "-m")
		if !needs || !slices.ContainsFunc(args, func(s string) bool { return s == "-m" || s == "--ring" || s == "machines" || s == "version" }) {
			continue
		}
		ran++
		var out, notes bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &notes}
		if code := a.run(t.Context(), args); code != exitGood {
			t.Errorf("%s: exit code %d\n%s", line, code, notes.String())
		}
		if out.Len() == 0 && !slices.Contains(args, "--out") {
			t.Errorf("%s: nothing came of it", line)
		}
	}
	if ran < 20 {
		t.Errorf("only %d examples ran", ran)
	}
}

// hurried are flags that make a measuring example short.
var hurried = map[string]string{
	"bench": "--warmup 0 --cycles 1 --iters 1 --bytes 1KiB", "bench --recipe": "--warmup 0 --cycles 1 --iters 1", "bench --recipe --plan": "",
	"bench --tune": "--rounds 1 --bytes 1KiB", "validate": "--rounds 1 --stress=false --bytes 4KiB", "model": "--slots 2",
}

// TestMeasuringExamplesRun runs those that need no GPU, in the order in which help
// shows them: some go on with what others left.
func TestMeasuringExamplesRun(t *testing.T) {
	if underRace {
		t.Skip("the recipes of the examples send messages of many MiB")
	}
	t.Chdir(t.TempDir())
	if err := os.Chmod(".", 0o700); err != nil { // tables that others may write to are refused
		t.Fatal(err)
	}
	ask(t, strings.Fields("bench -m v100x4 --bytes 1MiB --out last-week.json "+hurried["bench"])...)
	ran := 0
	everyCommand(t, func(cmd *cobra.Command) {
		if _, measures := hurried[cmd.Name()]; !measures {
			return
		}
		for line := range strings.Lines(cmd.Example) {
			args := words(strings.TrimSpace(line))[1:]
			if slices.Contains(args, "--procs") { // starts the program anew: scripts run it so
				continue
			}
			if cmd.Name() != "model" && !slices.Contains(args, "-m") && !slices.Contains(args, "--ring") {
				continue
			}
			kind := cmd.Name()
			for _, flag := range []string{"--recipe", "--tune", "--plan"} {
				if slices.Contains(args, flag) {
					kind += " " + flag
				}
			}
			ran++
			var out, notes bytes.Buffer
			a := &app{in: strings.NewReader(""), out: &out, err: &notes}
			code := a.run(t.Context(), append(args, strings.Fields(hurried[kind])...))
			mayFail := slices.Contains(args, "--inject") || slices.Contains(args, "--compare")
			if code != exitGood && (!mayFail || code != exitFailed) {
				t.Errorf("%s: exit code %d\n%s", line, code, notes.String())
			}
		}
	})
	if ran < 12 {
		t.Errorf("only %d examples ran", ran)
	}
}
