package replay

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/run/role"
	"liza/pkg/verb/verb"
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
		{"a rerun", answer("", "", func(in *history.Interaction) { in.Liza.Event = history.Rerun }), history.Rerun + " is not a run"},
		{"a restep", answer("coder", completed, func(in *history.Interaction) { in.Liza.Event = history.Restep }), history.Restep + " is not a run"},
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
	event := answer("", "", func(in *history.Interaction) { in.Liza.Event = history.Rerun })
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

// A dry run tells what the answer would do, and the answer then does that: for each answer of each kind of agent.
func TestADryRunTellsWhatTheAnswerDoes(t *testing.T) {
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
		revision := p.State().Revision
		told, err := RehearsePoststep(ctx, d, in)
		if err != nil {
			t.Errorf("%s, rehearsed: %v", c.name, err)
			continue
		}
		if now := p.State().Revision; now != revision {
			t.Errorf("%s: the dry run wrote the board, revision %d became %d", c.name, revision, now)
		}
		did, err := Poststep(ctx, d, in)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := did.Event + " " + did.StatusAfter; got != c.want || did.StatusBefore != c.before || did.Released != c.released || did.DryRun {
			t.Errorf("%s: from %s to %s, released %t; want from %s to %s, released %t", c.name, did.StatusBefore, got, did.Released, c.before, c.want, c.released)
		}
		if told.Event != did.Event || told.StatusAfter != did.StatusAfter || told.StatusBefore != did.StatusBefore || told.Action != did.Action || told.Problem != did.Problem || told.Agent != did.Agent || !told.DryRun {
			t.Errorf("%s: told %+v, and did %+v", c.name, told, did)
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
	runs = append(runs, answer("coder", "", func(in *history.Interaction) { in.Sequence, in.Liza.Event = 5, history.Rerun }))
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

// A rerun begins from nothing, with the files and the history of before in the archive; a restep goes back to a commit of a run.
func TestATaskGoesBackAndStartsAgain(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	d := p.Service("")
	ctx := context.Background()
	p.AddTask("a")
	if _, err := p.Service("coder-1").Claim(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	tip := p.Commit("a")
	verbtest.Write(t, filepath.Join(p.Repo.WorktreePath("a"), "draft", "notes.txt"), "half an idea\n")
	task := p.State().Task("a")
	for _, commit := range []string{tip, "", strings.Repeat("1", 40)} {
		if problem := d.Board.Histories().Happened(ctx, task, "TEST", "CLAIMED", commit); problem != "" {
			t.Fatal(problem)
		}
	}
	if _, err := p.Service("coder-1").Release(ctx, verb.ReleaseInput{Task: "a", Coder: true, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	for number, want := range map[string]string{
		"4": "2 --to '4' must be one of the interactions of a: 1 to 3 (next: liza history a)",
		"0": "2 --to '0' must be one of the interactions of a: 1 to 3 (next: liza history a)",
		"2": "1 cannot go back to interaction 2 of a: it tells of no commit (next: liza history a)",
		"3": "1 cannot go back to interaction 3 of a: its commit 111111111 is gone (next: liza history a)",
	} {
		if _, err := Restep(ctx, d, "a", number); verbtest.Advice(err) != want {
			t.Errorf("back to %s: %q, want %q", number, verbtest.Advice(err), want)
		}
	}
	back, err := Restep(ctx, d, "a", "1")
	if err != nil || back.Commit != tip || back.Status != blackboard.Unclaimed || back.Attic == "" {
		t.Fatalf("back to 1: %+v, %v; want UNCLAIMED at %s, the rest in the attic", back, err, tip)
	}
	if got := p.Git(p.Dir, "show", "--stat", "--format=", back.Attic); !strings.Contains(got, "draft/notes.txt") {
		t.Errorf("the attic has %s; want the file that was not committed", got)
	}
	if s := p.State().Task("a"); s.Hold != nil || p.Git(p.Dir, "rev-parse", "task/a") != tip {
		t.Errorf("after the restep a is held by %+v at %s; want free at %s", s.Hold, p.Git(p.Dir, "rev-parse", "task/a"), tip)
	}
	verbtest.Write(t, filepath.Join(p.Repo.WorktreePath("a"), "draft", "notes.txt"), "another idea\n")
	anew, err := Rerun(ctx, d, RerunInput{Task: "a", CleanGit: true, KeepFiles: true})
	if err != nil || anew.Status != blackboard.Unclaimed || anew.Epoch != 2 || anew.Archive != ".liza/archive/a/1" || anew.Commit != "" {
		t.Fatalf("the rerun: %+v, %v; want UNCLAIMED in epoch 2, no branch, archive .liza/archive/a/1", anew, err)
	}
	if got := verbtest.Read(t, filepath.Join(p.Dir, anew.Archive, "files", "draft", "notes.txt")); got != "another idea\n" {
		t.Errorf("the archive has %q", got)
	}
	runs, err := d.Board.Histories().History(ctx, "a")
	if err != nil || len(runs) != 1 || runs[0].Liza.Event != history.Rerun || runs[0].Liza.Epoch != 2 {
		t.Errorf("the new history is %+v, %v; want the rerun alone, in epoch 2", runs, err)
	}
	p.Sound()
}

// Only regular files are kept: a link could lead anywhere, and a file that is gone is left out.
func TestKeptFilesAreRegularFiles(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	verbtest.Write(t, filepath.Join(from, "a", "b.txt"), "b")
	verbtest.Write(t, filepath.Join(from, "a", "c", "d.txt"), "d")
	if err := os.Symlink("/etc/hostname", filepath.Join(from, "a", "link")); err != nil {
		t.Fatal(err)
	}
	if err := copyInto(filepath.Join(from, "a"), to); err != nil {
		t.Fatal(err)
	}
	if b, d := verbtest.Read(t, filepath.Join(to, "b.txt")), verbtest.Read(t, filepath.Join(to, "c", "d.txt")); b != "b" || d != "d" {
		t.Errorf("copied %q and %q", b, d)
	}
	if _, err := os.Lstat(filepath.Join(to, "link")); err == nil {
		t.Error("a link was copied")
	}
	if err := copyInto(filepath.Join(from, "gone"), filepath.Join(to, "gone")); err != nil {
		t.Errorf("what is gone: %v, want nothing", err)
	}
	one := filepath.Join(to, "one.txt")
	if err := copyInto(filepath.Join(from, "a", "b.txt"), one); err != nil || verbtest.Read(t, one) != "b" {
		t.Errorf("a single file: %v", err)
	}
	if info, err := os.Stat(one); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v, %v; want 0600", info.Mode(), err)
	}
}
