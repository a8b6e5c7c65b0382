package main

import (
	"bytes"
	"encoding/json"
	"io"

	"go.yaml.in/yaml/v3"
)

// encode writes a value as JSON, or as YAML with the same names in the same
// order. Lists of numbers and texts stand on one line.
func encode(w io.Writer, format string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if format == "yaml" {
		return encodeYAML(w, text)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = w.Write(flatLists(out.Bytes()))
	return err
}

// flatLists puts the lists of indented JSON that hold no object and no list on
// one line.
func flatLists(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		i := bytes.IndexAny(text, "[\"")
		if i < 0 {
			break
		}
		out, text = append(out, text[:i]...), text[i:]
		n := 1
		if text[0] == '"' {
			n = stringEnd(text)
			out = append(out, text[:n]...)
		} else if end := flatEnd(text); end > 0 {
			n = end
			out = append(out, joinLines(text[:n])...)
		} else {
			out = append(out, '[')
		}
		text = text[n:]
	}
	return append(out, text...)
}

// stringEnd is the length of the JSON string at the start of text.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// flatEnd is the length of the list at the start of text, 0 if there are lists
// or objects in it.
func flatEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:]) - 1
		case '[', '{':
			return 0
		case ']':
			return i + 1
		}
	}
	return 0
}

// joinLines takes line breaks and indentation out of a list.
func joinLines(list []byte) []byte {
	out := make([]byte, 0, len(list))
	for i := 0; i < len(list); i++ {
		switch c := list[i]; c {
		case '"':
			n := stringEnd(list[i:])
			out = append(out, list[i:i+n]...)
			i += n - 1
		case ' ', '\n':
		case ',':
			out = append(out, ", "...)
		default:
			out = append(out, c)
		}
	}
	return out
}

func encodeYAML(w io.Writer, text []byte) error {
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return err
	}
	blockStyle(&node)
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(&node); err != nil {
		return err
	}
	return e.Close()
}

// blockStyle makes YAML of the JSON that a tree was read from; it is false for
// a tree that holds further trees.
func blockStyle(n *yaml.Node) (flat bool) {
	flat = true
	for _, c := range n.Content {
		flat = blockStyle(c) && c.Kind == yaml.ScalarNode && flat
	}
	n.Style = 0
	if flat && n.Kind == yaml.SequenceNode {
		n.Style = yaml.FlowStyle
	}
	return flat
}
