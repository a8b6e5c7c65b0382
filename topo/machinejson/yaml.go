package machinejson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ringtopo/ringtopo/topo"
)

// maxYAML is the largest YAML file that is read. Its tree takes far more memory
// than the text.
const maxYAML = 8 << 20

// DecodeYAML reads a machine as [Decode] does, from YAML with the same names.
func DecodeYAML(r io.Reader, name string) (*topo.System, error) {
	text, err := readAll(r, name, maxYAML)
	if err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s holds no machine", name)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one document; a machine is one", name)
	}
	j := yamlJSON{line: 1}
	if err := j.value(doc.Content[0]); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return decode(j.out, name)
}

// yamlJSON writes a tree of YAML as JSON that has every value on the line where
// the YAML has it, so that messages about the one are right for the other.
type yamlJSON struct {
	out  []byte
	line int
}

// value writes a node. Errors start with the line.
func (j *yamlJSON) value(n *yaml.Node) error {
	for ; j.line < n.Line; j.line++ {
		j.out = append(j.out, '\n')
	}
	switch n.Kind {
	case yaml.MappingNode:
		return j.list(n.Content, '{', '}')
	case yaml.SequenceNode:
		return j.list(n.Content, '[', ']')
	case yaml.ScalarNode:
		return j.scalar(n)
	}
	return fmt.Errorf("%d: *%.40s stands for another value; write it out", n.Line, n.Value)
}

// list writes the items of a sequence, or the keys and values of a mapping in
// turn.
func (j *yamlJSON) list(items []*yaml.Node, open, end byte) error {
	j.out = append(j.out, open)
	for i, item := range items {
		isKey := open == '{' && i%2 == 0
		switch {
		case open == '{' && !isKey:
			j.out = append(j.out, ':')
		case i > 0:
			j.out = append(j.out, ',')
		}
		if isKey && item.Kind != yaml.ScalarNode {
			return fmt.Errorf("%d: a name must be a word", item.Line)
		}
		if isKey {
			item = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: item.Value, Line: item.Line}
		}
		if err := j.value(item); err != nil {
			return err
		}
	}
	j.out = append(j.out, end)
	return nil
}

// scalar writes a number, true, false or null as such, and all else as text.
func (j *yamlJSON) scalar(n *yaml.Node) error {
	var v any = n.Value
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!null":
		if err := n.Decode(&v); err != nil {
			return fmt.Errorf("%d: %w", n.Line, err)
		}
	}
	text, err := json.Marshal(v)
	if err != nil { // infinity and the like
		return fmt.Errorf("%d: %.40q is no number: %w", n.Line, n.Value, err)
	}
	j.out = append(j.out, text...)
	return nil
}
