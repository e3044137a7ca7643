package yamldoc

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// openReader decodes everything openly.
func openReader() *Reader {
	return &Reader{Split: []string{"jobs", "crew"}, Decode: decodeOpen}
}

// seeds are the files that the fuzz tests begin with.
func seeds(f *testing.F) []string {
	f.Helper()
	texts := []string{
		sample, edited, "",
		"a: |+\n  x\n\n# c\nb: |2\n    y\n\n\nc: >-\n  z\n  z\n",
		"jobs:\n  - |\n   - id: a\n  - \"x\n    - y\"\n  - 'a\n\n    b'\n",
		"jobs:\n  # one\n  - id: a\n # two\n\n  - id: b\n    t: |+\n\n      x\n\n\n  # three\ncrew:\n  a: 1\n  # four\n# five\n",
		"jobs: # none\ncrew:\n    a:\n      b: {c: [1,\n 2]}\n",
		"jobs:\n- - a\n  - b\n-\n- {a: b}\n",
		"? a\n: b\n", "a: b: c\n", "{a: [b, {c: d}]}", "a: &x 1\nb: *x\n", "%YAML 1.1\n---\na: 1\n",
		"a: 1\na: 2\n", "jobs:\n  - id: a\n    \"q\": \"x\\\n      y\"\n", "a: '#'\nb: a#b\nc: \"\\\"\"\n",
		"jobs:\n  - id: a\n    d:\n    - 1\n    - 2\n  - id: b\n    d:\n      - 1\n", "a: !!str 5\nb: !x {c: d}\n", "a: 2026-01-19\nb: 0x1f\nc: ~\nd:\n",
	}
	for _, text := range shapes {
		texts = append(texts, text)
	}
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			texts = append(texts, string(data))
		}
	}
	slices.Sort(texts)
	return texts
}

// open is what a document says, as Go values.
func open(doc *Document) map[string]any {
	all := map[string]any{}
	for _, key := range doc.Keys() {
		entries, ok := doc.Entries(key)
		if !ok {
			value, _ := doc.Section(key)
			all[key] = *value.(*any)
			continue
		}
		var list []any
		dict := map[string]any{}
		for _, e := range entries {
			if doc.find(key).list {
				list = append(list, *e.Value().(*any))
			} else {
				dict[e.Name()] = *e.Value().(*any)
			}
		}
		if doc.find(key).list {
			all[key] = list
		} else {
			all[key] = dict
		}
	}
	return all
}

// wholly is what the same bytes say when they are read as one piece.
func wholly(data []byte) (*Document, error) {
	r := openReader()
	text, m := unmark(string(data))
	if m.open {
		text = strings.TrimSuffix(text, "\n")
	}
	return r.parseWhole(text)
}

// FuzzParse: reading never fails in an odd way, and a file that is cut says what it says
// when it is not.
func FuzzParse(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		doc, err := openReader().Parse(data)
		whole, errWhole := wholly(data)
		if (err == nil) != (errWhole == nil) {
			t.Fatalf("cut: %v; whole: %v", err, errWhole)
		}
		if err != nil {
			if _, ok := err.(*SyntaxError); !ok {
				t.Fatalf("the error is a %T", err)
			}
			return
		}
		if !doc.Whole() && string(doc.marks.put(doc.text())) != string(data) && !doc.marks.open {
			t.Fatalf("the pieces are\n%q, not\n%q", doc.text(), data)
		}
		if got, want := open(doc), open(whole); !Same(got, want) {
			t.Fatalf("cut:\n%v\nwhole:\n%v", got, want)
		}
	})
}

// FuzzPatch: after any change both ways of reading say what was changed, and what was not
// touched keeps its bytes.
func FuzzPatch(f *testing.F) {
	for i, text := range seeds(f) {
		for j := range uint64(3) {
			f.Add([]byte(text), uint64(i)*10+j)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		if len(data) > 1<<14 || !ordinaryKeys(data) {
			return
		}
		doc, err := openReader().Parse(data)
		if err != nil {
			return
		}
		changeAtRandom(t, doc, rand.New(rand.NewPCG(seed, 0)))
	})
}

// longestKey is how long a key may be that is before its value on one line (YAML 1.2,
// 7.4.2). The library reads longer ones in flow style, but nobody can write them.
const longestKey = 1024

// ordinaryKeys reports whether all keys are texts, as they are in what Liza keeps.
func ordinaryKeys(data []byte) bool {
	text, _ := unmark(string(data))
	root, err := parseTree(text)
	if err != nil {
		return false
	}
	var ordinary func(n *yaml.Node) bool
	ordinary = func(n *yaml.Node) bool {
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 && (len(c.Value) > longestKey/2 || c.Kind != yaml.ScalarNode || c.ShortTag() != "!!str" && c.ShortTag() != "!!merge") || !ordinary(c) {
				return false
			}
			if c.ShortTag() == "!!binary" || c.Style&yaml.TaggedStyle != 0 {
				return false // what is decoded is not what is written
			}
			if at, err := time.Parse(time.RFC3339, c.Value); c.ShortTag() == "!!timestamp" && (err != nil || timeText(at) != c.Value) {
				return false // a time that is written in quotes reads another way
			}
		}
		return true
	}
	var v any
	return ordinary(root) && root.Decode(&v) == nil
}

func changeAtRandom(t *testing.T, doc *Document, rng *rand.Rand) {
	t.Helper()
	before := open(doc)
	want := map[string]any{}
	edit := doc.Edit()
	for _, key := range doc.Keys() {
		value := before[key]
		want[key] = value
		entries, split := doc.Entries(key)
		switch {
		case rng.IntN(2) == 0:
		case split:
			items, after := mutateEntries(doc.find(key), entries, rng)
			edit.Entries(key, items)
			want[key] = after
		default:
			want[key] = mutate(value, rng, 0)
			edit.Patch(key, value, want[key])
		}
	}
	if rng.IntN(3) == 0 && doc.find("new") == nil {
		want["new"] = mutate(nil, rng, 0)
		edit.Patch("new", nil, want["new"])
	}
	next, err := edit.Apply()
	if err != nil {
		t.Fatalf("cannot change: %v\n%s", err, doc.Bytes())
	}
	sameBytes(t, doc, next)
	whole, err := wholly(next.Bytes())
	if err != nil {
		t.Fatalf("%v\nwas:\n%s\nis:\n%s", err, doc.Bytes(), next.Bytes())
	}
	second := openReader() // one that takes over what did not change
	if _, err = second.Parse(doc.Bytes()); err != nil {
		t.Fatal(err)
	}
	again, err := second.Parse(next.Bytes())
	if err != nil || string(again.Bytes()) != string(next.Bytes()) {
		t.Fatalf("%v\n%s", err, next.Bytes())
	}
	for _, got := range []map[string]any{open(next), open(whole), open(again)} {
		if !Alike(tidy(got), tidy(want)) {
			t.Fatalf("was:\n%s\nis:\n%s\nsays: %v\nwant: %v", doc.Bytes(), next.Bytes(), got, want)
		}
	}
	if doc.Whole() {
		return
	}
	for _, s := range doc.sections {
		for i, e := range s.entries {
			if s.apart && Same(*e.Value().(*any), entryNow(want[s.key], e, i)) && !strings.Contains(string(next.Bytes()), string(next.marks.put(e.text))) && !strings.HasPrefix(string(next.marks.put(e.text)), bom) {
				t.Fatalf("the entry\n%q\nwas touched:\n%s", e.text, next.Bytes())
			}
		}
	}
}

// sameBytes checks what is said about the bytes of a document without putting them together.
func sameBytes(t *testing.T, doc, next *Document) {
	t.Helper()
	data := next.Bytes()
	if next.Size() != len(data) || !next.Is(data) || next.Is(append(data[:len(data):len(data)], ' ')) || len(data) > 0 && next.Is(data[1:]) {
		t.Fatalf("the document does not know its bytes:\n%s", data)
	}
	cuts, added, ok := next.CutsSince(doc)
	if !ok {
		return
	}
	if got, fits := ApplyCuts(doc.Bytes(), cuts, added); !fits || string(got) != string(data) {
		t.Fatalf("the cuts %v lead from\n%s\nto\n%s\nnot to\n%s", cuts, doc.Bytes(), got, data)
	}
}

// entryNow is the entry of a map under its name, or what surely differs from any entry.
func entryNow(section any, e *Entry, _ int) any {
	if dict, ok := section.(map[string]any); ok {
		if value, ok := dict[e.Name()]; ok {
			return value
		}
	}
	return func() {}
}

// tidy makes empty collections nil: no more is promised about them.
func tidy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = tidy(x)
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		var out []any
		for _, x := range v {
			out = append(out, tidy(x))
		}
		if len(out) > 0 {
			return out
		}
		return nil
	}
	return v
}

func mutateEntries(s *section, entries []*Entry, rng *rand.Rand) (items []Item, after any) {
	var list []any
	dict := map[string]any{}
	keep := func(name string, v any) {
		list = append(list, v)
		dict[name] = v
	}
	for i, e := range entries {
		value := *e.Value().(*any)
		switch rng.IntN(5) {
		case 0:
		case 1:
			changed := mutate(value, rng, 0)
			if changed == nil {
				changed = "x"
			}
			items = append(items, Item{From: i, Before: &value, After: &changed})
			keep(e.Name(), changed)
		default:
			items = append(items, Item{From: i})
			keep(e.Name(), value)
		}
	}
	for n := rng.IntN(3); n > 0; n-- {
		name := "new-" + string(rune('a'+n))
		value := mutate(nil, rng, 0)
		if value == nil {
			value = map[string]any{"id": name}
		}
		if s.list {
			items = append(items, Item{From: -1, After: &value, Block: rng.IntN(2) == 0})
			keep("", value)
		} else if _, there := dict[name]; !there {
			items = append(items, Item{From: -1, Name: name, After: &value, Block: rng.IntN(2) == 0})
			keep(name, value)
		}
	}
	if s.list {
		return items, list
	}
	return items, dict
}

var words = []string{"", "a", "b c", "null", "5", "x: y", "- z", "#", "line\nbreak\n", "\"q\"", "it's", " lead", "trail ", "a\n\n b\n", "{", "2026-01-19T14:00:00Z", "ünï\tcode", "\n"}

// mutate returns another value, made of parts of v.
func mutate(v any, rng *rand.Rand, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range sortedNames(v) {
			switch rng.IntN(6) {
			case 0:
			case 1:
				out[key] = mutate(v[key], rng, depth+1)
			default:
				out[key] = v[key]
			}
		}
		if rng.IntN(3) == 0 {
			out["k"+words[rng.IntN(len(words))]] = mutate(nil, rng, depth+1)
		}
		return out
	case []any:
		var out []any
		for _, x := range v {
			switch rng.IntN(6) {
			case 0:
			case 1:
				out = append(out, mutate(x, rng, depth+1))
			case 2:
				out = append(out, mutate(nil, rng, depth+1), x)
			default:
				out = append(out, x)
			}
		}
		if rng.IntN(3) == 0 {
			out = append(out, mutate(nil, rng, depth+1))
		}
		return out
	}
	switch n := rng.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return rng.IntN(100) - 50
	case n == 2:
		return rng.IntN(2) == 0
	case n == 3 && depth < 3:
		return mutate(map[string]any{"a": 1, "b": words[rng.IntN(len(words))], "c": nil}, rng, depth+1)
	case n == 4 && depth < 3:
		return mutate([]any{words[rng.IntN(len(words))], map[string]any{"id": "x"}, 2}, rng, depth+1)
	}
	return words[rng.IntN(len(words))]
}

func sortedNames(m map[string]any) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestRandomChangesSayTheSameInBothModes is a short run of what FuzzPatch does.
func TestRandomChangesSayTheSameInBothModes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		for _, text := range []string{sample, edited, "---\n" + edited, shapes["alias"], shapes["anchors"], shapes["flow"], shapes["CRLF"], shapes["zero indent"], shapes["uneven"]} {
			doc := parse(t, openReader(), text)
			rng := rand.New(rand.NewPCG(seed, 1))
			changeAtRandom(t, doc, rng)
		}
	}
}
