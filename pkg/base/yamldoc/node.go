package yamldoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Node parses a file with one YAML document into a tree whose nodes know their lines. It returns nil
// for an empty file, and a *SyntaxError for other text than YAML and for several documents.
func Node(data []byte) (*yaml.Node, error) {
	if err := inUTF8(data); err != nil {
		return nil, err
	}
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

// JSONNode parses a JSON text into the tree of the same YAML. (YAML parsers fail on some JSON, such as tabs and surrogate
// pairs.)
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

// layout cuts text at its top-level keys, and the sections of split at their entries, by their lines only. ok is false if the
// lines are not plain enough to be cut. The result is a guess until every piece was parsed by itself: a quoted text, a flow
// list or a block text that runs over a cut leaves a piece before the cut that does not parse.
func layout(text string, split map[string]bool) (sections []*section, tail string, ok bool) {
	if strings.IndexByte(text, '\r') >= 0 || strings.Contains(text, "\u0085") ||
		strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029") {
		return nil, "", false
	}
	var starts []int // of the sections, with the comments above them
	var keys []string
	lead := -1 // where comments began that may belong to the next section
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		switch first := text[at]; {
		case first == '\n':
		case first == ' ' && lead < 0 && len(starts) > 0: // the inside of a section
		case first == '#':
			if lead < 0 {
				lead = at
			}
		case first == ' ':
			switch lineKind(text[at:end]) {
			case oddLine: // among comments that no piece contains
				return nil, "", false
			case textLine:
				if len(starts) == 0 {
					return nil, "", false
				}
				lead = -1
			}
		case first == '-' && isItem(text[at:end]):
			if len(starts) == 0 {
				return nil, "", false
			}
			lead = -1
		default:
			key, found := mapKey(text[at:end])
			if !found {
				return nil, "", false
			}
			start := at
			if lead >= 0 {
				start = lead
			}
			starts, keys, lead = append(starts, start), append(keys, key), -1
		}
		at = end
	}
	if len(starts) == 0 {
		return nil, "", false
	}
	stop := len(text)
	if lead >= 0 {
		stop = lead
	}
	starts[0] = 0
	for i, start := range starts {
		end := stop
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		s := &section{key: keys[i], text: text[start:end]}
		if split[s.key] {
			s.cut()
		}
		sections = append(sections, s)
	}
	return sections, text[stop:], true
}

// cut takes the section apart if its entries all begin in one column.
func (s *section) cut() {
	head := s.bodyStart()
	if head < 0 {
		return
	}
	var (
		text   = s.text
		indent = -1
		list   bool
		starts []int
		names  []string
		lead   = -1
	)
	for at := head; at < len(text); {
		depth := leading(text[at:])
		end := lineEnd(text, at+depth)
		line := text[at:end]
		switch c := text[at+depth : end]; {
		case c == "" || c[0] == '\n':
		case c[0] == '\t':
			return
		case c[0] == '#':
			if lead < 0 && (indent < 0 || depth <= indent) {
				lead = at
			}
		case indent >= 0 && depth > indent:
			lead = -1
		default:
			if indent < 0 {
				indent, list = depth, isItem(line[depth:])
			}
			name, named := mapKey(line[depth:])
			if depth != indent || list != isItem(line[depth:]) || !list && !named {
				return
			}
			start := at
			if lead >= 0 && len(starts) > 0 {
				start = lead
			}
			starts, names, lead = append(starts, start), append(names, name), -1
		}
		at = end
	}
	if len(starts) == 0 {
		return
	}
	s.list, s.indent, s.apart, s.split = list, indent, true, true
	s.head = text[:starts[0]]
	for i, start := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		e := &Entry{text: text[start:end]}
		if !list {
			e.name = names[i]
		}
		s.entries = append(s.entries, e)
	}
	s.text = ""
}

// bodyStart is where the section goes on after its "key:" line, or -1 when there is
// more on that line than a comment.
func (s *section) bodyStart() int {
	for at := 0; at < len(s.text); {
		end := lineEnd(s.text, at)
		line := s.text[at:end]
		if strings.HasPrefix(line, s.key) {
			rest := strings.TrimSpace(line[len(s.key)+1:])
			if rest != "" && !(rest[0] == '#' && !strings.HasPrefix(line[len(s.key)+1:], "#")) {
				return -1
			}
			return end
		}
		at = end
	}
	return -1
}

type kindOfLine int

const (
	textLine kindOfLine = iota
	blankLine
	commentLine
	oddLine // begins with a tab
)

func lineKind(line string) kindOfLine {
	rest := strings.TrimLeft(line, " ")
	switch {
	case rest == "" || rest == "\n":
		return blankLine
	case rest[0] == '#':
		return commentLine
	case rest[0] == '\t':
		return oddLine
	}
	return textLine
}

func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// leading returns the number of blanks at the beginning of text.
func leading(text string) int {
	n := 0
	for n < len(text) && text[n] == ' ' {
		n++
	}
	return n
}

func isItem(line string) bool {
	return strings.HasPrefix(line, "- ") || line == "-\n" || line == "-"
}

// mapKey reads a key of letters, digits and ._- that is at the beginning of line.
func mapKey(line string) (string, bool) {
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		case (c == '-' || c == '.') && i > 0:
		case c == ':' && i > 0:
			rest := line[i+1:]
			return line[:i], rest == "" || rest[0] == ' ' || rest[0] == '\n'
		default:
			return "", false
		}
	}
	return "", false
}

// Node parses the value at path and returns its tree, which the caller may change. Lines count from
// the first line of the file. See Line for paths.
func (d *Document) Node(path string) (*yaml.Node, error) {
	value, _, found := d.lookUp(path)
	if !found {
		return nil, fmt.Errorf("cannot find %s", path)
	}
	return value, nil
}

// Line returns the line and column of path, from 1, or of the nearest existing collection around it,
// or 0, 0. A path is like tasks[task-3].priority, where the brackets hold a key of a map, the id
// of a list's element, or its index, from 0 or, as in tasks[#1], from 1.
func (d *Document) Line(path string) (line, column int) {
	place := d.head(path)
	if place == nil {
		_, place, _ = d.lookUp(path)
	}
	if place == nil {
		return 0, 0
	}
	return place.Line, place.Column
}

// head returns the key of a section that path names as a whole, or nil for another path. Its place is known without a look at
// its entries, of which there may be thousands.
func (d *Document) head(path string) *yaml.Node {
	steps := splitPath(path)
	if d.whole != "" || len(steps) != 1 {
		return nil
	}
	s := d.find(steps[0])
	if s == nil || !s.apart {
		return nil
	}
	root, err := parseTree(s.head)
	if err != nil {
		return nil
	}
	shift(root, d.places().first[s])
	place, _ := single(root, false)
	return place
}

// lookUp returns the value at path and the node that marks its place: its key, or the value itself in a list. If found is
// false they are those of the nearest existing collection around it.
func (d *Document) lookUp(path string) (value, place *yaml.Node, found bool) {
	steps := splitPath(path)
	if d.whole != "" {
		root, err := parseTree(d.whole)
		if err != nil {
			return nil, nil, false
		}
		return descend(root, nil, steps)
	}
	if s := d.find(steps[0]); s != nil {
		return s.lookUp(d.places(), steps)
	}
	return nil, nil, false
}

func (s *section) lookUp(f *finder, steps []string) (value, place *yaml.Node, found bool) {
	steps = steps[1:]
	text, list, line := "", false, f.first[s]
	i := -1
	if s.apart && len(steps) > 0 {
		i = s.index(f, steps[0])
	}
	if i >= 0 {
		text, steps, list, line = s.entries[i].text, steps[1:], s.list, f.lines[s][i]
	} else {
		text = s.whole()
	}
	root, err := parseTree(text)
	if err != nil {
		return nil, nil, false
	}
	shift(root, line)
	place, value = single(root, list)
	return descend(value, place, steps)
}

// index finds the entry of a section that is apart: by key, by id, or by position.
func (s *section) index(f *finder, step string) int {
	if i, ok := f.ids[s][step]; ok {
		if root, err := parseTree(s.entries[i].text); err == nil && hasID(root.Content[0], step) {
			return i
		}
	}
	for i, e := range s.entries {
		if !s.list && e.name == step {
			return i
		}
		if s.list && strings.Contains(e.text, step) {
			if root, err := parseTree(e.text); err == nil && hasID(root.Content[0], step) {
				return i
			}
		}
	}
	if n := position(step); s.list && n < len(s.entries) {
		return n
	}
	return -1
}

// position reads an index from 0, or one from 1 that is written #1; -1 is neither.
func position(step string) int {
	number, fromOne := strings.CutPrefix(step, "#")
	n, err := strconv.Atoi(number)
	if fromOne {
		n--
	}
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// single takes the one entry out of the tree of a piece: its key and its value, which
// are the same node in a list.
func single(root *yaml.Node, list bool) (place, value *yaml.Node) {
	if list {
		return root.Content[0], root.Content[0]
	}
	return root.Content[0], root.Content[1]
}

func descend(value, place *yaml.Node, steps []string) (*yaml.Node, *yaml.Node, bool) {
	for _, step := range steps {
		at, next := child(resolve(value), step)
		if next == nil {
			return value, place, false
		}
		place, value = at, next
	}
	return value, place, true
}

// child is the element of n that step names, with the node that marks its place.
func child(n *yaml.Node, step string) (place, value *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		return pairOf(n, step)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if hasID(item, step) {
				return item, item
			}
		}
		if i := position(step); i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
	}
	return nil, nil
}

func hasID(item *yaml.Node, id string) bool {
	_, value := pairOf(resolve(item), "id")
	return value != nil && resolve(value).Value == id
}

// shift moves the lines of a piece to where it is in the file.
func shift(n *yaml.Node, lines int) {
	if n.Line > 0 {
		n.Line += lines
	}
	for _, child := range n.Content {
		shift(child, lines)
	}
}

// splitPath cuts tasks[task-3].history[0].event at its dots and brackets.
func splitPath(path string) []string {
	var steps []string
	for path != "" {
		switch {
		case path[0] == '.':
			path = path[1:]
		case path[0] == '[':
			inside, rest, _ := strings.Cut(path[1:], "]")
			steps, path = append(steps, inside), rest
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			steps, path = append(steps, path[:end]), path[end:]
		}
	}
	if len(steps) == 0 {
		return []string{""}
	}
	return steps
}
