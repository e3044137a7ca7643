package yamldoc

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
)

// mergeLines puts what mine changed in base into theirs, line by line, and word by word
// where both changed one line. Where both changed the same words, or lines in another
// number, it takes theirs. Nobody may believe the result before it was compared with
// what the trees say.
func mergeLines(base, mine, theirs string) string {
	merged, _ := mergeRows(rows(base), rows(mine), rows(theirs), func(base, mine, theirs string) (string, bool) {
		if max(len(base), len(mine), len(theirs)) > maxWords {
			return theirs, false
		}
		return mergeRows(wordsOf(base), wordsOf(mine), wordsOf(theirs), nil)
	})
	return merged
}

// maxWords is how long a line may be that is merged word by word.
const maxWords = 4096

var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)[\pL\pN_./:+-]+|\s+|.`) })

func wordsOf(line string) []string { return word().FindAllString(line, -1) }

// rows are the lines of a text, all of them with an end.
func rows(text string) []string {
	if text == "" {
		return nil
	}
	return splitLines(ended(text))
}

// A hunk is a run of rows that one side replaced by others.
type hunk struct {
	from, to int // rows of the base, from 0; equal where rows were only added
	rows     []string
}

// hunks are the changes from one text to another. Runs of equal length are cut into rows.
func hunks(before, after []string) []hunk {
	to := matches(len(before), len(after), func(i, j int) bool { return before[i] == after[j] })
	var all []hunk
	next := 0
	for i := 0; i <= len(before); i++ {
		first, old := next, i
		for i < len(before) && to[i] < 0 {
			i++
		}
		if next = len(after); i < len(before) {
			next = to[i]
		}
		if rows := after[first:next]; len(rows) == i-old {
			for n := range rows {
				all = append(all, hunk{old + n, old + n + 1, rows[n : n+1]})
			}
		} else {
			all = append(all, hunk{old, i, rows})
		}
		next++
	}
	return all
}

// mergeRows is a merge of three texts in rows. Where both sides changed one row it asks
// both, if there is such a function; clean is false if theirs was taken anywhere.
func mergeRows(base, mine, theirs []string, both func(base, mine, theirs string) (string, bool)) (merged string, clean bool) {
	changes := hunks(base, theirs)
	clean = true
	var more []hunk
	for _, h := range hunks(base, mine) {
		at := sort.Search(len(changes), func(i int) bool { return changes[i].to >= h.from })
		for at < len(changes) && changes[at].from <= h.to && !h.clashes(changes[at]) {
			at++
		}
		switch {
		case at == len(changes) || changes[at].from > h.to:
			more = append(more, h)
		case h.equal(changes[at]):
		case both != nil && h.oneRow() && changes[at].oneRow():
			row, ok := both(base[h.from], h.rows[0], changes[at].rows[0])
			changes[at].rows = []string{row}
			clean = clean && ok
		default:
			clean = false
		}
	}
	// Additions are before a change of the row behind them; theirs come first.
	changes = append(changes, more...)
	slices.SortStableFunc(changes, func(a, b hunk) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return min(a.to-a.from, 1) - min(b.to-b.from, 1)
	})
	var b strings.Builder
	at := 0
	for _, h := range changes {
		b.WriteString(strings.Join(base[at:h.from], ""))
		b.WriteString(strings.Join(h.rows, ""))
		at = h.to
	}
	b.WriteString(strings.Join(base[at:], ""))
	return b.String(), clean
}

// clashes reports whether both change the same rows, or are the same change.
func (h hunk) clashes(other hunk) bool {
	return h.from < other.to && other.from < h.to || h.equal(other)
}

func (h hunk) equal(other hunk) bool {
	return h.from == other.from && h.to == other.to && slices.Equal(h.rows, other.rows)
}

func (h hunk) oneRow() bool { return h.to == h.from+1 && len(h.rows) == 1 }
