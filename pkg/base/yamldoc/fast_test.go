package yamldoc

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// record has a field of every type that a Fast reads.
type record struct {
	ID       string             `yaml:"id"`
	Title    phrase             `yaml:"title"`
	Text     string             `yaml:"text,omitempty"`
	Count    int                `yaml:"count"`
	Big      int64              `yaml:"big"`
	Limit    *int               `yaml:"limit"`
	Done     bool               `yaml:"done"`
	Sure     *bool              `yaml:"sure"`
	Role     folded             `yaml:"role"`
	Files    lenient            `yaml:"files"`
	Names    []string           `yaml:"names"`
	Numbers  []int              `yaml:"numbers"`
	Hold     *holder            `yaml:"hold"`
	Reason   *reason            `yaml:"reason"`
	Child    holder             `yaml:"child"`
	History  []*happening       `yaml:"history"`
	Holders  []holder           `yaml:"holders"`
	Options  settings           `yaml:"options"`
	Free     map[string]any     `yaml:"free"`
	Any      any                `yaml:"any"`
	Words    map[string]string  `yaml:"words"`
	Programs map[string]*holder `yaml:"programs"`
	Ratio    float64            `yaml:"ratio"`
	Hidden   string             `yaml:"-"`
}

type (
	phrase   string
	folded   string
	lenient  []string
	settings map[string]any
)

type holder struct {
	By    string  `yaml:"by"`
	N     int     `yaml:"n"`
	Files lenient `yaml:"files"`
}

type reason struct {
	Summary string    `yaml:"summary"`
	Points  []*holder `yaml:"points"`
}

type happening struct {
	Time  phrase         `yaml:"time"`
	Event string         `yaml:"event"`
	By    lenient        `yaml:"by"`
	Extra map[string]any `yaml:",inline"`
}

func (f *folded) UnmarshalText(text []byte) error {
	if string(text) == "bad" {
		return fmt.Errorf("a bad role")
	}
	*f = folded(strings.ToLower(string(text)))
	return nil
}

func (l *lenient) UnmarshalYAML(decode func(any) error) error {
	var many []string
	if err := decode(&many); err == nil {
		*l = many
		return nil
	}
	var one string
	if err := decode(&one); err != nil {
		return err
	}
	*l = lenient{one}
	return nil
}

func (r *reason) UnmarshalYAML(decode func(any) error) error {
	var text string
	if err := decode(&text); err == nil {
		*r = reason{Summary: text}
		return nil
	}
	type plain reason
	return decode((*plain)(r))
}

var (
	fastRecords  = NewFast(reflect.TypeFor[record](), reflect.TypeFor[lenient](), reflect.TypeFor[reason]())
	recordSchema = NewSchema(reflect.TypeFor[record]())
)

// A mode is how a text is read: as an entry of a list or map, or as a section.
type mode struct {
	section bool
	list    bool
	indent  int
	name    string
}

// fast reads a record with the reader that is tested.
func (m mode) fast(text string) (*record, bool) {
	value := new(record)
	if m.section {
		return value, fastRecords.Section(text, m.name, reflect.ValueOf(value))
	}
	return value, fastRecords.Entry(text, m.list, m.indent, m.name, reflect.ValueOf(value))
}

// library reads a record as a Reader without a Fast does, and refuses all that has a problem.
func (m mode) library(text string) (*record, bool) {
	value, good := new(record), false
	r := &Reader{Decode: func(_ string, _ *Entry, node *yaml.Node) any {
		good = (m.section || node.Kind == yaml.MappingNode) && len(recordSchema.Problems(node, value)) == 0 && node.Decode(value) == nil
		return nil
	}}
	p := &piece{section: &section{key: m.name, text: text, list: m.list, indent: m.indent}}
	if !m.section {
		p.entry = &Entry{name: m.name, text: text}
	}
	return value, r.read(p) && good
}

// agree fails when the fast reader reads something else than the library.
func (m mode) agree(t *testing.T, text string) {
	t.Helper()
	got, ok := m.fast(text)
	if !ok {
		return
	}
	want, good := m.library(text)
	if !good {
		t.Fatalf("the library does not read what the fast reader reads, as %+v:\n%s\n%q", m, text, text)
	}
	if !reflect.DeepEqual(got.compared(), want.compared()) {
		t.Fatalf("read as %+v:\n%s\n%q\nfast:    %s\nlibrary: %s", m, text, text, dumped(got), dumped(want))
	}
}

// compared puts a text in place of each NaN, which is not equal to itself.
func (r *record) compared() *record {
	r.Any = withoutNaN(r.Any)
	for _, values := range []map[string]any{r.Options, r.Free} {
		for key, value := range values {
			values[key] = withoutNaN(value)
		}
	}
	for _, h := range r.History {
		for key, value := range h.Extra {
			h.Extra[key] = withoutNaN(value)
		}
	}
	if math.IsNaN(r.Ratio) {
		r.Ratio = math.MaxFloat64
	}
	return r
}

func withoutNaN(value any) any {
	switch v := value.(type) {
	case float64:
		if math.IsNaN(v) {
			return "NaN"
		}
	case []any:
		for i := range v {
			v[i] = withoutNaN(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = withoutNaN(v[key])
		}
	case settings:
		for key := range v {
			v[key] = withoutNaN(v[key])
		}
	}
	return value
}

func dumped(r *record) string {
	out, err := yaml.Marshal(r)
	return fmt.Sprintf("%#v\n%s%v", *r, out, err)
}

var modes = []mode{{list: true, indent: 2}, {indent: 2, name: "a-1"}, {section: true, name: "a-1"}, {list: true}, {list: true, indent: 5}}

// as puts the fields of a record into the text that a mode reads.
func (m mode) as(fields string) string {
	var b strings.Builder
	margin := strings.Repeat(" ", m.indent)
	first := true
	if !m.list {
		b.WriteString(margin + m.name + ":\n")
		first = false
	}
	for row := range strings.Lines(fields) {
		switch {
		case row == "\n":
			b.WriteString(row)
		case first && row[0] == '#':
			b.WriteString(margin + row)
		case first:
			b.WriteString(margin + "- " + row)
			first = false
		default:
			b.WriteString(margin + "  " + row)
		}
	}
	return b.String()
}

// plainRecords are fields that must be read fast.
var plainRecords = map[string]string{
	"a float": "ratio: 1.5\n", "a small float": "ratio: 0.0001\n", "a whole float": "ratio: 3\n", "a negative float": "ratio: -16.75\n", "odd floats": "ratio: 1.5e3\n", "no digit before the point": "ratio: .5\n", "a negative zero": "ratio: -0\n",
	"texts":                      "id: a-1\ntitle: b c, d (e) 'f' \"g\"; h?\ntext: std::string#1 -> x=y & z * 2 ! | > %\n",
	"words":                      "id: true\ntitle: 123\ntext: 2026-01-19T14:00:00Z\n",
	"nothing":                    "id:\ntitle: ~\ntext: null\ncount:\nlimit: null\nhold:\nfiles: ~\nhistory:\noptions:\nany: NULL\nratio:\nchild: # none\n",
	"single quotes":              "id: 'a'\ntitle: ''\ntext: 'its: # a \"b\" \\n'\n",
	"double quotes":              "id: \"a\"\ntitle: \"\"\ntext: \"a\\tb\\n\\\"c\\\" \\\\ \\u00e9\\U0001F600\\a\\b\\v\\f\\r 'd'\"\n",
	"tabs in quotes":             "id: \"a\tb\"\ntitle: 'a\t'\n",
	"unicode":                    "id: ünï – 漢字 😀\ntitle: \"日本語\"\ntext: |\n  Ärger…\n  \u00a0x\n",
	"numbers":                    "count: 17\nbig: -9007199254740993\nlimit: 0\n",
	"odd numbers":                "count: 0x1f\nbig: 1_000\nlimit: 1e3\n",
	"truth":                      "done: true\nsure: false\n",
	"odd truth":                  "done: yes\nsure: True\n",
	"role":                       "role: CODER\n",
	"files in block style":       "files:\n  - a/**\n  - \"b c\"\n  - 'd'\n  - 5\n",
	"files without indentation":  "files:\n- a\n- b\nid: x\nnames:\n- c\n",
	"files in flow style":        "files: [a/**, \"b, c\", 'd', 5, e:f]\nnames: []\nnumbers: [1, 2,3]\n",
	"empty":                      "files: []\nhold: {}\nchild: {}\nhistory: []\noptions: {}\nany: {}\nwords: {}\nholders: []\n",
	"hold":                       "hold:\n  by: ada\n  n: 3\n  files: [x]\nid: after\n",
	"hold in flow style":         "hold: {by: ada, n: 3, files: [x, y]}\nchild: { by: \"b\" }\n",
	"reason":                     "reason:\n  summary: s\n  points:\n    - by: a\n      n: 1\n    - {by: b, n: 2}\n    -\n      by: c\n",
	"history":                    "history:\n  - {time: 2026-01-19T14:00:00Z, event: created, by: [a]}\n  - time: 2026-01-19T14:00:00Z\n    event: claimed\n    more: 5\n    other: {x: y}\n    last: ~\n  - {}\n",
	"holders":                    "holders:\n  - by: a\n    files:\n    - b\n    - c\n  - by: d\nid: x\n",
	"options":                    "options:\n  a: 1\n  b: text\n  c: [1, true, x, ~, {d: e}]\n  f:\n    g: -1\n    h:\n      - i\n      - j: k\n        l: m\n  n: 1.5\n  o: 2026-01-19\n  p: \"5\"\n  q: .inf\n  nan: [.nan, {a: .nan}]\n  r: |\n    s\n",
	"free":                       "free: {a: {b: c}, d: []}\nany:\n  - 1\n  - null\n  - \"x\"\n  -\n  - a: b\n",
	"any":                        "any: 12\n",
	"any text":                   "any: on\n",
	"maps":                       "words:\n  a: b\n  5: 6\n  c:\nprograms:\n  claude:\n    by: a\n  codex: {n: 1}\n",
	"literal":                    "id: x\ntext: |\n  one\n  two: three # four\n\n  - five\n\n\n",
	"literals":                   "id: |-\n  one\n  two\ntitle: |+\n  one\n\n\ntext: |\n  only\n",
	"literal after a blank line": "text: |\n\n  a\n     b\n  \tc\n",
	"literal with blanks":        "text: |\n    a  \n     \n      b\n \n    \t\n",
	"one line literals":          "id: |-\n  one\ntext: |\n  two\n",
	"comments":                   "# above\nid: x # behind\n\n# between\n\ntitle: 'y'   # behind\nfiles: [a] # behind\nhold: # behind\n  # inside\n  by: a\n# below\ntext: | # behind\n  # no comment\n # at the end\n",
	"values on the next line":    "hold:\n\n  by: a\n\nfiles:\n  # c\n\n  - a\n  # d\n  - b\n",
	"deeper indentation":         "hold:\n      by: a\n      files:\n           - b\n",
	"a colon in a text":          "id: http://x.y/z\nfiles: [http://x.y]\n",
	"a dash in front":            "id: -x\nfiles: [-a, --b]\nnames:\n  - -c\n",
	"a long text":                "id: " + strings.Repeat("x y ", 3000) + "z\ntext: \"" + strings.Repeat("x\\\"", 3000) + "\"\n",
}

func TestPlainTextsAreReadFastAndExactly(t *testing.T) {
	t.Parallel()
	for name, fields := range plainRecords {
		for _, m := range modes {
			text := m.as(fields)
			if _, ok := m.fast(text); !ok {
				t.Errorf("%s is not read fast as %+v:\n%s", name, m, text)
			}
			m.agree(t, text)
		}
	}
}

// oddRecords are fields that the library must read.
var oddRecords = map[string]string{
	"doubled quotes": "id: 'it''s'\n",
	"escapes that Go lacks or reads in another way": "text: \"\\x41\\e\\0\\_\\N\\L\\P\"\n",
	"folded":         "text: >\n  a\n  b\n\n  c\n   d\n  e\n\n\n   f\n\n  g\ntitle: >-\n  x\n  y\nid: >+\n  z\n\n",
	"quoted keys":    "\"id\": x\n'title': y\n",
	"an unknown key": "id: x\nidd: y\n", "a key twice": "id: x\nid: y\n", "an anchor": "id: &a x\n", "an alias": "id: *a\n",
	"a tag": "id: !!str 5\n", "a merge key": "<<: {id: x}\n", "a merge value": "id: <<\n", "two lines": "id: a\n  b\n",
	"quotes over two lines": "id: \"a\n  b\"\n", "flow over two lines": "files: [a,\n  b]\n", "a map for a text": "id: {a: b}\n",
	"a text for a list": "files: a\n", "a text for a reason": "reason: a\n", "a word for a number": "count: many\n", "a fraction": "count: 1.5\n",
	"a number in quotes": "count: \"5\"\n", "a bad role": "role: bad\n", "a tab": "id:\tx\n", "a tab in a text": "id: a\tb\n", "no float": "ratio: 1_0.5x\n", "an endless float": "ratio: .inf\n", "not a number": "ratio: .nan\n",
	"an indentation indicator": "text: |2\n   a\n", "an empty literal": "text: |\nid: x\n", "a null in a list": "names: [a, ~]\n", "a comma at the end": "names: [a,]\n",
	"numbers as open keys": "any: {1: a}\n", "a question mark": "? id\n: x\n", "a map in a line": "id: a: b\n", "a list in a line": "files: - a\n",
	"no blank before a comment": "files: [a]# b\n", "a NEL": "id: a\u0085b\n", "a separator": "id: a\u2028b\n", "a BOM": "id: a\ufeffb\n",
	"a control character": "id: a\x01b\n", "no UTF-8": "id: a\xffb\n", "a carriage return": "id: a\r\n", "delete": "id: a\x7fb\n", "a C1 character": "id: a\u0081b\n",
	"wrong indentation": "hold:\n  by: a\n   n: 1\n", "dedent": "hold:\n    by: a\n  n: 1\n", "a document mark": "id: a\n---\n", "a directive": "%YAML 1.1\n",
	"an escape that nobody knows": "id: \"\\q\"\n", "half a rune": "id: \"\\ud800\"\n", "open quotes": "id: \"a\n", "a list in a list": "any:\n  - - a\n",
	"null as a key": "words:\n  null: a\n", "null as another key": "history:\n  - Null: a\n", "a merge key in a list": "history:\n  - <<: {event: x}\n",
	"too deep": "any: " + strings.Repeat("[", 50) + strings.Repeat("]", 50) + "\n", "a long key": strings.Repeat("k", 2000) + ": v\n",
}

func TestLargeTextsAreReadFast(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]string{
		"a plain text":  "id: " + strings.Repeat("x y-z ", 180_000) + "x\n",
		"a quoted text": "id: \"" + strings.Repeat("x\\ty ", 210_000) + "\"\n",
		"a literal":     "id: |\n" + strings.Repeat("  - id: x\n  y\n\n", 70_000) + "title: z\n",
		"a list":        "names:\n" + strings.Repeat("  - a b\n", 130_000),
		"a line":        "names: [" + strings.Repeat("a, 'b', ", 130_000) + "c]\n",
	} {
		m := modes[0]
		if _, ok := m.fast(m.as(fields)); !ok || len(fields) < 1_000_000 {
			t.Errorf("%s of %d bytes is not read fast", name, len(fields))
		}
		m.agree(t, m.as(fields))
	}
}

func TestOddTextsAreLeftToTheLibrary(t *testing.T) {
	t.Parallel()
	for name, fields := range oddRecords {
		for _, m := range modes {
			text := m.as(fields)
			if got, ok := m.fast(text); ok {
				t.Errorf("%s is read as %+v:\n%s\n%s", name, m, text, dumped(got))
			}
		}
	}
	for _, text := range []string{"", "\n", "- id: a\n", "  - id: a", "  - id: a\n  - id: b\n", "  a-1: {}\n  a-2: {}\n", "a-1:\n  id: a\nb: c\n", "  - null\n", "  -\n", "  a-1:\n", "   - id: a\n", "  a-2: {}\n"} {
		for _, m := range modes[:2] {
			if got, ok := m.fast(text); ok {
				t.Errorf("%q is read as %+v: %s", text, m, dumped(got))
			}
		}
	}
}

// A reader that was told of a change decodes what changed, and nothing else, however large the rest is (P-175).
func TestOnlyWhatChangedIsReadAgain(t *testing.T) {
	t.Parallel()
	before := []string{"a", "b", "c", "d", "e", "f"}
	for name, c := range map[string]struct {
		after []string
		fresh int
	}{
		"nothing": {before, 0}, "one": {[]string{"a", "b", "C", "d", "e", "f"}, 1}, "two in a row": {[]string{"a", "B", "C", "d", "e", "f"}, 2}, "the last": {[]string{"a", "b", "c", "d", "e", "F"}, 1},
		"one is gone": {[]string{"a", "c", "d", "e", "f"}, 0}, "the last is gone": {before[:5], 0}, "one is new": {[]string{"a", "x", "b", "c", "d", "e", "f"}, 1}, "new at the end": {[]string{"a", "b", "c", "d", "e", "f", "x", "y"}, 2},
		"one has moved": {[]string{"b", "c", "d", "e", "f", "a"}, 0}, "all": {[]string{"f", "e", "d", "c", "b", "a", "x"}, 1}, "none": {[]string{"x"}, 1},
	} {
		fresh := 0
		r := &Reader{Split: []string{"jobs"}, Fast: func(section string, entry *Entry, text string, list bool, indent int) (any, bool) {
			if entry != nil {
				fresh++
			}
			return text, true
		}}
		parse(t, r, "jobs:\n  - "+strings.Join(before, "\n  - ")+"\n")
		fresh = 0
		doc := parse(t, r, "jobs:\n  - "+strings.Join(c.after, "\n  - ")+"\n")
		if fresh != c.fresh {
			t.Errorf("%s: %d entries were read, not %d", name, fresh, c.fresh)
		}
		entries, _ := doc.Entries("jobs")
		for i, e := range entries {
			if want := "  - " + c.after[i] + "\n"; e.Value() != want || e.text != want {
				t.Errorf("%s: entry %d is %q with %q", name, i, e.text, e.Value())
			}
		}
	}
}

func fastSeeds(f *testing.F) []string {
	f.Helper()
	var texts []string
	for _, records := range []map[string]string{plainRecords, oddRecords} {
		for _, fields := range records {
			for _, m := range modes {
				texts = append(texts, m.as(fields))
			}
		}
	}
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			texts = append(texts, string(data))
		}
	}
	return texts
}

// FuzzFastReader: what the fast reader reads is what the library reads.
func FuzzFastReader(f *testing.F) {
	for i, text := range fastSeeds(f) {
		f.Add(text, uint8(i%len(modes)))
	}
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		if len(text) <= 1<<15 {
			modes[int(n)%len(modes)].agree(t, text)
		}
	})
}

// TestTheFastReaderAgreesOnDamagedTexts takes plain texts, damages them and reads them in both ways.
func TestTheFastReaderAgreesOnDamagedTexts(t *testing.T) {
	t.Parallel()
	damaged(t, 20_000, rand.New(rand.NewPCG(1, 2)))
}

func damaged(t *testing.T, rounds int, rng *rand.Rand) (read int) {
	t.Helper()
	var lines []string
	for _, records := range []map[string]string{plainRecords, oddRecords} {
		for _, name := range slices.Sorted(maps.Keys(records)) { // the same texts in each run of a seed
			if fields := records[name]; len(fields) < 1000 {
				lines = append(lines, fields)
			}
		}
	}
	for range rounds {
		m := modes[rng.IntN(len(modes))]
		fields := ""
		for range 1 + rng.IntN(3) {
			fields += lines[rng.IntN(len(lines))]
		}
		if rng.IntN(2) == 0 {
			fields = withoutDoubles(fields)
		}
		text := m.as(fields)
		for range rng.IntN(4) {
			text = damage(text, rng)
		}
		m.agree(t, text)
		if _, ok := m.fast(text); ok {
			read++
		}
	}
	return read
}

// withoutDoubles leaves out fields that were there before.
func withoutDoubles(fields string) string {
	seen, keep, kept := map[string]bool{}, false, ""
	for row := range strings.Lines(fields) {
		if key, ok := mapKey(row); ok {
			keep = !seen[key]
			seen[key] = true
		}
		if keep {
			kept += row
		}
	}
	return kept
}

// damage changes a little of a text, mostly where YAML is sensitive.
func damage(text string, rng *rand.Rand) string {
	rows := strings.SplitAfter(text, "\n")
	i := rng.IntN(len(rows))
	at := rng.IntN(len(text) + 1)
	bits := []string{" ", "  ", "#", " # c", ":", ": ", "-", "- ", "\n", "\n\n", "'", "\"", "|", ">", "[", "]", "{", "}", ",", ", ", "&a ", "*a", "!", "?", "%", "@", "~", "null", "\t", "\\", "<<", "é", "\u2028", "+", "0", "1", "x", ".", "---", "...", "\r"}
	bit := bits[rng.IntN(len(bits))]
	switch rng.IntN(9) {
	case 0:
		return text[:at] + bit + text[at:]
	case 1:
		if at < len(text) {
			return text[:at] + text[at+1:]
		}
	case 2:
		rows[i] = strings.Repeat(" ", rng.IntN(10)) + "# comment\n" + rows[i]
	case 3:
		rows[i] = strings.Repeat(" ", rng.IntN(10)) + "\n" + rows[i]
	case 4:
		rows[i] = strings.Repeat(" ", rng.IntN(4)) + rows[i]
	case 5:
		rows[i] = strings.TrimPrefix(rows[i], strings.Repeat(" ", rng.IntN(4)))
	case 6:
		rows[i] += rows[rng.IntN(len(rows))]
	case 7:
		rows[i] = strings.TrimSuffix(rows[i], "\n") + bit + "\n"
	case 8:
		depth := leading(rows[i])
		rows[i] = rows[i][:depth] + bit + rows[i][depth:]
	}
	return strings.Join(rows, "")
}
