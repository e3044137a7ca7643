package prose

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

var (
	headingLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(#{1,6})\s+(.+?)\s*#*\s*$`) })
	notSlug     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\p{L}\p{N}\p{M}_ -]`) })
)

// Section is the section of a Markdown text under the heading that the anchor of ref
// names, as GitHub names headings; without such a heading, the whole text.
func Section(text, ref string) string {
	_, anchor, _ := strings.Cut(ref, "#")
	if anchor == "" {
		return text
	}
	var out []string
	depth, fenced := 0, false
	seen := map[string]int{}
	for _, line := range strings.Split(text, "\n") {
		fenced = fenced != strings.HasPrefix(strings.TrimSpace(line), "```")
		m := headingLine().FindStringSubmatch(strings.TrimRight(line, "\r"))
		if m != nil && !fenced {
			if depth > 0 && len(m[1]) <= depth {
				break
			}
			if depth == 0 && slug(m[2], seen) == strings.ToLower(anchor) {
				depth = len(m[1])
			}
		}
		if depth > 0 {
			out = append(out, line)
		}
	}
	if depth == 0 {
		return text
	}
	return strings.Join(out, "\n")
}

// slug is the anchor of a heading; one that occurs again gets a number.
func slug(heading string, seen map[string]int) string {
	s := strings.ReplaceAll(notSlug().ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
	n := seen[s]
	seen[s]++
	if n > 0 {
		return fmt.Sprintf("%s-%d", s, n)
	}
	return s
}
