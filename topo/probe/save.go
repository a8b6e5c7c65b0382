package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// SaveError says why no recording can be made under a name.
type SaveError struct {
	Dir string
	Err error
}

func (e *SaveError) Error() string { return e.Dir + ": " + e.Err.Error() }
func (e *SaveError) Unwrap() error { return e.Err }

// save writes a recording into a new folder, or not at all.
func (p *Prober) save(dir string, files *Tree, job jobFile, expect *ncclxml.Document) error {
	if err := vacant(dir); err != nil {
		return &SaveError{dir, err}
	}
	contents, err := p.contents(files, job, expect)
	if err != nil {
		return err
	}
	if err := publish(dir, contents); err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err // its path is that of a folder in the making
		}
		return &SaveError{dir, err}
	}
	return nil
}

// vacant refuses a name that something of the user's has.
func vacant(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return nil // making the folder will tell
	}
	if !info.IsDir() {
		return errors.New("not a folder; name a new one for the recording")
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return errors.New("not empty; name a new folder for the recording")
	}
	return nil
}

// publish writes files into a folder that has its name only when all are there.
func publish(dir string, contents map[string][]byte) (err error) {
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, ".recording-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	for name, data := range contents {
		if err := os.WriteFile(filepath.Join(tmp, name), data, 0o666); err != nil {
			return err
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(tmp, dir)
}

// expectFile holds the topology that probing the recording gives.
const expectFile = "expect.xml"

func (p *Prober) contents(files *Tree, job jobFile, expect *ncclxml.Document) (map[string][]byte, error) {
	contents := map[string][]byte{sysfsFile: files.Format("recorded by ringtopo probe --capture")}
	for name, v := range map[string]any{hostFile: p.Host, netFile: p.Network, ranksFile: job} {
		data, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
		contents[name] = append(data, '\n')
	}
	var xml bytes.Buffer
	if err := ncclxml.Encode(&xml, expect); err != nil {
		return nil, fmt.Errorf("writing %s: %w", expectFile, err)
	}
	contents[expectFile] = xml.Bytes()
	return contents, nil
}

// Save writes a machine that is held in memory, as [Stage] makes one, and a job
// on it into a new folder, in the format that [Load] reads.
func Save(dir string, p *Prober, ranks []Rank) error {
	files, ok := p.Files.(*Tree)
	if !ok {
		return fmt.Errorf("%s: only what is held in memory can be saved", p.Name)
	}
	doc, err := p.Probe(ranks)
	if err != nil {
		return err
	}
	return p.save(dir, files, jobFile{Ranks: ranks}, doc)
}
