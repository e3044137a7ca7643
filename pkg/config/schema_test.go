package config

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	generated(t, filepath.Join("..", "..", "specs", "config.schema.json"), string(data)+"\n")
}

const (
	tableBegin = "<!-- Generated from the settings by `make generate`; do not edit from here … -->\n"
	tableEnd   = "<!-- … to here. -->\n"
)

func TestGeneratedTableOfSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "specs", "configuration.md")
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

// table has a line for each key, by section; the checks, which are alike, have three.
func table() string {
	var b strings.Builder
	section := ""
	checks := false
	for _, v := range Default().Values() {
		top, _, _ := strings.Cut(v.Key, ".")
		if top != section {
			section = top
			fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| key | default | meaning |\n|---|---|---|\n", top, Describe(top))
		}
		key, value := v.Key, shownDefault(v.Value)
		if strings.HasPrefix(key, "review.checks.") {
			if checks && !strings.HasPrefix(key, "review.checks.build_passes.") {
				continue
			}
			checks = true
			key = "review.checks.NAME." + key[strings.LastIndexByte(key, '.')+1:]
			value = map[string]string{"enabled": "true", "severity": "of the check", "command": "detected"}[key[strings.LastIndexByte(key, '.')+1:]]
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, value, v.About)
	}
	b.WriteString("\nOther names that are read: ")
	for i, a := range aliases {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "`%s` (`%s`)", a.alias, a.key)
	}
	b.WriteString(".\n\n")
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

// Every key is explained, and nothing is that does not exist. What agents.NAME has stands
// in the catalogue of programs.
func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Prices["big"] = Price{}
	used := map[string]bool{}
	for _, l := range leaves(c) {
		if Describe(l.key) == "" {
			t.Errorf("%s is not described", l.key)
		}
		for key := l.key; key != ""; key = parent(key) {
			used[key] = true
			used[strings.Replace(key, ".big", ".*", 1)] = true
			if rest, ok := strings.CutPrefix(key, "review.checks."); ok {
				if _, name, ok := strings.Cut(rest, "."); ok {
					used["review.checks.*."+name] = true
				}
			}
		}
	}
	for key, text := range descriptions {
		if !used[key] && key != "agents.*" && key != "policy.callers" {
			t.Errorf("%s is described, but does not exist", key)
		}
		if !strings.HasSuffix(text, ".") {
			t.Errorf("%s: %q is no sentence", key, text)
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
	for _, a := range aliases {
		at := schema
		for _, part := range strings.Split(a.alias, ".") {
			at, _ = at["properties"].(map[string]any)[part].(map[string]any)
		}
		if at == nil || at["deprecated"] != true {
			t.Errorf("the alias %s is not in the schema as one", a.alias)
		}
	}
	checks := schema["properties"].(map[string]any)["review"].(map[string]any)["properties"].(map[string]any)["checks"].(map[string]any)
	if checks["additionalProperties"] != false {
		t.Error("any name of a check is allowed")
	}
}
