package yamldoc

import (
	"reflect"

	"gopkg.in/yaml.v3"
)

// Patch changes node, the tree of before, to the tree of after, a value of the same type. Equal
// parts keep their comments, key order, quoting and unknown keys. A field that becomes empty
// loses its key; a new key goes behind the field that precedes it in the type. node must not hold
// aliases: see flatten.
func Patch(node *yaml.Node, before, after any) {
	patch(node, reflect.ValueOf(before), reflect.ValueOf(after))
}

func patch(node *yaml.Node, before, after reflect.Value) {
	if before.IsValid() && same(before, after, false) {
		return
	}
	before, after = inner(before), inner(after)
	if !after.IsValid() || !before.IsValid() || before.Kind() != after.Kind() {
		replace(node, encode(after))
		return
	}
	if before.Type() == after.Type() && after.Kind() == reflect.Struct && node.Kind == yaml.MappingNode && after.Type() != timeType {
		patchStruct(node, before, after)
		putOnOneLine(node, after)
		return
	}
	switch {
	case after.Kind() == reflect.Map && node.Kind == yaml.MappingNode:
		patchKeys(node, before, after)
	case after.Kind() == reflect.Slice && node.Kind == yaml.SequenceNode && len(node.Content) == before.Len():
		patchList(node, before, after)
	default:
		replace(node, encode(after))
	}
}

// inner follows pointers and interfaces.
func inner(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// replace gives node another value; its place, and a comment behind a value that stays
// on one line, remain.
func replace(node, value *yaml.Node) {
	const quotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle
	if node.Kind == yaml.ScalarNode && value.Kind == yaml.ScalarNode &&
		node.Style&quotes != 0 && value.Tag == "!!str" && value.Style != yaml.LiteralStyle {
		value.Style = node.Style & quotes
	}
	node.Kind, node.Tag, node.Style, node.Value = value.Kind, value.Tag, value.Style, value.Value
	node.Content, node.Alias, node.Anchor = value.Content, nil, ""
	if value.Kind != yaml.ScalarNode {
		node.HeadComment, node.LineComment, node.FootComment = "", "", ""
	}
}

func patchStruct(node *yaml.Node, before, after reflect.Value) {
	var known []string // fields so far, for the place of a new key
	for _, f := range fieldsOf(after.Type()) {
		b, a := before.Field(f.index), after.Field(f.index)
		if f.inline {
			patchKeys(node, b, a)
			continue
		}
		if !same(b, a, false) {
			patchKey(node, f.name, b, a, f.omitEmpty && empty(a), known)
		}
		known = append(known, f.name)
	}
}

// patchKey changes, adds or removes one key.
func patchKey(node *yaml.Node, name string, before, after reflect.Value, remove bool, known []string) {
	at := keyIndex(node, name)
	switch {
	case remove && at >= 0:
		node.Content = append(node.Content[:at:at], node.Content[at+2:]...)
	case remove:
	case at >= 0:
		patch(node.Content[at+1], before, after)
	default:
		insertPair(node, known, fieldNode(name), encode(after))
	}
}

func keyIndex(node *yaml.Node, name string) int {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return i
		}
	}
	return -1
}

// insertPair puts a new key behind the last one of known that exists; with none of them
// it goes to the front.
func insertPair(node *yaml.Node, known []string, key, value *yaml.Node) {
	at := 0
	for i := len(known) - 1; i >= 0 && at == 0; i-- {
		if k := keyIndex(node, known[i]); k >= 0 {
			at = k + 2
		}
	}
	insert(node, at, key, value)
}

func insert(node *yaml.Node, at int, nodes ...*yaml.Node) {
	if len(node.Content) == 0 {
		node.Style &^= yaml.FlowStyle // "{}" is not a wish for flow style
		node.Style |= nodes[len(nodes)-1].Style & yaml.FlowStyle
	}
	if node.Style&yaml.FlowStyle != 0 {
		for _, n := range nodes {
			inFlow(n)
		}
	}
	content := append([]*yaml.Node{}, node.Content[:at]...)
	content = append(content, nodes...)
	node.Content = append(content, node.Content[at:]...)
}

// inFlow makes a node fit to be in a collection of flow style.
func inFlow(n *yaml.Node) {
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		n.Style |= yaml.FlowStyle
	}
	for _, c := range n.Content {
		inFlow(c)
	}
}

// patchKeys changes those keys of node that before and after, two maps, tell of; new
// ones go to the end.
func patchKeys(node *yaml.Node, before, after reflect.Value) {
	for _, key := range sortedKeys(before) {
		if !mapValue(after, key).IsValid() {
			patchKey(node, keyText(key), before.MapIndex(key), reflect.Value{}, true, nil)
		}
	}
	for _, key := range sortedKeys(after) {
		a := after.MapIndex(key)
		b := mapValue(before, key)
		if b.IsValid() && same(b, a, false) {
			continue
		}
		if at := keyIndex(node, keyText(key)); at >= 0 {
			patch(node.Content[at+1], b, a)
		} else {
			insert(node, len(node.Content), stringNode(keyText(key)), encode(a))
		}
	}
}

func patchList(node *yaml.Node, before, after reflect.Value) {
	flow := node.Style & yaml.FlowStyle
	content := make([]*yaml.Node, 0, after.Len())
	for i, from := range align(before, after) {
		if from >= 0 {
			item := node.Content[from]
			patch(item, before.Index(from), after.Index(i))
			content = append(content, item)
			continue
		}
		item := encode(after.Index(i))
		if flow != 0 {
			inFlow(item)
		}
		content = append(content, item)
	}
	if len(node.Content) == 0 {
		node.Style = encode(after).Style
	}
	node.Content = content
	if len(content) == 0 {
		node.Style |= yaml.FlowStyle
	}
}

// copyTree copies a tree; aliases in the copy point into the copy.
func copyTree(n *yaml.Node) *yaml.Node {
	seen := map[*yaml.Node]*yaml.Node{}
	var walk func(*yaml.Node) *yaml.Node
	walk = func(n *yaml.Node) *yaml.Node {
		if n == nil {
			return nil
		}
		if c := seen[n]; c != nil {
			return c
		}
		c := *n
		seen[n] = &c
		c.Alias = walk(n.Alias)
		if n.Content != nil {
			c.Content = make([]*yaml.Node, len(n.Content))
			for i, child := range n.Content {
				c.Content[i] = walk(child)
			}
		}
		return &c
	}
	return walk(n)
}

// flatten puts copies in the place of aliases and spells out merge keys, so that the
// node says the same by itself.
func flatten(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		target := copyTree(n.Alias)
		flatten(target)
		target.Line, target.Column, target.Anchor = n.Line, n.Column, ""
		target.LineComment, target.HeadComment, target.FootComment = n.LineComment, n.HeadComment, n.FootComment
		*n = *target
		forget(n.Content)
		return
	}
	for _, c := range n.Content {
		flatten(c)
	}
	if n.Kind == yaml.MappingNode {
		mergeKeys(n)
	}
}

// forget removes the places of nodes that were copied from elsewhere.
func forget(nodes []*yaml.Node) {
	for _, n := range nodes {
		n.Line, n.Column, n.Anchor = 0, 0, ""
		forget(n.Content)
	}
}

func mergeKeys(n *yaml.Node) {
	at := -1
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Value == "<<" && k.ShortTag() == "!!merge" {
			at = i
		}
	}
	if at < 0 {
		return
	}
	sources := []*yaml.Node{n.Content[at+1]}
	if sources[0].Kind == yaml.SequenceNode {
		sources = sources[0].Content
	}
	n.Content = append(n.Content[:at:at], n.Content[at+2:]...)
	for _, source := range sources {
		for i := 0; i+1 < len(source.Content); i += 2 {
			if keyIndex(n, source.Content[i].Value) < 0 {
				key, value := copyTree(source.Content[i]), copyTree(source.Content[i+1])
				forget([]*yaml.Node{key, value})
				n.Content = append(n.Content, key, value)
			}
		}
	}
}

// sameTree reports whether two trees say the same; comments and styles do not count.
// Loosely, a time and a text are the same if they read the same.
func sameTree(a, b *yaml.Node, loosely bool) bool {
	a, b = resolve(a), resolve(b)
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.ScalarNode {
		return sameScalar(a.ShortTag(), b.ShortTag(), a.Value, b.Value, loosely)
	}
	for i := range a.Content {
		if !sameTree(a.Content[i], b.Content[i], loosely) {
			return false
		}
	}
	return true
}

func sameScalar(tagA, tagB, a, b string, loosely bool) bool {
	text := func(tag string) bool { return tag == "!!str" || tag == "!!timestamp" }
	if loosely && text(tagA) && text(tagB) {
		return a == b
	}
	return tagA == tagB && (a == b || tagA == "!!null")
}

// resolve follows an alias.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
