package main

import (
	"encoding/json"
	"io"

	"go.yaml.in/yaml/v3"
)

// encode writes a value as JSON, or as YAML with the same names in the same
// order.
func encode(w io.Writer, format string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if format == "yaml" {
		return encodeYAML(w, text)
	}
	p := printer{text: text}
	p.value("")
	_, err = w.Write(append(p.out, '\n'))
	return err
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
