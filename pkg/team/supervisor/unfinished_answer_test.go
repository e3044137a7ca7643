package supervisor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
)

// recorded is how a run ended that a program has printed: a case of the corpus of pkg/agent.
func recorded(t *testing.T, program, name string, exit int) agent.Result {
	t.Helper()
	a, err := agent.Lookup(program, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(filepath.Join("../../run/agent/testdata/corpus", program, name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return agent.Explain(a.Reader(agent.Spec{}), agent.Recording{Stdout: said, Exit: &exit})
}

// The same prompt would be refused again: the task waits for a person, who reads what the model said.
func TestARefusalBlocksTheTaskWithTheWordsOfTheModel(t *testing.T) {
	for program, words := range map[string]string{
		"claude": "the model refuses: API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy.",
		"codex":  "the model refuses: Incomplete response returned, reason: content_filter",
	} {
		t.Run(program, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				runs := 0
				c.once(c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
					runs++
					return recorded(t, program, "refusal", 1)
				}))
				st := c.state()
				if x := st.Task("task-1"); runs != 1 || x.Status != blackboard.Blocked || !strings.Contains(x.BlockedReason, words) || x.Crashes != 0 {
					t.Errorf("%s: %d runs, task-1 is %s after %d crashes: %s", program, runs, x.Status, x.Crashes, x.BlockedReason)
				}
				if len(st.Questions) != 1 || st.Questions[0].Text != words {
					t.Errorf("%s: a person is asked %+v", program, st.Questions)
				}
				if due, _ := transition.DueTriggers(st, transition.TriggerFacts{}, time.Now()); len(due) != 0 { // issue 25, 6.5
					t.Errorf("%s: a person is asked, and the planner is woken for %+v", program, due)
				}
			})
		})
	}
}

// qwen calls an answer a success that was cut off at the limit of tokens, and of cn nothing shows it: the person and the
// next prompt have what is known, not only that there is no exit command.
func TestAnAnswerThatWasCutOffIsToldAsThat(t *testing.T) {
	for program, want := range map[string]string{
		"qwen": "no exit command found: the answer was cut off at the limit of output tokens (max_output_tokens)",
		"cn":   "no exit command found; the answer ends: The work is nearly",
	} {
		t.Run(program, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				var prompts []string
				c.once(c.supervisor(blackboard.RoleCoder, func(_ context.Context, spec agent.Spec) agent.Result {
					if prompts = append(prompts, spec.Prompt); len(prompts) == 1 {
						return recorded(t, program, "MAXTOK", 0)
					}
					return agent.Result{Outcome: agent.Finished, Final: givesUp}
				}))
				if len(prompts) != 2 || !strings.Contains(prompts[1], want) || !strings.Contains(strings.Join(c.lines, "\n"), "asks again (1): "+want) {
					t.Errorf("%s: %d runs\n%s", program, len(prompts), strings.Join(c.lines, "\n"))
				}
			})
		})
	}
}
