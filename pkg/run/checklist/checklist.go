// Package checklist reads the check lists of Markdown files: spec-kit's and OpenSpec's tasks.md, whose items have ids (T001, 1.1), and
// any other.
package checklist

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Item is one item of a list that begins at the margin. What is indented below it belongs to it.
type Item struct {
	Key     string // its id, else made from its text; no two items of a file have the same
	ID      bool   // the key is an id, not made from the text
	Text    string // without box and id
	Detail  string // the lines below it
	Heading string // above it
	Done    bool
}

var (
	box    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^( {0,3})([-*+]|\d{1,9}[.)]) \[([ xX])\]\s+(\S.*)$`) })
	itemID = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\**([A-Z]{1,4}-?\d{1,6}|\d{1,4}(?:\.\d{1,4})+)\**[:.)]?\**\s+(\S.*)$`)
	})
	heading  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#{1,6}\s+(\S.*?)\s*#*$`) })
	fenceRow = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^ {0,3}(```+|~~~+)") })
)

// Parse gives the items of a file, in their order.
func Parse(text string) []Item {
	var items []Item
	keys := map[string]bool{}
	above, fence := "", ""
	open := false // the lines that follow may belong to the last item
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if m := fenceRow().FindStringSubmatch(line); m != nil && (fence == "" || strings.HasPrefix(m[1], fence)) {
			if fence == "" {
				fence = m[1]
			} else {
				fence = ""
			}
			continue
		}
		if fence != "" {
			continue
		}
		if m := heading().FindStringSubmatch(line); m != nil {
			above, open = m[1], false
			continue
		}
		m := box().FindStringSubmatch(line)
		switch {
		case m != nil && (m[1] == "" || !open):
			items = append(items, newItem(m, above, keys))
			open = true
		case strings.TrimSpace(line) == "":
		case open && (line[0] == ' ' || line[0] == '\t'):
			last := &items[len(items)-1]
			last.Detail += strings.TrimRight(line, " \t") + "\n"
		default:
			open = false
		}
	}
	return items
}

func newItem(m []string, above string, keys map[string]bool) Item {
	i := Item{Text: strings.TrimSpace(m[4]), Heading: above, Done: m[3] != " "}
	if id := itemID().FindStringSubmatch(i.Text); id != nil {
		i.Key, i.Text, i.ID = id[1], id[2], true
	} else {
		i.Key = Slug(i.Text, 60)
	}
	for plain, n := i.Key, 2; keys[i.Key]; n++ {
		i.Key = fmt.Sprintf("%s-%d", plain, n)
	}
	keys[i.Key] = true
	return i
}

// Slug makes a short name of a text: small letters, digits and hyphens.
func Slug(text string, most int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= most {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "item"
}
