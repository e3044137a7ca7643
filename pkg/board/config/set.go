package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/yamldoc"
)

// KeyError is returned for an unknown key, and for one without a single value.
type KeyError struct {
	Key, Reason string
}

func (e *KeyError) Error() string { return fmt.Sprintf("cannot set %s: %s", e.Key, e.Reason) }

// Set changes one value of a configuration file and keeps everything else: order, comments, layout. data is the file, or nil;
// file is its name, which selects YAML or JSON. The result is valid, also together with the environment. The error is a
// *KeyError, a *FileError or *ValueErrors.
func Set(data []byte, file, key, text string, environment []string) ([]byte, error) {
	k, err := kindAt(key)
	if err != nil {
		return nil, err
	}
	value, expected, at := readText(text, k)
	if at != nil {
		return nil, &ValueError{Key: key, Variable: CommandLine, Expected: expected, Found: k.shown(at)}
	}
	if _, _, err := Parse(data, file, environment); err != nil {
		return nil, fmt.Errorf("cannot change a file that has errors: %w", err)
	}
	change := edit
	if filepath.Ext(file) == ".json" {
		change = editJSON
	}
	next, err := change(data, key, value)
	if err != nil {
		return nil, &FileError{File: file, Reason: fmt.Sprintf("%s cannot be changed in it: %v", key, err)}
	}
	if _, _, err := Parse(next, file, environment); err != nil {
		return nil, err
	}
	return next, nil
}

// readText reads a value as a person writes it on a command line.
func readText(text string, k kind) (v any, expected string, at *yaml.Node) {
	n := nodeOf(text, k)
	if k.typ.Kind() == reflect.Slice || single(k.typ) {
		if given, err := yamldoc.Node([]byte(text)); err == nil && given != nil && given.Kind != yaml.ScalarNode {
			n = given // [a, b]
		}
	}
	read, expected, at := value(n, k)
	if at != nil {
		return nil, expected, at
	}
	return shownValue(read, k), "", nil
}

// kindAt returns the kind of value of a key. The key may be in a map and not exist yet.
func kindAt(key string) (kind, error) {
	k := kind{typ: reflect.TypeFor[Config]()}
	parts := strings.Split(key, ".")
	for i, part := range parts {
		at := strings.Join(parts[:i], ".")
		switch {
		case k.typ.Kind() == reflect.Struct && !single(k.typ):
			f, ok := fieldOf(k.typ, part)
			if rest, open := fieldOf(k.typ, "*"); !ok && open && part != "" {
				k = kindOf(rest).of(rest.Type.Elem())
				continue
			}
			if !ok {
				return k, unknownKey(key, at, part, fieldNames(k.typ))
			}
			k = kindOf(f)
		case k.typ.Kind() == reflect.Map && part != "":
			if known := namesOf(at); k.closed && !slices.Contains(known, part) {
				return k, unknownKey(key, at, part, known)
			}
			k = k.of(k.typ.Elem())
		default:
			return k, &KeyError{key, at + " is a single value"}
		}
	}
	if k.typ.Kind() == reflect.Map || k.typ.Kind() == reflect.Struct && !single(k.typ) {
		return k, &KeyError{key, "it is a section; name one of its keys"}
	}
	return k, nil
}

func unknownKey(key, at, part string, known []string) error {
	reason := "there is no such key"
	if near := nearest(part, known); near != "" {
		reason += "; did you mean " + join(at, near) + "?"
	} else if near := elsewhere(part); near != "" {
		reason += "; did you mean " + near + "?"
	}
	return &KeyError{key, reason}
}

// namesOf are the names that a map of the defaults has.
func namesOf(at string) []string {
	var names []string
	for _, l := range leaves(Default()) {
		if rest, ok := strings.CutPrefix(l.key, at+"."); ok {
			name, _, _ := strings.Cut(rest, ".")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// edit puts a value into the text of a file.
func edit(data []byte, path string, value any) ([]byte, error) {
	doc, err := (&yamldoc.Reader{}).Parse(data)
	if broken := (*yamldoc.SyntaxError)(nil); errors.As(err, &broken) && strings.TrimSpace(string(data)) == "" {
		doc, err = (&yamldoc.Reader{}).Parse([]byte("version: 1\n"))
	}
	if err != nil {
		return nil, err
	}
	section, rest, deeper := strings.Cut(path, ".")
	var before any
	if n, err := doc.Node(section); err == nil && n != nil {
		if err := n.Decode(&before); err != nil {
			return nil, err
		}
	}
	after := value
	if deeper {
		after = with(before, rest, value)
	}
	change := doc.Edit()
	change.Patch(section, before, after)
	next, err := change.Apply()
	if err != nil {
		return nil, err
	}
	return next.Bytes(), nil
}

// with is a copy of a tree of maps with one value in it.
func with(tree any, path string, value any) any {
	name, rest, deeper := strings.Cut(path, ".")
	m, _ := tree.(map[string]any)
	if m = maps.Clone(m); m == nil {
		m = map[string]any{}
	}
	if deeper {
		m[name] = with(m[name], rest, value)
	} else {
		m[name] = value
	}
	return m
}

// editJSON is edit for a file in JSON, which has an order but no comments to keep.
func editJSON(data []byte, path string, value any) ([]byte, error) {
	root, err := yamldoc.JSONNode(data)
	if err != nil {
		return nil, err
	}
	var n yaml.Node
	if err := n.Encode(value); err != nil {
		return nil, err
	}
	if old, _ := lookUp(root, path); old != nil {
		*old = n
	} else {
		put(root, path, &n)
	}
	var b strings.Builder
	writeJSON(&b, root, "")
	return []byte(b.String() + "\n"), nil
}

func writeJSON(b *strings.Builder, n *yaml.Node, indent string) {
	step, open, end := 1, "[", "]"
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() != "!!str":
		b.WriteString(n.Value)
		return
	case n.Kind == yaml.ScalarNode:
		b.WriteString(quote(n.Value))
		return
	case n.Kind == yaml.MappingNode:
		step, open, end = 2, "{", "}"
	}
	if len(n.Content) == 0 {
		b.WriteString(open + end)
		return
	}
	b.WriteString(open)
	for i := 0; i+step <= len(n.Content); i += step {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n" + indent + "  ")
		if step == 2 {
			b.WriteString(quote(n.Content[i].Value) + ": ")
		}
		writeJSON(b, n.Content[i+step-1], indent+"  ")
	}
	b.WriteString("\n" + indent + end)
}

func quote(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic("config: " + err.Error()) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
