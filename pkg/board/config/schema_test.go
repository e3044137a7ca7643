package config

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated documentation anew")

func shownAny(v any) string { return fmt.Sprintf("%#v", v) }

// generated compares a generated page with what is in the repository.
func generated(t *testing.T, path, page string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	there, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run `make generate`", err)
	}
	if string(there) != page {
		t.Errorf("%s differs from the settings; run `make generate` and look at the difference", path)
	}
}

func TestGeneratedSchema(t *testing.T) {
	t.Parallel()
	data, err := json.MarshalIndent(Schema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	generated(t, filepath.Join("..", "..", "..", "specs", "config.schema.json"), string(data)+"\n")
}

const (
	tableBegin = "<!-- Generated from the settings by `make generate`; do not edit from here … -->\n"
	tableEnd   = "<!-- … to here. -->\n"
)

func TestGeneratedTableOfSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "specs", "configuration.md")
	there, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(there), tableBegin)
	_, after, found := strings.Cut(rest, tableEnd)
	if !ok || !found {
		t.Fatalf("%s has no place for the table", path)
	}
	generated(t, path, before+tableBegin+table()+tableEnd+after)
}

// groups are the parts of the table, with each section of the file once.
var groups = []struct {
	name, about string
	sections    []string
}{
	{"programs", "agent programs, their models and roles, and how many run at one time", []string{"agents", "models", "roles", "orchestration", "prices"}},
	{"checks", "review and merge: who decides, and what runs before", []string{"review", "integration", "merge", "worktree", "services", "hooks", "git"}},
	{"landing", "pull and merge requests on a forge, what comes from there, and imports", []string{"land", "import"}},
	{"containment", "what programs and commands may read, write and reach", []string{"sandbox"}},
	{"limits", "cost, time, iterations and sizes", []string{"limits"}},
	{"plans", "what a plan must have, and what prompts are made of", []string{"plan", "context", "facts", "messenger"}},
	{"rights", "who may do what, commands, secrets", []string{"policy", "exec", "secrets"}},
	{"notices", "messages to people", []string{"notify"}},
	{"timing", "leases, waiting times and alerts of the protocol; the defaults suit nearly everybody", []string{"protocol"}},
	{"hosts", "where the board is, for a team on several hosts", []string{"store"}},
	{"files", "form and size of files", []string{"version", "history"}},
}

// table has a line for each key, by group and section; the checks, which are alike, have three.
func table() string {
	var b strings.Builder
	const heads = "| key | default | meaning |\n|---|---|---|\n"
	values := Default().Values()
	line := func(key, value, about string) { fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, value, about) }
	for _, g := range groups {
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n", g.name, strings.ToUpper(g.about[:1])+g.about[1:])
		for _, section := range g.sections {
			fmt.Fprintf(&b, "\n`%s`: %s\n\n%s", section, Describe(section), heads)
			for _, v := range values {
				if top, _, _ := strings.Cut(v.Key, "."); top != section {
					continue
				}
				key, value := v.Key, shownDefault(v.Value)
				if rest, ok := strings.CutPrefix(key, "review.checks.build_passes."); ok {
					key, value = "review.checks.NAME."+rest, map[string]string{"enabled": "true", "severity": "of the check", "command": "detected"}[rest]
				} else if strings.HasPrefix(key, "review.checks.") {
					continue
				}
				line(key, value, v.About)
			}
		}
	}
	b.WriteString("\n")
	return b.String()
}

func shownDefault(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" {
			return "–"
		}
		return "`" + v + "`"
	case map[string]any:
		return "–"
	case []string:
		if len(v) == 0 {
			return "–"
		}
		return "`" + strings.Join(v, "`, `") + "`"
	}
	return fmt.Sprint(v)
}

// Every key is explained by a sentence. What agents.NAME has is in the catalogue of programs.
func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Prices["big"] = Price{}
	for _, l := range leaves(c) {
		for key := l.key; key != ""; key = parent(key) {
			text := Describe(key)
			if named := key == "prices.big" || parent(key) == "review.checks"; text == "" && !named || text != "" && !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q is not a sentence", key, text)
			}
		}
	}
	for key, want := range map[string]string{"agents.mine": "A program of the project, or changes of a built-in one.", "nothing": "", "limits.nothing": "", "agents.mine.prompt": "", "limits.tokens.x": ""} {
		if got := Describe(key); got != want {
			t.Errorf("%s is described as %q, not %q", key, got, want)
		}
	}
}

// The schema says what the reader says: each default and each bound fits.
func TestTheSchemaKnowsEverySetting(t *testing.T) {
	t.Parallel()
	schema := Schema()
	for _, v := range Default().Values() {
		at := schema
		for _, part := range strings.Split(v.Key, ".") {
			at, _ = at["properties"].(map[string]any)[part].(map[string]any)
			if at == nil {
				t.Fatalf("the schema has no %s", v.Key)
			}
		}
		if v.Key != "agents.fallback" && shownAny(at["default"]) != shownAny(v.Value) {
			t.Errorf("%s: default %v, want %v", v.Key, at["default"], v.Value)
		}
		if at["description"] == nil {
			t.Errorf("%s has no description", v.Key)
		}
	}
	checks := schema["properties"].(map[string]any)["review"].(map[string]any)["properties"].(map[string]any)["checks"].(map[string]any)
	if checks["additionalProperties"] != false {
		t.Error("any name of a check is allowed")
	}
}

func TestEverySettingIsInOneGroup(t *testing.T) {
	t.Parallel()
	in := map[string]int{}
	for _, g := range groups {
		for _, section := range g.sections {
			in[section]++
		}
	}
	for f := range reflect.TypeFor[Config]().Fields() {
		if section := f.Tag.Get("key"); section != "" && in[section] != 1 {
			t.Errorf("section %s is in %d groups", section, in[section])
		}
		delete(in, f.Tag.Get("key"))
	}
	if len(in) > 0 {
		t.Errorf("there are no sections %v", in)
	}
}
