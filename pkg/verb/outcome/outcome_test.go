package outcome_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// answer is an exit command with further keys.
func answer(action, summary, more string) string {
	return fmt.Sprintf(`{"action":%q,"evidence_files":[],"summary_for_supervisor":%q%s}`, action, summary, more)
}

// unit is a task that a coder of this process has claimed, with one commit.
func unit(t *testing.T) (*verbtest.Place, *verb.Service, outcome.Run) {
	t.Helper()
	p := verbtest.New(t)
	p.AddTask("task-1")
	d := p.Supervised("coder-1")
	if _, err := d.Claim(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	p.Commit("task-1")
	return p, d, outcome.Run{Kind: "coder", Task: "task-1", Before: outcome.MarkOf(d, p.State(), "coder-1", "task-1")}
}

func ended(t *testing.T, d *verb.Service, r outcome.Run, output string) outcome.Report {
	t.Helper()
	r.Answer = exitcmd.Read(output, r.Kind)
	out, err := outcome.Apply(t.Context(), d, r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func anomalies(p *verbtest.Place) string {
	var types []string
	for _, a := range p.State().Anomalies {
		types = append(types, string(a.Type))
	}
	return strings.Join(types, " ")
}

// L-01: the exit command alone hands the work in.
func TestACoderThatOnlyPrintsItsExitCommandSubmits(t *testing.T) {
	t.Parallel()
	p, d, r := unit(t)
	head := p.Git(p.Repo.WorktreePath("task-1"), "rev-parse", "HEAD")
	out := ended(t, d, r, strings.Replace(answer("COMPLETED", "Done.", ""), "[]", `["task-1.md"]`, 1))
	task := p.State().Task("task-1")
	if out.Effect != outcome.Applied || task.Status != blackboard.ReadyForReview || task.ReviewCommit != head || fmt.Sprint(task.LastOutcome.EvidenceFiles) != "[task-1.md]" {
		t.Errorf("got %+v; the task is %s at %s with %+v", out, task.Status, task.ReviewCommit, task.LastOutcome)
	}
}

// L-04: STUCK blocks with the questions, or with one that is made up.
func TestAStuckCoderBlocksItsTaskWithQuestions(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]string{`,"blocked_questions":["Which name?"],"attempted":["a guess"]`: "Which name? false stuck", "": "What is needed to continue? true question"} {
		p, d, r := unit(t)
		ended(t, d, r, answer("STUCK", "No name is given.", more))
		s := p.State()
		task := s.Task("task-1")
		if q := s.Questions[0]; task.Status != blackboard.Blocked || fmt.Sprint(q.Text, " ", q.Synthetic, " ", task.BlockedKind) != want {
			t.Errorf("the task is %s (%s) with %+v; want %s", task.Status, task.BlockedKind, q, want)
		}
	}
}

// L-05: RETRY goes on, a second one of the same words is a loop, and the limit ends it.
func TestRetriesAreCountedAndEnd(t *testing.T) {
	t.Parallel()
	p, d, r := unit(t)
	for i := 1; ; i++ {
		rr := transition.RunResult{Task: "task-1", Attempt: blackboard.Attempt{Kind: "coder", Outcome: "finished", Action: "RETRY", Summary: "The build of /tmp/x" + fmt.Sprint(i) + " fails."}}
		err := d.Board.Update(t.Context(), "run", func(s *blackboard.State, a transition.Actor) error { return transition.EndRun(s, a, rr, d.Board.Now()) })
		if err != nil {
			t.Fatal(err)
		}
		out := ended(t, d, r, answer("RETRY", rr.Attempt.Summary, ""))
		task := p.State().Task("task-1")
		if i == 2 && anomalies(p) != "retry_loop" {
			t.Errorf("after two equal retries: anomalies %q", anomalies(p))
		}
		if i < 10 && (out.Effect != outcome.Continue || task.Status != blackboard.Claimed || task.Iteration != i+1) {
			t.Fatalf("retry %d: %+v, %s, iteration %d", i, out, task.Status, task.Iteration)
		}
		if i == 10 {
			if task.Status != blackboard.Blocked || task.Halt == nil || task.Halt.Kind != "iteration" {
				t.Errorf("at the limit the task is %s, halt %+v", task.Status, task.Halt)
			}
			return
		}
	}
}

// L-19: evidence outside of the worktree is dropped, and nothing there is opened.
func TestEvidenceOutsideOfTheWorktreeIsDropped(t *testing.T) {
	t.Parallel()
	p, d, r := unit(t)
	dir := p.Repo.WorktreePath("task-1")
	verbtest.Write(t, filepath.Join(p.Dir, "outside.txt"), "secret")
	for name, to := range map[string]string{"link": "../../outside.txt", "dangling": "/nowhere/at/all", "inner": "task-1.md", "out": "../.."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.Git(dir, "add", "-A")
	p.Git(dir, "commit", "-q", "-m", "links")
	files := `["../../etc/passwd","/etc/passwd","link","dangling","out/outside.txt","inner","./task-1.md","gone.txt","."]`
	ended(t, d, r, strings.Replace(answer("COMPLETED", "Done.", ""), "[]", files, 1))
	task := p.State().Task("task-1")
	if got := fmt.Sprint(task.LastOutcome.EvidenceFiles); got != "[inner task-1.md]" || anomalies(p) != "evidence_outside_worktree" {
		t.Errorf("kept %s, anomalies %s", got, anomalies(p))
	}
	log, err := os.ReadFile(p.Project.Journal())
	if err != nil || !strings.Contains(string(log), "gone.txt does not exist, . is a folder") {
		t.Errorf("the journal does not tell what is odd: %v", err)
	}
}

// said is what a verb of a run has said.
func said(verb, word, input string) []*blackboard.Said {
	return []*blackboard.Said{{Verb: verb, Word: word, Input: input}}
}

// N-15: each line of the table of verbs and exit commands (4.5).
func TestVerbsAndExitCommandTogether(t *testing.T) {
	t.Parallel()
	submit := said("submit", "COMPLETED", `{"task":"task-1","summary":"Says hello."}`)
	block := said("block", "STUCK", `{"task":"task-1","reason":"the spec names two formats","questions":["Which format?"]}`)
	handOff := func(d *verb.Service) error {
		_, err := d.Handoff(context.Background(), "task-1", blackboard.Handoff{Summary: "half", NextAction: "the rest"})
		return err
	}
	for _, c := range []struct {
		name    string
		said    []*blackboard.Said
		byVerbs bool
		before  func(*verb.Service) error
		output  string
		effect  outcome.Effect
		status  blackboard.Status
		told    string // anomaly
	}{
		{name: "nothing said, valid", output: answer("COMPLETED", "x", ""), effect: outcome.Applied, status: blackboard.ReadyForReview},
		{name: "nothing said, none", output: "I am done.", byVerbs: true, effect: outcome.Reask, status: blackboard.Claimed},
		{name: "nothing said, invalid", output: answer("DONE", "x", ""), effect: outcome.Reask, status: blackboard.Claimed},
		{name: "nothing said, a guard refuses", before: func(d *verb.Service) error {
			return os.WriteFile(filepath.Join(d.Board.Repo.WorktreePath("task-1"), "dirt"), nil, 0o644)
		}, output: answer("COMPLETED", "x", ""), effect: outcome.Reask, status: blackboard.Claimed},
		{name: "the same", said: submit, output: answer("COMPLETED", "x", ""), effect: outcome.ByVerbs, status: blackboard.ReadyForReview},
		{name: "another", said: submit, output: answer("STUCK", "x", ""), effect: outcome.Reask, status: blackboard.Claimed, told: "exit_mismatch"},
		{name: "blocks, the same", said: block, output: answer("STUCK", "x", ""), effect: outcome.ByVerbs, status: blackboard.Blocked},
		{name: "blocks, another", said: block, output: answer("COMPLETED", "x", ""), effect: outcome.Reask, status: blackboard.Claimed, told: "exit_mismatch"},
		{name: "two verbs", said: append(slices.Clone(submit), block...), byVerbs: true, output: "Done.", effect: outcome.Reask, status: blackboard.Claimed},
		{name: "a program that answers by verbs", said: submit, byVerbs: true, output: "Handed in.", effect: outcome.ByVerbs, status: blackboard.ReadyForReview},
		{name: "a program that ended with another code", said: submit, output: "Handed in.", effect: outcome.Reask, status: blackboard.Claimed},
		{name: "invalid", said: submit, byVerbs: true, output: answer("DONE", "x", ""), effect: outcome.Reask, status: blackboard.Claimed},
		{name: "a guard refuses at the end", said: submit, before: func(d *verb.Service) error {
			return os.WriteFile(filepath.Join(d.Board.Repo.WorktreePath("task-1"), "dirt"), nil, 0o644)
		}, output: answer("COMPLETED", "x", ""), effect: outcome.Reask, status: blackboard.Claimed},
		{name: "handed off", before: handOff, byVerbs: true, output: "More to do.", effect: outcome.Continue, status: blackboard.Claimed},
		{name: "handed off, yet done", before: handOff, output: answer("COMPLETED", "x", ""), effect: outcome.Continue, status: blackboard.Claimed, told: "exit_mismatch"},
		{name: "handed off, then the same", before: handOff, said: submit, output: answer("COMPLETED", "x", ""), effect: outcome.ByVerbs, status: blackboard.ReadyForReview},
		{name: "handed off, then a program that answers by verbs", before: handOff, said: block, byVerbs: true, output: "Asked.", effect: outcome.ByVerbs, status: blackboard.Blocked},
		{name: "handed off, then another", before: handOff, said: submit, output: answer("RETRY", "x", ""), effect: outcome.Reask, status: blackboard.Claimed, told: "exit_mismatch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, d, r := unit(t)
			if c.before != nil {
				if err := c.before(d); err != nil {
					t.Fatal(err)
				}
			}
			r.Said, r.ByVerbs = c.said, c.byVerbs
			out := ended(t, d, r, c.output)
			if got := p.State().Task("task-1").Status; out.Effect != c.effect || got != c.status {
				t.Errorf("effect %s, status %s; want %s, %s", out.Effect, got, c.effect, c.status)
			}
			if told := anomalies(p); told != c.told {
				t.Errorf("anomalies %q; want %q", told, c.told)
			}
		})
	}
}

// N-15: the board as people left it stays, and a lost claim drops the answer.
func TestWhatPeopleDidMeanwhileStays(t *testing.T) {
	t.Parallel()
	p, d, r := unit(t)
	if _, err := p.Service("").Block(t.Context(), verb.BlockInput{Task: "task-1", Reason: "wait", Questions: []string{"Why?"}}); err != nil {
		t.Fatal(err)
	}
	if out := ended(t, d, r, answer("COMPLETED", "x", "")); out.Effect != outcome.Dropped || p.State().Task("task-1").Status != blackboard.Blocked {
		t.Errorf("got %+v, %s", out, p.State().Task("task-1").Status)
	}
	if anomalies(p) != "" {
		t.Errorf("anomalies %q", anomalies(p))
	}
}

// N-15: a verdict by verb counts when the exit command says the same; what that adds is kept.
func TestAVerdictByVerbAndAnExitCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		output, told, fact string
		effect             outcome.Effect
		status             blackboard.Status
	}{
		{answer("COMPLETED", "x", `,"review":{"status":"ok","learn":"The tests run with make test only"}`), "", "The tests run with make test only", outcome.ByVerbs, blackboard.Approved},
		{answer("COMPLETED", "x", ""), "", "", outcome.ByVerbs, blackboard.Approved},
		{answer("COMPLETED", "x", `,"review":{"status":"replan","reason":"the approach is quite wrong"}`), "exit_mismatch", "", outcome.Reask, blackboard.ReadyForReview},
		{answer("STUCK", "x", ""), "exit_mismatch", "", outcome.Reask, blackboard.ReadyForReview},
	} {
		p, d, r := unit(t)
		ended(t, d, r, answer("COMPLETED", "x", ""))
		reviewer := p.Supervised("code-reviewer-1")
		if _, err := reviewer.Reviews.ClaimReview(t.Context(), "task-1"); err != nil {
			t.Fatal(err)
		}
		before := outcome.MarkOf(reviewer, p.State(), "code-reviewer-1", "task-1")
		p.Must(reviewer.Handoff(t.Context(), "task-1", blackboard.Handoff{Summary: "half", NextAction: "the rest"})) // and then it read the rest
		run := outcome.Run{Kind: "code_reviewer", Task: "task-1", Before: before, Said: said("verdict", "ok", `{"Task":"task-1","Verdict":"approve"}`)}
		out := ended(t, reviewer, run, c.output)
		s := p.State()
		fact := ""
		if len(s.Facts) > 0 {
			fact = s.Facts[0].Content
		}
		if out.Effect != c.effect || s.Task("task-1").Status != c.status || anomalies(p) != c.told || fact != c.fact {
			t.Errorf("%s: effect %s, status %s, anomalies %q, fact %q", c.output, out.Effect, s.Task("task-1").Status, anomalies(p), fact)
		}
	}
}

// A rejection by exit command names places that the submitted commit has, in its reason and in its findings, or is asked for again.
func TestAReviewerThatNamesAPlaceThatIsNotThereIsAskedAgain(t *testing.T) {
	t.Parallel()
	for review, want := range map[string]string{
		`{"status":"needs_fix","reason":"task-1.md:999 says the wrong thing"}`:                                                                                    "task-1.md:999 does not exist",
		`{"status":"needs_fix","reason":"It says the wrong thing.","findings":[{"severity":"error","file":"gone.md","line":1,"message":"says the wrong thing"}]}`: "gone.md:1 does not exist",
		`{"status":"needs_fix","reason":"task-1.md:1 says the wrong thing"}`:                                                                                      "",
	} {
		p, d, r := unit(t)
		ended(t, d, r, answer("COMPLETED", "Done.", ""))
		reviewer := p.Supervised("code-reviewer-1")
		if _, err := reviewer.Reviews.ClaimReview(t.Context(), "task-1"); err != nil {
			t.Fatal(err)
		}
		out := ended(t, reviewer, outcome.Run{Kind: "code_reviewer", Task: "task-1", Before: outcome.MarkOf(reviewer, p.State(), "code-reviewer-1", "task-1")}, answer("COMPLETED", "Read it.", `,"review":`+review))
		status := p.State().Task("task-1").Status
		if want == "" && status != blackboard.Rejected || want != "" && (status == blackboard.Rejected || out.Effect != outcome.Reask || !strings.Contains(out.Problem, want)) {
			t.Errorf("%s: the task is %s; %+v", review, status, out)
		}
	}
}

func TestARefusedRepetitionIsToldAsOne(t *testing.T) {
	t.Parallel()
	for guard, nothing := range map[string]bool{"G38": true, "G34": false} {
		out, err := outcome.Report{}.OrReask(&transition.Refusal{Guard: guard, Exit: transition.ExitRefused, Message: "no"})
		if err != nil || out.Effect != outcome.Reask || out.Nothing != nothing {
			t.Errorf("%s: %+v, %v", guard, out, err)
		}
	}
}
