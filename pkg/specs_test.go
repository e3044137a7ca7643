package pkg_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
	"liza/pkg/team/findings"
)

// What cites the specification has the form specs/protocol.md#6.4, everywhere: in comments, in
// scripts, in texts. Pages link to each other as Markdown does.
var (
	citation      = regexp.MustCompile(`\bspecs/([\w-]+)\.md(?:#([\w.-]*\w))?`)
	shortCitation = regexp.MustCompile(`\b(protocol|roles-and-knowledge|cli)(?:\.md)?,? ((?:sections? )?\d+(?:\.\d+)*(?:(?:, | and | to )\d+(?:\.\d+)*)*)`)
	shortDecision = regexp.MustCompile(`\(D\d{1,2}\)|\bdecision D\d{1,2}\b|[(,] ?D\d{1,2}[,)]`)
	markdownLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	explicit      = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	heading       = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	fence         = regexp.MustCompile("(?ms)^```.*?^```")
	codeSpan      = regexp.MustCompile("`[^`\n]*`")
)

// examples are pages of a user's project that texts speak of.
var examples = []string{"vision"}

// anchors lists what can follow the # of a link to a page.
func anchors(page string) map[string]bool {
	found, times := map[string]bool{}, map[string]int{}
	page = fence.ReplaceAllString(page, "")
	for _, m := range explicit.FindAllStringSubmatch(page, -1) {
		found[m[1]] = true
	}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		s := slug(m[1])
		if n := times[s]; n > 0 {
			found[fmt.Sprintf("%s-%d", s, n)] = true
		} else {
			found[s] = true
		}
		times[s]++
	}
	return found
}

// slug is the anchor that hosts of Markdown give a heading.
func slug(title string) string {
	title = explicit.ReplaceAllString(title, "")
	title = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(title, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.TrimSpace(title))
}

// A library knows the pages and their anchors, each read once.
type library struct {
	root  string
	pages map[string]map[string]bool // path from the root → anchors; nil: there is no such file
}

func (l *library) at(p string) map[string]bool {
	if a, known := l.pages[p]; known {
		return a
	}
	text, err := os.ReadFile(filepath.Join(l.root, p))
	if err == nil {
		l.pages[p] = anchors(string(text))
	} else if _, err := os.Stat(filepath.Join(l.root, p)); err == nil {
		l.pages[p] = map[string]bool{} // a folder
	} else {
		l.pages[p] = nil
	}
	return l.pages[p]
}

func (l *library) problem(p, anchor string) string {
	switch known := l.at(p); {
	case known == nil:
		return "there is no " + p
	case anchor != "" && strings.HasSuffix(p, ".md") && !known[anchor]:
		return fmt.Sprintf("%s has no anchor %s", p, anchor)
	}
	return ""
}

// cited gives what is wrong with the citations of a text, one sentence each.
func (l *library) cited(text string) []string {
	var wrong []string
	for _, m := range citation.FindAllStringSubmatch(text, -1) {
		if slices.Contains(examples, m[1]) {
			continue
		}
		if p := l.problem("specs/"+m[1]+".md", m[2]); p != "" {
			wrong = append(wrong, p)
		}
	}
	for _, m := range slices.Concat(shortCitation.FindAllString(text, -1), shortDecision.FindAllString(text, -1)) {
		wrong = append(wrong, fmt.Sprintf("%q is not a link: write specs/PAGE.md#ANCHOR", m))
	}
	return wrong
}

// linked gives what is wrong with the links of a Markdown page.
func (l *library) linked(page, text string) []string {
	var wrong []string
	for _, m := range markdownLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		target, anchor, _ := strings.Cut(m[1], "#")
		if target == "" {
			target = path.Base(page)
		}
		if p := l.problem(path.Join(path.Dir(page), target), anchor); p != "" {
			wrong = append(wrong, p)
		}
	}
	return wrong
}

func TestEveryLinkToTheSpecificationResolves(t *testing.T) {
	t.Parallel()
	l := &library{root: "..", pages: map[string]map[string]bool{}}
	citations, links := 0, 0
	err := filepath.WalkDir("..", func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := e.Name(); e.IsDir() {
			if file != ".." && (strings.HasPrefix(name, ".") || name == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		page := strings.TrimPrefix(filepath.ToSlash(file), "../")
		var wrong []string
		switch path.Ext(page) {
		case ".go":
			comments, err := commentsOf(file)
			if err != nil {
				return err
			}
			citations += len(citation.FindAllString(comments, -1))
			wrong = l.cited(comments)
		case ".txtar", ".tmpl":
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			head, _, _ := strings.Cut(string(text), "\n-- ") // files of the script speak of other projects
			var comments []string
			for _, line := range strings.Split(head, "\n") {
				if strings.HasPrefix(line, "#") {
					comments = append(comments, line)
				}
			}
			wrong = l.cited(strings.Join(comments, "\n"))
		case ".md":
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			links += len(markdownLink.FindAll(text, -1))
			wrong = l.linked(page, string(text))
		}
		for _, w := range wrong {
			t.Errorf("%s: %s", page, w)
		}
		return nil
	})
	if err != nil || citations < 300 || links < 300 {
		t.Errorf("looked at %d citations and %d links: %v", citations, links, err)
	}
}

func commentsOf(file string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, group := range f.Comments {
		b.WriteString(strings.Join(strings.Fields(group.Text()), " ") + "\n")
	}
	return b.String(), nil
}

func TestWrongLinksAreNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "specs"), 0o755); err != nil {
		t.Fatal(err)
	}
	page := "# A page\n\n## <a id=\"6.4\"></a>6.4 Left processes\n\n```text\n# no heading\n```\n\n## Twice\n\n## Twice\n\n## `config`, and --as ID\n"
	for name, text := range map[string]string{"protocol.md": page, "decisions.md": `<a id="D4"></a>D4`} {
		if err := os.WriteFile(filepath.Join(folder, "specs", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l := &library{root: folder, pages: map[string]map[string]bool{}}
	for text, want := range map[string]string{
		"see specs/protocol.md#6.4":                 "",
		"see specs/protocol.md#6.4.":                "",
		"see specs/protocol.md#64-left-processes":   "",
		"see specs/protocol.md#twice-1":             "",
		"see specs/protocol.md#config-and---as-id":  "",
		"see specs/protocol.md#no-heading":          "specs/protocol.md has no anchor no-heading",
		"see specs/protocol.md#6.5":                 "specs/protocol.md has no anchor 6.5",
		"see specs/protocl.md":                      "there is no specs/protocl.md",
		"a user writes specs/vision.md#name":        "",
		"specs/decisions.md#D4, specs/decisions.md": "",
		"specs/decisions.md#D5":                     "specs/decisions.md has no anchor D5",
		"the lease (protocol 6.5)":                  "\"protocol 6.5\" is not a link: write specs/PAGE.md#ANCHOR",
	} {
		if got := strings.Join(l.cited(text), "; "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"[a](protocol.md#6.4), [b](#D4)": "",
		"[a](protocol.md#7)":             "specs/protocol.md has no anchor 7",
		"[a](../README.md)":              "there is no README.md",
		"`[a](nowhere.md)`":              "",
		"[a](https://example.org/x.md)":  "",
	} {
		if got := strings.Join(l.linked("specs/decisions.md", text), "; "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// settingName is what pages write of a setting of config.yaml.
var settingName = regexp.MustCompile("`((?:limits|review|policy|context|plan|exit|agents|models|roles|orchestration|messenger|history|secrets|exec|worktree|integration|hooks|notify|facts|git)\\.[a-z_.]+[a-z_])`")

// fieldsOfState have the form of a setting.
var fieldsOfState = []string{"git.lock", "integration.tip", "plan.secrets", "review.findings"}

func TestSettingsThatPagesNameExist(t *testing.T) {
	t.Parallel()
	known, err := os.ReadFile("../specs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range []string{"../README.md", "../specs/protocol.md", "../specs/roles-and-knowledge.md", "../specs/decisions.md", "../specs/architecture.md", "../specs/roles.md", "../specs/security.md", "../specs/write-your-own-agent.md", "../specs/you-know-it-from.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range settingName.FindAllStringSubmatch(string(text), -1) {
			named++
			if !bytes.Contains(known, []byte("`"+m[1])) && !slices.Contains(fieldsOfState, m[1]) {
				t.Errorf("%s names the setting %s, which does not exist", page, m[1])
			}
		}
	}
	if named < 50 {
		t.Errorf("the pages name %d settings; the test looks at nothing", named)
	}
}

// The rooms of a claim and the stations of an agent's end, which `make figures` counts, name functions, methods and types that are there.
func TestRoomsAndStationsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../specs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	known, quoted, named := declarations(t), regexp.MustCompile("`([A-Za-z.]+)`"), 0
	for _, heading := range []string{"From a claim to the board", "From the end of a program to the board"} {
		_, section, _ := strings.Cut(string(page), "\n## "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for line := range strings.Lines(section) {
			cells := strings.Split(line, "|")
			if len(cells) < 4 || !strings.Contains(cells[3], "`") {
				continue
			}
			for _, name := range quoted.FindAllStringSubmatch(cells[3], -1) {
				named++
				if word := name[1][strings.LastIndex(name[1], ".")+1:]; !known[word] {
					t.Errorf("%s: %s is declared nowhere in pkg/", heading, name[1])
				}
			}
		}
	}
	if named < 30 {
		t.Errorf("the tables name %d places; the test looks at too few", named)
	}
}

// declarations are the functions, methods and types of pkg/ without its tests.
func declarations(t *testing.T) map[string]bool {
	form := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type )(\w+)`)
	names := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range form.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// The tables of the protocol that the program has as data.
func TestGeneratedTablesOfTheProtocol(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "specs", "protocol.md")
	is, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	should := between(t, is, "<!-- Generated from the rules by `make generate`; do not edit from here … -->", validationTable())
	should = between(t, should, "<!-- Generated from pkg/board/blackboard/actions.go by `make generate`; do not edit from here … -->", actionTable(t))
	should = between(t, should, "<!-- Generated from pkg/board/blackboard/anomalies.go by `make generate`; do not edit from here … -->", anomalyTable(t))
	should = between(t, should, "<!-- Generated from the kinds of alerts by `make generate`; do not edit from here … -->", alertTable())
	if bytes.Equal(is, should) {
		return
	}
	if !*update {
		t.Fatal("specs/protocol.md differs from the rules, the alerts or the words of the program; run `make generate` and look at the difference")
	}
	if err := os.WriteFile(page, should, 0o644); err != nil {
		t.Fatal(err)
	}
}

// between puts a table in the place that begins with a mark.
func between(t *testing.T, page []byte, mark, table string) []byte {
	t.Helper()
	before, rest, found := bytes.Cut(page, []byte(mark))
	_, after, ended := bytes.Cut(rest, []byte("<!-- … to here. -->"))
	if !found || !ended {
		t.Fatalf("there is no place for a table after %q", mark)
	}
	return slices.Concat(before, []byte(mark+"\n\n"+table+"\n<!-- … to here. -->"), after)
}

// A described word is a constant with the comment behind it, and the heading of its block.
type described struct{ about, word, when string }

// wordsOf are the constants of a file, of which each has a comment and each block a heading.
func wordsOf(t *testing.T, file string) (list []described) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		about := strings.TrimRight(block.Doc.Text(), ".\n")
		for _, spec := range block.Specs {
			c := spec.(*ast.ValueSpec)
			word, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
			when := strings.TrimSpace(c.Comment.Text())
			if err != nil || about == "" || when == "" {
				t.Errorf("%s: %s needs a comment behind it that says when it is written, and its block one before it", file, c.Names[0])
			}
			list = append(list, described{about, word, when})
		}
	}
	return list
}

func actionTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| about | action | written when |\n|---|---|---|\n")
	before := ""
	for _, a := range wordsOf(t, "board/blackboard/actions.go") {
		about := a.about
		if about == before {
			about = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", about, a.word, a.when)
		before = a.about
	}
	return b.String()
}

// anomalyTable has who may record a kind, and what it needs, from the table that the program obeys.
func anomalyTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| type | who | required details | when |\n|---|---|---|---|\n")
	words := wordsOf(t, "board/blackboard/anomalies.go")
	for _, kind := range blackboard.AnomalyTypes {
		at := slices.IndexFunc(words, func(w described) bool { return w.word == string(kind.Name) })
		if at < 0 {
			t.Errorf("the kind %s has no constant", kind.Name)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", kind.Name, cmp.Or(strings.Join(kind.Reporters, ", "), "any"), strings.Join(kind.Details, ", "), words[at].when)
		words = slices.Delete(words, at, at+1)
	}
	if len(words) > 0 {
		t.Errorf("AnomalyTypes lacks %v", words)
	}
	return b.String()
}

func validationTable() string {
	var b strings.Builder
	b.WriteString("| rule | severity | W | F | what breaks it |\n|---|---|---|---|---|\n")
	mark := map[bool]string{true: "y", false: ""}
	for _, r := range audit.Rules {
		fmt.Fprintf(&b, "| <a id=%q></a>%s | %s | %s | %s | %s |\n", r.ID, r.ID, r.Severity, mark[r.OnWrite], map[bool]string{true: "F"}[r.Fixable], r.Text)
	}
	return b.String()
}

func alertTable() string {
	var b strings.Builder
	b.WriteString("| kind | severity | condition | threshold (setting or figure) |\n|---|---|---|---|\n")
	for _, k := range findings.Kinds {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", k.Name, k.Severity, k.When, k.Key)
	}
	return b.String()
}

// The first page is short enough to be read, and says how one begins, removes it again, and what becomes of signatures and hooks
// (issue 25, 7).
func TestTheFirstPageIsShort(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(data))); n > 1300 {
		t.Errorf("README.md has %d words; the rest belongs into specs/", n)
	}
	for _, part := range []string{"## Why this one", "## Install", "make demo", "## Your first sprint: five steps", "**Remove**", "**Signing and hooks**"} {
		if !strings.Contains(string(data), part) {
			t.Errorf("README.md has no %q", part)
		}
	}
}
