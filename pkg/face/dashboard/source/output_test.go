package source_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"liza/pkg/run/activity"
	"liza/pkg/verb/verb/verbtest"
)

var nine = time.Date(2026, 1, 19, 9, 0, 0, 0, time.UTC)

// ran keeps a run as a supervisor does: with its task, and its beginning and end with the agent.
func ran(t *testing.T, p *verbtest.Place, agent, task string, n int, texts ...string) {
	t.Helper()
	run := activity.Event{At: nine, Agent: agent, Task: task, Number: n, ID: fmt.Sprint(agent, ".", n)}
	for _, name := range []string{task, agent} {
		if name == "" {
			continue
		}
		w, err := activity.Open(p.Project.Activity(name), run, func(text string) string { return text })
		must(t, err)
		if name == task || task == "" {
			for _, text := range texts {
				w.Add(activity.Event{At: nine, Kind: activity.Text, Text: text})
			}
		}
		w.Add(activity.Event{At: nine, Kind: activity.End, Text: "finished"})
		must(t, w.Close())
	}
}

func words(events []activity.Event) string {
	var list []string
	for _, e := range events {
		list = append(list, strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Text)))
	}
	return strings.Join(list, ", ")
}

func TestOutputIsThatOfTheNewestRunOfATaskOrAnAgent(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	s := of(p)
	ran(t, p, "coder-1", "a", 1, "first")
	ran(t, p, "code-reviewer-1", "a", 1, "judged")
	read := func(name string, after int64, want string) int64 {
		t.Helper()
		events, next, err := s.Output(name, after)
		if err != nil || words(events) != want {
			t.Errorf("%s after %d: %s, %v, want %s", name, after, words(events), err, want)
		}
		if next >= 1<<53 {
			t.Errorf("%d is more than JSON's numbers can say", next)
		}
		return next
	}
	task := read("a", 0, "run, text judged, end finished")
	agent := read("coder-1", 0, "run, text first, end finished")
	read("coder-1", agent, "")
	read("code-reviewer-1", 0, "run, text judged, end finished")
	ran(t, p, "coder-1", "a", 2, "again")
	read("a", task, "run, text again, end finished")
	ran(t, p, "coder-1", "b", 3, "other work")
	read("coder-1", agent, "run, text other work, end finished")
	ran(t, p, "planner-1", "", 1, "a plan")
	planner := read("planner-1", 0, "run, text a plan, end finished")
	read("planner-1", planner, "")
	read("nobody-1", 0, "")
}

func TestAnAgentIsFollowedOverItsRuns(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	s := of(p)
	ran(t, p, "coder-1", "a", 1, "first")
	ran(t, p, "code-reviewer-1", "a", 1, "judged")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []activity.Event
	for e, next := range s.FollowOutput(ctx, "coder-1", 0) {
		if got = append(got, e); len(got) == 3 {
			ran(t, p, "coder-1", "a", 2, "again")
			ran(t, p, "coder-1", "b", 3, "other work")
		}
		if events, _, err := s.Output("coder-1", next); len(got) == 9 && (err != nil || len(events) != 0) {
			t.Errorf("after the last one comes %s, %v", words(events), err)
		}
		if len(got) == 9 {
			break
		}
	}
	if want := "run, text first, end finished, run, text again, end finished, run, text other work, end finished"; words(got) != want {
		t.Errorf("got %s, want %s", words(got), want)
	}
}

// A supervisor that was killed has not written the end of its run.
func TestAFollowerGoesOnAfterARunWithoutAnEnd(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	s := of(p)
	for _, name := range []string{"a", "coder-1"} {
		w, err := activity.Open(p.Project.Activity(name), activity.Event{At: nine, Agent: "coder-1", Task: "a", Number: 1}, func(text string) string { return text })
		must(t, err)
		must(t, w.Close())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := 0
	for e := range s.FollowOutput(ctx, "coder-1", 0) {
		if n++; n == 1 {
			ran(t, p, "coder-1", "b", 2, "next")
		}
		if e.Text == "next" {
			break
		}
	}
	if ctx.Err() != nil {
		t.Error("the next run was not seen")
	}
}

func TestDoingIsOfProgramsThatRun(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("a")
	_, err := p.Service("coder-1").Claim(t.Context(), "a")
	must(t, err)
	s := of(p)
	if d := s.Doing(t.Context()); len(d) != 0 {
		t.Errorf("before any run: %+v", d)
	}
	cents := 31.0
	w, err := activity.Open(p.Project.Activity("a"), activity.Event{At: s.Service.Board.Now().Add(-4 * time.Minute), Agent: "coder-1", Task: "a", Number: 1}, func(text string) string { return text })
	must(t, err)
	w.Add(activity.Event{At: nine, Kind: activity.Usage, In: 12000, Out: 345, Cents: &cents})
	w.Add(activity.Event{At: nine, Kind: activity.Tool, Tool: "bash", Text: "go test ./...\x1b[2J\nmore"})
	d := s.Doing(t.Context())["coder-1"]
	if d.Kind != "tool" || d.Tool != "bash" || d.Seconds < 240 || d.String() != "› bash  go test ./..." || d.Figures() != "4m, 12k tokens, $0.31" {
		t.Errorf("got %+v: %s, %s", d, d, d.Figures())
	}
	v, err := s.View(t.Context())
	must(t, err)
	if len(v.Agents) != 1 || v.Agents[0].Doing == nil || v.Agents[0].Doing.Tool != "bash" {
		t.Errorf("the view has %+v", v.Agents)
	}
	until := nine.Add(time.Minute)
	w.Add(activity.Event{At: nine, Kind: activity.Wait, Text: "overloaded (529)", Until: &until})
	if d := s.Doing(t.Context())["coder-1"]; d.String() != "waits for its provider: overloaded (529), until 09:01:00 UTC" {
		t.Errorf("got %s", d)
	}
	w.Add(activity.Event{At: nine, Kind: activity.End})
	must(t, w.Close())
	if d := s.Doing(t.Context()); len(d) != 0 {
		t.Errorf("after the run: %+v", d)
	}
}
