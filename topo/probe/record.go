package probe

import (
	"io/fs"
	"maps"
	"path"
	"slices"
)

// Recorder passes questions on to another file system and keeps the answers.
type Recorder struct {
	Files Files
	Seen  *Tree
}

// NewRecorder keeps what is read of f.
func NewRecorder(f Files) *Recorder { return &Recorder{Files: f, Seen: NewTree()} }

// Lstat implements Files.
func (r *Recorder) Lstat(name string) (fs.FileMode, error) {
	mode, err := r.Files.Lstat(name)
	if err == nil && mode&fs.ModeSymlink == 0 {
		r.see(name, mode)
	}
	return mode, err
}

// see notes that something is there, but not what is in it.
func (r *Recorder) see(name string, mode fs.FileMode) {
	_, seen := r.Seen.files[name]
	switch {
	case mode.IsDir():
		r.Seen.AddDir(name)
	case !seen:
		r.Seen.AddFile(name, nil)
	}
}

// Readlink implements Files.
func (r *Recorder) Readlink(name string) (string, error) {
	target, err := r.Files.Readlink(name)
	if err == nil {
		r.Seen.AddLink(name, target)
	}
	return target, err
}

// ReadFile implements Files.
func (r *Recorder) ReadFile(name string) ([]byte, error) {
	data, err := r.Files.ReadFile(name)
	if err == nil {
		r.Seen.AddFile(name, lined(data))
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
func (r *Recorder) ReadDir(name string) ([]string, error) {
	names, err := r.Files.ReadDir(name)
	if err == nil {
		for _, n := range names {
			r.seeEntry(path.Join(name, n))
		}
	}
	return names, err
}

// seeEntry notes an entry of a directory. One that vanished meanwhile is not
// seen.
func (r *Recorder) seeEntry(name string) {
	if mode, err := r.Lstat(name); err == nil && mode&fs.ModeSymlink != 0 {
		_, _ = r.Readlink(name)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
