package yamldoc

import (
	"reflect"

	"gopkg.in/yaml.v3"
)

// sameValue reports whether two nodes, which may be nil, have the same value: styles, comments and the order of keys do not
// count, and an empty value equals an absent one. flatten handles aliases.
func sameValue(a, b *yaml.Node) bool {
	emptyA, emptyB := emptyNode(a), emptyNode(b)
	if emptyA || emptyB {
		return emptyA && emptyB
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case yaml.MappingNode:
		return sameKeys(a, b) && sameKeys(b, a)
	case yaml.SequenceNode:
		if len(a.Content) != len(b.Content) {
			return false
		}
		for i := range a.Content {
			if !sameValue(a.Content[i], b.Content[i]) {
				return false
			}
		}
		return true
	}
	return sameText(a, b)
}

// sameKeys reports whether b says the same as a under each key of a.
func sameKeys(a, b *yaml.Node) bool {
	for i := 0; i+1 < len(a.Content); i += 2 {
		if _, other := pairOf(b, a.Content[i].Value); !sameValue(a.Content[i+1], other) {
			return false
		}
	}
	return true
}

// sameText compares two scalars: a time is the same as a text that reads like it, and
// numbers count by their value.
func sameText(a, b *yaml.Node) bool {
	if sameScalar(a.ShortTag(), b.ShortTag(), a.Value, b.Value, true) {
		return true
	}
	return isNumber(a) && isNumber(b) && number(a) != "" && number(a) == number(b)
}

func isNumber(n *yaml.Node) bool {
	tag := n.ShortTag()
	return tag == "!!int" || tag == "!!float" || tag == "!!bool"
}

func number(n *yaml.Node) string {
	var v any
	if n.Decode(&v) != nil || v == nil {
		return ""
	}
	kind, text := scalarText(reflect.ValueOf(v))
	return kind + text
}

// emptyNode reports whether a node says no more than an absent one.
func emptyNode(n *yaml.Node) bool {
	switch {
	case n == nil:
		return true
	case n.Kind == yaml.ScalarNode:
		return n.Value == "" || n.ShortTag() == "!!null"
	case n.Kind == yaml.MappingNode:
		for i := 1; i < len(n.Content); i += 2 {
			if !emptyNode(n.Content[i]) {
				return false
			}
		}
		return true
	}
	return len(n.Content) == 0 && n.Kind == yaml.SequenceNode
}

// pairOf is a key of a map with its value, nil and nil when it is absent.
func pairOf(n *yaml.Node, key string) (k, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	if at := keyIndex(n, key); at >= 0 {
		return n.Content[at], n.Content[at+1]
	}
	return nil, nil
}

// idOf is the id of an element of a list, "" when it has none.
func idOf(n *yaml.Node) string {
	if _, id := pairOf(n, "id"); id != nil && id.Kind == yaml.ScalarNode && id.ShortTag() != "!!null" {
		return id.Value
	}
	return ""
}

// names are the keys of a map in the order of the file.
func names(n *yaml.Node) []string {
	var names []string
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			names = append(names, n.Content[i].Value)
		}
	}
	return names
}

// maxShown is how much of a value a report shows.
const maxShown = 200

// show is a value on one line, as it might be in the file.
func show(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	var w writer
	w.flow(n)
	text := []rune(w.b.String())
	if len(text) > maxShown {
		return string(text[:maxShown]) + "…"
	}
	return string(text)
}
