package job

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ConfFiles are the files that NCCL takes variables from, in its order; home is
// the user's folder, "" if there is none.
func ConfFiles(home string) []string {
	const system = "/etc/nccl.conf"
	if home == "" {
		return []string{system}
	}
	return []string{filepath.Join(home, ".nccl.conf"), system}
}

// WithConf appends the settings of configuration files to an environment, where
// those that stand earlier count. Lines that are not NAME=VALUE are passed over,
// and so are files that are not there.
func WithConf(environ []string, files []string) ([]string, error) {
	out := append([]string(nil), environ...)
	for _, file := range files {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for sc := bufio.NewScanner(f); sc.Scan(); {
			if line := sc.Text(); strings.Contains(line, "=") {
				out = append(out, line)
			}
		}
		_ = f.Close() // only read
	}
	return out, nil
}
