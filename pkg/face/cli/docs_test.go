package cli

import (
	"bytes"
	"context"
	"encoding/json"
	stdflag "flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/run/exitcmd"
	"liza/pkg/team/assembly"
)

var update = stdflag.Bool("update", false, "write the generated documentation anew")

// The pages are made from the tree of commands and the table of exit codes.
func TestGeneratedCommands(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{"commands.md": commandsPage(), "exit-codes.md": exitCodesPage()} {
		path := filepath.Join("..", "..", "..", "specs", name)
		if *update {
			if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		there, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v; run `make generate`", err)
		}
		is, should := strings.Split(string(there), "\n"), strings.Split(page, "\n")
		for i := range max(len(is), len(should)) {
			if i >= len(is) || i >= len(should) || is[i] != should[i] {
				t.Errorf("specs/%s differs from the commands from line %d on; run `make generate` and look at the difference", name, i+1)
				break
			}
		}
	}
}

const generated = "<!-- Generated from the commands by `make generate`; do not edit. -->\n"

func commandsPage() string {
	var b strings.Builder
	app := tree()
	fmt.Fprintf(&b, "%s\n# Commands\n\n%s is %s. Options may stand before or behind the arguments; these are known to every command:\n\n```text\n%s```\n\n", generated, app.Name, app.Usage, optionsText(globals(app)))
	b.WriteString("Exit codes: [exit-codes.md](exit-codes.md). With `--json` exactly one object is printed: `{\"ok\": true, \"result\": …}` or\n`{\"ok\": false, \"error\": {\"code\", \"message\", \"next\"}}`.\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n", g.title)
		for _, c := range g.of(app) {
			describe(&b, "liza "+c.Name, c)
		}
	}
	b.WriteString("\n## For scripts and tests\n\nNeither the help nor the completion names these.\n")
	for _, c := range app.Commands {
		if c.Hidden && !strings.HasPrefix(c.Name, "__") {
			describe(&b, "liza "+c.Name, c)
		}
	}
	b.WriteString("\n## The supervisor of one terminal\n")
	describe(&b, "liza-agent", agentCommand(&Env{}, &agentOptions{}))
	return b.String()
}

func describe(b *strings.Builder, path string, c *urfave.Command) {
	fmt.Fprintf(b, "\n### %s\n\n```text\n%s```\n", path, helpText(path, c))
	for _, sub := range c.Commands {
		describe(b, path+" "+sub.Name, sub)
	}
}

func exitCodesPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# Exit codes\n\nAgents and scripts branch on them, so they do not change. `error.code` is what `--json` prints.\n\n| exit | error.code | means |\n|---|---|---|\n", generated)
	for _, x := range exits {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", x.Code, x.Name, x.Means)
	}
	b.WriteString("\nWhatever is refused names the one command that helps: `next: liza show task-3`. A refused command changes no file.\n")
	return b.String()
}

// tree is the tree of commands as a program has it.
func tree() *urfave.Command {
	env := &Env{System: assembly.Environment{Stdout: io.Discard, Stderr: io.Discard}}
	app := lizaCommand(env)
	var help helpSwitch
	app.Flags = append(app.Flags, helpFlag(&help))
	return app
}

// leaves yields every command that does something, with its path.
func leaves(path string, c *urfave.Command, visit func(path string, c *urfave.Command)) {
	for _, sub := range c.Commands {
		if sub.Hidden {
			continue
		}
		if at := path + " " + sub.Name; len(sub.Commands) > 0 {
			leaves(at, sub, visit)
		} else {
			visit(at, sub)
		}
	}
}

func TestEveryCommandIsExplained(t *testing.T) {
	t.Parallel()
	app := tree()
	times := map[string]int{}
	for _, g := range groups {
		for _, c := range g.of(app) {
			if c.Category != g.name {
				t.Errorf("liza %s is in the group %s, but it is for %s", c.Name, g.name, c.Category)
			}
			times[c.Name]++
		}
	}
	for _, c := range app.Commands {
		if n := times[c.Name]; !c.Hidden && n != 1 {
			t.Errorf("liza %s is in %d groups", c.Name, n)
		}
	}
	leaves("liza", app, func(path string, c *urfave.Command) {
		_, after, found := strings.Cut(c.Description, "\n\nExamples:\n")
		shown, codes, ended := strings.Cut(after, "\n\nExit codes: ")
		if c.Usage == "" || !found || !ended || !strings.HasPrefix(codes, "0 ok") {
			t.Errorf("%s lacks a summary, examples or exit codes", path)
		}
		if n := strings.Count(shown, "\n") + 1; n < 2 {
			t.Errorf("%s has %d examples, want 2", path, n)
		}
		if !strings.Contains(codes, "1 failure · 2 usage") {
			t.Errorf("%s: the exit codes %q lack what every command can end with", path, codes)
		}
		if strings.Contains(codes, "5 locked") && !strings.Contains(codes, "3 invalid") {
			t.Errorf("%s: the exit codes %q lack that of a damaged board", path, codes)
		}
		for _, f := range visible(c.Flags) {
			if left, right := optionText(f); right == "" {
				t.Errorf("%s: the option %s is not explained", path, left)
			}
		}
	})
}

func TestGroupsAndLongNamesAreExplainedToo(t *testing.T) {
	t.Parallel()
	for _, c := range tree().Commands {
		if strings.HasPrefix(c.Name, "__") {
			continue // what shells call
		}
		text := helpText("liza "+c.Name, c)
		examples, codes, ended := strings.Cut(text, "\n\nExit codes: ")
		if !ended || !strings.HasPrefix(codes, "0 ok · 1 failure · 2 usage") || strings.Count(codes, "0 ok") != 1 {
			t.Errorf("liza %s: the exit codes are %q", c.Name, codes)
		}
		if _, shown, _ := strings.Cut(examples, "\nExamples:"); strings.Count(shown, "\n   ") < 2 {
			t.Errorf("liza %s has less than two examples: %q", c.Name, shown)
		}
	}
}

// The first screen has room on a small terminal, and names every command of people.
func TestTheFirstScreenIsOneScreen(t *testing.T) {
	t.Parallel()
	app := tree()
	screen := firstScreen(app)
	lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
	if len(lines) > 40 {
		t.Errorf("the first screen has %d lines, at most 40 are one screen", len(lines))
	}
	for _, line := range lines {
		if n := len([]rune(line)); n > 96 {
			t.Errorf("%q has %d characters", line, n)
		}
	}
	for _, g := range groups {
		for _, c := range g.of(app) {
			if named := regexp.MustCompile(`\b` + c.Name + `\b`).MatchString(screen); g.people && !named {
				t.Errorf("the first screen does not name %s", c.Name)
			}
		}
	}
	if lines := strings.Count(groupsText(app, "agents"), "\n"); lines > 25 {
		t.Errorf("the help of agents has %d lines, want 25 at most", lines)
	}
	for _, d := range daily {
		for _, word := range strings.Split(d.usage, ", ") {
			if name, _, _ := strings.Cut(word, " "); app.Command(name) == nil {
				t.Errorf("the first screen explains %s, which does not exist", name)
			}
		}
	}
}

// later are commands that refusals already name and that are still to come.
var later = []string{}

var named = regexp.MustCompile("[\"`]liza ((?:-C [^ ]+ |--as [^ ]+ )*)([a-z][a-z-]*)(?: (list|create|remove|apply|show))?")

func TestCommandsThatTextsNameExist(t *testing.T) {
	t.Parallel()
	app, seen := tree(), 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "../../code/git/") {
			return err // git speaks of "liza attic" in commit messages
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(source)) {
			if !strings.Contains(line, "liza ") {
				continue // the expression is slow
			}
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				seen++
				c := app.Command(m[2])
				if c == nil && !slices.Contains(later, m[2]) {
					t.Errorf("%s names `liza %s`, which does not exist", path, m[2])
				}
				if c != nil && m[3] != "" && len(c.Commands) > 0 && c.Command(m[3]) == nil {
					t.Errorf("%s names `liza %s %s`, which does not exist", path, m[2], m[3])
				}
			}
		}
		return nil
	})
	if err != nil || seen < 50 {
		t.Errorf("looked at %d names: %v", seen, err)
	}
}

func TestGeneratedSchemaOfTheExitCommand(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "specs", "schemas", "llm-chat-schema.json")
	page, err := json.MarshalIndent(exitcmd.Schema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	page = append(page, '\n')
	if *update {
		if err := os.WriteFile(path, page, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if there, err := os.ReadFile(path); err != nil || !bytes.Equal(there, page) {
		t.Errorf("%s differs from the exit command (%v); run `make generate` and look at the difference", path, err)
	}
}

func TestAPanicBecomesASentence(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	env := &Env{System: assembly.Environment{Stdout: io.Discard, Stderr: &stderr, Now: time.Now}}
	app := &urfave.Command{Name: "liza", Action: func(context.Context, *urfave.Command) error { panic("something is nil") }}
	if code := env.serve(t.Context(), app, []string{"liza"}); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if said := stderr.String(); !strings.Contains(said, "this is a bug in liza") || !strings.Contains(said, "docs_test.go:") || strings.Contains(said, "goroutine") {
		t.Errorf("said %q, want one sentence with the place", said)
	}
}
