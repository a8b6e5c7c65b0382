package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// output says in which format a command writes, and where.
type output struct {
	format, file string
	formats      []string // the first is the default
}

// suffixes are the formats that a file's suffix may ask for.
var suffixes = map[string][]string{
	".json": {"json"}, ".yaml": {"yaml"}, ".yml": {"yaml"}, ".xml": {"xml", "graph-xml"},
	".svg": {"svg"}, ".png": {"png"}, ".dot": {"dot"}, ".gv": {"dot"},
	".csv": {"csv"}, ".md": {"markdown"}, ".mmd": {"mermaid"}, ".txt": {"text", "table"},
}

// addOutput gives a command -o and --out. The first format is the default.
func (a *app) addOutput(cmd *cobra.Command, formats ...string) *output {
	o := &output{formats: formats}
	cmd.Flags().StringVarP(&o.format, "output", "o", "", fmt.Sprintf("format: %s (default %s, or what the suffix of --out says)", strings.Join(formats, ", "), formats[0]))
	cmd.Flags().StringVar(&o.file, "out", "", "write to this file; - is standard output")
	complete(cmd, map[string][]string{"output": formats})
	return o
}

// resolve gives the format in force. A suffix that asks for none of the
// command's formats is refused, so that no file lies about what is in it. So is a
// place where no file can be made: at once, not when minutes of work are done.
func (o *output) resolve() (string, error) {
	if o.file == "-" {
		o.file = ""
	}
	format := o.format
	if suffix := strings.ToLower(filepath.Ext(o.file)); format == "" && suffix != "" {
		if format = o.bySuffix(suffix); format == "" {
			return "", usage("--out %s: the suffix %s stands for none of the formats %s; choose one with -o", o.file, suffix, strings.Join(o.formats, ", "))
		}
	}
	if format == "" {
		format = o.formats[0]
	}
	if !slices.Contains(o.formats, format) {
		return "", usage("format %q is not one of %s", format, strings.Join(o.formats, ", "))
	}
	if o.file == "" {
		return format, nil
	}
	return format, writable(o.file)
}

// bySuffix gives the format that a suffix asks for, "" if it asks for none of
// the command's.
func (o *output) bySuffix(suffix string) string {
	for _, format := range suffixes[suffix] {
		if slices.Contains(o.formats, format) {
			return format
		}
	}
	return ""
}

// emit writes the result to stdout, or to the file asked for: first beside it,
// then by renaming, so that a failure leaves no half of a file.
func (a *app) emit(o *output, write func(io.Writer) error) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if o.file == "" {
		return a.print(write)
	}
	return writeFile(o.file, write)
}

// print writes to stdout.
func (a *app) print(write func(io.Writer) error) error {
	return buffered(a.out, "the result", write)
}

// outputError says that what was made cannot be written.
type outputError struct {
	to  string // as the user knows it
	err error
}

// newOutputError leaves out names of files that only this program knows.
func newOutputError(to string, err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &outputError{to, err}
}

func (e *outputError) Error() string { return fmt.Sprintf("writing %s: %v", e.to, e.err) }
func (e *outputError) Unwrap() error { return e.err }

func buffered(w io.Writer, to string, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(&sink{w: w, to: to}, 64<<10)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// sink tells errors of writing from those of what is written, and keeps the
// first.
type sink struct {
	w   io.Writer
	to  string
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		err = newOutputError(s.to, err)
		if s.err == nil {
			s.err = err
		}
	}
	return n, err
}

func writeFile(name string, write func(io.Writer) error) (err error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeDevice(name, write)
	}
	path, err := followed(name)
	if err != nil {
		return newOutputError(name, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return newOutputError(name, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := buffered(f, name, write); err != nil {
		return err
	}
	if err := publish(f, path); err != nil {
		return newOutputError(name, err)
	}
	return nil
}

// writable says why writeFile could not make a file of that name.
func writable(name string) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return newOutputError(name, syscall.EISDIR)
		}
		return nil // a device or a pipe, which opening could change
	}
	path, err := followed(name)
	if err != nil {
		return newOutputError(name, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return newOutputError(name, err)
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return newOutputError(name, err)
	}
	return nil
}

// followed gives what a name leads to through links, whether it is there or not.
func followed(path string) (string, error) {
	const maxLinks = 40 // as in the kernel
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link, or nothing yet
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", syscall.ELOOP
}

// publish gives a finished file its name.
func publish(f *os.File, path string) error {
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// writeDevice writes to what cannot be replaced: a pipe, a terminal.
func writeDevice(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return newOutputError(name, err)
	}
	if err := buffered(f, name, write); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return newOutputError(name, err)
	}
	return nil
}
