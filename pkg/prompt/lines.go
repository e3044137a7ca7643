package prompt

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// lines collects the lines of a section.
type lines struct{ b strings.Builder }

func (l *lines) add(format string, args ...any) { fmt.Fprintf(&l.b, format+"\n", args...) }

func (l *lines) String() string { return strings.TrimSuffix(l.b.String(), "\n") }

// named adds "label: text" when there is a text.
func (l *lines) named(label, text string) {
	if text = strings.TrimSpace(text); text != "" {
		l.add("%s: %s", label, text)
	}
}

// oneLine makes a text of a list fit into one line of at most n bytes.
func oneLine(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > n {
		return firstBytes(text, n-len("…")) + "…"
	}
	return text
}

// after is mark and text, or nothing.
func after(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + text
}

// marker is where text was left out (specs/roles-and-knowledge.md#0.1).
func marker(n int, hint string) string {
	if hint == "" {
		return fmt.Sprintf("[… %d bytes left out]", n)
	}
	return fmt.Sprintf("[… %d bytes left out: %s]", n, hint)
}

// cutText keeps the beginning of a text, so that it has at most limit bytes with the
// marker. It never cuts within a rune.
func cutText(text string, limit int, hint string) string {
	if len(text) <= limit {
		return text
	}
	keep := firstBytes(text, max(0, limit-len(marker(len(text), hint))-1))
	return keep + "\n" + marker(len(text)-len(keep), hint)
}

func firstBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return marker(at, "") + "\n" + text[at:]
}

// fitDiff keeps whole files of a diff, the smallest first, and names the rest.
func fitDiff(_ *Input, diff string, limit int, hint string) string {
	if len(diff) <= limit {
		return diff
	}
	files := splitDiff(diff)
	order := make([]int, len(files))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return len(files[order[a]]) < len(files[order[b]]) })
	kept := map[int]bool{}
	size := len(marker(len(diff), hint)) + 1
	for _, i := range order {
		if size+len(files[i]) > limit {
			break
		}
		size += len(files[i])
		kept[i] = true
	}
	if len(kept) == 0 { // not even one file fits: the beginning of the smallest
		keep := firstBytes(files[order[0]], max(0, limit-size))
		return keep + "\n" + marker(len(diff)-len(keep), hint)
	}
	var b strings.Builder
	left := 0
	names := []string{}
	for i, f := range files {
		if kept[i] {
			b.WriteString(f)
			continue
		}
		left += len(f)
		names = append(names, diffName(f))
	}
	rest := "Not shown: " + strings.Join(names, ", ")
	if size+len(rest)+1 <= limit {
		b.WriteString(rest + "\n")
	}
	return b.String() + marker(left, hint)
}

// splitDiff splits a diff at its files.
func splitDiff(diff string) []string {
	var files []string
	start := 0
	for {
		next := strings.Index(diff[start+1:], "\ndiff --git ")
		if next < 0 {
			return append(files, withNewline(diff[start:]))
		}
		end := start + 1 + next + 1
		files = append(files, diff[start:end])
		start = end
	}
}

func withNewline(s string) string { return strings.TrimSuffix(s, "\n") + "\n" }

// diffName is the name of the file that a part of a diff is about.
func diffName(part string) string {
	line, _, _ := strings.Cut(part, "\n")
	if i := strings.LastIndex(line, " b/"); i >= 0 {
		return line[i+3:]
	}
	return line
}

// count reads a setting whose zero means the built-in value and whose negatives mean none.
func count(n, builtin int) int {
	switch {
	case n == 0:
		return builtin
	case n < 0:
		return 0
	}
	return n
}
