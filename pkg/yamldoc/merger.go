package yamldoc

import "gopkg.in/yaml.v3"

// MergeOptions tell Merge3 what it cannot see.
type MergeOptions struct {
	Theirs []string // top-level keys whose value is always theirs, as a counter of versions
}

// Merged is what came of a merge.
type Merged struct {
	// Data is the file. Where there are conflicts it says what theirs says, so that it
	// must not take the place of mine as long as there is one.
	Data      []byte
	Conflicts []Conflict
	Notes     []Note
}

// A Conflict is a value that both sides changed, each in another way.
type Conflict struct {
	Path               string // tasks[task-3].priority
	Base, Mine, Theirs Side
}

// A Side is what one version of a file says at a path.
type Side struct {
	Value        string // on one line, cut when it is long; "" when it is absent
	Absent       bool
	Line, Column int // in that version; of what is around it, when it is absent; 0: nowhere
}

// A Note is something that mine changed, has no meaning to YAML, and could not be kept.
type Note struct {
	Path string // of the entry
	Line int    // in mine
	Text string
}

// pieceMerger merges piece by piece, and looks into those that both sides changed.
type pieceMerger struct{ treeMerger }

// spot is what one version says at a path.
type spot struct {
	place *yaml.Node // its key, or the value itself in a list; what is around it, when it is absent
	value *yaml.Node // nil when it is absent
}

// spots are the three versions of one place.
type spots struct{ base, mine, theirs spot }

// treeMerger merges the trees of three versions. What it returns shares nodes with them,
// and must not be changed.
type treeMerger struct {
	split     map[string]bool // sections whose entries are there or not, as elements of lists are
	ours      map[string]bool // top-level keys whose value is always theirs
	conflicts []Conflict
	notes     []Note
}

// A chunk is a piece of one version: a file, a section, or an entry.
type chunk struct {
	text    string
	line    int      // lines before it in its file
	absent  bool     // it is not there; line is that of what is around it
	entry   bool     // it is an element of a section
	item    bool     // ... that is a list
	key     string   // of a section, or an entry of a map
	section *section // nil unless it is one
}

// chunks are the three versions of a piece; nil is absent.
type chunks struct{ base, mine, theirs *chunk }

func (c *chunk) missing() bool { return c == nil || c.absent }

func (c *chunk) source() string {
	if c.missing() {
		return ""
	}
	return c.text
}

// read parses a text that may stand for the chunk: without aliases, and with one element
// if the chunk has but one.
func (c *chunk) read(text string) (root *yaml.Node, s spot, err error) {
	if root, err = parseTree(text); err != nil {
		return nil, spot{}, err
	}
	aliases, broken := check(root)
	if broken != nil {
		return nil, spot{}, broken
	}
	if aliases {
		flatten(root)
	}
	switch whole := !c.entry && c.section == nil; {
	case c.item && root.Kind == yaml.SequenceNode && len(root.Content) == 1:
		return root, spot{root.Content[0], root.Content[0]}, nil
	case whole && root.Kind == yaml.MappingNode:
		return root, spot{value: root}, nil
	case !whole && !c.item && root.Kind == yaml.MappingNode && len(root.Content) == 2 && root.Content[0].Value == c.key:
		return root, spot{root.Content[0], root.Content[1]}, nil
	}
	return nil, spot{}, errNotFaithful
}
