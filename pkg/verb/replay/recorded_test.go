package replay

import (
	"context"
	"testing"

	"liza/pkg/board/history"
	"liza/pkg/run/role"
	"liza/pkg/verb/verb/verbtest"
)

const (
	completed = `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"Done."}`
	again     = `{"action":"RETRY","evidence_files":[],"summary_for_supervisor":"Once more."}`
	stuck     = `{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"No way.","blocked_questions":["Which format?"],"attempted":["ISO 8601"]}`
	approved  = `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"Good.","review":{"status":"ok"}}`
	rejected  = `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"Not yet.","review":{"status":"needs_fix","reason":"README.md:1 does not contain a word"}}`
	deciding  = `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"Planned.","plan":{"goal":"Words","tasks":[],"decisions":[{"task":"a","do":"abandon","reason":"not wanted"}]}}`
)

// answer is a recorded run of that kind.
func answer(kind, text string, changes ...func(*history.Interaction)) history.Interaction {
	in := history.Interaction{Sequence: 1}
	in.Request.Metadata.Kind, in.Response.RawResponse, in.Liza.Effect = kind, text, "applied"
	for _, change := range changes {
		change(&in)
	}
	return in
}

// What an interaction led to follows from its answer, or it is skipped with the reason.
func TestWhyAnInteractionIsNotReplayed(t *testing.T) {
	t.Parallel()
	r := &replay{service: simulator{onBoard(t)}}
	for _, c := range []struct {
		name string
		in   history.Interaction
		want string
	}{
		{"a coder's answer", answer("coder", completed), ""},
		{"a reviewer's", answer("code_reviewer", approved), ""},
		{"an answer that cannot be used", answer("coder", "I am done."), ""},
		{"a recovery", answer("", "", func(in *history.Interaction) { in.Liza.Event = history.Recovery }), history.Recovery + " is not a run"},
		{"a messenger's", answer("messenger", "It is done."), "what it wrote was delivered, not judged"},
		{"verbs of the agent", answer("coder", completed, func(in *history.Interaction) { in.Liza.Effect = "verbs" }), "the outcome came from verbs"},
		{"success without an exit command", answer("coder", "I am done.", func(in *history.Interaction) { in.Response.Status = history.Success }), "the outcome came from verbs"},
		{"a task that was taken away", answer("coder", completed, func(in *history.Interaction) { in.Liza.Effect = "dropped" }), "the task had been taken away from it"},
		{"a crash", answer("coder", completed, func(in *history.Interaction) { in.Liza.Effect, in.Liza.Outcome = "", "crashed" }), "the run ended without an answer"},
		{"a crash that says why", answer("coder", "", func(in *history.Interaction) {
			in.Liza.Effect, in.Liza.Outcome, in.Liza.Error = "", "crashed", "out of memory"
		}), "out of memory"},
		{"a run out of time", answer("coder", completed, func(in *history.Interaction) { in.Response.Status = history.TimedOut }), "the run ended without an answer"},
		{"a file of another program", answer("coder", completed, func(in *history.Interaction) { in.Liza = history.RunFacts{} }), ""},
		{"a plan that decides", answer("planner", deciding), "its plan decides about tasks of its project"},
	} {
		kind, _ := recordedKind(c.in)
		if got := r.noReplay(c.in, kind); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTheKindAndTheBeginningOfARecordedRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, role, before string
		want               role.Kind
		from               string
	}{
		{"coder", "", "", role.Coder, "UNCLAIMED"},
		{"coder", "", "REJECTED", role.Coder, "REJECTED"},
		{"code_reviewer", "", "", role.Reviewer, "READY_FOR_REVIEW"},
		{"planner", "", "", role.Planner, ""},
		{"", "Worker", "", role.Coder, "UNCLAIMED"},
		{"", "Supervisor", "", role.Reviewer, "READY_FOR_REVIEW"},
		{"coder", "Supervisor", "", role.Coder, "UNCLAIMED"}, // ours says more
		{"", "painter", "", "", ""},
	} {
		in := answer(c.kind, completed)
		in.Request.Metadata.Role, in.Liza.StatusBefore = c.role, c.before
		if kind, from := recordedKind(in); kind != c.want || from != c.from {
			t.Errorf("kind %q, role %q, before %q: %q from %q, want %q from %q", c.kind, c.role, c.before, kind, from, c.want, c.from)
		}
	}
}

// An answer that could not be used ends the task only when nobody asked again.
func TestWhetherAnAnswerWasAskedForAgain(t *testing.T) {
	t.Parallel()
	with := func(effect, after string, reask int) history.Interaction {
		return answer("coder", "?", func(in *history.Interaction) {
			in.Liza.Effect, in.Liza.StatusAfter, in.Request.Metadata.Reask = effect, after, reask
		})
	}
	event := answer("", "", func(in *history.Interaction) { in.Liza.Event = history.Recovery })
	for _, c := range []struct {
		name string
		in   history.Interaction
		rest []history.Interaction
		want bool
	}{
		{"asked again", with("reask", "CLAIMED", 0), nil, true},
		{"the last answer", with("reask", "BLOCKED", 0), nil, false},
		{"the planner's last answer", with("reask", "CHECKPOINT", 0), nil, false},
		{"it was of use", with("applied", "READY_FOR_REVIEW", 0), nil, false},
		{"not recorded, and another attempt of the same follows", with("", "", 0), []history.Interaction{with("", "", 1)}, true},
		{"not recorded, behind an event", with("", "", 0), []history.Interaction{event, with("", "", 1)}, true},
		{"not recorded, and another run follows", with("", "", 1), []history.Interaction{with("", "", 0)}, false},
		{"not recorded, and another run of the same number follows", with("", "", 1), []history.Interaction{with("", "", 1)}, false},
		{"not recorded, the last of all", with("", "", 0), nil, false},
		{"not recorded, only events follow", with("", "", 0), []history.Interaction{event}, false},
	} {
		if got := reasked(c.rest, c.in); got != c.want {
			t.Errorf("%s: asked again %t, want %t", c.name, got, c.want)
		}
	}
}

// An answer does what that of a run does: for each answer of each kind of agent.
func TestAnAnswerDoesWhatThatOfARunDoes(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	d := p.Service("")
	ctx := context.Background()
	for _, c := range []struct {
		name, task, text string
		kind             role.Kind
		before, want     string
		released         bool
	}{
		{"a coder is done", "a", completed, role.Coder, "UNCLAIMED", "ready_for_review READY_FOR_REVIEW", false},
		{"a reviewer wants a fix", "a", rejected, role.Reviewer, "READY_FOR_REVIEW", "rejected REJECTED", false},
		{"the coder is done again", "a", completed, role.Coder, "REJECTED", "ready_for_review READY_FOR_REVIEW", false},
		{"a reviewer approves", "a", approved, role.Reviewer, "READY_FOR_REVIEW", "approved APPROVED", false},
		{"a coder goes on", "b", again, role.Coder, "UNCLAIMED", "retried CLAIMED", true},
		{"a coder is stuck", "b", stuck, role.Coder, "UNCLAIMED", "blocked BLOCKED", false},
		{"a coder says nothing of use", "c", "I am done.", role.Coder, "UNCLAIMED", "blocked BLOCKED", false},
	} {
		if p.State().Task(c.task) == nil {
			p.AddTask(c.task)
		}
		in := PoststepInput{Task: c.task, Kind: c.kind, Response: c.text, EmptyCommit: true}
		did, err := Poststep(ctx, d, in)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := did.Event + " " + did.StatusAfter; got != c.want || did.StatusBefore != c.before || did.Released != c.released {
			t.Errorf("%s: from %s to %s, released %t; want from %s to %s, released %t", c.name, did.StatusBefore, got, did.Released, c.before, c.want, c.released)
		}
		if s := p.State(); len(s.Agents) != 0 {
			t.Errorf("%s: agents are left: %v", c.name, s.Agents)
		}
	}
	runs, err := d.Board.Histories().History(ctx, "a")
	if err != nil || len(runs) != 4 || !runs[3].Liza.Simulated || runs[3].Sequence != 4 || runs[3].Liza.StatusAfter != "APPROVED" || runs[3].Liza.CostCents == nil || *runs[3].Liza.CostCents != 0 {
		t.Errorf("%d runs are recorded, %v; want 4, simulated and free, the last to APPROVED", len(runs), err)
	}
	p.Sound("a", "b", "c")

	// What is recorded goes the same way once more, in a project of its own, and differences are named.
	scratch := verbtest.New(t)
	runs[1].Liza.StatusAfter = "APPROVED"
	runs = append(runs, answer("coder", "", func(in *history.Interaction) { in.Sequence, in.Liza.Event = 5, history.Recovery }))
	got, err := Replay(ctx, scratch.Service(""), runs)
	if err != nil || len(got) != 5 {
		t.Fatalf("replayed %d of 5 interactions, %v", len(got), err)
	}
	for i, want := range []string{"same READY_FOR_REVIEW", "differs REJECTED", "same READY_FOR_REVIEW", "same APPROVED", "skipped "} {
		if g := got[i].Result + " " + got[i].Got; g != want || got[i].Sequence != i+1 {
			t.Errorf("interaction %d: %s (%+v), want %s", i+1, g, got[i], want)
		}
	}
}
