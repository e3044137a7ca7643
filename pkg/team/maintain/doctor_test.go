package maintain_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/store"
	"liza/pkg/run/agent"
	"liza/pkg/team/findings"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/verb/verbtest"
)

// change writes the board as a verb would.
func change(p *verbtest.Place, do func(s *blackboard.State)) {
	p.TB.Helper()
	err := p.Store.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error { do(s); return nil })
	if err != nil {
		p.TB.Fatal(err)
	}
}

// examined are the findings of the doctor, as "severity check subject: text; next: command".
func examined(p *verbtest.Place, x maintain.Doctor) []string {
	p.TB.Helper()
	x.Project, x.Service, x.State, x.Say = p.Project, p.Service(""), p.State(), func(string) {}
	if x.Now == nil {
		x.Now = time.Now
	}
	if p.Now != nil {
		x.Now = p.Now
	}
	x.Explain = func(err error) (string, string) { return err.Error(), "next" }
	if err := x.Examine(context.Background(), false); err != nil {
		p.TB.Fatal(err)
	}
	return lines(x.Found)
}

func lines(found []findings.Finding) (list []string) {
	for _, f := range found {
		text := fmt.Sprintf("%s %s %s: %s", f.Severity, f.Check, f.Subject, f.Text)
		if f.Next != "" {
			text += "; next: " + f.Next
		}
		list = append(list, text)
	}
	return list
}

func has(list []string, part string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
}

// A situation is something that the doctor tells of: says is a part of a line, and is not said without it.
type situation struct {
	name string
	says string
	x    maintain.Doctor
	make func(p *verbtest.Place)
}

var situations = []situation{
	{name: "a role file with an error", says: "error roles own: .liza/roles/own.yaml:3: role own: base: the role 'nowhere' does not exist", make: func(p *verbtest.Place) {
		verbtest.Write(p.TB, filepath.Join(p.Project.Roles(), "own.yaml"), "name: own\ndescription: d\nbase: nowhere\n")
	}},
	{name: "commits are signed", says: "info signing git: your commits are signed, Liza's merges are not; next: liza config git.sign true", make: func(p *verbtest.Place) { p.Git(p.Dir, "config", "commit.gpgsign", "true") }},
	{name: "a key that cannot be used", says: "warning signing git: nothing can be merged: git.sign is true, and your key cannot be used here: ", make: func(p *verbtest.Place) {
		p.Config.Git.Sign = true
		p.Git(p.Dir, "config", "gpg.program", "false")
	}},
	{name: "hooks", says: "info hooks git: your hooks do not run for commits of agents and for merges: pre-commit", make: func(p *verbtest.Place) {
		hook := filepath.Join(p.Dir, ".git", "hooks", "pre-commit")
		verbtest.Write(p.TB, hook, "#!/bin/sh\n")
		if err := os.Chmod(hook, 0o755); err != nil {
			p.TB.Fatal(err)
		}
	}},
	{name: "a spec that is not committed", says: "warning spec specs/vision.md: ", make: func(p *verbtest.Place) {
		verbtest.Write(p.TB, filepath.Join(p.Dir, "specs", "vision.md"), "# Another vision\n")
	}},
	{name: "a rule is broken", says: "error state state.yaml: the board breaks 1 rule; next: liza validate", make: func(p *verbtest.Place) {
		p.AddTask("task-1")
		text := strings.Replace(verbtest.Read(p.TB, p.Project.State()), "status: UNCLAIMED", "status: CLAIMED", 1)
		verbtest.Write(p.TB, p.Project.State(), text)
	}},
	{name: "an agent whose lease is over", says: "warning registration coder-7: expired: ", make: func(p *verbtest.Place) {
		change(p, func(s *blackboard.State) {
			s.Agents = map[string]*blackboard.Agent{"coder-7": {Role: blackboard.RoleCoder, Status: blackboard.AgentIdle, Generation: "g", LeaseExpires: "2026-01-19T14:00:00Z"}}
		})
	}},
	{name: "a claim without a holder", says: "warning claim task-1: held by coder-9: ", make: func(p *verbtest.Place) {
		p.AddTask("task-1")
		if _, err := p.Service("coder-9").Claim(p.TB.Context(), "task-1"); err != nil {
			p.TB.Fatal(err)
		}
		p.Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
	}},
	{name: "behind its base", says: "warning integration integration: integration lacks 1 commit of its base branch main; next: liza sync", make: func(p *verbtest.Place) {
		verbtest.Write(p.TB, filepath.Join(p.Dir, "new.txt"), "new\n")
		p.Git(p.Dir, "add", "-A")
		p.Git(p.Dir, "commit", "-q", "-m", "new")
	}},
	{name: "moved by somebody", says: "error integration integration: integration is at ", make: func(p *verbtest.Place) { p.Push("new.txt", "new") }},
	{name: "a branch that is gone", says: "error integration integration: integration does not exist any more; Liza left it at ", make: func(p *verbtest.Place) { p.Git(p.Dir, "branch", "-D", "integration") }},
	{name: "checked out", says: "warning git integration: integration is checked out in ", make: func(p *verbtest.Place) {
		p.Git(p.Dir, "worktree", "add", "-q", filepath.Join(p.TB.TempDir(), "x"), "integration")
	}},
	{name: "checked out while work waits", says: "error git integration: integration is checked out in ", make: func(p *verbtest.Place) {
		p.Approved("task-1")
		p.Git(p.Dir, "worktree", "add", "-q", filepath.Join(p.TB.TempDir(), "x"), "integration")
	}},
	{name: "a merge of the person", says: "info git checkout: a merge was begun in the main checkout and not ended", make: func(p *verbtest.Place) {
		verbtest.Write(p.TB, filepath.Join(p.Dir, ".git", "MERGE_HEAD"), p.Git(p.Dir, "rev-parse", "HEAD")+"\n")
	}},
	{name: "a lock of git", says: "warning git .git/index.lock: a git that was killed left the lock of your checkout's index", make: func(p *verbtest.Place) {
		path := filepath.Join(p.Dir, ".git", "index.lock")
		verbtest.Write(p.TB, path, "")
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			p.TB.Fatal(err)
		}
	}},
	{name: "a merge that was recorded by nobody", says: "warning merge task-1: its merge was interrupted after the branch had moved; it only has to be recorded; next: liza merge task-1", make: func(p *verbtest.Place) {
		p.Approved("task-1")
		change(p, func(s *blackboard.State) {
			tip := s.Tip()
			s.Task("task-1").MergeIntent = &blackboard.MergeIntent{Commit: tip, Old: tip, By: "human"}
		})
	}},
	{name: "a candidate of nobody", says: "info merge gone: a merge candidate is left over; next: liza gc", make: func(p *verbtest.Place) { p.Git(p.Dir, "update-ref", "refs/liza/candidate/gone", "integration") }},
	{name: "a worktree of no task", says: "warning worktree .worktrees/zz: it belongs to no task; next: liza gc", make: func(p *verbtest.Place) {
		p.Git(p.Dir, "worktree", "add", "-q", "-b", "task/zz", ".worktrees/zz", "integration")
	}},
	{name: "a branch of no task", says: "warning worktree task/xx: the branch belongs to no task; next: liza gc", make: func(p *verbtest.Place) { p.Git(p.Dir, "branch", "task/xx", "integration") }},
	{name: "a worktree of a task that has ended", says: "warning worktree .worktrees/task-1: its task has ended; the next recovery saves what is not merged, and removes it; next: liza gc", make: func(p *verbtest.Place) {
		p.Abandoned("task-1")
		p.Git(p.Dir, "worktree", "add", "-q", "-b", "task/task-1", ".worktrees/task-1", "integration")
	}},
	{name: "a worktree that was removed", says: "error worktree task-1: the worktree was removed by hand; it is made again from the branch or from the newest recorded commit; next: liza validate --fix", make: func(p *verbtest.Place) {
		p.AddTask("task-1")
		if _, err := p.Service("coder-1").Claim(p.TB.Context(), "task-1"); err != nil {
			p.TB.Fatal(err)
		}
		if err := os.RemoveAll(p.Repo.WorktreePath("task-1")); err != nil {
			p.TB.Fatal(err)
		}
		p.Git(p.Dir, "worktree", "prune")
	}},
	{name: "an old state was put over", says: "warning journal log.ahead-7.yaml: an old state was put over a newer one; these entries of the newer one were kept aside; next: liza restore", make: func(p *verbtest.Place) {
		verbtest.Write(p.TB, filepath.Join(p.Project.Liza, "log.ahead-7.yaml"), "")
	}},
	{name: "from the future", says: "warning clock state.yaml: it is 1h0m0s ahead of this machine's clock", make: func(p *verbtest.Place) {
		p.AddTask("task-1")
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(p.Project.State(), later, later); err != nil {
			p.TB.Fatal(err)
		}
		p.Now = func() time.Time { return later.Add(-time.Hour) }
	}},
	{name: "paused", says: "info control PAUSE: paused since ", make: func(p *verbtest.Place) {
		if err := p.Project.Controls().Set("PAUSE", "lunch", time.Now()); err != nil {
			p.TB.Fatal(err)
		}
	}},
	{name: "a full disk", says: "error disk project: only ", make: func(p *verbtest.Place) { p.Config.Policy.MinFreeMB = 1 << 40 }},
	{name: "a program that is not there", says: "error agent nowhere: the program is not found on PATH; next: liza run --cli NAME", x: maintain.Doctor{CLI: "nowhere", Programs: map[string]agent.Entry{"nowhere": {Command: []string{"liza-test-nowhere"}}}}},
	{name: "a program of the project that is none", says: "error agent mine: the program tools/mine of agents.mine is not an executable file of the project; next: ls -l tools/mine", x: maintain.Doctor{Programs: map[string]agent.Entry{"mine": {Command: []string{"tools/mine"}}}}},
	{name: "a file that worktrees lack", says: "warning agent mine: mine.sh is a file of the project, but not of the worktrees in which coders and reviewers run", x: maintain.Doctor{Programs: map[string]agent.Entry{"mine": {Command: []string{"sh", "mine.sh"}}}},
		make: func(p *verbtest.Place) { verbtest.Write(p.TB, filepath.Join(p.Dir, "mine.sh"), "") }},
	{name: "a file that is nowhere", says: "warning agent mine: the file ./no.sh of its command is neither in the project nor committed", x: maintain.Doctor{Programs: map[string]agent.Entry{"mine": {Command: []string{"sh", "./no.sh"}}}}},
	{name: "too few reviewers", says: "warning quorum auth/**: review.quorum asks for 2 reviewers (auth/**), and this team has 1: such a change waits for another one, or for you (liza approve); next: liza run --reviewers 2",
		make: func(p *verbtest.Place) {
			p.Config.Review.Quorum = []config.QuorumRule{{Reviewers: 2, Paths: []string{"auth/**"}}}
		}},
	{name: "nobody reviews", says: "warning quorum auth/**: review.quorum asks for 2 reviewers (auth/**), and in review.mode disabled nobody but you approves", make: func(p *verbtest.Place) {
		p.Config.Review.Quorum = []config.QuorumRule{{Reviewers: 2, Paths: []string{"auth/**"}}}
		p.Config.Review.Mode = "disabled"
	}},
	{name: "a train with one slot", says: "warning train merge.slots: merge.train is 8, but its checks run one at a time (merge.slots), so it merges no faster than without; next: liza config merge.slots 4", make: func(p *verbtest.Place) {
		p.Config.Merge.Train, p.Config.Merge.Slots = 8, 1
	}},
	{name: "a check that is red without the work", says: "warning checks q-1: merges wait: \"make test\" fails without the work too, and verifies nothing; go on without it, or stop?; next: liza answer q-1 'go on'", make: func(p *verbtest.Place) {
		unverified(p, blackboard.QuestionOpen, "")
	}},
	{name: "a person said stop", says: "warning checks q-1: merges wait until \"make test\" passes: ada said stop; next: liza answer q-1 'go on'", make: func(p *verbtest.Place) {
		unverified(p, blackboard.QuestionAnswered, blackboard.AnswerStop)
	}},
	{name: "a person said go on", says: "warning checks q-1: work is merged unchecked: \"make test\" fails without the work too, and verifies nothing; ada said go on; next: liza check", make: func(p *verbtest.Place) {
		unverified(p, blackboard.QuestionAnswered, blackboard.AnswerGoOn)
	}},
}

func unverified(p *verbtest.Place, status blackboard.QuestionStatus, answer string) {
	q := &blackboard.Question{ID: "q-1", Agent: "system", Kind: blackboard.QuestionUnverified, Check: "make test", Text: "Go on?", Status: status, Asked: "2026-01-19T14:00:00Z"}
	if answer != "" {
		q.Answer, q.By, q.AnsweredAt = answer, "ada", "2026-01-19T14:30:00Z"
	}
	change(p, func(s *blackboard.State) { s.Questions = append(s.Questions, q) })
}

// The doctor says one sentence and one command for each thing, and says nothing of it where it is not so. It changes nothing.
func TestTheDoctorTellsOfEachThing(t *testing.T) {
	t.Parallel()
	well := examined(verbtest.New(t), maintain.Doctor{})
	for _, x := range situations {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			if x.make != nil {
				x.make(p)
			}
			before := verbtest.Read(t, p.Project.State())
			if found := examined(p, x.x); !has(found, x.says) {
				t.Errorf("the doctor says\n%s\nwant %s", strings.Join(found, "\n"), x.says)
			}
			if verbtest.Read(t, p.Project.State()) != before {
				t.Error("the board was changed")
			}
			if has(well, x.says) {
				t.Error("it says so of a project that is well")
			}
		})
	}
}

// Where nothing is wrong the doctor says what it looked at; the short form is silent.
func TestAProjectThatIsWell(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	found := examined(p, maintain.Doctor{})
	for _, want := range []string{"ok git git: version ", "ok identity git: git knows who commits here", "ok spec specs/vision.md: committed as it stands", "ok state state.yaml: revision 1 is valid", "ok registration agents: 0 agents alive",
		"ok git integration: the integration branch is at ", "ok integration integration: it has everything of its base branch main", "ok journal log.yaml: agrees with revision 1", "ok lock state.yaml.lock: free", "ok clock clock: nothing comes from the future"} {
		if !has(found, want) {
			t.Errorf("it does not say %q:\n%s", want, strings.Join(found, "\n"))
		}
	}
	for _, line := range found {
		if strings.HasPrefix(line, "error") && !strings.Contains(line, " agent ") {
			t.Errorf("it says %q", line)
		}
	}
	x := maintain.Doctor{Project: p.Project, Service: p.Service(""), State: p.State(), Now: time.Now, Say: func(string) {}}
	if got := lines(x.Preflight(t.Context())); len(got) != 0 {
		t.Errorf("the short form says %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Examine(ctx, false); err == nil {
		t.Error("an examination that was interrupted ends as if it were whole")
	}
}

// Red checks of the base are told with the last line of what they said, and with their log.
func TestTheDoctorRunsTheChecks(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"echo no such tests; exit 3", "true"}
	x := maintain.Doctor{Project: p.Project, Service: p.Service(""), State: p.State(), Now: time.Now, Say: func(string) {}}
	if err := x.Examine(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	found := lines(x.Found)
	for _, want := range []string{"checks integration: \"echo no such tests; exit 3\" on ", "ok checks integration: \"true\" on "} {
		if !has(found, want) {
			t.Errorf("it does not say %q:\n%s", want, strings.Join(found, "\n"))
		}
	}
	i := slices.IndexFunc(x.Found, func(f findings.Finding) bool { return strings.Contains(f.Text, "exit 3") })
	if f := x.Found[i]; f.Evidence != "no such tests" || !strings.HasPrefix(f.Next, "less .liza/output/baseline-") {
		t.Errorf("the evidence is %q, the command %q", f.Evidence, f.Next)
	}
}

// What an agent left does not keep the doctor from its other findings.
func TestTheDoctorGoesOnWithoutABoard(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	x := maintain.Doctor{Project: p.Project, Now: time.Now, Say: func(string) {}}
	if err := x.Examine(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if found := lines(x.Found); !has(found, "ok git git: version ") || !has(found, "ok lock state.yaml.lock: free") || has(found, " state ") {
		t.Errorf("it says %q", found)
	}
}
