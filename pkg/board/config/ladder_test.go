package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestALadderOfModels(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, folder(t, "config.yaml", "agents: {mine: {command: [x]}}\nmodels:\n  coder: {ladder: [\"claude:haiku\", \"mine:small:4b\", \"codex:default\"], after_rejections: 2, from_bottom: true}\n  code_reviewer: opus\n"))
	want := Model{Name: "claude:haiku", Ladder: []string{"claude:haiku", "mine:small:4b", "codex:default"}, AfterRejections: 2, FromBottom: true}
	if got := cfg.Models["coder"]; !reflect.DeepEqual(got, want) || cfg.Models["code_reviewer"].Name != "opus" {
		t.Errorf("models are %+v", cfg.Models)
	}
	for _, v := range cfg.Values() {
		if shown := map[string]any{"ladder": want.Ladder, "after_rejections": 2, "from_bottom": true}; v.Key == "models.coder" && !reflect.DeepEqual(v.Value, shown) {
			t.Errorf("shown as %v", v.Value)
		}
	}
	data, err := Set([]byte("version: 1\n"), ".liza/config.yaml", "models.coder", `{ladder: ["claude:haiku", "claude:opus"]}`, nil)
	if err != nil || !strings.Contains(string(data), "claude:opus") {
		t.Errorf("set: %v\n%s", err, data)
	}
}

func TestALadderThatCannotBeClimbed(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		`coder: {ladder: ["claude:haiku", "clawd:opus"]}`:                `models.coder of .liza/config.yaml:2: expected rungs of programs that there are, found "clawd:opus"`,
		`coder: {ladder: ["claude:haiku", sonnet]}`:                      `models.coder of .liza/config.yaml:2: expected ladder: PROGRAM:MODEL`,
		`coder: {ladder: ["claude:haiku"]}`:                              `models.coder of .liza/config.yaml:2: expected a ladder of two rungs or more`,
		`coder: {after_rejections: 1}`:                                   `models.coder of .liza/config.yaml:2: expected the key ladder`,
		`coder: {ladder: ["claude:a", "claude:b"], after_rejections: 6}`: `models.coder of .liza/config.yaml:2: expected after_rejections: a whole number from 0 to 5`,
		`coder: {ladder: ["claude:a", "claude:b"], step: 6}`:             `models.coder of .liza/config.yaml:2: expected a map with the keys ladder, after_rejections`,
		`coder: [a, b]`: `models.coder of .liza/config.yaml:2: expected a string (in quotes), or a map with the keys ladder, after_rejections`,
		`planner: {ladder: ["claude:haiku", "claude:opus"]}`: `models.planner of .liza/config.yaml:2: expected one model: a ladder is for coders and reviewers, found a ladder`,
	} {
		_, _, err := Load(folder(t, "config.yaml", "models:\n  "+model+"\n"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", model, err, want)
		}
	}
}
