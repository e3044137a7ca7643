package supervisor_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/board"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

const secretValue = "ghp_SECRETVALUE"

const planWithSecret = `{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": "Done.", "plan": {"goal": "Deploy", "secrets": {"github_token": "` + secretValue + `"}, "tasks": []}}`

// spread puts the value where a request and its planner's run leave it.
func spread(t *testing.T, p *verbtest.Place) {
	t.Helper()
	ctx := context.Background()
	if _, err := p.Service("").Tell(ctx, verb.TellInput{To: verb.ThePlanner, Text: "Use " + secretValue}); err != nil {
		t.Fatal(err)
	}
	p.AddTask("task-1")
	verbtest.Write(t, p.Project.Prompt(board.PlannerRuns, 1), "A note: Use "+secretValue+"\n")
	verbtest.Write(t, p.Project.OutputAgent("planner-1"), "I use "+secretValue+"\n")
	h := history.Interactions{Dir: p.Project.HistoryDir(board.PlannerRuns)}
	in := history.Interaction{Timestamp: "2026-01-19T14:00:00Z", Request: history.Request{Prompt: "Use " + secretValue}}
	if _, err := h.Append(ctx, in); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Begin(ctx, in, history.Owner{PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	_, err := p.Service("").AddTask(ctx, verb.NewTask{Task: blackboard.Task{ID: "old", Description: secretValue + " is the key", SpecRef: "specs/vision.md", DoneWhen: "old.md contains a word", Scope: "IN: old.md", Type: "docs"}})
	if err == nil {
		_, err = p.Service("").Abandon(ctx, verb.WayOut{Task: "old", Reason: "nobody wants it"})
	}
	if err == nil {
		_, err = sprint.Archive(ctx, p.Service(""), -time.Hour)
	}
	if err != nil || p.State().Task("old") != nil {
		t.Fatalf("the task is not in the archive: %v", err)
	}
	former := history.Interactions{Dir: filepath.Join(p.Project.ArchiveDir(), "task-1", "1")}
	if _, err := former.Append(ctx, in); err != nil {
		t.Fatal(err)
	}
	verbtest.Write(t, filepath.Join(former.Dir, "evidence", "notes.txt"), "The key is "+secretValue+"\n")
	verbtest.Write(t, filepath.Join(p.Project.ArchiveDir(), "facts.jsonl"), `{"id":"fact-1","content":"The key is `+secretValue+`"}`+"\n")
	if len(holders(t, p)) < 10 {
		t.Fatalf("the value is only in %q", holders(t, p))
	}
}

// holders are the files that hold the value, but for the one that is meant for it.
func holders(t *testing.T, p *verbtest.Place) (paths []string) {
	t.Helper()
	for _, root := range []string{p.Project.Liza, filepath.Join(p.Project.GitDir, "liza")} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || path == filepath.Join(p.Project.Secrets(), "github_token") {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), secretValue) {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// N-34: after the plan neither the planner's prompt, the note, the history, the output log nor
// the archive holds a value; a kill between parse and apply leaves none either, once somebody has looked.
func TestCrashWhileSecretsAreStored(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"secrets.stored", "secrets.scrubbed"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			spread(t, p)
			crash(p, "secrets", point)
			p.Open()
			if point == "secrets.scrubbed" && len(holders(t, p)) > 0 {
				t.Errorf("the value is still in %q", holders(t, p))
			}
			d := p.Service("")
			if did, err := d.Agents.Recover(context.Background()); err != nil {
				t.Fatal(did, err)
			}
			if left := holders(t, p); len(left) > 0 {
				t.Errorf("after a kill at %s the value is still in %q", point, left)
			}
			if len(p.State().Plans) != 0 {
				t.Error("a plan was applied")
			}
			plan, err := exitcmd.ParsePlan([]byte(`{"goal": "Deploy", "secrets": {"github_token": "[REDACTED:github_token]"}, "tasks": [{"id": "a", "kind": "exec", "detail": "Say it", "command": "true"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.ApplyPlan(context.Background(), plan); err != nil {
				t.Fatalf("the plan cannot be applied afterwards: %v", err)
			}
			s := p.State()
			values, missing, err := d.Board.Vault().SecretsOf(s.Secrets)
			if err != nil || len(missing) > 0 || values["github_token"] != secretValue {
				t.Errorf("the secrets are %v, missing %v, %v", values, missing, err)
			}
			if n := s.HumanNotes[0]; n.Message != "Use [REDACTED:github_token]" || len(s.Plans) != 1 {
				t.Errorf("the note is %q, there are %d plans", n.Message, len(s.Plans))
			}
			p.Sound()
			if old, sprint, err := p.TaskArchive.Task("old"); err != nil || old.Description != "[REDACTED:github_token] is the key" || sprint != "sprint-1" {
				t.Errorf("the archived task is %+v of %s, %v", old, sprint, err)
			}
			if list, err := (history.Interactions{Dir: filepath.Join(p.Project.ArchiveDir(), "task-1", "1")}).Read(); err != nil || len(list) != 1 || list[0].Request.Prompt != "Use [REDACTED:github_token]" {
				t.Errorf("the former history is %+v, %v", list, err)
			}
			if left := holders(t, p); len(left) > 0 {
				t.Errorf("the value is in %q", left)
			}
			if st := s.Task("task-1").Status; st != blackboard.Unclaimed {
				t.Errorf("task-1 is %s", st)
			}
		})
	}
}
