package yamldoc

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// Limits of a file (specs/protocol.md#14, B08).
const (
	MaxSize      = 200 << 20 // bytes of a file
	maxExpansion = 10 << 20  // bytes that all aliases of a file expand to
)

// A SyntaxError says why a file cannot be read as one YAML map, and where.
type SyntaxError struct {
	Line, Column int // 0: unknown
	Reason       string
}

func (e *SyntaxError) Error() string {
	switch {
	case e.Line == 0:
		return "cannot parse: " + e.Reason
	case e.Column == 0:
		return fmt.Sprintf("cannot parse: %s at line %d", e.Reason, e.Line)
	}
	return fmt.Sprintf("cannot parse: %s at line %d, column %d", e.Reason, e.Line, e.Column)
}

var (
	errEmpty   = errors.New("the file is empty")
	errSeveral = errors.New("several documents in one file")
)

// parseTree parses text, which must hold exactly one document, and returns its root. A
// damaged file must not stop a supervisor, so a panic of the library is an error too.
func parseTree(text string) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("the YAML library gave up: %v", r)
		}
	}()
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err == io.EOF {
		return nil, errEmpty
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); err == nil {
		return nil, errSeveral
	} else if err != io.EOF {
		return nil, err
	}
	if len(doc.Content) != 1 {
		return nil, errEmpty
	}
	return doc.Content[0], nil
}

var yamlError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line (\d+): )?`) })

// reasonOf is the library's sentence without its "yaml: line N: ", and N.
func reasonOf(err error) (reason string, line int) {
	text := err.Error()
	if m := yamlError().FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	return text, line
}

// check refuses duplicate keys, aliases in a circle and aliases that expand beyond all
// measure. It reports whether there are anchors, aliases or merge keys at all.
func check(root *yaml.Node) (aliases bool, err *SyntaxError) {
	c := checker{size: map[*yaml.Node]int{}}
	c.walk(root)
	if c.err == nil && c.expanded > maxExpansion {
		c.err = &SyntaxError{Line: root.Line, Column: root.Column, Reason: "aliases expand beyond 10 MB"}
	}
	return c.aliases, c.err
}

type checker struct {
	aliases  bool
	expanded int
	size     map[*yaml.Node]int // of the targets of aliases; -1 while it is being counted
	err      *SyntaxError
}

func (c *checker) walk(n *yaml.Node) {
	if c.err != nil {
		return
	}
	c.aliases = c.aliases || n.Anchor != "" || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!merge"
	switch n.Kind {
	case yaml.AliasNode:
		c.aliases = true
		c.expanded += c.sizeOf(n.Alias)
		return
	case yaml.MappingNode:
		c.keys(n)
	}
	for _, child := range n.Content {
		c.walk(child)
	}
}

func (c *checker) keys(n *yaml.Node) {
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			c.fail(key, "a key is not a plain text")
			return
		}
		if first := seen[key.Value]; first != nil {
			c.fail(key, fmt.Sprintf("key %q is there twice, first in line %d", key.Value, first.Line))
			return
		}
		seen[key.Value] = key
	}
}

// sizeOf is the size of n with all its aliases expanded.
func (c *checker) sizeOf(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if known, ok := c.size[n]; ok {
		if known < 0 {
			c.fail(n, "an alias contains itself")
		}
		return max(known, 0)
	}
	c.size[n] = -1
	sum := len(n.Value) + 8 // about what it takes in a file
	for _, child := range n.Content {
		sum = min(sum+c.sizeOf(child), 2*maxExpansion)
	}
	c.size[n] = sum
	return sum
}

func (c *checker) fail(n *yaml.Node, reason string) {
	if c.err == nil {
		c.err = &SyntaxError{Line: n.Line, Column: n.Column, Reason: reason}
	}
}
