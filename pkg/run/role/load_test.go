package role

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folder makes a folder of role files: name, content, name, content …
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const own = "name: own\ndescription: mine\ninstructions: Do it well.\nllm_model: default\n"

func get(t *testing.T, l *Library, name string) *Role {
	t.Helper()
	r, err := l.Get(name)
	if err != nil {
		t.Fatalf("%v\n%v", err, l.Findings())
	}
	return r
}

// broken wants that the role cannot be used and why, while all others can.
func broken(t *testing.T, l *Library, name string, parts ...string) {
	t.Helper()
	_, err := l.Get(name)
	if err == nil {
		t.Errorf("the role %s can be used", name)
		return
	}
	said := err.Error()
	for _, f := range l.Findings() {
		said += "\n" + string(f.Level) + " " + f.String()
	}
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("%s: %q is missing in\n%s", name, part, said)
		}
	}
	for _, e := range l.Entries() {
		if e.Name != name && e.Broken != nil {
			t.Errorf("%s is broken too: %v", e.Name, e.Broken)
		}
	}
}

func TestTheBuiltInRolesAreInOrder(t *testing.T) {
	t.Parallel()
	l := Builtin()
	kinds := map[string]Kind{"planner": Planner, "implement": Coder, "fix": Coder, "refactor": Coder, "test": Coder, "review": Reviewer, "messenger": Messenger, "summarizer": Summarizer}
	for _, e := range l.Entries() {
		if e.Role == nil || e.Role.Kind != kinds[e.Name] || e.Role.Model != Default || e.Source != FromBuiltin || len(e.Role.Hash) != 12 || !e.Role.Stable() {
			t.Errorf("%s: %+v", e.Name, e)
		}
		delete(kinds, e.Name)
	}
	if len(kinds) > 0 || len(l.Findings()) > 0 {
		t.Errorf("missing %v, findings %v", kinds, l.Findings())
	}
}

// What 1.3 of roles-and-knowledge says that the built-in roles must say.
func TestRolesSayWhatTheyMust(t *testing.T) {
	t.Parallel()
	sentences := map[string][]string{
		"planner": {"Read the spec first", "Five gates", "`spec_ref`", "`done_when`: an observable result", "`scope`", "`depends_on`", "Tests belong to each code task", `no separate "add tests" task`,
			"State each real dependency, and prefer few of them", "Make small tasks", "End the plan with a `msg` with `notify: true`", "Fit the plan to the caller's role", "Put credentials only into `secrets`",
			"Find the cause first", "one recorded decision per task", "An earlier failed strategy is not tried again"},
		"implement": {"Tests first, from `done_when`", "Stay in scope and worktree", "Follow existing patterns", "Commit", "Write down your intent before the first edit", "Log anomalies when they happen",
			"Report discoveries, do not fix them", "block with 1–3 questions instead of guessing", "Do not block for style, or for what the spec answers"},
		"fix":      {"Tests first, from `done_when`", "Reproduce it with a failing test first", "the smallest change", "Name the cause in your summary"},
		"refactor": {"Tests first, from `done_when`", "Behaviour stays unchanged", "Tests are green before and after", "Change no interface outside the scope"},
		"test":     {"Follow existing patterns", "tests for existing behaviour only", "no production change except one that is needed to make the code testable, and say so"},
		"review": {"read only", "against the task, the spec as it is now, every criterion, and the goal", "checklist", "Reject only with file, defect and fix", "No style rejections, no wish list",
			"RESOLVED, PARTIAL or STILL PRESENT", "`needs_fix`: a local fix helps", "`replan`: the approach is wrong", "`learn`: only lasting facts about the project", "deleted, skipped or loosened"},
		"messenger":  {"plain and short", "no promises about unfinished work", "nothing but the text"},
		"summarizer": {"facts, decisions", "open questions", "technical context", "Drop noise and repetition", "Invent nothing"},
	}
	for _, e := range Builtin().Entries() {
		text, err := e.Role.Render(samples(e.Role.Kind, true))
		if err != nil {
			t.Fatal(err)
		}
		body := strings.ToLower(strings.Join(strings.Fields(text), " "))
		if len(sentences[e.Name]) == 0 {
			t.Errorf("no sentences are known for the role %s", e.Name)
		}
		for _, s := range sentences[e.Name] {
			if !strings.Contains(body, strings.ToLower(s)) {
				t.Errorf("the role %s does not say %q", e.Name, s)
			}
		}
	}
}

// L-06, C-05: each mandatory key removed in turn.
func TestAMandatoryKeyThatIsMissing(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(own, "\n")
	for i, key := range []string{"name", "description", "instructions", "llm_model"} {
		text := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
		l := Load(folder(t, "own.yaml", text))
		broken(t, l, "own", key+": is missing", ".liza/roles/own.yaml")
		if !l.Failed() {
			t.Error("no error is reported")
		}
	}
}

// L-06: two files with one name; N-37, C-04: a file that is new.
func TestOneNameInTwoFiles(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "a.yaml", own, "b.yaml", own, "c.yaml", strings.ReplaceAll(own, "own", "other")))
	broken(t, l, "own", "another file has this name too: .liza/roles/b.yaml:1", "another file has this name too: .liza/roles/a.yaml:1")
	if r := get(t, l, "other"); r.Source != FromProject || r.File != filepath.Join(".liza", "roles", "c.yaml") {
		t.Errorf("%+v", r)
	}
}

// L-06, N-37: Logist's own manifest, with exact case of its aliases.
func TestTheManifestOfLogistLoads(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "roles.json", `{
	  "Worker": {"name": "Worker", "description": "Expert software development", "instructions": "You are an expert software engineer…", "llm_model": "grok-code-fast-1"},
	  "Supervisor": {"name": "Supervisor", "description": "Quality assurance", "instructions": "You are a senior technical reviewer…", "llm_model": "gemini-2.5-flash"}
	}`))
	if l.Failed() {
		t.Fatal(l.Findings())
	}
	w, s := get(t, l, "Worker"), get(t, l, "Supervisor")
	if w.Name != "implement" || w.Kind != Coder || w.Model != "grok-code-fast-1" || w.Source != FromReplaced {
		t.Errorf("Worker: %+v", w)
	}
	if s.Name != "review" || s.Kind != Reviewer || s.Model != "gemini-2.5-flash" {
		t.Errorf("Supervisor: %+v", s)
	}
	if m := get(t, l, "worker"); m.Name != "messenger" {
		t.Errorf("worker is %s", m.Name)
	}
	if e, ok := l.Entry("IMPLEMENT"); !ok || e.Name != "implement" {
		t.Errorf("without regard to case: %v", e)
	}
	if f := get(t, l, "fix"); !strings.HasPrefix(f.Instructions, "You are a coder") && f.Instructions != w.Instructions {
		t.Errorf("fix extends %q", f.Instructions)
	}
}

// N-37: Kiso's form is the instructions of a role that exists.
func TestAMarkdownFileReplacesTheInstructions(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "reviewer.md", "Review as we do.\n", "worker.md", "Write as we do.\n", "own.yaml", own, "own.md", "Do it better.", "nobody.md", "x", ".hidden.md", "x"))
	for name, want := range map[string]string{"review": "Review as we do.\n", "messenger": "Write as we do.\n", "own": "Do it better."} {
		if r := get(t, l, name); r.Instructions != want || r.Description == "" {
			t.Errorf("%s: %q, %q", name, r.Instructions, r.Description)
		}
	}
	if e, _ := l.Entry("review"); e.Source != FromExtended {
		t.Errorf("source %s", e.Source)
	}
	broken(t, l, "nobody", "the role 'nobody' does not exist")
}

// C-05 and section 12: what is wrong is said with its place, and others work.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, text string
		role       string
		want       []string
	}{
		"no YAML":             {"own.yaml", "name: own\n  description: [", "own", []string{".liza/roles/own.yaml:", "not YAML"}},
		"no JSON":             {"own.json", "{\n\"name\": \"own\",}", "own", []string{".liza/roles/own.json:2", "not JSON"}},
		"two documents":       {"own.yaml", own + "---\n" + own, "own", []string{"own.yaml:5", "more than one document"}},
		"empty":               {"own.yaml", "\n", "own", []string{"the file has no role"}},
		"a list":              {"own.yaml", "- a\n", "own", []string{"must be a map"}},
		"too large":           {"own.yaml", strings.Repeat("#", 10<<20), "own", []string{"10485760 bytes; 262144 are allowed"}},
		"not the builtin":     {"x.yaml", "name: review\nx: [", "review", []string{"not YAML"}},
		"a name":              {"own.yaml", strings.Replace(own, "own", "Own Role", 1), "Own Role", []string{"must match"}},
		"a number":            {"own.yaml", strings.Replace(own, "default", "4.5", 1), "own", []string{"own.yaml:4: role own: llm_model: must be a string"}},
		"an empty text":       {"own.yaml", strings.Replace(own, "mine", `""`, 1), "own", []string{"description: is empty"}},
		"a key twice":         {"own.yaml", own + "cli: a\ncli: b\n", "own", []string{"own.yaml:6: role own: cli: is here a second time (first in line 5)"}},
		"an unknown kind":     {"own.yaml", own + "kind: codr\n", "own", []string{"'codr' is unknown: did you mean coder?"}},
		"the base's kind":     {"own.yaml", "name: own\nbase: fix\nkind: planner\n", "own", []string{"own.yaml:3: role own: kind: is planner, but that of its base is coder"}},
		"a missing base":      {"own.yaml", "name: own\nbase: fixx\n", "own", []string{"own.yaml:2: role own: base: the role 'fixx' does not exist; did you mean fix?"}},
		"an unclosed text":    {"own.yaml", own + "prompt_template: |\n  a\n  {{if .Title}}\n", "own", []string{"own.yaml:7: role own: prompt_template: is not a template"}},
		"an unknown field":    {"own.yaml", own + "prompt_template: |\n  a\n  {{.Titel}}\n", "own", []string{"own.yaml:7", "uses .Titel, which does not exist; did you mean .Title?"}},
		"a denied field":      {"own.yaml", own + "prompt_template: \"{{.Skills}}\"\n", "own", []string{"own.yaml:5", "uses .Skills, which a coder never gets"}},
		"denied to messenger": {"own.yaml", own + "kind: messenger\nprompt_template: \"{{.Skills}} {{.Title}}\"\n", "own", []string{"uses .Skills, which a messenger never gets"}},
		"a denied title":      {"own.yaml", own + "kind: messenger\nprompt_additions: \"{{.Title}}\"\n", "own", []string{"uses .Title, which a messenger never gets"}},
		"a denied piece":      {"own.yaml", own + "kind: code_reviewer\ncontext_requirements: [repo_structure]\n", "own", []string{"own.yaml:6", "a code_reviewer never gets the piece repo_structure"}},
		"an unknown piece":    {"own.yaml", own + "context_requirements: [repo]\n", "own", []string{"'repo' is not a piece of context"}},
		"no value":            {"own.yaml", own + "prompt_template: \"{{index . \\\"Nothing\\\"}}\"\n", "own", []string{"cannot be rendered with all data", "no value"}},
		"only with data":      {"own.yaml", own + "prompt_template: \"{{index .DependsOn 0}}\"\n", "own", []string{"cannot be rendered with no data"}},
		"too long":            {"own.yaml", own + "prompt_template: \"" + strings.Repeat("x", 12001) + "\"\n", "own", []string{"more than 12000 bytes"}},
		"another kind": {"own.yaml", strings.Replace(own, "own", "review", 1) + "kind: coder\n", "review",
			[]string{"own.yaml:5: role review: kind: is coder, but that of the built-in role review, which it replaces, is code_reviewer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken(t, Load(folder(t, tt.file, tt.text, "fine.yaml", strings.Replace(own, "own", "fine", 1))), tt.role, tt.want...)
		})
	}
}

// All that is wrong with a role is said at once, in the order of its lines, and nothing twice.
func TestAllFindingsOfARoleAreReported(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "own.yaml", own+"context_requirements: [skills, foo]\nprompt_template: |\n  {{.Skills}}\n  {{.Nothing}}\nllm_mode: x\n",
		"other.yaml", "name: [a]\ndescription: \"\"\nllm_model: [a]\ninstructions: 5\n",
		"loop.yaml", strings.Replace(own, "own", "loop", 1)+"prompt_additions: '{{define \"x\"}}{{template \"x\"}}{{end}}{{template \"x\"}}'\n"))
	var got []string
	for _, f := range l.Findings() {
		got = append(got, fmt.Sprintf("%s:%d %s %s", filepath.Base(f.File), f.Line, f.Level, f.Key))
	}
	want := []string{
		"loop.yaml:5 error prompt_additions",
		"other.yaml:1 error name", "other.yaml:2 error description", "other.yaml:3 error llm_model", "other.yaml:4 error instructions",
		"own.yaml:5 error context_requirements", "own.yaml:5 error context_requirements", "own.yaml:7 error prompt_template", "own.yaml:8 error prompt_template", "own.yaml:9 warning llm_mode",
	}
	if !slices.Equal(got, want) {
		t.Errorf("findings\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if why := l.Findings()[0].Reason; why != "cannot be rendered with all data: its loops go round more than 20000 times" {
		t.Errorf("the reason is %q", why)
	}
}

func TestABrokenFileIsNotReplacedByTheBuiltInRole(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "any.yaml", "name: review\ndescription: [\n"))
	broken(t, Load(folder(t, "review.yaml", "x: [")), "review", "not YAML")
	if _, err := l.Get("review"); err == nil {
		t.Error("a role that cannot be read was replaced by the built-in one")
	}
}

func TestUnknownKeysAreWarnings(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "own.yaml", own+"descripton: x\nmcp_servers: [a]\napplicable_task_types: [feature, feture]\n"))
	get(t, l, "own")
	var said []string
	for _, f := range l.Findings() {
		said = append(said, string(f.Level)+" "+f.String())
	}
	want := []string{"warning .liza/roles/own.yaml:5: role own: descripton: unknown key; did you mean description?",
		"warning .liza/roles/own.yaml:6: role own: mcp_servers: is not supported: servers are those of the agent program",
		"warning .liza/roles/own.yaml:7: role own: applicable_task_types: 'feture' is not a type of task: did you mean feature?"}
	if !slices.Equal(said, want) || l.Failed() {
		t.Errorf("got %q, want %q", said, want)
	}
}

func TestBasesInACircleAndInALongChain(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "a.yaml", "name: a\nbase: b\n", "b.yaml", "name: b\nbase: a\n", "c.yaml", "name: c\nbase: a\n", "d.yaml", "name: d\nbase: d\n"))
	for name, part := range map[string]string{"a": "circle", "b": "circle", "c": "cannot be used", "d": "does not exist"} {
		if _, err := l.Get(name); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var files []string
	base := "implement"
	for i := 1; i <= 6; i++ {
		name := fmt.Sprintf("r%d", i)
		files = append(files, name+".yaml", fmt.Sprintf("name: %s\nbase: %s\nprompt_additions: level %d\n", name, base, i))
		base = name
	}
	l = Load(folder(t, files...))
	text, err := get(t, l, "r5").Render(samples(Coder, true))
	if err != nil || !strings.HasSuffix(text, "level 1\n\nlevel 2\n\nlevel 3\n\nlevel 4\n\nlevel 5") {
		t.Errorf("%v: %q", err, text)
	}
	broken(t, l, "r6", "longer than 5")
}

func TestARoleInheritsWhatItDoesNotSet(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "implement.yaml", "name: implement\nbase: implement\nllm_model: big\nprompt_additions: Ours.\n", "own.yaml", "name: own\nbase: fix\ncli: codex\ncontext_requirements: []\n"))
	i, o := get(t, l, "implement"), get(t, l, "own")
	if i.Source != FromExtended || i.Model != "big" || !strings.HasPrefix(i.Instructions, "You are a coder") || !slices.Equal(i.Additions, []string{"Ours."}) {
		t.Errorf("implement: %+v", i)
	}
	if o.CLI != "codex" || !slices.Equal(o.Types, []string{"bug"}) || o.Wants("facts") || !i.Wants("facts") {
		t.Errorf("own: %+v", o)
	}
	if o.Model != "big" { // fix extends implement, which is the project's
		t.Errorf("own inherits the model %q", o.Model)
	}
	if o.Origins["cli"].String() != ".liza/roles/own.yaml:3" || o.Origins["instructions"].File != "built-in:implement" {
		t.Errorf("origins %v", o.Origins)
	}
}

func TestTheHashIsThatOfTheEffectiveRole(t *testing.T) {
	t.Parallel()
	first := get(t, Load(folder(t, "a.yaml", own)), "own")
	same := get(t, Load(folder(t, "b.yml", "# another file\nllm_model: default\nname: own\ninstructions: Do it well.\ndescription: mine\n")), "own")
	other := get(t, Load(folder(t, "a.yaml", own+"cli: codex\n")), "own")
	if first.Hash != same.Hash || first.Hash == other.Hash {
		t.Errorf("hashes %s %s %s", first.Hash, same.Hash, other.Hash)
	}
	none := get(t, Load(folder(t, "a.yaml", own+"context_requirements: []\n")), "own")
	if none.Hash == first.Hash {
		t.Error("an empty list of context has the hash of none")
	}
}

// Section 12: a template that loops over itself ends by its limit.
func TestATemplateThatGoesRoundInCirclesIsStopped(t *testing.T) {
	t.Parallel()
	for name, template := range map[string]string{
		"recursion":  `{{define "x"}}{{template "x" .}}{{end}}{{template "x" .}}`,
		"a number":   `{{range 1000000000}}{{end}}`,
		"nested":     `{{range 10000}}{{range 10000}}{{end}}{{end}}`,
		"long texts": `{{range 10000}}{{$x := printf "%1000000d" 1}}{{end}}`,
		"output":     `{{range 100000}}xxxxxxxxxxxxxxxxxxxxxxx{{end}}`,
	} {
		l := Load(folder(t, "own.yaml", own+"prompt_template: |\n  "+template+"\n"))
		if _, err := l.Get("own"); err == nil {
			t.Errorf("%s: the role can be used", name)
		}
	}
}

func TestFunctionsOfTemplates(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "own.yaml", own+`prompt_template: |
  {{join .AcceptanceCriteria ", "}}|{{indent 2 .RepoContext}}|{{trunc 5 .Title}}|{{upper .Type}}|{{default "none" .Answers}}|{{json .DependsOn}}|{{range .Fixes}}{{.N}} {{.Detail}} {{$.ID}}{{end}}
`))
	got, err := get(t, l, "own").Render(samples(Coder, true))
	if want := "it exits 0, names have blanks|  cmd/\n  pkg/|Greet|FEATURE|- yes|[\"task-1\"]|1 add the name task-3"; err != nil || got != want {
		t.Errorf("%v: got %q, want %q", err, got, want)
	}
	got, err = get(t, l, "own").Render(samples(Coder, false))
	if want := "|  ||TASK|none|null|"; err != nil || strings.ReplaceAll(got, "FEATURE", "TASK") != strings.Replace(want, "TASK", "", 1) {
		t.Errorf("%v: without data %q", err, got)
	}
}

func TestFieldsThatATemplateUses(t *testing.T) {
	t.Parallel()
	c, err := compile("t", "{{.Title}}{{if .Spec}}{{range .Fixes}}{{.Detail}}{{$.Goal}}{{end}}{{end}}{{with .Answers}}{{.}}{{else}}{{.Intent}}{{end}}\n{{len (printf \"%s\" .Scope)}}")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]int{}
	for _, u := range c.uses() {
		used[u.name] = u.line
	}
	want := map[string]int{"Title": 1, "Spec": 1, "Fixes": 1, "Goal": 1, "Answers": 1, "Intent": 1, "Scope": 2}
	if !maps.Equal(used, want) {
		t.Errorf("used %v, want %v", used, want)
	}
}

func TestInfoWhenThePrefixCannotBeCached(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "own.yaml", own+"prompt_template: \"{{.Instructions}} {{.Title}}\"\n"))
	if f := l.Findings(); len(f) != 1 || f[0].Level != Info || get(t, l, "own").Stable() {
		t.Errorf("findings %v", f)
	}
}

// N-40: nothing that a file can be makes the loader panic or hang.
func FuzzLoad(f *testing.F) {
	f.Add("own.yaml", own+"prompt_template: \"{{.Title}}\"\n")
	f.Add("x.json", `{"Worker": {"name": "Worker"}}`)
	f.Add("review.md", "text")
	f.Fuzz(func(t *testing.T, name, text string) {
		list, bad := parseFile(name, []byte(text))
		if bad == nil && len(list) == 0 {
			t.Error("a file without roles is not an error")
		}
		if name = filepath.Base(name); len(name) > 100 || strings.ContainsRune(name, 0) {
			return
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return
		}
		l := Load(dir)
		for _, e := range l.Entries() {
			if e.Role != nil {
				if _, err := e.Role.Render(samples(e.Role.Kind, true)); err != nil {
					t.Errorf("%s passed its trial: %v", e.Name, err)
				}
				_ = e.Role.YAML(true)
			}
		}
	})
}
