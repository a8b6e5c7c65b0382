package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// app is what all commands share: the streams and the environment of the
// process.
type app struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
	quiet    bool
	running  bool // the command line was understood
	ctx      context.Context
}

// commands makes the commands in the order in which help lists them. A new
// command adds its constructor here.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.newMachines(),
		a.newProbe(),
		a.newTopo(),
		a.newRings(),
		a.newRender(),
		a.newSchedule(),
		a.newPlan(),
		a.newValidate(),
		a.newModel(),
		a.newBench(),
		a.newP2P(),
		a.newMan(),
		a.newDocs(),
		a.newVersion(),
	}
}

func (a *app) root(out io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "ringtopo",
		Short: "Shows the rings that GPUs run, and proves them",
		Long: `ringtopo takes the topology of a GPU machine, shows and draws the rings that
its GPUs will run, exactly as NCCL 2.22.3 makes them, says how good they can be,
and proves them with a live AllReduce.

Every command takes a machine with -m: this one (auto, the default), a built-in
one by name (see ringtopo machines), a file, a recorded folder, or - for standard
input. NCCL's variables act as they do in NCCL.`,
		Example: `  ringtopo machines
  ringtopo topo -m dgx-1v
  ringtopo rings -m v100x4
  ringtopo rings -m dgx-a100 --nodes 2 -o table`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.begin(cmd) },
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.SetVersionTemplate("{{.DisplayName}} {{.Version}}\n")
	root.SetIn(a.in)
	root.SetOut(out)
	root.SetFlagErrorFunc(flagError)
	root.SetErr(a.err)
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "no notes on stderr")
	root.AddCommand(a.commands()...)
	refuseUnknown(root)
	return root
}

// begin is before every command: its command line was understood, unless a flag is
// empty.
func (a *app) begin(cmd *cobra.Command) error {
	if err := refuseEmpty(cmd.Flags()); err != nil {
		return err
	}
	a.running = true
	return nil
}

// refuseUnknown makes the library's own commands refuse what they do not know,
// which they would pass over with a page of help and a good exit code.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				_, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 {
					err = fmt.Errorf("unknown command %q", strings.Join(args, " "))
				}
				return err
			}
		case "completion":
			cmd.Args = cobra.NoArgs
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// run carries out a command line and gives the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.ctx = ctx
	out := &sink{w: a.out, to: "the result"}
	root := a.root(out)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = out.err // of help and the like, which the library drops
	}
	if err == nil {
		return exitGood
	}
	if ctx.Err() != nil {
		fmt.Fprintln(a.err, "ringtopo: interrupted")
		return exitInterrupted
	}
	code := exitCode(err, a.running)
	if code != exitFailed || err.Error() != "" {
		fmt.Fprintf(a.err, "ringtopo: %s\n", printable(err.Error()))
	}
	var output *outputError
	if code == exitUsage && !errors.As(err, &output) {
		fmt.Fprintf(a.err, "See '%s --help'.\n", cmd.CommandPath())
	}
	return code
}

// note tells the user something that is not the result.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.err, "note: %s\n", printable(fmt.Sprintf(format, args...)))
	}
}

// printable writes what a terminal must not get as escapes: a message may hold
// parts of a broken file.
func printable(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(r)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n' || strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
