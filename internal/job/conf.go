package job

import (
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
		settings, err := readConf(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		out = append(out, settings...)
	}
	return out, nil
}

func readConf(file string) (settings []string, err error) {
	text, err := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); strings.Contains(line, "=") {
			settings = append(settings, line)
		}
	}
	return settings, err
}
