package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Files is the part of a file system that a probe reads. Paths are absolute, as
// on the machine, and hold no symbolic link except as their last element.
type Files interface {
	// Lstat tells whether a path is a directory, a link (fs.ModeSymlink) or a
	// file (0). The error of a path that is not there is fs.ErrNotExist.
	Lstat(path string) (fs.FileMode, error)
	// Readlink gives the target of a link as it is written there.
	Readlink(path string) (string, error)
	// ReadFile gives the first MaxFile bytes of a file.
	ReadFile(path string) ([]byte, error)
	// ReadDir gives the names in a directory, in the directory's own order.
	ReadDir(path string) ([]string, error)
}

// MaxFile is how much of one file is read.
const MaxFile = 1 << 20

// Root is the file system below a folder; "/" is the machine itself. Links that
// are absolute stay inside the folder.
type Root string

// Lstat implements Files.
func (r Root) Lstat(path string) (fs.FileMode, error) {
	info, err := os.Lstat(r.at(path))
	if err != nil {
		return 0, err
	}
	return info.Mode().Type(), nil
}

// Readlink implements Files.
func (r Root) Readlink(path string) (string, error) { return os.Readlink(r.at(path)) }

// ReadFile implements Files.
func (r Root) ReadFile(path string) (data []byte, err error) {
	f, err := os.Open(r.at(path))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, MaxFile))
}

// ReadDir implements Files.
func (r Root) ReadDir(path string) (names []string, err error) {
	f, err := os.Open(r.at(path))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Readdirnames(-1)
}

func (r Root) at(path string) string { return filepath.Join(string(r), filepath.FromSlash(path)) }

// maxLinks is how many links a path may lead through, as in the kernel.
const maxLinks = 40

// realPath resolves the links in an absolute path. Unlike path.Clean it follows
// a link before it applies the ".." behind it.
func realPath(f Files, name string) (string, error) {
	rest := strings.Split(name, "/")
	at := "/"
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		mode, err := f.Lstat(next)
		if err != nil {
			return "", err
		}
		switch {
		case mode&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", fmt.Errorf("%s: more than %d symbolic links", name, maxLinks)
			}
			target, err := f.Readlink(next)
			if err != nil {
				return "", err
			}
			if strings.HasPrefix(target, "/") {
				at = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
		case mode.IsDir() || len(rest) == 0:
			at = next
		default:
			return "", fmt.Errorf("%s: %s is not a directory", name, next)
		}
	}
	return at, nil
}

// readFile reads a file whose path may hold links.
func readFile(f Files, name string) ([]byte, error) {
	real, err := realPath(f, name)
	if err != nil {
		return nil, err
	}
	return f.ReadFile(real)
}

// maxText is how many bytes of a sysfs file NCCL reads.
const maxText = 255

// text reads a small file as NCCL does: up to 255 bytes, of which the last one,
// usually the line feed, is dropped. A file that cannot be read is empty. So is,
// from there on, what is no text at all, which no topology file could hold.
func text(f Files, name string) string {
	data, err := readFile(f, name)
	if err != nil || len(data) == 0 {
		return ""
	}
	data = data[:min(len(data), maxText)-1]
	if i := bytes.IndexFunc(data, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r > '~' }); i >= 0 {
		data = data[:i]
	}
	return string(data)
}
