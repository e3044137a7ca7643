package verb_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// sealedPlace has an unclaimed task-1, task-2 that waits for a review, task-3 approved and
// task-4 merged.
func sealedPlace(t *testing.T) *verbtest.Place {
	t.Helper()
	p := verbtest.New(t)
	p.AddTask("task-1")
	p.Approved("task-4")
	if _, err := p.Service("").Merges.Merge(context.Background(), "task-4"); err != nil {
		t.Fatal(err)
	}
	p.Approved("task-3")
	p.AddTask("task-2")
	coder := p.Service("coder-1")
	if _, err := coder.Claim(context.Background(), "task-2"); err != nil {
		t.Fatal(err)
	}
	p.Commit("task-2")
	if _, err := coder.Submit(context.Background(), verb.SubmitInput{Task: "task-2"}); err != nil {
		t.Fatal(err)
	}
	return p
}

// entry replaces what pattern finds in the entry of one task in the file.
func entry(t *testing.T, p *verbtest.Place, id, pattern, with string) {
	t.Helper()
	data, err := os.ReadFile(p.Project.State())
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	from := strings.Index(text, "  - id: "+id+"\n")
	if from < 0 {
		t.Fatalf("no entry of %s", id)
	}
	to := len(text)
	if next := strings.Index(text[from+1:], "\n  - id: "); next >= 0 {
		to = from + 1 + next + 1
	}
	old := text[from:to]
	changed := regexp.MustCompile(pattern).ReplaceAllString(old, with)
	if changed == old {
		t.Fatalf("nothing in the entry of %s is %s:\n%s", id, pattern, old)
	}
	verbtest.Write(t, p.Project.State(), text[:from]+changed+text[to:])
}

// rewriteStamp makes the record beside the git folder say that Liza wrote the present file.
func rewriteStamp(t *testing.T, p *verbtest.Place) {
	t.Helper()
	path := filepath.Join(p.Project.GitDir, "liza", "committed")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(data, &record); err != nil {
		t.Fatal(err)
	}
	board, err := os.ReadFile(p.Project.State())
	if err != nil {
		t.Fatal(err)
	}
	stamp, err := safefile.StampOf(p.Project.State())
	if err != nil {
		t.Fatal(err)
	}
	record["sha256"], record["stamp"] = fmt.Sprintf("%x", sha256.Sum256(board)), stamp
	data, err = json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	verbtest.Write(t, path, string(data))
}

var forgeries = []struct {
	name, task, pattern, with, verb string
}{
	{"approved by a reviewer who never looked", "task-2", `status: READY_FOR_REVIEW`, "status: APPROVED\n    approved_by: code-reviewer-77", "liza verdict task-2"},
	{"merged without a merge", "task-3", `status: APPROVED`, "status: MERGED\n    merge_commit: 1111111111111111111111111111111111111111", "liza merge task-3"},
	{"merged although nobody began it", "task-1", `status: UNCLAIMED`, "status: MERGED\n    merge_commit: 1111111111111111111111111111111111111111", "liza merge task-1"},
	{"another reviewer", "task-3", `approved_by: code-reviewer-9`, "approved_by: code-reviewer-1", "liza verdict task-3"},
	{"another commit", "task-3", `(review_commit): \w+`, "${1}: 1111111111111111111111111111111111111111", "liza verdict task-3"},
	{"another merge commit", "task-4", `(merge_commit): \w+`, "${1}: 1111111111111111111111111111111111111111", "liza merge task-4"},
	{"another seal", "task-3", `(mac): \w+`, "${1}: 00ff", "liza verdict task-3"},
	{"a commit under review", "task-2", `(review_commit): \w+`, "${1}: 1111111111111111111111111111111111111111", "liza submit task-2"},
}

func TestAForgedApprovalIsRefusedAndNamesTheVerb(t *testing.T) {
	t.Parallel()
	for _, f := range forgeries {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			p := sealedPlace(t)
			before := p.State()
			entry(t, p, f.task, f.pattern, f.with)
			p.Open() // as another process sees it
			wantForged(t, p, f.verb)
			if is, was := p.State().Task(f.task), before.Task(f.task); is.Status != was.Status || is.ApprovedBy != was.ApprovedBy || is.ReviewCommit != was.ReviewCommit {
				t.Errorf("the agents go on with %s approved by %q at %s, wanted %s, %q, %s", is.Status, is.ApprovedBy, is.ReviewCommit, was.Status, was.ApprovedBy, was.ReviewCommit)
			}
			entry(t, p, "task-1", `description: `, "description: And again. ") // a second edit hides nothing
			wantForged(t, p, f.verb)
		})
	}
}

// wantForged wants every write and every merge to be refused because of a forgery.
func wantForged(t *testing.T, p *verbtest.Place, name string) {
	t.Helper()
	_, err := p.Service("").Tell(context.Background(), verb.TellInput{To: verb.ThePlanner, Text: "a note"})
	var invalid *store.InvalidError
	if !errors.As(err, &invalid) || invalid.Violations[0].Rule != "V66" || !strings.Contains(err.Error(), name) {
		t.Errorf("a write: %v; wanted V66 with %q", err, name)
	}
	head := p.Git(p.Dir, "rev-parse", "integration")
	if results, err := p.Service("").Merges.Merge(context.Background(), ""); err == nil && len(results) > 0 && results[0].Status == blackboard.Merged {
		t.Errorf("merged: %+v", results)
	}
	if now := p.Git(p.Dir, "rev-parse", "integration"); now != head {
		t.Errorf("the branch moved from %s to %s", head, now)
	}
	i, err := p.Store.Inspect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range i.Decode {
		if v.Rule == "V66" && v.Severity == blackboard.SeverityError && strings.Contains(v.Message, name) {
			return
		}
	}
	t.Errorf("validate tells %v, wanted V66 with %q", i.Decode, name)
}

func TestAForgedApprovalIsSeenWithTheStampRewritten(t *testing.T) {
	t.Parallel()
	for _, f := range forgeries[:7] { // without a verdict no seal says which commit was submitted
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			p := sealedPlace(t)
			entry(t, p, f.task, f.pattern, f.with)
			rewriteStamp(t, p)
			p.Open()
			wantForged(t, p, f.verb)
		})
	}
}

func TestAForgedApprovalIsSeenWithoutAStampAndWithAHigherRevision(t *testing.T) {
	t.Parallel()
	p := sealedPlace(t)
	entry(t, p, "task-2", forgeries[0].pattern, forgeries[0].with)
	data, err := os.ReadFile(p.Project.State())
	if err != nil {
		t.Fatal(err)
	}
	verbtest.Write(t, p.Project.State(), regexp.MustCompile(`(?m)^revision: \d+`).ReplaceAllString(string(data), "revision: 9000"))
	p.Open()
	wantForged(t, p, "liza verdict task-2")
	if err := os.Remove(filepath.Join(p.Project.GitDir, "liza", "committed")); err != nil {
		t.Fatal(err)
	}
	p.Open()
	if _, err := p.Service("").Merges.Merge(context.Background(), "task-2"); err == nil {
		t.Error("a forged approval was merged after the stamp was deleted")
	}
}

// The seal of an earlier approval does not make the same task approved again.
func TestAnApprovalThatWasTakenBackCannotBePutBackByHand(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Review.Mode = "strict"
	p.Approved("task-1")
	approved, err := os.ReadFile(p.Project.State())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Service("").Reviews.RejectMerge(context.Background(), verb.MergeDecision{Task: "task-1", Reason: "task-1.md:1 is wrong; say it in one word"}); err != nil {
		t.Fatal(err)
	}
	now := fmt.Sprintf("revision: %d", p.State().Revision)
	verbtest.Write(t, p.Project.State(), regexp.MustCompile(`(?m)^revision: \d+`).ReplaceAllString(string(approved), now))
	p.Open()
	wantForged(t, p, "task-1")
}

func TestACommitWithAnotherTreeIsNotMerged(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	if err := p.Store.CheckSeal(p.State().Task("task-1"), "0000"); err == nil || !strings.Contains(err.Error(), "differs from the approved work") {
		t.Errorf("another tree: %v", err)
	}
}

func TestATaskThatComesOntoTheBoardMergedIsHistory(t *testing.T) {
	t.Parallel()
	p := sealedPlace(t)
	data, err := os.ReadFile(p.Project.State())
	if err != nil {
		t.Fatal(err)
	}
	imported := "tasks:\n  - id: imported\n    description: From before\n    status: MERGED\n    spec_ref: specs/vision.md\n    done_when: it prints 42\n    scope: \"IN: one file\"\n    created: 2026-01-19T14:00:00Z\n"
	verbtest.Write(t, p.Project.State(), strings.Replace(string(data), "tasks:\n", imported, 1))
	p.Open()
	told := func() string {
		t.Helper()
		i, err := p.Store.Inspect(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, v := range i.Decode {
			if v.Rule == "V66" {
				text += v.String()
			}
		}
		return text
	}
	want := "V66 warning: MERGED without a sealed approval, kept as history (imported, or from before approvals were sealed): imported"
	if text := told(); !strings.HasSuffix(text, want) {
		t.Errorf("validate tells %q", text)
	}
	if _, err := p.Service("").Tell(context.Background(), verb.TellInput{To: verb.ThePlanner, Text: "a note"}); err != nil {
		t.Fatal(err)
	}
	if s := p.State().Task("imported").Seal; s == nil || s.Verdict != blackboard.SealHistory {
		t.Errorf("its seal is %+v", s)
	}
	if text := told(); !strings.HasSuffix(text, want) {
		t.Errorf("afterwards validate tells %q", text)
	}
}

// fromBefore takes all traces of seals out of a project, and its key.
func fromBefore(t *testing.T, p *verbtest.Place) {
	t.Helper()
	path := filepath.Join(p.Project.GitDir, "liza", "committed")
	data, err := os.ReadFile(p.Project.State())
	if err != nil {
		t.Fatal(err)
	}
	verbtest.Write(t, p.Project.State(), regexp.MustCompile(`(?m)^    seal:(?: \{.*\n|\n(?:      .*\n)*)`).ReplaceAllString(string(data), ""))
	rewriteStamp(t, p)
	record, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	verbtest.Write(t, path, regexp.MustCompile(`"(key|mac)":"\w+",?`).ReplaceAllString(string(record), ""))
	if err := os.RemoveAll(filepath.Join(p.Project.GitDir, "test-keys")); err != nil {
		t.Fatal(err)
	}
	p.Open()
}

func TestAProjectFromBeforeIsSealedOnceAndItsJournalSaysSo(t *testing.T) {
	t.Parallel()
	p := sealedPlace(t)
	fromBefore(t, p)
	if _, err := p.Service("").Merges.Merge(context.Background(), "task-3"); err == nil {
		t.Error("an approval without a seal was merged before the project was sealed")
	}
	if _, err := p.Service("").Tell(context.Background(), verb.TellInput{To: verb.ThePlanner, Text: "a note"}); err != nil {
		t.Fatal(err)
	}
	journal, err := os.ReadFile(filepath.Join(p.Project.Liza, "log.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(journal), "action: sealed"); n != 1 || !strings.Contains(string(journal), "what was on the board was sealed as it was: task-4, task-3") {
		t.Errorf("%d entries say that the project is sealed:\n%s", n, journal)
	}
	if _, err := p.Service("").Merges.Merge(context.Background(), "task-3"); err != nil {
		t.Errorf("an approval from before is not merged: %v", err)
	}
	fromBoard := p.State().Task("task-4").Seal
	if fromBoard == nil || fromBoard.Verdict != blackboard.SealHistory {
		t.Errorf("the seal of a task merged before is %+v", fromBoard)
	}
}

func TestAProjectFromBeforeDoesNotSealWhatWasJustForged(t *testing.T) {
	t.Parallel()
	p := sealedPlace(t)
	fromBefore(t, p)
	entry(t, p, "task-2", forgeries[0].pattern, forgeries[0].with)
	p.Open()
	if _, err := p.Service("").Tell(context.Background(), verb.TellInput{To: verb.ThePlanner, Text: "a note"}); err == nil || !strings.Contains(err.Error(), "liza verdict task-2") {
		t.Errorf("the first write after a forgery: %v", err)
	}
	if _, err := p.Service("").Merges.Merge(context.Background(), "task-2"); err == nil {
		t.Error("merged")
	}
}

func TestAProjectWhoseKeyIsMissingSaysSoAndAPersonMaySealIt(t *testing.T) {
	t.Parallel()
	p := sealedPlace(t)
	if err := os.RemoveAll(filepath.Join(p.Project.GitDir, "test-keys")); err != nil {
		t.Fatal(err)
	}
	p.Open()
	if _, err := p.Service("").Tell(context.Background(), verb.TellInput{To: verb.ThePlanner, Text: "a note"}); err != nil {
		t.Errorf("a write that needs no key: %v", err)
	}
	_, err := p.Service("").Merges.Merge(context.Background(), "task-3")
	var refused *transition.Refusal
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "its key") || !strings.HasPrefix(refused.Next, "liza validate --accept") {
		t.Errorf("the merge: %v", err)
	}
	if _, err := p.Service("").Seal(context.Background(), "the old computer is gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Service("").Merges.Merge(context.Background(), "task-3"); err != nil {
		t.Errorf("after it was sealed: %v", err)
	}
}

func TestRestoreTakesAForgeryBack(t *testing.T) {
	t.Parallel()
	p := sealedPlace(t)
	revision := p.State().Revision
	entry(t, p, "task-2", forgeries[0].pattern, forgeries[0].with)
	p.Open()
	if _, err := maintain.Restore(context.Background(), p.Service(""), revision); err != nil {
		t.Fatal(err)
	}
	if is := p.State().Task("task-2").Status; is != blackboard.ReadyForReview {
		t.Errorf("task-2 is %s", is)
	}
	if _, err := p.Service("").Tell(context.Background(), verb.TellInput{To: verb.ThePlanner, Text: "a note"}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// An agent that moved the integration branch could write the new tip onto the board too.
func TestATipOfTheIntegrationBranchIsNotSetByHand(t *testing.T) {
	t.Parallel()
	rows := map[string]func(board string) string{
		"another tip": func(board string) string {
			return regexp.MustCompile(`(?m)^(  tip): .*`).ReplaceAllString(board, "${1}: 1111111111111111111111111111111111111111")
		},
		"an intent": func(board string) string {
			tip := regexp.MustCompile(`(?m)^  tip: (.*)`).FindStringSubmatch(board)[1]
			return strings.Replace(board, "\n  tip: ", "\n  intent: {kind: sync, commit: 1111111111111111111111111111111111111111, old: "+tip+", at: 2026-01-19T14:00:00Z, by: human}\n  tip: ", 1)
		},
		"no section": func(board string) string {
			return regexp.MustCompile(`(?m)^integration:\n(  .*\n)+`).ReplaceAllString(board, "")
		},
	}
	for name, change := range rows {
		for _, stamp := range []string{"known", "rewritten", "gone"} {
			t.Run(name+", the stamp is "+stamp, func(t *testing.T) {
				t.Parallel()
				p := sealedPlace(t)
				data, err := os.ReadFile(p.Project.State())
				if err != nil {
					t.Fatal(err)
				}
				changed := change(string(data))
				if changed == string(data) {
					t.Fatal("nothing was changed")
				}
				verbtest.Write(t, p.Project.State(), changed)
				switch stamp {
				case "rewritten":
					rewriteStamp(t, p)
				case "gone":
					if err := os.Remove(filepath.Join(p.Project.GitDir, "liza", "committed")); err != nil {
						t.Fatal(err)
					}
				}
				p.Open()
				wantForged(t, p, "liza sync --accept")
			})
		}
	}
}
