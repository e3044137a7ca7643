package yamldoc

import (
	"errors"
	"strings"
)

// locate turns an error of the library into a SyntaxError with line and column. What
// the library names is the line where the construct begins, or none; so look for the
// shortest beginning of the text that has the same error.
func locate(text string, err error, split map[string]bool) *SyntaxError {
	if errors.Is(err, errEmpty) {
		return &SyntaxError{Line: 1, Column: 1, Reason: err.Error()}
	}
	if errors.Is(err, errSeveral) {
		return &SyntaxError{Line: secondDocument(text), Column: 1, Reason: err.Error()}
	}
	reason, line := reasonOf(err)
	first := 1
	if piece, at, pieceReason := brokenPiece(text, split); piece != "" {
		text, first, reason, line = piece, at, pieceReason, at
	}
	if len(text) > 256<<10 {
		return &SyntaxError{Line: max(line, 1), Reason: reason}
	}
	n := shortest(len(text), func(n int) bool {
		_, err := parseTree(text[:n])
		if err == nil {
			return false
		}
		got, _ := reasonOf(err)
		return got == reason
	})
	before := text[:max(n-1, 0)]
	return &SyntaxError{
		Line:   first + strings.Count(before, "\n"),
		Column: len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1,
		Reason: reason,
	}
}

// shortest finds the smallest n in 0..max for which fails(n) holds, given that fails
// goes from false to true once and fails(max) holds.
func shortest(max int, fails func(int) bool) int {
	low, high := 0, max
	for low < high {
		mid := (low + high) / 2
		if fails(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return high
}

// brokenPiece is the first piece of the layout that does not parse by itself, so that
// the search for the place need not read a long file again and again.
func brokenPiece(text string, split map[string]bool) (piece string, line int, reason string) {
	sections, _, ok := layout(text, split)
	if !ok {
		return "", 0, ""
	}
	line = 1
	for _, s := range sections {
		for piece := range s.texts {
			if _, err := parseTree(piece); err != nil && !errors.Is(err, errEmpty) {
				reason, _ := reasonOf(err)
				return piece, line, reason
			}
			line += strings.Count(piece, "\n")
		}
	}
	return "", 0, ""
}

func secondDocument(text string) int {
	seen, line := false, 0
	for row := range strings.Lines(text) {
		line++
		switch {
		case strings.HasPrefix(row, "---") && seen:
			return line
		case strings.TrimSpace(row) != "" && row[0] != '#' && row[0] != '%':
			seen = true
		}
	}
	return 1
}
