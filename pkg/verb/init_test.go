package verb_test

import (
	"os"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"liza/pkg/verb"
	"liza/pkg/verb/verbtest"
)

// P-005: the goal is data: whatever is in it, it comes back as it went in, from the store
// and from any YAML reader.
func TestTheGoalIsStoredExactlyAsItWasTyped(t *testing.T) {
	t.Parallel()
	for name, goal := range map[string]string{
		"quotes":               `Say "hello" and 'goodbye' and it's done`,
		"shell":                "Print $(date), `id`, ${HOME} and $1 && rm -rf /",
		"colons":               "key: value: other, - no list, # no comment",
		"looks like a list":    "- one\n- two\n",
		"several lines":        "First line\n\n  indented\n\ttabbed\nlast line",
		"spaces":               "  leading and trailing  ",
		"ends with lines":      "one\n\n\n",
		"looks like a number":  "007",
		"looks like a boolean": "yes",
		"looks like an anchor": "&a *b !c %d @e `f | > ? :",
		"other scripts":        "Grüße, 世界, עולם, 🚀\u00a0and\u2028more",
		"documents":            "---\n...\n--- !!map\n",
		"templates":            "{{.Title}} %s {0}",
		"very long":            longGoal(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.NewWith(t, verb.InitInput{Goal: goal, Now: time.Now()})
			if got := p.State().Goal.Description; got != goal {
				t.Errorf("the store gives\n%q, want\n%q", got, goal)
			}
			data, err := os.ReadFile(p.Project.State())
			if err != nil {
				t.Fatal(err)
			}
			var board struct{ Goal struct{ Description string } }
			if err := yaml.Unmarshal(data, &board); err != nil || board.Goal.Description != goal {
				t.Errorf("the YAML library gives\n%q (%v), want\n%q", board.Goal.Description, err, goal)
			}
		})
	}
}

func longGoal() string {
	line := "A goal of many words that no line of a file can hold without being folded somewhere. "
	text := ""
	for range 40 {
		text += line
	}
	return text + "End."
}
