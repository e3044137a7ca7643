package yamldoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Node reads the one YAML document of a file as a tree whose nodes know their lines. An
// empty file gives nil; what is not YAML, or more than one document, gives a *SyntaxError.
func Node(data []byte) (*yaml.Node, error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	root, err := parseTree(text)
	switch {
	case errors.Is(err, errEmpty):
		return nil, nil
	case errors.Is(err, errSeveral):
		return nil, &SyntaxError{Line: secondDocument(text), Column: 1, Reason: "the file has more than one document"}
	case err != nil:
		broken := locate(text, err, nil)
		broken.Reason = "not YAML: " + broken.Reason
		return nil, broken
	case root.ShortTag() == "!!null":
		return nil, nil
	}
	return root, nil
}

// JSONNode reads a JSON text as the tree that the same YAML would give. (YAML readers do
// not take all of JSON: tabs and surrogate pairs are trouble.)
func JSONNode(data []byte) (*yaml.Node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var whole any
	if err := json.Unmarshal(data, &whole); err != nil {
		broken := &SyntaxError{Reason: "not JSON: " + err.Error()}
		if se := (*json.SyntaxError)(nil); errors.As(err, &se) {
			broken.Line = 1 + bytes.Count(data[:min(int(se.Offset), len(data))], []byte("\n"))
		}
		return nil, broken
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	r := jsonReader{dec: dec, data: data, line: 1}
	return r.node()
}

type jsonReader struct {
	dec    *json.Decoder
	data   []byte
	offset int64
	line   int
}

func (r *jsonReader) token() (json.Token, error) {
	t, err := r.dec.Token()
	r.line += bytes.Count(r.data[r.offset:r.dec.InputOffset()], []byte("\n"))
	r.offset = r.dec.InputOffset()
	return t, err
}

func (r *jsonReader) node() (*yaml.Node, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line}
	switch t := t.(type) {
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(t)
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Number:
		n.Tag, n.Value = "!!int", t.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if t == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for r.dec.More() { // keys and values of an object come one after the other
			child, err := r.node()
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = r.token()
	}
	return n, err
}
