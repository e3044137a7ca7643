package yamldoc

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Node parses the part of the file that path names and returns its value, which is the
// caller's own. Lines count from the first line of the file.
func (d *Document) Node(path string) (*yaml.Node, error) {
	value, _, found := d.lookUp(path)
	if !found {
		return nil, fmt.Errorf("cannot find %s", path)
	}
	return value, nil
}

// Line is the place of path in the file, from 1, or of the nearest thing around it that
// exists; 0, 0 when there is none. A path reads like tasks[task-3].priority, where the
// brackets hold a key of a map, the id of a list's element, or its index, from 0 or, as
// in tasks[#1], from 1.
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

// head is the key of a section that path names as a whole, nil for another path: where it is can be told without a look
// at its entries, of which there may be thousands.
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

// lookUp returns the value at path and the node that marks its place: its key, or the
// value itself in a list. found is false when only something around it exists.
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
