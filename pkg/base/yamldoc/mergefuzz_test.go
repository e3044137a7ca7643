package yamldoc

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A story is a file that two sides changed, with what should come of it. It is made at
// random; in its values lists of entries with ids and lists of texts are maps by id and text.
type story struct {
	rng                *rand.Rand
	n                  int
	base, mine, theirs map[string]any
	want               map[string]any
	conflicts          []string
}

func newStory(seed uint64) *story {
	s := &story{rng: rand.New(rand.NewPCG(seed, 3)), mine: map[string]any{}, theirs: map[string]any{}, want: map[string]any{}}
	s.base = map[string]any{"version": 1, "goal": s.dict(2), "jobs": s.entries(), "crew": map[string]any{"x-1": s.dict(1), "x-2": s.dict(2), "x-3": s.dict(1)}, "odd": s.scalar(), "plans": s.entries()}
	for _, key := range sortedNames(s.base) {
		s.mine[key], s.theirs[key], s.want[key] = s.change(s.path("", key), s.base[key], key == "crew")
	}
	return s
}

func (s *story) one(in int) bool { return s.rng.IntN(in) == 0 }

func (s *story) path(path, key string) string {
	if path == "crew" {
		return path + "[" + key + "]"
	}
	return join(path, key)
}

// fresh is a text that is nowhere else.
func (s *story) fresh(prefix string) string {
	s.n++
	return fmt.Sprint(prefix, s.n)
}

func (s *story) scalar() any {
	switch s.rng.IntN(4) {
	case 0:
		return s.rng.IntN(3)
	case 1:
		return words[s.rng.IntN(len(words))]
	}
	return s.fresh("text ")
}

func (s *story) dict(depth int) map[string]any {
	m := map[string]any{"keep": "it"}
	for _, key := range []string{"a", "b", "c", "d", "e"}[:s.rng.IntN(6)] {
		switch {
		case depth > 0 && s.one(3):
			m[key] = s.dict(depth - 1)
		case s.one(4):
			m[key] = s.texts()
		default:
			m[key] = s.scalar()
		}
	}
	if s.one(3) {
		m["history"] = []any{map[string]any{"event": s.fresh("e")}, map[string]any{"event": s.fresh("e")}}
	}
	return m
}

func (s *story) texts() []any {
	list := []any{}
	for range s.rng.IntN(4) {
		list = append(list, s.fresh("t"))
	}
	return list
}

func (s *story) entries() []any {
	list := []any{}
	for range s.rng.IntN(5) {
		list = append(list, s.entry("id-"))
	}
	return list
}

func (s *story) entry(prefix string) map[string]any {
	m := s.dict(2)
	m["id"] = s.fresh(prefix)
	return m
}

// change makes of a value what both sides made of it, and what should come of that.
func (s *story) change(path string, v any, entries bool) (mine, theirs, want any) {
	switch v := v.(type) {
	case map[string]any:
		return s.changeDict(path, v, entries)
	case []any:
		if path == "jobs" {
			return s.changeEntries(path, v)
		}
		return s.changeList(path, v)
	}
	switch s.rng.IntN(8) {
	case 0:
		mine = s.scalar()
		return mine, v, mine
	case 1:
		theirs = s.scalar()
		return v, theirs, theirs
	case 2:
		theirs = s.scalar()
		return theirs, theirs, theirs
	case 3:
		if s.one(8) {
			s.conflicts = append(s.conflicts, path)
			theirs = s.fresh("theirs ")
			return s.fresh("mine "), theirs, theirs
		}
	}
	return v, v, v
}

func (s *story) changeDict(path string, v map[string]any, entries bool) (mine, theirs, want map[string]any) {
	mine, theirs, want = map[string]any{}, map[string]any{}, map[string]any{}
	for _, key := range sortedNames(v) {
		switch {
		case key == "keep" || key == "id":
			mine[key], theirs[key], want[key] = v[key], v[key], v[key]
		case s.one(12):
			theirs[key] = v[key] // removed by mine
		case s.one(12):
			mine[key] = v[key]
		default:
			mine[key], theirs[key], want[key] = s.change(s.path(path, key), v[key], false)
		}
	}
	add := func(side map[string]any, prefix string) {
		if s.one(4) {
			key := s.fresh(prefix)
			side[key] = s.scalar()
			if entries || s.one(3) {
				side[key] = s.dict(1)
			}
			want[key] = side[key]
		}
	}
	add(mine, "m")
	add(theirs, "t")
	return mine, theirs, want
}

func (s *story) changeEntries(path string, v []any) (mine, theirs, want []any) {
	add := func(list *[]any, prefix string) {
		if s.one(6) {
			e := s.entry(prefix)
			*list, want = append(*list, e), append(want, e)
		}
	}
	for _, e := range v {
		add(&mine, "m-")
		add(&theirs, "t-")
		switch s.rng.IntN(8) {
		case 0:
			theirs = append(theirs, e)
		case 1:
			mine = append(mine, e)
		default:
			m, t, w := s.changeDict(path+"["+e.(map[string]any)["id"].(string)+"]", e.(map[string]any), false)
			mine, theirs, want = append(mine, m), append(theirs, t), append(want, w)
		}
	}
	add(&mine, "m-")
	add(&theirs, "t-")
	return mine, theirs, want
}

// changeList changes a list that is merged as a whole: one side does, or both in the same way.
func (s *story) changeList(path string, v []any) (mine, theirs, want []any) {
	change := func(prefix string) []any {
		list := slices.Clone(v)
		if len(list) > 0 && s.one(2) {
			list = list[1:]
		}
		if s.one(2) {
			return append(list, map[string]any{"event": s.fresh(prefix), "by": s.scalar()})
		}
		return append(list, s.fresh(prefix))
	}
	switch s.rng.IntN(6) {
	case 0:
		mine = change("m")
		return mine, v, mine
	case 1:
		theirs = change("t")
		return v, theirs, theirs
	case 2:
		both := change("b")
		return both, both, both
	case 3:
		if s.one(8) {
			s.conflicts = append(s.conflicts, path)
			theirs = change("t")
			return change("m"), theirs, theirs
		}
	}
	return v, v, v
}

// meaning leaves out of a value what is the same as nothing.
func meaning(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, x := range v {
			if x = meaning(x); x != nil {
				out[key] = x
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		var list []any
		for _, x := range v {
			list = append(list, meaning(x))
		}
		if len(list) > 0 {
			return list
		}
		return nil
	case string:
		if v == "" {
			return nil
		}
	}
	return v
}

// byName turns lists with ids and lists of texts into maps, so that their order does not count.
func byName(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, x := range v {
			out[key] = byName(x)
		}
		return out
	case []any:
		named := map[string]any{}
		var list []any
		for _, x := range v {
			x = byName(x)
			list = append(list, x)
			if m, ok := x.(map[string]any); ok && m["id"] != nil {
				named["id "+m["id"].(string)] = x
			} else if text, ok := x.(string); ok {
				named[text] = true
			}
		}
		if len(named) == len(list) {
			return named
		}
		return list
	}
	return v
}

// write is the base as a file, with comments and styles at random.
func (s *story) write() string {
	var b strings.Builder
	for _, key := range []string{"version", "goal", "jobs", "crew", "odd", "plans"} {
		above := ""
		if s.one(3) {
			above = s.fresh("about ")
		}
		b.WriteString(Section(key, s.base[key], above, nil, s.one(2)))
		if s.one(3) {
			b.WriteString("\n")
		}
	}
	text := s.comment(b.String())
	switch s.rng.IntN(8) {
	case 0:
		return "---\n" + text
	case 1:
		return strings.ReplaceAll(text, "\n", "\r\n")
	case 2:
		return bom + text
	case 3:
		return strings.TrimSuffix(text, "\n")
	}
	return text
}

// comment puts comments into a text without changing what it says.
func (s *story) comment(text string) string {
	want, err := openReader().Parse([]byte(text))
	if err != nil {
		return text
	}
	for range s.rng.IntN(4) {
		rows := splitLines(text)
		at := s.rng.IntN(len(rows))
		if comment := s.fresh("# by hand "); s.one(2) && !strings.Contains(rows[at], "#") {
			rows[at] = strings.TrimSuffix(rows[at], "\n") + "  " + comment + ".\n"
		} else {
			rows = slices.Insert(rows, at, strings.Repeat(" ", s.rng.IntN(5))+comment+".\n")
		}
		next := strings.Join(rows, "")
		if got, err := openReader().Parse([]byte(next)); err == nil && Same(open(got), open(want)) {
			text = next
		}
	}
	return text
}

// edit is the file with values changed as Liza would.
func edit(t *testing.T, text string, before, after map[string]any) string {
	t.Helper()
	e := parse(t, openReader(), text).Edit()
	for _, key := range sortedNames(before) {
		if !Same(before[key], after[key]) {
			e.Patch(key, before[key], after[key])
		}
	}
	return string(apply(t, e).Bytes())
}

func tell(t *testing.T, seed uint64) {
	t.Helper()
	s := newStory(seed)
	base := s.write()
	before := open(parse(t, openReader(), base))
	mine, theirs := edit(t, base, before, s.mine), edit(t, base, before, s.theirs)
	mine = s.comment(mine)
	show := func() string {
		return fmt.Sprintf("base:\n%s\nmine:\n%s\ntheirs:\n%s", base, mine, theirs)
	}
	merged := merge3(t, base, mine, theirs)
	var paths []string
	for _, c := range merged.Conflicts {
		paths = append(paths, c.Path)
	}
	slices.Sort(paths)
	slices.Sort(s.conflicts)
	if !slices.Equal(paths, s.conflicts) {
		t.Fatalf("the conflicts are %q, not %q\n%s", paths, s.conflicts, show())
	}
	if len(paths) > 0 {
		return
	}
	got := open(parse(t, openReader(), string(merged.Data)))
	if got, want := byName(meaning(got)), byName(meaning(s.want)); !Alike(got, want) {
		t.Fatalf("merged to\n%v, not\n%v\n%s\nmerged:\n%s", got, want, show(), merged.Data)
	}
	for row := range strings.Lines(mine) {
		if _, comment, found := strings.Cut(row, "# by hand "); found && !strings.Contains(base, comment) && !strings.Contains(string(merged.Data), strings.TrimSpace(comment)) {
			if !slices.ContainsFunc(merged.Notes, func(n Note) bool { return strings.Contains(n.Text, strings.TrimSpace(comment)) }) {
				t.Fatalf("the comment %s is lost\n%s\nmerged:\n%s\nnotes: %+v", comment, show(), merged.Data, merged.Notes)
			}
		}
	}
	identities(t, base, mine, theirs)
}

// identities are what holds whatever the three texts are.
func identities(t *testing.T, base, mine, theirs string) {
	t.Helper()
	value := func(text string) any { return meaning(open(parse(t, openReader(), text))) }
	if got := merge3(t, base, base, theirs); string(got.Data) != theirs || len(got.Conflicts)+len(got.Notes) > 0 {
		t.Fatalf("merged with nothing theirs becomes\n%s\n%+v", got.Data, got)
	}
	if got := merge3(t, base, mine, mine); string(got.Data) != mine || len(got.Conflicts)+len(got.Notes) > 0 {
		t.Fatalf("merged with itself mine becomes\n%s\n%+v", got.Data, got)
	}
	got := merge3Any(t, base, mine, base)
	if len(got.Conflicts) > 0 || !Alike(value(string(got.Data)), value(mine)) {
		t.Fatalf("merged into the base mine is not the same: %+v\n%s\nbase:\n%s\nmine:\n%s", got.Conflicts, diff(string(got.Data), mine), base, mine)
	}
	there, back := merge3Any(t, base, mine, theirs), merge3Any(t, base, theirs, mine)
	count := map[string]int{}
	for _, c := range there.Conflicts {
		count[fmt.Sprint(c.Mine, c.Theirs)]++
	}
	for _, c := range back.Conflicts {
		count[fmt.Sprint(c.Theirs, c.Mine)]--
	}
	for _, n := range count {
		if n != 0 {
			t.Fatalf("base:\n%s\nmine:\n%s\ntheirs:\n%s\nthe conflicts are\n%+v, and the other way round\n%+v", base, mine, theirs, there.Conflicts, back.Conflicts)
		}
	}
	if len(there.Conflicts) > 0 {
		return
	}
	if a, b := value(string(there.Data)), value(string(back.Data)); !Alike(unordered(a), unordered(b)) {
		t.Fatalf("base:\n%s\nmine:\n%s\ntheirs:\n%s\nmerged:\n%s\nand the other way round:\n%s", base, mine, theirs, there.Data, back.Data)
	}
}

// unordered makes lists say only how often an element is in them.
func unordered(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, x := range v {
			out[key] = unordered(x)
		}
		return out
	case []any:
		out := map[string]any{}
		for _, x := range v {
			key := fmt.Sprint(unordered(x))
			n, _ := out[key].(int)
			out[key] = n + 1
		}
		return out
	case time.Time:
		return timeText(v)
	}
	return v
}

// merge3Any merges without a key that is always theirs.
func merge3Any(t testing.TB, base, mine, theirs string) *Merged {
	t.Helper()
	merged, err := Merge3(parse(t, openReader(), base), parse(t, openReader(), mine), parse(t, openReader(), theirs), MergeOptions{})
	if err != nil {
		t.Fatalf("cannot merge: %v\nbase:\n%s\nmine:\n%s\ntheirs:\n%s", err, base, mine, theirs)
	}
	if len(merged.Conflicts) > 0 {
		return merged
	}
	if _, err := openReader().Parse(merged.Data); err != nil {
		t.Fatalf("%v\nbase:\n%s\nmine:\n%s\ntheirs:\n%s\nmerged:\n%s", err, base, mine, theirs, merged.Data)
	}
	return merged
}

// FuzzMerge3: what both sides did to different fields is all there, what they did to the
// same field is a conflict, and no comment is lost in silence.
func FuzzMerge3(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(tell)
}

func TestRandomStoriesAreMerged(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		tell(t, seed)
	}
}

// FuzzMergeTexts: any three files can be merged, and the identities hold.
func FuzzMergeTexts(f *testing.F) {
	texts := seeds(f)
	for _, row := range merges {
		f.Add([]byte(board), []byte(apply3(row.mine)), []byte(apply3(row.theirs)))
	}
	for i, text := range texts {
		f.Add([]byte(text), []byte(texts[(i+1)%len(texts)]), []byte(texts[(i+3)%len(texts)]))
		f.Add([]byte(text), []byte(strings.Replace(text, "OPEN", "MINE", 1)), []byte(strings.Replace(text, "\n", "\nnew: 1\n", 1)))
	}
	names := slices.Sorted(maps.Keys(shapes))
	for i, name := range names {
		f.Add([]byte(shapes["zero indent"]), []byte(shapes[name]), []byte(strings.ReplaceAll(shapes[names[(i+1)%len(names)]], "DONE", "GONE")))
	}
	f.Fuzz(func(t *testing.T, base, mine, theirs []byte) {
		for _, text := range [][]byte{base, mine, theirs} {
			if _, err := openReader().Parse(text); err != nil || len(text) > 1<<12 || !ordinaryKeys(text) {
				return
			}
		}
		identities(t, string(base), string(mine), string(theirs))
	})
}

var word = regexp.MustCompile(`(?s)[\pL\pN_./:+-]+|\s+|.`)

// scramble is a text in which somebody moved, doubled, removed and changed lines.
func scramble(rng *rand.Rand, text string) string {
	for range 40 {
		rows := splitLines(text)
		at := rng.IntN(len(rows) + 1)
		from := rng.IntN(len(rows) + 1)
		to := min(from+rng.IntN(4), len(rows))
		switch moved := slices.Clone(rows[from:to]); rng.IntN(6) {
		case 0:
			rows = slices.Delete(rows, from, to)
		case 1:
			rows = slices.Insert(rows, at, moved...)
		case 2:
			rows = slices.Delete(rows, from, to)
			rows = slices.Insert(rows, min(at, len(rows)), moved...)
		default:
			for i := from; i < to; i++ {
				parts := word.FindAllString(rows[i], -1)
				parts[rng.IntN(len(parts))] = []string{"x", "", "[]", "7", "~", " # c", "{a: b, c: d}", "new: 1\n", "- z\n", "id: a", "|\n", "  "}[rng.IntN(12)]
				rows[i] = strings.Join(parts, "")
			}
		}
		next := strings.Join(rows, "")
		if _, err := openReader().Parse([]byte(next)); err == nil && ordinaryKeys([]byte(next)) {
			text = next
		}
	}
	return text
}

func TestFilesChangedAtRandomAreMerged(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 4))
		for _, text := range []string{board, sample, edited, "---\n" + edited, shapes["alias"], shapes["anchors"], shapes["CRLF"], shapes["zero indent"], shapes["uneven"], shapes["fooling quote"]} {
			base := scramble(rng, text)
			identities(t, base, scramble(rng, base), scramble(rng, base))
		}
	}
}

func apply3(r replacement) string { return strings.NewReplacer(r...).Replace(board) }
