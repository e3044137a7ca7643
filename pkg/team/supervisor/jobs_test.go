package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/review"
	"liza/pkg/run/agent"
	"liza/pkg/run/exitcmd"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb/verbtest"
)

// jobs is a project whose agents are functions and whose commands are real.
type jobs struct {
	*verbtest.Place
	t       *testing.T
	prompts []string // of all agents, in order
	reads   []string // what commands may read besides what all may
}

func newJobs(t *testing.T) *jobs {
	t.Helper()
	j := &jobs{Place: verbtest.New(t), t: t}
	j.Config.Messenger.Mode = "verbatim"
	return j
}

// plan puts a person's plan on the board.
func (j *jobs) plan(items string) {
	j.t.Helper()
	p, err := exitcmd.ParsePlan([]byte(`{"goal": "Measure", "tasks": [` + items + `]}`))
	if err == nil {
		_, err = j.Service("").ApplyPlan(context.Background(), p)
	}
	if err != nil {
		j.t.Fatal(err)
	}
}

// once lets an agent do one unit of work; answer is what its program says.
func (j *jobs) once(role blackboard.Role, answer func(prompt string) string) error {
	j.t.Helper()
	d := j.Service("")
	d.Board.Home = j.Dir
	d.Board.Enclose = func(_ context.Context, c *review.Command) (func(), error) {
		j.reads = append(j.reads, c.Reads...)
		return func() {}, nil
	}
	s := &supervisor.Supervisor{Service: d, Role: role, CLI: "fake", PID: os.Getpid(), Liza: "/bin/true", Once: true,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "SECRET=x", "LIZA_AGENT_TOKEN=y", "ALLOWED=z"},
		Adapter: func(string) (agent.Adapter, error) { return nil, nil },
		Start: func(_ context.Context, _ agent.Adapter, s agent.Spec) agent.Result {
			j.prompts = append(j.prompts, s.Prompt)
			if s.Started != nil {
				if err := s.Started(agent.Process{Pid: os.Getpid()}); err != nil {
					return agent.Result{Outcome: agent.Killed, Error: err.Error()}
				}
			}
			return finished(answer(s.Prompt))
		},
		Print: func(l supervisor.Line) { j.t.Log(l.Agent, l.Task, l.Text) }}
	s.PIDStart, _ = agent.ProcessStart(os.Getpid())
	return s.Run(context.Background(), context.Background())
}

func (j *jobs) must(err error) {
	j.t.Helper()
	if err != nil {
		j.t.Fatal(err)
	}
}

func (j *jobs) coder() {
	j.t.Helper()
	j.must(j.once(blackboard.RoleCoder, func(string) string { return done("") }))
}

func (j *jobs) reviewer(review string) {
	j.t.Helper()
	j.must(j.once(blackboard.RoleReviewer, func(string) string { return done(`,"review":` + review) }))
}

func done(more string) string {
	return `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"It is done."` + more + `}`
}

func (j *jobs) task(id string) *blackboard.Task { return j.State().Task(id) }

func (j *jobs) wants(id string, status blackboard.Status, output string) {
	j.t.Helper()
	t := j.task(id)
	text := t.BlockedReason
	if t.Output != nil {
		text += t.Output.Text
	}
	if t.Status != status || !strings.Contains(text, output) {
		j.t.Errorf("%s is %s with %q, want %s with %q", id, t.Status, text, status, output)
	}
}

// N-01: what a command without writes changes is thrown away; the branch stays where it is.
func TestACommandThatDeclaresNoWritesLeavesNone(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	before := j.Git(j.Dir, "rev-parse", "integration")
	j.plan(`{"id": "x", "kind": "exec", "detail": "echo more >> README.md; echo new > new.txt; git status --short"}`)
	j.coder()
	j.wants("x", blackboard.Merged, "?? new.txt")
	if x := j.task("x"); x.MergeCommit != x.BaseCommit || x.MergeCommit != before || j.Git(j.Dir, "rev-parse", "integration") != before {
		t.Errorf("merge commit %s, base %s, branch was %s", x.MergeCommit, x.BaseCommit, before)
	}
	j.Sound()
}

// So is what it has changed when it fails: the next run of the command begins with what the first one began with.
func TestAFailedCommandThatDeclaresNoWritesLeavesNone(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.plan(`{"id": "x", "kind": "exec", "detail": "echo more >> README.md; echo new > new.txt; exit 3"}`)
	j.coder()
	j.wants("x", blackboard.Blocked, "it ended with exit code 3")
	if left := j.Git(j.Repo.WorktreePath("x"), "status", "--porcelain"); left != "" {
		t.Errorf("it left %q", left)
	}
	j.Sound("x")
}

// What a failed command has written is nothing to review: it is kept aside, and a person decides.
func TestAFailedCommandThatWritesIsAskedAboutAndNeverReviewed(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.plan(`{"id": "x", "kind": "exec", "detail": "echo half > half.txt; git add half.txt; git commit -qm half; echo more > more.txt; exit 128", "writes": true, "review": true, "scope": "half.txt, more.txt", "expect": "half.txt and more.txt are there"}`)
	j.coder()
	j.wants("x", blackboard.Blocked, "it ended with exit code 128")
	x := j.task("x")
	if tree := j.Repo.WorktreePath("x"); j.Git(tree, "rev-parse", "HEAD") != x.BaseCommit || j.Git(tree, "status", "--porcelain") != "" {
		t.Errorf("the next run of the command begins at %s with %q, not at its base %s", j.Git(tree, "rev-parse", "HEAD"), j.Git(tree, "status", "--porcelain"), x.BaseCommit)
	}
	ref := regexp.MustCompile(`refs/liza/attic/\S+`).FindString(x.BlockedReason)
	if ref == "" {
		t.Fatalf("the reason does not name where its work is: %q", x.BlockedReason)
	}
	if files := j.Git(j.Dir, "ls-tree", "-r", "--name-only", strings.TrimRight(ref, ".,;)")); !strings.Contains(files, "half.txt") || !strings.Contains(files, "more.txt") {
		t.Errorf("the attic has %q", files)
	}
	j.Sound("x") // a blocked task keeps its worktree
}

// N-02: what a skill with writes changes is committed by the supervisor, reviewed, and merged;
// without a change there is its output only.
func TestASkillThatWritesIsReviewedAndMerged(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	dir := filepath.Join(j.Project.Skills(), "writer")
	verbtest.Write(t, filepath.Join(dir, "skill.yaml"), "name: writer\nsummary: writes a file\nrun: [sh, run.sh]\nwrites: true\nenv: {MODE: {default: fast}}\n"+
		"args: {text: {type: string, required: true}, times: {type: int, default: 2}}\n")
	verbtest.Write(t, filepath.Join(dir, "run.sh"), `cat > ../input.json; echo "to the log" >&2; echo "mode $LIZA_SKILL_WRITER_MODE"; if grep -q again ../input.json; then mv ../input.json a.txt; fi`)
	j.plan(`{"id": "x", "kind": "skill", "skill": "writer", "args": {"text": "again"}, "expect": "a.txt holds the input", "review": true, "depends_on": []},
		{"id": "y", "kind": "skill", "skill": "writer", "args": {"text": "nothing"}, "expect": "the mode is told as 'mode fast'", "depends_on": []}`)
	for range 2 {
		j.coder()
	}
	for _, id := range []string{"x", "y"} {
		j.wants(id, blackboard.ReadyForReview, "mode fast")
	}
	if sh, err := exec.LookPath("sh"); err != nil || !slices.Contains(j.reads, filepath.Dir(sh)) {
		t.Errorf("where it is contained the skill may read %q, not where its program is: %s, %v", j.reads, sh, err)
	}
	if text := j.task("x").Output.Text; strings.Contains(text, "to the log") {
		t.Errorf("the output has what went to stderr: %q", text)
	}
	if text := j.Git(j.Repo.WorktreePath("x"), "show", "HEAD:a.txt"); !strings.Contains(text, `"args":{"text":"again","times":2}`) || !strings.Contains(text, `"task":"x"`) || !strings.Contains(text, `"goal":"Measure"`) {
		t.Errorf("the skill got %s", text)
	}
	if log := j.Git(j.Repo.WorktreePath("x"), "log", "-1", "--format=%B"); !strings.Contains(log, "Liza-Task: x\nLiza-Attempt: 1") {
		t.Errorf("the commit says %q", log)
	}
	for range 2 {
		j.reviewer(`{"status":"ok"}`)
		if _, err := j.Service("").Merges.Merger(blackboard.System).All(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	j.wants("x", blackboard.Merged, "")
	j.wants("y", blackboard.Merged, "")
	if y := j.task("y"); y.MergeCommit != y.BaseCommit {
		t.Errorf("y changed nothing and has the merge commit %s", y.MergeCommit)
	}
	if files := j.Git(j.Dir, "ls-tree", "--name-only", "integration"); !strings.Contains(files, "a.txt") {
		t.Errorf("the branch has %s", files)
	}
}

// K-18: what is denied is not started, with a hint; a time limit ends what runs in the
// background too; a command sees four names and no others.
func TestWhatCommandsMayDoAndSee(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"rm -rf /", "echo x; rm -rf ~", "`rm -rf /`", "$(mkfs x)", ":(){ :|:& };:", `bash -c "rm -rf ~"`} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			j := newJobs(t)
			j.Config.Policy.Allow = []string{".*"} // the list was changed after the plan
			j.plan(fmt.Sprintf(`{"id": "x", "kind": "exec", "detail": %q}`, "touch started; "+command))
			j.Config.Policy.Allow = nil
			j.coder()
			j.wants("x", blackboard.Blocked, "denied")
			j.wants("x", blackboard.Blocked, "policy.allow")
			if log, err := os.ReadFile(j.Project.Output("x")); err == nil {
				t.Errorf("it was started: %s", log)
			}
			if a := j.State().Anomalies; len(a) != 1 || a[0].Type != "policy_denied" || a[0].Task != "x" {
				t.Errorf("anomalies %+v", a)
			}
		})
	}
	t.Run("allowed", func(t *testing.T) {
		t.Parallel()
		j := newJobs(t)
		j.plan(`{"id": "x", "kind": "exec", "detail": "mkdir build && rm -rf ./build && echo gone"}`)
		j.coder()
		j.wants("x", blackboard.Merged, "gone")
	})
	t.Run("the time limit", func(t *testing.T) {
		t.Parallel()
		j := newJobs(t)
		mark := filepath.Join(j.Dir, "mark")
		j.plan(fmt.Sprintf(`{"id": "x", "kind": "exec", "timeout_seconds": 1, "detail": "(sleep 2; sleep 1; touch %s) & echo begun; sleep 600"}`, mark))
		j.coder()
		j.wants("x", blackboard.Blocked, "the time limit of 1s is over")
		j.wants("x", blackboard.Blocked, "begun")
		for began := time.Now(); time.Since(began) < 3*time.Second; {
			if _, err := os.Stat(mark); err == nil {
				t.Fatal("the child in the background went on")
			}
		}
	})
	t.Run("the environment", func(t *testing.T) {
		t.Parallel()
		if _, err := os.Stat("/proc/self/environ"); err != nil {
			return // there is no way to look on this system
		}
		j := newJobs(t)
		const look = `{"id": "%s", "kind": "exec", "detail": "tr '\\0' '\\n' < /proc/$$/environ | cut -d= -f1 | sort | tr '\\n' ' '; test -d $TMPDIR && echo in $TMPDIR", "depends_on": []}`
		j.plan(fmt.Sprintf(look, "x") + "," + fmt.Sprintf(look, "y"))
		j.coder()
		j.wants("x", blackboard.Merged, "HOME LANG PATH PWD TMPDIR in "+j.Project.Tmp())
		j.Config.Exec.EnvAllow = []string{"ALLOWED", "LIZA_AGENT_TOKEN"}
		j.coder()
		j.wants("y", blackboard.Merged, "ALLOWED HOME LANG PATH PWD TMPDIR in ")
		if left, _ := filepath.Glob(filepath.Join(j.Project.Tmp(), "run-*")); len(left) > 0 {
			t.Errorf("temporary folders are left: %v", left)
		}
	})
	t.Run("too much output", func(t *testing.T) {
		t.Parallel()
		j := newJobs(t)
		j.Config.Limits.MaxOutputBytes = 10000
		j.plan(`{"id": "x", "kind": "exec", "detail": "while :; do echo again; done"}`)
		j.coder()
		j.wants("x", blackboard.Blocked, "more than 10000 bytes")
	})
}

// K-07: the items of a rejection run in order before the next planned task, and the reviewer
// sees what they gave, and what was expected of them.
func TestTheItemsOfARejectionRunInOrder(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.plan(`{"id": "x", "kind": "exec", "detail": "echo first", "expect": "prints 'first' and more", "review": true},
		{"id": "y", "kind": "exec", "detail": "echo later"}, {"id": "z", "kind": "exec", "detail": "echo last"}`)
	j.coder()
	j.reviewer(`{"status":"needs_fix","reason":"README.md is not counted yet","inject":[{"kind":"exec","detail":"wc -l README.md"},
		{"type":"exec","detail":"echo two > two; cat two","expect":"the file two holds the word two","review":true}]}`)
	if d := j.task("y").DependsOn; j.task("x").Status != blackboard.Rejected || d[0] != "x" {
		t.Fatalf("x is %s, y waits for %v", j.task("x").Status, d)
	}
	j.coder()
	j.wants("x", blackboard.ReadyForReview, "item 1, exit code 0: 1 README.md\n\nitem 2, exit code 0: two")
	j.wants("y", blackboard.Unclaimed, "")
	j.prompts = nil
	j.reviewer(`{"status":"ok","prior":[{"n":1,"state":"RESOLVED"},{"n":2,"state":"RESOLVED"}]}`)
	wantPrompt(t, j.prompts, 1, "wc -l README.md; ran with exit code 0: 1 README.md", "; expected: the file two holds the word two; ran with exit code 0: two")
	if _, err := j.Service("").Merges.Merger(blackboard.System).All(context.Background()); err != nil {
		t.Fatal(err)
	}
	j.coder()
	j.coder()
	for _, id := range []string{"x", "y", "z"} {
		j.wants(id, blackboard.Merged, "")
	}
}

// The first item that fails ends the round; an item that is denied is told.
func TestAnItemThatFailsEndsTheRound(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.plan(`{"id": "x", "kind": "exec", "detail": "echo first", "expect": "prints 'first' and more", "review": true}`)
	j.coder()
	j.reviewer(`{"status":"needs_fix","reason":"a.txt has to be looked at","inject":[{"kind":"exec","detail":"git push"},{"kind":"exec","detail":"touch never"}]}`)
	j.coder()
	x := j.task("x")
	if x.Status != blackboard.ReadyForReview || x.Output.ExitCode != -1 || !strings.Contains(x.Fixes[0].Output, "denied") || x.Fixes[1].Output != "" {
		t.Errorf("x is %s, %+v, items %+v, %+v", x.Status, x.Output, x.Fixes[0], x.Fixes[1])
	}
}

// A coder is told what the commands of its rejection gave.
func TestACoderIsToldWhatTheItemsGave(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.AddTask("x")
	j.must(j.once(blackboard.RoleCoder, func(string) string { j.Commit("x"); return done("") }))
	j.reviewer(`{"status":"needs_fix","reason":"x.md has too few words","inject":[{"kind":"exec","detail":"wc -w x.md"},{"kind":"code","detail":"add words to x.md"}]}`)
	j.prompts = nil
	j.must(j.once(blackboard.RoleCoder, func(string) string {
		verbtest.Write(t, filepath.Join(j.Repo.WorktreePath("x"), "x.md"), "more words of x\n")
		j.Git(j.Repo.WorktreePath("x"), "commit", "-qam", "more")
		return done("")
	}))
	wantPrompt(t, j.prompts, 1, "exec: wc -w x.md; ran with exit code 0: 4 x.md", "2. add words to x.md")
	j.wants("x", blackboard.ReadyForReview, "")
}

// K-08: a task that is always sent back is reviewed as often as the limit says, and then
// BLOCKED; a command's last result is accepted when the project wants that, code never.
func TestReviewsComeToAnEnd(t *testing.T) {
	t.Parallel()
	const again = `{"status":"needs_fix","reason":"README.md is still not right"%s}`
	for _, c := range []struct {
		name, mode, kind string
		status           blackboard.Status
		told             string
	}{
		{"a command escalates", "escalate", "exec", blackboard.Blocked, "review_deadlock"},
		{"a command proceeds", "proceed", "exec", blackboard.Merged, "accepted_unreviewed"},
		{"a command that writes never proceeds", "proceed", "writes", blackboard.Blocked, "review_deadlock"},
		{"code never proceeds", "proceed", "code", blackboard.Blocked, "review_deadlock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := newJobs(t)
			j.Config.Limits.OnReviewDepth = c.mode
			item := map[string]string{
				"exec":   `"kind": "exec", "detail": "echo again; date +%N >> n.txt", "review": true`,
				"writes": `"kind": "exec", "detail": "echo again; date +%N >> n.txt", "writes": true, "scope": "IN: n.txt"`,
				"code":   `"type": "docs", "detail": "Write x.md", "scope": "IN: x.md", "spec_ref": "specs/vision.md"`,
			}[c.kind]
			j.plan(`{"id": "x", ` + item + `, "expect": "prints 'again' once", "limits": {"max_review_cycles": 3}, "depends_on": []}, {"id": "y", "kind": "exec", "detail": "echo other", "depends_on": []}`)
			reviews := 0
			for range 12 {
				switch j.task("x").Status {
				case blackboard.Unclaimed, blackboard.Rejected:
					j.must(j.once(blackboard.RoleCoder, func(string) string {
						if c.kind == "code" && j.task("x").Status == blackboard.Claimed {
							dir := j.Repo.WorktreePath("x")
							verbtest.Write(t, filepath.Join(dir, "x.md"), fmt.Sprint(reviews))
							j.Git(dir, "add", "-A")
							j.Git(dir, "commit", "-qm", "x")
						}
						return done("")
					}))
				case blackboard.ReadyForReview:
					reviews++
					inject := ""
					if c.mode == "proceed" && c.kind == "exec" {
						inject = fmt.Sprintf(`,"inject":[{"kind":"exec","detail":"echo item %d | tee -a ../../items"}]`, reviews)
					}
					j.reviewer(fmt.Sprintf(again, inject))
				}
			}
			j.wants("x", c.status, "")
			if reviews != 3 {
				t.Errorf("%d reviews, want 3", reviews)
			}
			if c.status == blackboard.Merged { // with the items of the third round
				items, _ := os.ReadFile(filepath.Join(j.Dir, "items"))
				if string(items) != "item 1\nitem 2\nitem 3\n" || !strings.Contains(j.task("x").Output.Text, "item 3") {
					t.Errorf("the items wrote %q, the output is %q", items, j.task("x").Output.Text)
				}
			}
			log, err := os.ReadFile(j.Project.Journal())
			if err != nil || !strings.Contains(string(log), c.told) {
				t.Errorf("the journal does not tell of %s (%v)", c.told, err)
			}
			if y := j.task("y").Status; y != blackboard.Merged {
				j.coder()
				j.wants("y", blackboard.Merged, "other")
			}
		})
	}
}

// An output log of 50 MB is put away before a command or a program writes to it (specs/protocol.md#3.5).
func TestALargeOutputLogIsPutAway(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.plan(`{"id": "x", "kind": "exec", "detail": "echo counted 42", "depends_on": []}`)
	j.AddTask("y")
	for _, id := range []string{"x", "y"} {
		log := j.Project.Output(id)
		verbtest.Write(t, log, "")
		if err := os.Truncate(log, 50<<20); err != nil {
			t.Fatal(err)
		}
		j.coder()
		if info, err := os.Stat(log); err != nil || info.Size() > 1000 || info.Size() == 0 {
			t.Errorf("the log of %s: %v, %v", id, info.Size(), err)
		}
		if info, err := os.Stat(log + ".1"); err != nil || info.Size() != 50<<20 {
			t.Errorf("the log of %s before that: %v", id, err)
		}
	}
}
