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
	if base == "" {
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

// socketPath is where the processes of a job meet. Without a job's name the
// launcher is known as their common parent.
func socketPath(dir string, w World) string {
	job := w.Launcher + " " + w.Job
	if w.Job == "" {
		job += strconv.Itoa(os.Getppid())
	}
	sum := sha256.Sum256([]byte(job))
	return filepath.Join(dir, hex.EncodeToString(sum[:8])+".sock")
}
