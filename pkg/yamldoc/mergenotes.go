package yamldoc

import (
	"slices"
	"strings"
)

func (g *treeMerger) note(path string, line int, text string) {
	g.notes = append(g.notes, Note{Path: path, Line: line, Text: text})
}

// lines merges comments that belong to no piece.
func (p *pieceMerger) lines(path string, line int, base, mine, theirs string) string {
	switch {
	case mine == base, mine == theirs:
		return theirs
	case theirs == base:
		return mine
	}
	text := mergeLines(base, mine, theirs)
	before, after := rows(base), rows(text)
	for i, row := range rows(mine) {
		if lineKind(row) != blankLine && !slices.Contains(before, row) && !slices.Contains(after, row) {
			p.note(path, line+i+1, "not kept: "+strings.TrimSpace(row))
		}
	}
	return text
}

// lost notes the comments that mine added and text does not have.
func (p *pieceMerger) lost(path string, c chunks, text string) {
	if c.mine.missing() {
		return
	}
	base, mine, theirs, now := remarks(c.base.source()), remarks(c.mine.text), remarks(c.theirs.source()), remarks(text)
	rows := splitLines(c.mine.text)
	for i, row := range rows {
		for _, at := range remarksOf(row) {
			remark := strings.TrimSpace(row[at:])
			if mine[remark] > base[remark] && now[remark] <= min(base[remark], theirs[remark]) && c.mine.hasComment(rows, i, at) {
				p.note(path, c.mine.line+i+1, "not kept: "+remark)
				break
			}
		}
	}
}

// remarksOf are the places in a line where a comment may begin, if it is not in a text.
func remarksOf(row string) []int {
	var places []int
	for i := range len(row) {
		if row[i] == '#' && (i == 0 || row[i-1] == ' ' || row[i-1] == '\t') {
			places = append(places, i)
		}
	}
	return places
}

// remarks counts what may be a comment.
func remarks(text string) map[string]int {
	count := map[string]int{}
	for row := range strings.Lines(text) {
		for _, at := range remarksOf(row) {
			count[strings.TrimSpace(row[at:])]++
		}
	}
	return count
}

// hasComment reports whether what is in a row from a place on has no meaning.
func (c *chunk) hasComment(rows []string, i, at int) bool {
	cut := strings.TrimSpace(rows[i][:at])
	if cut != "" {
		cut = rows[i][:at] + "\n"
	}
	_, with, err := c.read(c.text)
	_, without, err2 := c.read(strings.Join(rows[:i], "") + cut + strings.Join(rows[i+1:], ""))
	return err == nil && err2 == nil && sameValue(with.value, without.value)
}
