package best

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Schema names the JSON form of a File.
const Schema = "ringtopo.tuning/v1"

// File holds tables, at most one for a class.
type File struct {
	Schema string  `json:"schema"`
	Tables []Table `json:"tables"`
	Name   string  `json:"-"` // for messages and origins
}

// FileError says what is wrong with a file of tables, and where in it.
type FileError struct {
	File   string
	Place  string // such as tables[0].rows[2]; empty: the whole
	Reason error
}

func (e *FileError) Error() string {
	where := e.File
	if e.Place != "" {
		where += ": " + e.Place
	}
	return fmt.Sprintf("%s: %v; measure a new table with 'ringtopo bench --tune', or name another with --tuning", where, e.Reason)
}

func (e *FileError) Unwrap() error { return e.Reason }

// mostBytes is the largest file that is read.
const mostBytes = 4 << 20

// Read reads and checks tables; name is for messages. What it refuses is a
// *FileError.
func Read(r io.Reader, name string) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err != nil {
		return nil, &FileError{File: name, Reason: err}
	}
	if len(text) > mostBytes {
		return nil, &FileError{File: name, Reason: fmt.Errorf("it is larger than %d bytes", mostBytes)}
	}
	f := &File{Name: name}
	if err := decode(text, f); err != nil {
		return nil, &FileError{File: name, Reason: err}
	}
	if f.Schema != Schema {
		return nil, &FileError{File: name, Place: "schema", Reason: fmt.Errorf("it is %q, want %q", f.Schema, Schema)}
	}
	for i := range f.Tables {
		t := &f.Tables[i]
		place, err := t.check()
		if err == nil && f.find(t.Class) != t {
			place, err = "machine", fmt.Errorf("there is another table of %s", t.Class)
		}
		if err != nil {
			return nil, &FileError{File: name, Place: fmt.Sprintf("tables[%d].%s", i, place), Reason: err}
		}
	}
	return f, nil
}

// decode reads one JSON value and nothing behind it, with known fields only.
func decode(text []byte, f *File) error {
	var whole json.RawMessage // refuses what follows the value, too
	if err := json.Unmarshal(text, &whole); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return err
	}
	return named(text)
}

// named refuses a row of ours without an algorithm or a protocol, which would be
// taken for the first of each.
func named(text []byte) error {
	var f struct {
		Tables []struct {
			Rows []struct {
				Engine      Engine
				Algo, Proto *string
			}
		}
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	for i, t := range f.Tables {
		for j, r := range t.Rows {
			if r.Engine == Ours && (r.Algo == nil || r.Proto == nil) {
				return fmt.Errorf("tables[%d].rows[%d]: it names no algorithm, or no protocol", i, j)
			}
		}
	}
	return nil
}

// find gives the table of a class, nil if there is none.
func (f *File) find(c Class) *Table {
	for i := range f.Tables {
		if f.Tables[i].Class == c {
			return &f.Tables[i]
		}
	}
	return nil
}

// Put adds a table, in place of an older one of the same class.
func (f *File) Put(t Table) {
	f.Schema = Schema
	if old := f.find(t.Class); old != nil {
		*old = t
		return
	}
	f.Tables = append(f.Tables, t)
}
