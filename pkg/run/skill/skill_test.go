package skill_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/run/skill"
)

const aider = `name: aider
version: 1.2.0
description: Edits code from a message
summary: edit code by a short instruction
run: [./run.sh, data.txt, --fast]
writes: true
timeout_seconds: 600
secrets: [github_token]
env: {MODE: {required: false, default: fast}, KEY: {required: true}}
args:
  message: {type: string, required: true, description: what to do}
  retries: {type: int, default: 2, description: tries, min: 0, max: 5}
  ratio: {type: float}
  dry: {type: bool}
  files: {type: list}
  level: {type: enum, values: [low, high]}
  where: {type: path}
`

func install(t *testing.T, dir, name, manifest string) {
	t.Helper()
	folder := filepath.Join(dir, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"skill.yaml": manifest, "run.sh": "#!/bin/sh\n", "data.txt": ""} {
		mode := os.FileMode(0o644)
		if file == "run.sh" {
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnInstalledSkill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	install(t, dir, "aider", aider)
	l := skill.Load(dir)
	s, err := l.Find("aider")
	if err != nil {
		t.Fatalf("%v, %v", err, l.Broken)
	}
	want := "aider: edit code by a short instruction\n  dry (bool)\n  files (list)\n  level (enum of low|high)\n  message (string, required): what to do\n  ratio (float)\n" +
		"  retries (int, default 2, at least 0, at most 5): tries\n  where (path)\n  secrets: github_token\n  changes files: always reviewed"
	if l.Text() != want {
		t.Errorf("told:\n%s", l.Text())
	}
	argv, err := s.Command("/nowhere")
	if got := fmt.Sprint(argv); err != nil || got != fmt.Sprintf("[%s/aider/run.sh %s/aider/data.txt --fast]", dir, dir) {
		t.Errorf("command %s, %v", got, err)
	}
	if _, err := s.Variables(nil); err == nil || !strings.Contains(err.Error(), "LIZA_SKILL_AIDER_KEY") {
		t.Errorf("a missing variable: %v", err)
	}
	if v, err := s.Variables([]string{"LIZA_SKILL_AIDER_KEY=k", "OTHER=x"}); err != nil || fmt.Sprint(v) != "[LIZA_SKILL_AIDER_KEY=k LIZA_SKILL_AIDER_MODE=fast]" {
		t.Errorf("variables %v, %v", v, err)
	}
}

func TestArgumentsAreCheckedAndFilledIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	install(t, dir, "aider", aider)
	s, err := skill.Load(dir).Find("aider")
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]any{"message": "x", "retries": float64(3), "ratio": 1, "dry": true, "files": []any{"a"}, "level": "low", "where": "a/b"}
	if got, bad := s.Fill(good); len(bad) > 0 || fmt.Sprint(got) != "map[dry:true files:[a] level:low message:x ratio:1 retries:3 where:a/b]" {
		t.Errorf("filled %v, %q", got, bad)
	}
	if got, bad := s.Fill(map[string]any{"message": "x"}); len(bad) > 0 || fmt.Sprint(got) != "map[message:x retries:2]" {
		t.Errorf("filled %v, %q", got, bad)
	}
	for name, v := range map[string]any{"message": 7, "retries": "3", "ratio": "x", "dry": "yes", "files": []any{1}, "level": "none", "where": "../x", "unknown": 1} {
		args := map[string]any{"message": "x", name: v}
		if _, bad := s.Fill(args); len(bad) != 1 || !strings.Contains(bad[0], "'"+name+"'") || !strings.Contains(bad[0], "aider") {
			t.Errorf("%s %v: %q", name, v, bad)
		}
	}
	if _, bad := s.Fill(map[string]any{"retries": 2.5, "where": "/etc"}); len(bad) != 3 {
		t.Errorf("three are wrong: %q", bad)
	}
	if _, bad := s.Fill(map[string]any{"message": "x", "retries": 9}); len(bad) != 1 || !strings.Contains(bad[0], "at most 5") {
		t.Errorf("outside: %q", bad)
	}
}

func TestABrokenManifestTakesOnlyItsOwnSkillAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	install(t, dir, "aider", aider)
	for name, c := range map[string]struct{ manifest, want string }{
		"other":    {aider, "must be that of the folder"},
		"key":      {"name: key\nrun: [./run.sh]\nwhat: 1\n", "what"},
		"no-run":   {"name: no-run\n", "run: is empty"},
		"type":     {"name: type\nrun: [./run.sh]\nargs: {a: {type: number}}\n", "args.a: type: 'number'"},
		"default":  {"name: default\nrun: [./run.sh]\nargs: {a: {type: int, default: x}}\n", "args.a: default:"},
		"values":   {"name: values\nrun: [./run.sh]\nargs: {a: {type: enum}}\n", "values"},
		"gone":     {"name: gone\nrun: [bin/gone]\n", "not in the skill's folder"},
		"not-exec": {"name: not-exec\nrun: [data.txt]\n", "not executable"},
		"secret":   {"name: secret\nrun: [./run.sh]\nsecrets: [A-B]\n", "'A-B'"},
		"text":     {": [", "skill.yaml"},
	} {
		install(t, dir, name, c.manifest)
		if _, err := skill.Load(dir).Find(name); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := skill.Load(dir)
	if len(l.Skills) != 1 || len(l.Broken) != 11 {
		t.Errorf("%d skills, %d broken ones", len(l.Skills), len(l.Broken))
	}
	if _, err := l.Find("nothing"); err == nil || !strings.Contains(err.Error(), "there are: aider") {
		t.Errorf("an unknown one: %v", err)
	}
	if l := skill.Load(filepath.Join(dir, "nowhere")); len(l.Skills)+len(l.Broken) != 0 || l.Text() != "" {
		t.Errorf("of no folder: %+v", l)
	}
}
