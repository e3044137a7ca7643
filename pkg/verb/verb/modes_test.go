package verb_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// submitted is a project whose task-1, code with a test, is ready for review in that mode.
// Of its checks, the one of that severity fails.
func submitted(t *testing.T, mode, failing string) *verbtest.Place {
	t.Helper()
	p := verbtest.New(t)
	p.Config.Review.Mode = mode
	for name, severity := range map[string]string{"build_passes": "error", "lint_passes": "warning", "tests_pass": "error"} {
		command := "exit 0"
		if severity == failing && name != "tests_pass" {
			command = "echo main.py:1: wrong; exit 1"
		}
		p.Config.Review.Checks[name] = config.Check{Enabled: true, Severity: severity, Command: command}
	}
	task := blackboard.Task{ID: "task-1", Description: "Print a number", SpecRef: "specs/vision.md", DoneWhen: "main.py prints 1", Scope: "IN: main.py"}
	if _, err := p.Service("").AddTask(t.Context(), verb.NewTask{Task: task}); err != nil {
		t.Fatal(err)
	}
	coder := p.Service("coder-1")
	if _, err := coder.Claim(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	dir := p.Repo.WorktreePath("task-1")
	verbtest.Write(t, filepath.Join(dir, "main.py"), "print(1)\n")
	verbtest.Write(t, filepath.Join(dir, "test_main.py"), "def test_main():\n    assert main() == 1\n")
	p.Git(dir, "add", "-A")
	p.Git(dir, "commit", "-q", "-m", "work")
	if _, err := coder.Submit(t.Context(), verb.SubmitInput{Task: "task-1"}); err != nil {
		t.Fatal(err)
	}
	return p
}

// approve lets code-reviewer-1 approve task-1 after the checks, by a verb or by its exit command.
func approve(t *testing.T, p *verbtest.Place, byExit bool) (verb.Judged, outcome.Report) {
	t.Helper()
	d := p.Service("code-reviewer-1")
	if _, err := d.Reviews.ClaimReview(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Reviews.Check(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	if !byExit {
		done, err := d.Reviews.Verdict(t.Context(), verb.VerdictInput{Task: "task-1", Verdict: "approve"})
		if err != nil {
			t.Fatal(err)
		}
		return done, outcome.Report{}
	}
	return verb.Judged{}, applied(t, p, `{"status":"ok"}`)
}

// applied is what comes of a reviewer's exit command with that review.
func applied(t *testing.T, p *verbtest.Place, review string) outcome.Report {
	t.Helper()
	d := p.Service("code-reviewer-1")
	out, err := outcome.Apply(t.Context(), d, outcome.Run{Kind: "code_reviewer", Task: "task-1", Before: outcome.MarkOf(d, p.State(), "code-reviewer-1", "task-1"),
		Answer: exitcmd.Read(`{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"read","review":`+review+`}`, "code_reviewer")})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// refusedBy wants a refusal by that guard.
func refusedBy(t *testing.T, guard string, err error) {
	t.Helper()
	var r *transition.Refusal
	if !errors.As(err, &r) || r.Guard != guard || r.Exit != transition.ExitRefused {
		t.Errorf("got %v, want a refusal by %s", err, guard)
	}
}

// C-14: the fifteen outcomes of modes and findings of the checks, each by verb and by exit
// command, up to the merge and who releases it.
func TestTheFifteenOutcomesOfModesAndFindings(t *testing.T) {
	t.Parallel()
	const merges, waits, override, rejects, person = "merges", "waits", "waits for --override", "rejects", "a person decides"
	for mode, outcomes := range map[string]map[string]string{
		"":         {"": merges, "warning": merges, "error": rejects},
		"strict":   {"": waits, "warning": override, "error": rejects},
		"normal":   {"": waits, "warning": waits, "error": rejects},
		"yolo":     {"": merges, "warning": merges, "error": rejects},
		"disabled": {"": person, "warning": person, "error": person},
	} {
		for failing, want := range outcomes {
			for _, byExit := range []bool{false, true} {
				t.Run("mode "+mode+", finding "+failing+map[bool]string{true: ", by exit command", false: ", by verb"}[byExit], func(t *testing.T) {
					t.Parallel()
					p := submitted(t, mode, failing)
					d := p.Service("")
					if want == person {
						_, err := p.Service("code-reviewer-1").Reviews.ClaimReview(t.Context(), "task-1")
						if err == nil || p.State().Task("task-1").Review != nil {
							t.Errorf("a reviewer may claim, %v", err)
						}
						if _, err := d.Reviews.ApproveMerge(t.Context(), verb.MergeDecision{Task: "task-1"}); err != nil || p.State().Task("task-1").ApprovedBy != "human" {
							t.Errorf("approve-merge gives %v", err)
						}
						mergesNow(t, p)
						return
					}
					judged, out := approve(t, p, byExit)
					task := p.State().Task("task-1")
					if want == rejects {
						if task.Status != blackboard.Rejected || task.Review.Status != "needs_fix" || !strings.Contains(task.RejectionReason.Summary, "build_passes: main.py") {
							t.Errorf("task-1 is %s, %+v", task.Status, task.RejectionReason)
						}
						if !byExit && (judged.OverruledBy != "gate" || judged.Status != blackboard.Rejected) || byExit && out.Note != "approved, but overruled by the gate" {
							t.Errorf("told %+v, %+v", judged, out)
						}
						return
					}
					if task.Status != blackboard.Approved || string(task.Review.Mode) != mode || len(task.Review.Checks) < 10 {
						t.Fatalf("task-1 is %s, %+v", task.Status, task.Review)
					}
					if stored := len(task.Review.Findings) > 0; stored != (failing != "" && mode != "yolo") {
						t.Errorf("findings %+v", task.Review.Findings)
					}
					if want != merges {
						_, err := d.Merges.Merge(t.Context(), "task-1")
						refusedBy(t, "G60", err)
					}
					switch want {
					case waits:
						if _, err := d.Reviews.ApproveMerge(t.Context(), verb.MergeDecision{Task: "task-1"}); err != nil {
							t.Error(err)
						}
					case override:
						_, err := d.Reviews.ApproveMerge(t.Context(), verb.MergeDecision{Task: "task-1", Reason: "fine"})
						refusedBy(t, "G65", err)
						_, err = d.Reviews.ApproveMerge(t.Context(), verb.MergeDecision{Task: "task-1", Override: true})
						refusedBy(t, "G65", err)
						if _, err := d.Reviews.ApproveMerge(t.Context(), verb.MergeDecision{Task: "task-1", Override: true, Reason: "a fixture"}); err != nil {
							t.Error(err)
						}
					}
					mergesNow(t, p)
				})
			}
		}
	}
}

func mergesNow(t *testing.T, p *verbtest.Place) {
	t.Helper()
	if _, err := p.Service("").Merges.Merge(t.Context(), "task-1"); err != nil || p.State().Task("task-1").Status != blackboard.Merged {
		t.Errorf("the merge gives %v, task-1 is %s", err, p.State().Task("task-1").Status)
	}
}

// In mode yolo the warnings are in the journal, and nowhere else.
func TestYoloJournalsItsWarnings(t *testing.T) {
	t.Parallel()
	p := submitted(t, "yolo", "warning")
	approve(t, p, false)
	approved, err := p.Service("").Board.Histories().SprintJournal("approved")
	if err != nil || len(approved) != 1 || !strings.Contains(approved[0].Detail, "; warning: check lint_passes: main.py: ") {
		t.Errorf("the journal has %+v, %v", approved, err)
	}
}

// N-16: an approval with an error finding of its own is a rejection by the gate; one of
// work with an earlier point that is still there is none; a reason without a place is
// accepted from a verb and asked for again from an exit command.
func TestAnApprovalThatContradictsItself(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*verbtest.Place, *verb.Service) {
		t.Helper()
		p := submitted(t, "", "")
		d := p.Service("code-reviewer-1")
		if _, err := d.Reviews.ClaimReview(t.Context(), "task-1"); err != nil {
			t.Fatal(err)
		}
		return p, d
	}
	t.Run("an error of the reviewer, by exit command", func(t *testing.T) {
		t.Parallel()
		p, _ := begin(t)
		out := applied(t, p, `{"status":"ok","findings":[{"severity":"error","file":"main.py","line":1,"message":"prints the password"}]}`)
		if out.Status != blackboard.Rejected || p.State().Task("task-1").Review.Status != "needs_fix" {
			t.Errorf("%+v", out)
		}
	})
	t.Run("an error of the reviewer, by verb", func(t *testing.T) {
		t.Parallel()
		_, d := begin(t)
		done, err := d.Reviews.Verdict(t.Context(), verb.VerdictInput{Task: "task-1", Verdict: "approve", Findings: []*blackboard.Finding{{Severity: "error", Message: "wrong"}}})
		if err != nil || done.Status != blackboard.Rejected || done.OverruledBy != "gate" {
			t.Errorf("%+v, %v", done, err)
		}
	})
	t.Run("the configured severity of a check counts", func(t *testing.T) {
		t.Parallel()
		p, d := begin(t)
		p.Config.Review.Checks["code_quality"] = config.Check{Enabled: true, Severity: "info"}
		done, err := d.Reviews.Verdict(t.Context(), verb.VerdictInput{Task: "task-1", Verdict: "approve", Findings: []*blackboard.Finding{{Severity: "error", Check: "code_quality", Message: "odd"}}})
		if err != nil || done.Status != blackboard.Approved || p.State().Task("task-1").Review.Findings[0].Severity != "info" {
			t.Errorf("%+v, %v", done, err)
		}
		_, d = begin(t)
		done, err = d.Reviews.Verdict(t.Context(), verb.VerdictInput{Task: "task-1", Verdict: "approve", Findings: []*blackboard.Finding{{Severity: "info", Check: "security", Message: "no escaping"}}})
		if err != nil || done.Status != blackboard.Rejected {
			t.Errorf("%+v, %v", done, err)
		}
	})
	t.Run("still present, by exit command", func(t *testing.T) {
		t.Parallel()
		p, _ := begin(t)
		out := applied(t, p, `{"status":"ok","prior":[{"n":1,"state":"STILL_PRESENT"}]}`)
		if out.Effect != outcome.Reask || !strings.Contains(out.Problem, "STILL_PRESENT") {
			t.Errorf("%+v", out)
		}
	})
	t.Run("too slow, by exit command", func(t *testing.T) {
		t.Parallel()
		p, _ := begin(t)
		if out := applied(t, p, `{"status":"needs_fix","reason":"it is much too slow"}`); out.Effect != outcome.Reask || !strings.Contains(out.Problem, "names no place") {
			t.Errorf("%+v", out)
		}
	})
	t.Run("its reason is on the line that tells of it", func(t *testing.T) {
		t.Parallel()
		p, _ := begin(t)
		if out := applied(t, p, `{"status":"needs_fix","reason":"main.py:1 is much too slow,\nand too long"}`); out.Note != "rejected: main.py:1 is much too slow, and too long" {
			t.Errorf("the line says %q (%s)", out.Note, out.Problem)
		}
	})
	t.Run("too slow, by verb", func(t *testing.T) {
		t.Parallel()
		_, d := begin(t)
		_, err := d.Reviews.Verdict(t.Context(), verb.VerdictInput{Task: "task-1", Verdict: "reject", Reason: "it is much too slow"})
		var refused *transition.Refusal
		if !errors.As(err, &refused) || refused.Exit != transition.ExitRefused || !strings.Contains(refused.Message, "names no place") {
			t.Errorf("got %v, want exit 4 with what is missing", err)
		}
		done, err := d.Reviews.Verdict(t.Context(), verb.VerdictInput{Task: "task-1", Verdict: "reject", Findings: []*blackboard.Finding{{File: "main.py", Message: "it is much too slow"}}})
		if err != nil || done.Status != blackboard.Rejected {
			t.Errorf("a finding alone gives %+v, %v", done, err)
		}
	})
}
