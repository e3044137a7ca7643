package supervisor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/activity"
	"liza/pkg/run/agent"
	"liza/pkg/verb/verb/verbtest"
)

// followed are the events that are kept under a name, in short.
func followed(t *testing.T, p *verbtest.Place, name string) (list []string) {
	t.Helper()
	events, _, err := activity.Read(p.Project.Activity(name), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		list = append(list, strings.Join(strings.Fields(strings.Join([]string{string(e.Kind), e.Tool, e.Text}, " ")), " "))
	}
	return list
}

func TestARunIsKeptForPeopleWhileItGoesOn(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		during := []string{}
		s := c.supervisor(blackboard.RoleCoder, func(_ context.Context, s agent.Spec) agent.Result {
			for _, e := range []agent.Event{
				{Kind: agent.EventText, Text: "I look", More: true}, {Kind: agent.EventText, Text: " around.", More: true},
				{Kind: agent.EventTool, Text: "Bash", Input: "curl -H " + secretValue}, {Kind: agent.EventResult, Text: "ok"},
				{Kind: agent.EventUsage, Usage: agent.Usage{TokensKnown: true, TokensIn: 7, TokensOut: 3}},
				{Kind: agent.EventError, Retry: true, Word: "overloaded", Status: 529},
				{Kind: agent.EventText, Text: "I give up."}, {Kind: agent.EventFinal, Text: "I give up."},
			} {
				s.Event(e)
			}
			during = followed(t, c.Place, "task-1")
			return finished(givesUp)
		})
		s.Service.Board.Secrets.Add("github_token", secretValue)
		c.once(s)
		want := "run | text I look around. | tool Bash curl -H [REDACTED:github_token] | result ok | usage | wait overloaded (529) | text I give up."
		if got := strings.Join(during, " | "); got != want {
			t.Errorf("while it runs:\n%s\nwant\n%s", got, want)
		}
		events, _, _ := activity.Read(c.Project.Activity("task-1"), 0)
		if r := events[0]; r.Agent != "coder-1" || r.Task != "task-1" || r.Number != 1 || r.Role != "coder" || r.ID == "" {
			t.Errorf("the run is %+v", r)
		}
		if last := events[len(events)-1]; last.Kind != activity.End || !strings.HasPrefix(last.Text, "stuck: ") {
			t.Errorf("the end is %+v", last)
		}
		if index := followed(t, c.Place, "coder-1"); len(index) != 2 || index[0] != "run" || !strings.HasPrefix(index[1], "end stuck: ") {
			t.Errorf("the agent's own file has %q", index)
		}
	})
}

// Which secrets a plan has is known at its end only; until then what the planner says is on no disk.
func TestWhatAPlannerSaysIsHeldBackUntilItsSecretsAreKnown(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		verbtest.Write(t, filepath.Join(c.Project.Root, "specs", "more.md"), "More.\n")
		var during string
		c.once(c.supervisor(blackboard.RolePlanner, func(_ context.Context, s agent.Spec) agent.Result {
			s.Event(agent.Event{Kind: agent.EventText, Text: "I use " + secretValue})
			s.Event(agent.Event{Kind: agent.EventTool, Text: "Bash", Input: "echo " + secretValue})
			s.Event(agent.Event{Kind: agent.EventTool, Text: "Read", Input: "specs/more.md"})
			s.Event(agent.Event{Kind: agent.EventResult, Text: secretValue})
			during = strings.Join(followed(t, c.Place, "planner-1"), " | ")
			if data, err := os.ReadFile(c.Project.Activity("planner-1")); err != nil || strings.Contains(string(data), secretValue) {
				t.Errorf("during the run the file has the value, %v", err)
			}
			return agent.Result{Outcome: agent.Finished, Final: strings.Replace(planWithSecret, `"tasks": []`, `"tasks": [{"id": "a", "detail": "Write a.md", "type": "docs", "done_when": "a.md contains a word", "scope": "IN: a.md", "spec_ref": "specs/vision.md"}, {"id": "tell", "kind": "msg", "detail": "It is out", "notify": true}]`, 1)}
		}))
		if want := "run | text | tool Bash | tool Read specs/more.md"; during != want {
			t.Errorf("during the run: %s, want %s", during, want)
		}
		after := strings.Join(followed(t, c.Place, "planner-1"), " | ")
		if !strings.HasPrefix(after, during+" | text I use [REDACTED:github_token] | end completed: ") {
			t.Errorf("after the run: %s", after)
		}
	})
}

func TestARunGoesOnWhenWhatItDoesCannotBeKept(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		if err := os.MkdirAll(c.Project.Activity("task-1"), 0o755); err != nil {
			t.Fatal(err)
		}
		ran := false
		c.once(c.supervisor(blackboard.RoleCoder, func(_ context.Context, s agent.Spec) agent.Result {
			ran = true
			s.Event(agent.Event{Kind: agent.EventText, Text: "I work."})
			return finished(givesUp)
		}))
		if !ran || !strings.Contains(strings.Join(c.lines, "\n"), "cannot keep the activity of a run") {
			t.Errorf("ran %v:\n%s", ran, strings.Join(c.lines, "\n"))
		}
	})
}
