package probe

import (
	"io/fs"
	"maps"
	"path"
	"slices"
)

// recorder passes questions on to another file system and keeps the answers.
type recorder struct {
	files Files
	seen  *Tree
}

// newRecorder keeps what is read of f.
func newRecorder(f Files) *recorder { return &recorder{files: f, seen: NewTree()} }

// Lstat implements Files.
func (r *recorder) Lstat(name string) (fs.FileMode, error) {
	mode, err := r.files.Lstat(name)
	if err == nil && mode&fs.ModeSymlink == 0 {
		r.see(name, mode)
	}
	return mode, err
}

// see notes that something is there, but not what is in it.
func (r *recorder) see(name string, mode fs.FileMode) {
	_, seen := r.seen.files[name]
	switch {
	case mode.IsDir():
		r.seen.AddDir(name)
	case !seen:
		r.seen.AddFile(name, nil)
	}
}

// Readlink implements Files.
func (r *recorder) Readlink(name string) (string, error) {
	target, err := r.files.Readlink(name)
	if err == nil {
		r.seen.AddLink(name, target)
	}
	return target, err
}

// ReadFile implements Files.
func (r *recorder) ReadFile(name string) ([]byte, error) {
	data, err := r.files.ReadFile(name)
	if err == nil {
		r.seen.AddFile(name, lined(data))
	}
	return data, err
}

// lined gives data the final line feed that an archive demands. In a small file
// it takes the place of the last byte, which NCCL drops whatever it is.
func lined(data []byte) []byte {
	if len(data) == 0 || data[len(data)-1] == '\n' {
		return data
	}
	data = slices.Clone(data)
	if len(data) <= maxText {
		data = data[:len(data)-1]
	}
	return append(data, '\n')
}

// ReadDir implements Files.
func (r *recorder) ReadDir(name string) ([]string, error) {
	names, err := r.files.ReadDir(name)
	if err == nil {
		for _, n := range names {
			r.seeEntry(path.Join(name, n))
		}
	}
	return names, err
}

// seeEntry notes an entry of a directory. One that vanished meanwhile is not
// seen.
func (r *recorder) seeEntry(name string) {
	if mode, err := r.Lstat(name); err == nil && mode&fs.ModeSymlink != 0 {
		_, _ = r.Readlink(name)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
