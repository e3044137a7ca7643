package pkg_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated documentation again")

// specs/blackboard.md has every field of the model, made from the comments of its source. The
// comment of a field is MEANING | WRITER | WHEN ABSENT. Without a writer the one of the type holds
// (`Written by: …` at the end of its comment); without the last part a field that may be left out is
// absent when it is empty.

// A field is one line of the dictionary.
type field struct{ name, typ, meaning, writer, absent string }

// A section is one type of the model.
type section struct {
	name, about string
	fields      []field
}

var (
	writtenBy  = regexp.MustCompile(`\s*Written by: ([^\n]*)\.\s*$`)
	namedTypes = regexp.MustCompile(`\b[A-Z]\w*`)
	scalars    = map[string]string{"string": "text", "int": "number", "int64": "number", "bool": "yes or no", "Time": "time", "Amount": "amount", "Raw": "text",
		"List": "list of texts", "Settings": "map", "Status": "status", "Role": "role", "any": "anything",
		"HistoryEvent": "text", "TaskKind": "text", "BlockedKind": "text", "QuestionStatus": "text", "CheckStatus": "text", "AnomalyKind": "text", "PriorState": "text", "ReviewMode": "text", "GateDecision": "text"}
)

// dictionary reads the types that can be reached from root, and says what is wrong with them.
func dictionary(files map[string]string, root string) (list []section, wrong []string) {
	structs, docs := map[string]*ast.StructType{}, map[string]string{}
	set := token.NewFileSet()
	for _, name := range sortedKeys(files) {
		f, err := parser.ParseFile(set, name, files[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, []string{err.Error()}
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.TypeSpec)
				if st, is := spec.Type.(*ast.StructType); is {
					structs[spec.Name.Name], docs[spec.Name.Name] = st, g.Doc.Text()
				}
			}
		}
	}
	seen, queue := map[string]bool{root: true}, []string{root}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		about, writer := docs[name], ""
		if m := writtenBy.FindStringSubmatch(about); m != nil {
			about, writer = strings.TrimSuffix(about, m[0]), m[1]
		}
		s := section{name: name, about: strings.Join(strings.Fields(about), " ")}
		for _, x := range structs[name].Fields.List {
			f, of, is := fieldOf(set, x)
			if !is {
				continue
			}
			if f.writer == "" {
				f.writer = writer
			}
			if f.meaning == "" || f.writer == "" {
				wrong = append(wrong, fmt.Sprintf("%s.%s needs a comment: MEANING | WRITER | WHEN ABSENT", name, f.name))
			}
			s.fields = append(s.fields, f)
			for _, other := range namedTypes.FindAllString(of, -1) {
				if structs[other] != nil && !seen[other] {
					seen[other] = true
					queue = append(queue, other)
				}
			}
		}
		list = append(list, s)
	}
	return list, wrong
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// fieldOf reads a field and its Go type; is reports whether it is in the file.
func fieldOf(set *token.FileSet, x *ast.Field) (f field, goType string, is bool) {
	if x.Tag == nil || len(x.Names) != 1 {
		return f, "", false
	}
	tag, err := strconv.Unquote(x.Tag.Value)
	if err != nil {
		return f, "", false
	}
	name, options, _ := strings.Cut(reflect.StructTag(tag).Get("yaml"), ",")
	if name == "-" || name == "" && options != "inline" {
		return f, "", false
	}
	var b bytes.Buffer
	_ = printer.Fprint(&b, set, x.Type)
	goType = b.String()
	text := x.Comment.Text()
	if text == "" {
		text = x.Doc.Text()
	}
	parts := strings.SplitN(strings.Join(strings.Fields(text), " "), "|", 3)
	for len(parts) < 3 {
		parts = append(parts, "")
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	f = field{name: name, typ: wordFor(goType), meaning: parts[0], writer: parts[1], absent: parts[2]}
	switch {
	case options == "inline":
		f.name, f.typ = "any other key", "anything"
	case f.absent != "":
	case !strings.Contains(options, "omitempty"):
		f.absent = "never"
	case goType == "bool":
		f.absent = "no"
	case goType == "int" || goType == "int64" || goType == "Amount":
		f.absent = "0"
	default:
		f.absent = "empty"
	}
	return f, goType, true
}

// wordFor is a Go type in the words of a reader of YAML.
func wordFor(t string) string {
	t = strings.TrimPrefix(t, "*")
	if w, ok := scalars[t]; ok {
		return w
	}
	if rest, ok := strings.CutPrefix(t, "[]"); ok {
		return "list of " + wordFor(rest)
	}
	if rest, ok := strings.CutPrefix(t, "map[string]"); ok {
		return "map of " + wordFor(rest)
	}
	return fmt.Sprintf("[%s](#%s)", t, strings.ToLower(t))
}

// modelFiles are the sources of the model.
func modelFiles(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("board", "blackboard", "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no sources of the model: %v", err)
	}
	files := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}

func dictionaryText(list []section) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "### <a id=%q></a>%s\n\n%s\n\n| field | type | meaning | written by | absent when |\n|---|---|---|---|---|\n", strings.ToLower(s.name), s.name, s.about)
		for _, f := range s.fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.name, f.typ, linkedFromPage(f.meaning), f.writer, f.absent)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// linkedFromPage turns the citations of a comment into links of a page in specs/.
func linkedFromPage(text string) string {
	return strings.ReplaceAll(citation.ReplaceAllString(text, "[$1 $2]($1.md#$2)"), "<", `\<`)
}

func TestGeneratedDictionaryOfTheBlackboard(t *testing.T) {
	t.Parallel()
	list, wrong := dictionary(modelFiles(t), "State")
	fields := 0
	for _, s := range list {
		fields += len(s.fields)
	}
	for _, w := range wrong {
		t.Error(w)
	}
	if fields < 300 {
		t.Errorf("the model has %d fields; the test looks at nothing", fields)
	}
	page := filepath.Join("..", "specs", "blackboard.md")
	is, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	should := between(t, is, "<!-- Generated from the model's source by `make generate`; do not edit from here … -->", dictionaryText(list))
	switch {
	case bytes.Equal(is, should):
	case !*update:
		t.Error("specs/blackboard.md differs from the comments of the model; run `make generate` and look at the difference")
	default:
		if err := os.WriteFile(page, should, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFieldWithoutACommentIsNamed(t *testing.T) {
	t.Parallel()
	source := "package blackboard\n\n// State is it. Written by: init.\ntype State struct {\n" +
		"\tA int `yaml:\"a\"` // the first\n\tB []*Part `yaml:\"b,omitempty\"`\n\tC bool `yaml:\"-\"`\n}\n\n// A Part of it.\ntype Part struct {\n\tD string `yaml:\"d,omitempty\"` // a text\n\tE Time `yaml:\"e,omitempty\"` // a time | verbs | never seen\n}\n"
	list, wrong := dictionary(map[string]string{"x.go": source}, "State")
	if want := []string{"State.b needs a comment: MEANING | WRITER | WHEN ABSENT", "Part.d needs a comment: MEANING | WRITER | WHEN ABSENT"}; !slices.Equal(wrong, want) {
		t.Errorf("wrong: %q, want %q", wrong, want)
	}
	if len(list) != 2 || list[0].fields[0] != (field{"a", "number", "the first", "init", "never"}) || list[1].fields[1] != (field{"e", "time", "a time", "verbs", "never seen"}) {
		t.Errorf("the dictionary is %+v", list)
	}
}
