package yamldoc

import (
	"slices"
	"sort"
	"strings"
)

// mergeLines merges the changes that mine and theirs made to base, line by line. Of lines that
// both changed it takes theirs. The result may say anything: compare its tree.
func mergeLines(base, mine, theirs string) string {
	before := rows(base)
	changes := hunks(before, rows(theirs))
	var more []hunk
	for _, h := range hunks(before, rows(mine)) {
		at := sort.Search(len(changes), func(i int) bool { return changes[i].to >= h.from })
		for at < len(changes) && changes[at].from <= h.to && !h.clashes(changes[at]) {
			at++
		}
		if at == len(changes) || changes[at].from > h.to {
			more = append(more, h)
		}
	}
	// Added lines come before a change of the line behind them; theirs come first.
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
		b.WriteString(strings.Join(before[at:h.from], ""))
		b.WriteString(strings.Join(h.rows, ""))
		at = h.to
	}
	b.WriteString(strings.Join(before[at:], ""))
	return b.String()
}

// rows are the lines of a text, each with its line end.
func rows(text string) []string {
	if text == "" {
		return nil
	}
	return splitLines(ended(text))
}

// A hunk is a run of rows that one side replaced.
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

// clashes reports whether both hunks change the same rows, or are the same change.
func (h hunk) clashes(other hunk) bool {
	return h.from < other.to && other.from < h.to || h.from == other.from && h.to == other.to && slices.Equal(h.rows, other.rows)
}

// maxDistance bounds the search for common rows of two sequences: beyond it all between their equal beginning and their equal
// end counts as different.
const maxDistance = 1000

// matches finds for each of n old elements the new one, of m, that is the same, or -1.
// Those found are in the same order in both.
func matches(n, m int, same func(i, j int) bool) []int {
	to := make([]int, n)
	for i := range to {
		to[i] = -1
	}
	head := 0
	for head < n && head < m && same(head, head) {
		to[head] = head
		head++
	}
	for n > head && m > head && same(n-1, m-1) {
		n, m = n-1, m-1
		to[n] = m
	}
	shortestEdit(n-head, m-head, func(i, j int) bool { return same(head+i, head+j) }, func(i, j int) { to[head+i] = head + j })
	return to
}

// shortestEdit calls found for each pair of elements that stay on the shortest way from
// the n old to the m new ones (Myers).
func shortestEdit(n, m int, same func(i, j int) bool, found func(i, j int)) {
	if n == 0 || m == 0 {
		return
	}
	limit := min(n+m, maxDistance)
	far := make([]int32, 2*limit+3) // how far the best way on diagonal k came, at k+limit+1
	at := func(k int) *int32 { return &far[k+limit+1] }
	down := func(k, d int) bool { return k == -d || k != d && *at(k - 1) < *at(k + 1) }
	var trace [][]int32
	for d := 0; d <= limit; d++ {
		trace = append(trace, slices.Clone(far[limit+1-d:limit+2+d]))
		for k := -d; k <= d; k += 2 {
			x := int(*at(k + 1))
			if !down(k, d) {
				x = int(*at(k - 1)) + 1
			}
			for x < n && x-k < m && x-k >= 0 && same(x, x-k) {
				x++
			}
			*at(k) = int32(x)
			if x >= n && x-k >= m {
				wayBack(n, m, trace, found)
				return
			}
		}
	}
}

// wayBack follows the traces of shortestEdit from the end to the beginning. The trace of step d has the state of the
// diagonals -d to d before it.
func wayBack(x, y int, trace [][]int32, found func(i, j int)) {
	for d := len(trace) - 1; d >= 0; d-- {
		k, prevX, prevY := x-y, 0, 0
		if d > 0 {
			before := func(k int) int32 { return trace[d][k+d] }
			prev := k - 1
			if k == -d || k != d && before(k-1) < before(k+1) {
				prev = k + 1
			}
			prevX = int(before(prev))
			prevY = prevX - prev
		}
		for x > prevX && y > prevY {
			x, y = x-1, y-1
			found(x, y)
		}
		x, y = prevX, prevY
	}
}

// pair joins old elements that have no match with new ones in the same gap between
// matches, one after the other, where fits allows it.
func pair(to []int, m int, fits func(i, j int) bool) {
	next := 0 // first new element that is still free
	for i := range to {
		if to[i] >= 0 {
			next = to[i] + 1
			continue
		}
		end := m
		for _, j := range to[i:] {
			if j >= 0 {
				end = j
				break
			}
		}
		for j := next; j < end; j++ {
			if fits(i, j) {
				to[i], next = j, j+1
				break
			}
		}
	}
}
