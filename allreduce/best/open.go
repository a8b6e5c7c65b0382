package best

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// DefaultPath is where tables are kept for a user, under the folder of the
// user's settings.
func DefaultPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no place for tables: %w; name one with --tuning", err)
	}
	return filepath.Join(dir, "ringtopo", "tuning.json"), nil
}

// Open reads a file of tables. One that another user could have written, or put
// in its place, is refused: a table decides what runs.
func Open(path string) (*File, error) {
	f, err := openRegular(path)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, &FileError{File: path, Reason: err}
	}
	defer func() { _ = f.Close() }() // only read
	if err := trusted(f, path); err != nil {
		return nil, &FileError{File: path, Reason: err}
	}
	return Read(f, path)
}

var errNotRegular = errors.New("it is no regular file")

// openRegular does not wait for whoever may write to a pipe.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return os.Open(path)
}

// trusted says who besides this user could change a file.
func trusted(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // by now
		return errNotRegular
	}
	if err := private(info); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(real)
	if info, err = os.Stat(dir); err != nil {
		return err
	}
	err = own(info)
	if err == nil && info.Mode()&os.ModeSticky == 0 { // with it others cannot replace the file
		err = private(info)
	}
	if err != nil {
		return fmt.Errorf("its folder %s: %w", dir, err)
	}
	return nil
}

// private says who else may write.
func private(info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write to it (mode %04o): take that away with chmod go-w", info.Mode().Perm())
	}
	return own(info)
}

// own says whose it is, if neither this user's nor root's.
func own(info fs.FileInfo) error {
	if owner, known := ownerOf(info); known && owner != 0 && owner != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d, neither to you nor to root", owner)
	}
	return nil
}
