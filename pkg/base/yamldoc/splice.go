package yamldoc

import (
	"errors"
	"strings"

	"gopkg.in/yaml.v3"
)

var errNotFaithful = errors.New("cannot find a text with the changed values")

// splice returns text, the text of the tree before, with the lines rewritten in which after differs. If the result does not
// have the value of after, it rewrites all lines, in the end without comments.
func splice(text string, before, after *yaml.Node) (string, error) {
	if out, err := spliceLines(text, before, after); err == nil {
		return out, nil
	}
	if out := rendered(after, before.Column-1); says(out, after, false) {
		return out, nil
	}
	// The library puts times into quotes where they are in flow style.
	whole := copyTree(after)
	if out, err := library(whole, before.Column-1); err == nil && says(out, after, true) {
		return out, nil
	}
	flatten(whole)
	makePlain(whole)
	if out := rendered(whole, before.Column-1); says(out, after, false) {
		return out, nil
	}
	return "", errNotFaithful
}

// spliceLines is splice without the ways that rewrite the whole text.
func spliceLines(text string, before, after *yaml.Node) (string, error) {
	s := splicer{lines: splitLines(text)}
	if s.root(before, after) {
		if out := s.b.String(); says(out, after, false) {
			return out, nil
		}
	}
	return "", errNotFaithful
}

// rendered writes a whole tree without the library, if it can; else it returns "".
func rendered(root *yaml.Node, indent int) string {
	if !simple(root) {
		return ""
	}
	var w writer
	if root.Style&yaml.FlowStyle != 0 || len(root.Content) == 0 {
		w.flow(root)
	} else {
		w.value(root, -2, false)
	}
	return indented(ended(w.b.String()), indent)
}

// says reports whether text has the value of the tree. Loosely, a time may have become a text.
func says(text string, tree *yaml.Node, loosely bool) bool {
	if text == "" {
		return false
	}
	got, err := parseTree(text)
	if err != nil || !sameTree(got, tree, loosely) {
		return false
	}
	_, broken := check(got)
	return broken == nil
}

// makePlain takes everything from a tree that has no meaning.
func makePlain(n *yaml.Node) {
	n.Anchor, n.HeadComment, n.LineComment, n.FootComment = "", "", "", ""
	if n.Tag != "!!binary" {
		n.Style &^= yaml.TaggedStyle
	}
	for _, c := range n.Content {
		makePlain(c)
	}
}

func splitLines(text string) []string {
	var lines []string
	for row := range strings.Lines(text) {
		lines = append(lines, row)
	}
	return lines
}

// splicer writes a tree beside the text that it came from.
type splicer struct {
	lines []string
	b     strings.Builder
}

func (s *splicer) root(before, after *yaml.Node) bool {
	if !s.blockOf(before, after) || before.Line < 1 || before.Line > len(s.lines) {
		return false
	}
	for _, row := range s.lines[:before.Line-1] {
		s.b.WriteString(row)
	}
	prefix, ok := s.before(before)
	if !ok || strings.TrimSpace(prefix) != "" {
		return false
	}
	s.b.WriteString(prefix)
	end := s.end()
	if !s.block(before, after, end) {
		return false
	}
	for _, row := range s.lines[end:] {
		s.b.WriteString(row)
	}
	return true
}

// end is the line of the mark "..." that ends the document, or the number of lines.
func (s *splicer) end() int {
	for i := len(s.lines) - 1; i >= 0 && between(s.lines[i], 0) || i >= 0 && strings.HasPrefix(s.lines[i], "..."); i-- {
		if strings.HasPrefix(s.lines[i], "...") {
			return i
		}
	}
	return len(s.lines)
}

// blockOf reports whether both nodes are filled collections of one kind in block style.
func (s *splicer) blockOf(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && (a.Kind == yaml.MappingNode || a.Kind == yaml.SequenceNode) &&
		a.Style&yaml.FlowStyle == 0 && b.Style&yaml.FlowStyle == 0 && len(a.Content) > 0 && len(b.Content) > 0 &&
		a.Anchor == b.Anchor && a.Tag == b.Tag
}

// before returns the text on the line of n to its left.
func (s *splicer) before(n *yaml.Node) (string, bool) {
	if n.Line < 1 || n.Line > len(s.lines) {
		return "", false
	}
	column := 0
	for i := range s.lines[n.Line-1] { // columns count characters
		if column == n.Column-1 {
			return s.lines[n.Line-1][:i], true
		}
		column++
	}
	return "", false
}

// A part is an element of a block collection with its lines.
type part struct {
	node   *yaml.Node // the key, or the element of a list
	value  *yaml.Node
	line   int    // number of its first line, from 0
	body   string // its lines, without the indentation of the first
	after  string // blank lines and comments between it and the next one
	bottom int    // the line behind its body
}

// block writes the collection from its first element up to the line to. The text to the left of its first line was written
// before.
func (s *splicer) block(before, after *yaml.Node, to int) bool {
	step := 2
	if before.Kind == yaml.SequenceNode {
		step = 1
	}
	indent := before.Content[0].Column - 1
	if step == 1 {
		indent = before.Column - 1
	}
	parts, ok := s.parts(before, step, indent, to)
	if !ok {
		return false
	}
	began := false
	begin := func() {
		if !began {
			began = true
			return
		}
		if text := s.b.String(); text[len(text)-1] != '\n' {
			s.b.WriteByte('\n')
		}
		s.b.WriteString(strings.Repeat(" ", indent))
	}
	at := 0 // next part of before
	skip := func(until int) bool {
		for ; at < until; at++ {
			if !began && strings.TrimSpace(parts[at].after) != "" {
				return false
			}
			if began {
				s.b.WriteString(parts[at].after)
			}
		}
		return true
	}
	pending := "" // what follows the last part, once what is new behind it was written
	for i := 0; i+step <= len(after.Content); i += step {
		node, value := after.Content[i], after.Content[i+step-1]
		found := match(parts, at, node, step)
		if found < 0 {
			begin()
			s.b.WriteString(snippet(node, value, indent, step))
			continue
		}
		s.b.WriteString(pending)
		if !skip(found) {
			return false
		}
		begin()
		s.part(parts[found], value, indent, step)
		pending, at = parts[found].after, found+1
	}
	s.b.WriteString(pending)
	return skip(len(parts))
}

// parts cuts the lines of a collection at its elements.
func (s *splicer) parts(n *yaml.Node, step, indent, to int) ([]part, bool) {
	var parts []part
	for i := 0; i+step <= len(n.Content); i += step {
		p := part{node: n.Content[i], value: n.Content[i+step-1]}
		p.line = p.node.Line - 1
		if p.line < 0 || p.line >= to || i > 0 && p.line <= parts[len(parts)-1].line {
			return nil, false
		}
		parts = append(parts, p)
	}
	for i := range parts {
		p := &parts[i]
		end := to
		if i+1 < len(parts) {
			end = parts[i+1].line
		}
		row := s.lines[p.line]
		if len(row) <= indent || i > 0 && strings.TrimLeft(row[:indent], " ") != "" || step == 1 && row[indent] != '-' || step == 2 && p.node.Column-1 != indent {
			return nil, false
		}
		p.bottom = end
		for p.bottom > p.line+1 && between(s.lines[p.bottom-1], indent) {
			p.bottom--
		}
		p.body = row[indent:] + strings.Join(s.lines[p.line+1:p.bottom], "")
		p.after = strings.Join(s.lines[p.bottom:end], "")
	}
	return parts, true
}

// between reports whether a line may be between two elements at indent: it is blank,
// or a comment that is not to the right of them.
func between(row string, indent int) bool {
	switch lineKind(row) {
	case blankLine:
		return true
	case commentLine:
		return leading(row) <= indent
	}
	return false
}

// match finds the part that node is a copy of, at or behind position at.
func match(parts []part, at int, node *yaml.Node, step int) int {
	for i := at; i < len(parts); i++ {
		if step == 2 && parts[i].node.Value == node.Value || step == 1 && node.Line != 0 && parts[i].node.Line == node.Line {
			return i
		}
	}
	return -1
}

// part writes an element that was there: as it was, or its lines one by one, or again.
func (s *splicer) part(p part, value *yaml.Node, indent, step int) {
	if identical(p.value, value) {
		s.b.WriteString(p.body)
		return
	}
	if s.blockOf(p.value, value) {
		mark := s.b.String()
		if s.inside(p, value, indent) {
			return
		}
		s.b.Reset()
		s.b.WriteString(mark)
	}
	// The comments around it are between the parts.
	node, bare := *p.node, *value
	node.HeadComment, node.FootComment = "", ""
	bare.HeadComment, bare.FootComment = "", ""
	s.b.WriteString(snippet(&node, &bare, indent, step))
}

// inside writes an element whose value is a block, so that only some of its lines differ.
func (s *splicer) inside(p part, value *yaml.Node, indent int) bool {
	first := p.value
	if first.Kind == yaml.MappingNode {
		first = first.Content[0]
	}
	prefix, ok := s.before(first)
	if !ok || first.Line-1 < p.line || len(prefix) < indent {
		return false
	}
	if first.Line-1 == p.line {
		s.b.WriteString(prefix[indent:])
	} else {
		s.b.WriteString(s.lines[p.line][indent:])
		for _, row := range s.lines[p.line+1 : first.Line-1] {
			s.b.WriteString(row)
		}
		if strings.TrimSpace(prefix) != "" {
			return false
		}
		s.b.WriteString(prefix)
	}
	return s.block(p.value, value, p.bottom)
}

// identical reports whether a node is an unchanged copy of another: aliases of the same anchor are equal, whatever their
// target.
func identical(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.ShortTag() != b.ShortTag() || a.Style != b.Style ||
		a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !identical(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// snippet is an element in its own lines, without the indentation of the first.
func snippet(node, value *yaml.Node, indent, step int) string {
	if simple(value) && (step == 1 || simple(node)) {
		var w writer
		if step == 1 {
			w.item(value, indent)
		} else {
			w.pair(node, value, indent)
		}
		return ended(w.b.String())
	}
	holder := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{node, value}}
	if step == 1 {
		holder = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{value}}
	}
	text, err := library(holder, indent)
	if err != nil {
		return "" // what comes of it will not say the same
	}
	return strings.TrimPrefix(ended(text), strings.Repeat(" ", indent))
}

func ended(text string) string {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
