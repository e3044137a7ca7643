package yamldoc

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
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

// maxDistance bounds the search for what two sequences have in common: beyond it they
// count as different from their equal beginning to their equal end.
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

// wayBack follows the traces of shortestEdit from the end to the beginning. The trace of
// step d holds what was known before it about the diagonals -d to d.
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

// arrange is the order of all that mine or theirs has. It is theirs, and what only mine
// has is behind its neighbour there; but where mine changed the order and theirs did
// not, it is the other way round. lost tells that mine's order could not be kept.
func arrange(base, mine, theirs []string) (order []string, lost bool) {
	known := places(base)
	if !reordered(mine, known) {
		return weave(theirs, mine, func(key string) bool { _, old := known[key]; return !old }), false
	}
	if reordered(theirs, known) {
		return weave(theirs, mine, func(string) bool { return false }), reordered(mine, places(theirs))
	}
	return weave(mine, theirs, func(string) bool { return false }), false
}

func places(keys []string) map[string]int {
	at := make(map[string]int, len(keys))
	for i, key := range keys {
		at[key] = i
	}
	return at
}

// reordered reports whether keys that were there before are in another order now.
func reordered(keys []string, before map[string]int) bool {
	last := -1
	for _, key := range keys {
		if at, old := before[key]; old {
			if at < last {
				return true
			}
			last = at
		}
	}
	return false
}

// weave puts those of others that are not among keys behind the neighbour that they
// have, and behind what first says is new there.
func weave(keys, others []string, first func(key string) bool) []string {
	at, other := places(keys), places(others)
	behind := make([][]string, len(keys)+1)
	gap := 0
	for _, key := range others {
		if i, there := at[key]; there {
			gap = i + 1
			continue
		}
		for gap < len(keys) && first(keys[gap]) {
			if _, both := other[keys[gap]]; both {
				break
			}
			gap++
		}
		behind[gap] = append(behind[gap], key)
	}
	order := make([]string, 0, len(keys)+len(others))
	for i, more := range behind {
		order = append(order, more...)
		if i < len(keys) {
			order = append(order, keys[i])
		}
	}
	return order
}

// apart merges a section entry by entry. ok is false if its versions do not have the
// same shape, or if no entry is left.
func (p *pieceMerger) apart(key string, c chunks) (texts []string, ok bool) {
	if p.ours[key] || !c.alike() {
		return nil, false
	}
	versions := [3][]*chunk{c.base.entries(), c.mine.entries(), c.theirs.entries()}
	names, ok := entryNames(versions)
	if !ok {
		return nil, false
	}
	conflicts, notes := len(p.conflicts), len(p.notes)
	order, lost := arrange(names[0], names[1], names[2])
	if lost {
		p.note(key, c.mine.line+1, "both changed the order of the entries; it is theirs")
	}
	find := [3]map[string]int{places(names[0]), places(names[1]), places(names[2])}
	absent := chunks{c.base.without(), c.mine.without(), c.theirs.without()}
	for _, name := range order {
		entry := absent
		for i, to := range []**chunk{&entry.base, &entry.mine, &entry.theirs} {
			if at, there := find[i][name]; there {
				*to = versions[i][at]
			}
		}
		text, gone, err := p.piece(entryPath(key, name), entry)
		if err != nil {
			return nil, false
		}
		if !gone {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		p.conflicts, p.notes = p.conflicts[:conflicts], p.notes[:notes]
		return nil, false
	}
	head := ""
	if c.base != nil {
		head = c.base.section.head
	}
	head = p.lines(key, c.mine.line, head, c.mine.section.head, c.theirs.section.head)
	return slices.Insert(texts, 0, head), true
}

// alike reports whether all versions of a section are cut in the same way.
func (c chunks) alike() bool {
	if c.mine == nil || c.theirs == nil {
		return false
	}
	m := c.mine.section
	for _, version := range c.all() {
		if version != nil && !(version.section.apart && version.section.list == m.list && version.section.indent == m.indent) {
			return false
		}
	}
	return true
}

// without stands for an entry that the section does not have.
func (c *chunk) without() *chunk {
	if c == nil {
		return nil
	}
	line := c.line
	for row := range strings.Lines(c.text) {
		if lineKind(row) == textLine {
			break
		}
		line++
	}
	return &chunk{absent: true, line: line}
}

// idMark is before the id of an entry that stands for its name. No entry begins so.
const idMark = "id:"

// entryNames gives each entry a name that it has in all versions: its key, in a list its
// id. Entries that did not change need not be parsed: their text is their name.
func entryNames(versions [3][]*chunk) (names [3][]string, ok bool) {
	count := map[string][3]int{}
	for i, entries := range versions {
		for _, e := range entries {
			n := count[e.text]
			n[i]++
			count[e.text] = n
		}
	}
	for i, entries := range versions {
		for _, e := range entries {
			name := e.key
			if e.item {
				if name = e.text; count[e.text] != [3]int{1, 1, 1} {
					s, err := e.parse()
					if err != nil || idOf(s.value) == "" {
						return names, false
					}
					name = idMark + idOf(s.value)
				}
			}
			names[i] = append(names[i], name)
		}
		if len(places(names[i])) != len(names[i]) {
			return names, false
		}
	}
	return names, true
}

// entryPath is the path of an entry that entryNames named.
func entryPath(section, name string) string {
	return section + "[" + strings.TrimPrefix(name, idMark) + "]"
}

// fit changes a tree so that it says what want says. What says it already stays as it
// is, the rest becomes a copy of the nodes of want.
func fit(node, want *yaml.Node) {
	switch {
	case sameValue(node, want):
	case node.Kind == yaml.MappingNode && want.Kind == yaml.MappingNode && len(node.Content) > 0:
		fitMap(node, want)
	case node.Kind == yaml.SequenceNode && want.Kind == yaml.SequenceNode && len(node.Content) > 0:
		fitList(node, want)
	default:
		value := foreign(want)
		comment := node.LineComment
		if value.Kind == yaml.ScalarNode && value.LineComment != "" {
			comment = value.LineComment
		}
		style := value.Style
		replace(node, value)
		node.Style, node.LineComment = style, ""
		if node.Kind == yaml.ScalarNode {
			node.LineComment = comment
		}
	}
	if len(node.Content) == 0 && node.Kind != yaml.ScalarNode {
		node.Style |= yaml.FlowStyle
	}
}

// foreign is a copy of a node that has no place in the text.
func foreign(n *yaml.Node) *yaml.Node {
	n = copyTree(n)
	forget([]*yaml.Node{n})
	return n
}

func fitMap(node, want *yaml.Node) {
	for _, name := range names(node) {
		if k, _ := pairOf(want, name); k == nil {
			at := keyIndex(node, name)
			if !emptyNode(node.Content[at+1]) {
				node.Content = slices.Delete(slices.Clone(node.Content), at, at+2)
			}
		}
	}
	wanted := names(want)
	for i, name := range wanted {
		if _, value := pairOf(node, name); value != nil {
			fit(value, want.Content[2*i+1])
		} else {
			insertPair(node, wanted[:i], foreign(want.Content[2*i]), foreign(want.Content[2*i+1]))
		}
	}
}

func fitList(node, want *yaml.Node) {
	old := node.Content
	node.Content = make([]*yaml.Node, 0, len(want.Content))
	for j, i := range alignNodes(want.Content, old) {
		if i >= 0 {
			fit(old[i], want.Content[j])
			node.Content = append(node.Content, old[i])
			continue
		}
		item := foreign(want.Content[j])
		if node.Style&yaml.FlowStyle != 0 {
			inFlow(item)
		}
		node.Content = append(node.Content, item)
	}
}

// alignNodes finds for each element of a list what became of it, or -1.
func alignNodes(before, after []*yaml.Node) []int {
	to := matches(len(before), len(after), func(i, j int) bool { return sameValue(before[i], after[j]) })
	pair(to, len(after), func(i, j int) bool {
		return before[i].Kind == after[j].Kind && idOf(before[i]) == idOf(after[j])
	})
	return to
}

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
