package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// privateDir is a directory that only this user can enter, for sockets.
func privateDir() (string, error) {
	base := os.Getenv("XDG_RUNTIME_DIR")
	if _, err := os.Stat(base); base == "" || err != nil { // another user's session, or none
		base = os.TempDir()
	}
	dir := filepath.Join(base, "ringtopo-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(s.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a directory that only this user can enter: remove it", dir)
	}
	return dir, nil
}

// maxSocketPath is how long a socket's path may be everywhere.
const maxSocketPath = 103

// socketPath is where the processes of a job meet. Without a job's name the
// launcher is known as their common parent.
func socketPath(w World) (string, error) {
	dir, err := privateDir()
	if err != nil {
		return "", err
	}
	job := w.Launcher + " " + w.Job
	if w.Job == "" {
		job += strconv.Itoa(os.Getppid())
	}
	sum := sha256.Sum256([]byte(job))
	path := filepath.Join(dir, hex.EncodeToString(sum[:8])+".sock")
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("%s is too long for a socket: set XDG_RUNTIME_DIR to a directory with a shorter name", path)
	}
	return path, nil
}
