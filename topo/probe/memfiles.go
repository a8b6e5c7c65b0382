package probe

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Tree is a file system in memory: that of a recording. Directories are implied
// by what is in them.
type Tree struct {
	files map[string][]byte
	links map[string]string
	dirs  map[string][]string // names in the order of their adding
}

// NewTree gives a tree without any file.
func NewTree() *Tree {
	return &Tree{files: map[string][]byte{}, links: map[string]string{}, dirs: map[string][]string{"/": nil}}
}

// AddFile adds a file with the directories that lead to it.
func (t *Tree) AddFile(name string, data []byte) {
	t.files[name] = data
	t.imply(name)
}

// AddLink adds a symbolic link with the directories that lead to it.
func (t *Tree) AddLink(name, target string) {
	t.links[name] = target
	t.imply(name)
}

// AddDir adds a directory with those that lead to it.
func (t *Tree) AddDir(name string) {
	if _, ok := t.dirs[name]; !ok {
		t.dirs[name] = nil
	}
	t.imply(name)
}

func (t *Tree) imply(name string) {
	for name != "/" {
		dir := path.Dir(name)
		if slices.Contains(t.dirs[dir], path.Base(name)) {
			return
		}
		t.dirs[dir] = append(t.dirs[dir], path.Base(name))
		name = dir
	}
}

// Lstat implements Files.
func (t *Tree) Lstat(name string) (fs.FileMode, error) {
	if _, ok := t.links[name]; ok {
		return fs.ModeSymlink, nil
	}
	if _, ok := t.files[name]; ok {
		return 0, nil
	}
	if _, ok := t.dirs[name]; ok {
		return fs.ModeDir, nil
	}
	return 0, missing("lstat", name)
}

// Readlink implements Files.
func (t *Tree) Readlink(name string) (string, error) {
	target, ok := t.links[name]
	if !ok {
		return "", missing("readlink", name)
	}
	return target, nil
}

// ReadFile implements Files.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	data, ok := t.files[name]
	if !ok {
		return nil, missing("open", name)
	}
	return data[:min(len(data), MaxFile)], nil
}

// ReadDir implements Files.
func (t *Tree) ReadDir(name string) ([]string, error) {
	names, ok := t.dirs[name]
	if !ok {
		return nil, missing("open", name)
	}
	return names, nil
}

func missing(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

// linksEntry is the entry of an archive that holds the symbolic links, one
// "path -> target" per line.
const linksEntry = "symlinks"

// ParseTree reads a tree from a txtar archive: paths without their leading
// slash, links in the entry "symlinks".
func ParseTree(data []byte) (*Tree, error) {
	t := NewTree()
	for _, f := range txtar.Parse(data).Files {
		if f.Name == linksEntry {
			if err := t.parseLinks(f.Data); err != nil {
				return nil, err
			}
			continue
		}
		t.AddFile(t.behindLinks(absolute(f.Name)), f.Data)
	}
	return t, t.check()
}

// behindLinks gives the real place of a path that leads through links, whether
// anything is there yet or not.
func (t *Tree) behindLinks(name string) string {
	for range maxLinks {
		moved := false
		for at := path.Dir(name); at != "/"; at = path.Dir(at) {
			target, ok := t.links[at]
			if !ok {
				continue
			}
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(at), target)
			}
			name, moved = path.Join(target, name[len(at):]), true
			break
		}
		if !moved {
			break
		}
	}
	return name
}

func (t *Tree) parseLinks(data []byte) error {
	for i, line := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, target, ok := strings.Cut(line, " -> ")
		if !ok || name == "" || target == "" {
			return fmt.Errorf("%s, line %d: %q is not of the form \"path -> target\"", linksEntry, i+1, line)
		}
		t.AddLink(t.behindLinks(absolute(name)), target)
	}
	return nil
}

func absolute(name string) string { return path.Clean("/" + name) }

// check refuses a path that is a file or link and a directory at once.
func (t *Tree) check() error {
	for dir := range t.dirs {
		_, file := t.files[dir]
		if _, link := t.links[dir]; file || link {
			return fmt.Errorf("%s has files below it but is not a directory itself", dir)
		}
	}
	return nil
}

// Format gives the archive that ParseTree reads; comment is its heading.
func (t *Tree) Format(comment string) []byte {
	a := &txtar.Archive{Comment: []byte(comment + "\n")}
	var links bytes.Buffer
	for _, name := range sortedKeys(t.links) {
		fmt.Fprintf(&links, "%s -> %s\n", name[1:], t.links[name])
	}
	a.Files = append(a.Files, txtar.File{Name: linksEntry, Data: links.Bytes()})
	for _, name := range sortedKeys(t.files) {
		a.Files = append(a.Files, txtar.File{Name: name[1:], Data: t.files[name]})
	}
	for _, name := range sortedKeys(t.dirs) {
		if len(t.dirs[name]) == 0 && name != "/" {
			a.Files = append(a.Files, txtar.File{Name: name[1:] + "/" + placeholder})
		}
	}
	return txtar.Format(a)
}

// placeholder is an empty file that makes a directory appear in an archive,
// which knows directories only by what is in them.
const placeholder = "uevent"
