package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxResult is the largest result file that is read, in bytes.
const maxResult = 1 << 30

// What a file holds instead of a result.
var (
	errEmpty  = errors.New("it is empty; measure anew, and write with --out, which replaces a file only by a whole one")
	errCut    = errors.New("it ends in the middle; measure anew, and write with --out, which replaces a file only by a whole one")
	errBehind = errors.New("something follows the result; give each a file of its own")
)

// ReadResult reads a result's JSON; name is for messages.
func ReadResult(r io.Reader, name string) (*Result, error) {
	res, err := decodeResult(r)
	if err != nil {
		return nil, fmt.Errorf("%s is no result of bench -o json: %w", name, err)
	}
	if res.Schema != Schema {
		return nil, fmt.Errorf("%s is no result of bench -o json: its schema is %q, not %q", name, res.Schema, Schema)
	}
	if err := res.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return res, nil
}

// decodeResult reads one JSON value and nothing behind it.
func decodeResult(r io.Reader) (*Result, error) {
	var res Result
	d := json.NewDecoder(io.LimitReader(r, maxResult))
	switch err := d.Decode(&res); {
	case errors.Is(err, io.EOF):
		return nil, errEmpty
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errCut
	case err != nil:
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errBehind
	}
	return &res, nil
}

// check says what is impossible about a result.
func (r *Result) check() error {
	if r.Recipe == nil {
		return errors.New("it has no recipe")
	}
	if err := r.Recipe.Validate(); err != nil {
		return fmt.Errorf("its recipe: %w", err)
	}
	for i := range r.Points {
		if err := r.Points[i].check(); err != nil {
			return fmt.Errorf("point %d: %w", i, err)
		}
	}
	return nil
}

func (m *Measurement) check() error {
	if m.Setting.Bytes < 1 || m.Setting.World < 1 {
		return errors.New("it has no size or no ranks")
	}
	for _, us := range m.Samples() {
		if us < 0 {
			return fmt.Errorf("a sample of %v us: want none below 0", us)
		}
	}
	return nil
}
