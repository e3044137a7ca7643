// Package verbtest makes projects for tests: a real repository in a temporary folder, a real
// store, services for people and agents, and tasks brought to a status.
package verbtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/base/secret"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
	"liza/pkg/board/config"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/git/gittest"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/worktree"
)

// Place is a project in a temporary folder, with a real repository and a real store.
type Place struct {
	TB          testing.TB
	Dir         string
	Project     *project.Project
	Store       *store.File
	Repo        *git.Repo
	Config      *config.Config
	TaskArchive *history.Archive
	Secrets     *secret.Set        // what this process knows
	At          func(point string) // failpoints of the store; may be nil
	Shared      bool               // the board is one that several hosts use
	Host        string             // name of this host; "": that of the machine
	Now         func() time.Time   // the services' clock; nil: the machine's
}

// start is the repository that each place begins with.
var start = gittest.Template(map[string]string{"specs/vision.md": "# Vision\n", "README.md": "# Example\n"},
	[]string{"config", "user.name", "Test"}, []string{"config", "user.email", "test@localhost"},
	[]string{"add", "-A"}, []string{"commit", "-q", "-m", "start"})

// Config are the settings that tests begin with: the defaults, but nothing is contained.
func Config() *config.Config {
	cfg := config.Default()
	cfg.Sandbox.Level = "open"
	return cfg
}

func New(tb testing.TB) *Place {
	tb.Helper()
	return NewWith(tb, verb.InitInput{Goal: "Measure", Now: time.Now()})
}

// NewWith is New with a goal and options of its own; Dir is always the new folder.
func NewWith(tb testing.TB, in verb.InitInput) *Place {
	tb.Helper()
	p := &Place{TB: tb, Dir: tb.TempDir(), Config: Config()}
	p.Config.Review.Mode = ""
	p.Config.Review.Baseline = false // checks of tests fail by themselves, as a rule
	if err := start(p.Dir); err != nil {
		tb.Fatal(err)
	}
	in.Dir, in.Keys = p.Dir, p.keys()
	if _, err := verb.Init(context.Background(), in); err != nil {
		tb.Fatal(err)
	}
	p.Open()
	return p
}

// Open opens the project in p.Dir, as another process would.
func (p *Place) Open() {
	p.TB.Helper()
	var err error
	p.Project, err = project.Find(context.Background(), p.Dir, "")
	p.Must(nil, err)
	p.Repo, err = git.Open(context.Background(), p.Dir)
	p.Must(nil, err)
	p.Secrets = new(secret.Set)
	p.TaskArchive = &history.Archive{Dir: p.Project.ArchiveDir()}
	p.Store, err = store.Open(store.Options{Path: p.Project.State(), GitDir: p.Project.GitDir, Now: time.Now, Strict: true, Mask: p.Secrets.Mask, At: p.At,
		Seals: verb.Seals(p.keys(), p.Project.GitDir, p.Dir),
		Validate: func(after, before *blackboard.State) []blackboard.Violation {
			return audit.Validate(after, before, audit.Evidence{Now: time.Now(), Write: true, Archive: p.TaskArchive})
		}})
	p.Must(nil, err)
}

// Remember keeps the folder as it is; back puts everything there again and opens it. Making a project again takes dozens of
// processes, this takes one. What the project's worktrees know each other by is their path, so it is always the same folder.
func (p *Place) Remember() (back func()) {
	p.TB.Helper()
	kept := p.TB.TempDir()
	p.Shell(p.Dir, "cp -a . '"+kept+"'")
	return func() {
		p.TB.Helper()
		p.Shell(p.TB.TempDir(), "find '"+p.Dir+"' -mindepth 1 -maxdepth 1 -exec rm -rf {} + && cp -a '"+kept+"/.' '"+p.Dir+"'")
		p.Open()
	}
}

// StateHome is what XDG_STATE_HOME says where the person's keys of this place are needed.
func (p *Place) StateHome() string { return filepath.Join(p.Dir, ".git", "test-keys") }

// keys is the person's folder for keys; processes of the same place share it.
func (p *Place) keys() string { return filepath.Join(p.StateHome(), "liza") }

// Read gives the text of a file.
func Read(tb testing.TB, path string) string {
	tb.Helper()
	data, err := safefile.Read(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func Write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func (p *Place) Git(dir string, args ...string) string {
	p.TB.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Test", "-c", "user.email=test@localhost"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.TB.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Shell runs a line of shell in a folder.
func (p *Place) Shell(dir, line string) {
	p.TB.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@localhost", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@localhost")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.TB.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// Service is that of a person who acts for an agent, or of the person for "".
func (p *Place) Service(as string) *verb.Service {
	b := &board.Session{Project: p.Project, Store: p.Store, Repo: p.Repo, Config: func() *config.Config { return p.Config }, TaskArchive: p.TaskArchive, Caller: board.Caller{As: as, Person: "ada"},
		Now: time.Now, Random: rand.Reader, Proc: Machine(), Secrets: p.Secrets, ProjectSetting: agent.IsProjectSetting}
	if p.Host != "" {
		b.Proc.Host = p.Host
	}
	if p.Now != nil {
		b.Now = p.Now
	}
	if p.Shared {
		b.Store = shared{p.Store}
		return verb.New(b, worktree.Hosts)
	}
	return verb.New(b, worktree.Local)
}

// Machine is what this machine tells about processes.
func Machine() board.Processes {
	host, _ := os.Hostname()
	return board.Processes{Host: host, BootID: agent.BootID(),
		Running: func(pid int, start int64) (bool, bool) { return agent.Alive(pid, start), true },
		StopOrphan: func(ctx context.Context, id string, c blackboard.Child, grace time.Duration) error {
			return agent.StopOrphan(ctx, agent.Process{Pid: c.PID, Start: c.PIDStart, Pgid: c.PGID}, map[string]string{"LIZA_AGENT_ID": id, "LIZA_RUN": c.RunID}, grace)
		}}
}

// Supervised is the service of an agent that this process has registered for itself.
func (p *Place) Supervised(id string) *verb.Service {
	p.TB.Helper()
	d := p.Service("")
	start, _ := agent.ProcessStart(os.Getpid())
	r, err := d.Agents.Register(context.Background(), verb.RegisterInput{ID: id, PID: os.Getpid(), PIDStart: start})
	p.Must(nil, err)
	d.Board.Caller = board.Caller{AgentID: r.Agent, Token: r.Token}
	return d
}

func (p *Place) State() *blackboard.State {
	p.TB.Helper()
	s, err := p.Store.View(context.Background())
	p.Must(nil, err)
	return s
}

// Commit puts one file into a task's worktree and commits it.
func (p *Place) Commit(id string) string {
	p.TB.Helper()
	dir := p.Repo.WorktreePath(id)
	Write(p.TB, filepath.Join(dir, id+".md"), "a word of "+id+"\n")
	p.Git(dir, "add", "-A")
	p.Git(dir, "commit", "-q", "-m", id)
	return p.Git(dir, "rev-parse", "HEAD")
}

// Must ends the test when a verb has failed.
func (p *Place) Must(_ any, err error) {
	p.TB.Helper()
	if err != nil {
		p.TB.Fatal(err)
	}
}

// Approved brings a new task to APPROVED.
func (p *Place) Approved(id string) {
	p.TB.Helper()
	p.AddTask(id)
	p.approve(id, "coder-9")
}

// approve lets a coder and a reviewer do a task that exists.
func (p *Place) approve(id, coder string) {
	p.TB.Helper()
	ctx, c, r := context.Background(), p.Service(coder), p.Service("code-reviewer-9")
	p.Must(c.Claim(ctx, id))
	p.Commit(id)
	p.Must(c.Submit(ctx, verb.SubmitInput{Task: id}))
	p.Must(r.Reviews.ClaimReview(ctx, id))
	p.Must(r.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: verb.Approve}))
}

// Abandoned makes tasks, and gives them up.
func (p *Place) Abandoned(ids ...string) {
	p.TB.Helper()
	for _, id := range ids {
		p.AddTask(id)
		p.Must(p.Service("").Abandon(context.Background(), verb.WayOut{Task: id, Reason: "not wanted"}))
	}
}

// Merge merges an approved task.
func (p *Place) Merge(id string) {
	p.TB.Helper()
	p.Must(p.Service("").Merges.Merge(context.Background(), id))
}

// Finish lets a coder and a reviewer do a task that exists, and merges it.
func (p *Place) Finish(id, coder string) {
	p.TB.Helper()
	p.approve(id, coder)
	p.Merge(id)
}

func (p *Place) AddTask(id string, after ...string) {
	p.TB.Helper()
	p.Must(p.Service("").AddTask(context.Background(), verb.NewTask{Task: blackboard.Task{ID: id, Description: "Write " + id, SpecRef: "specs/vision.md",
		DoneWhen: id + ".md contains a word", Scope: "IN: " + id + ".md", Type: "docs", DependsOn: after}}))
}

// statuses are those of all tasks, archived ones included, but for those that Merges has put on the board without entries.
func (p *Place) statuses() map[string]blackboard.Status {
	tasks := map[string]blackboard.Status{}
	if p.TaskArchive != nil {
		for id, t := range p.TaskArchive.Archived() {
			tasks[id] = t.Status
		}
	}
	for t := range p.State().Tasks() {
		tasks[t.ID] = t.Status
	}
	maps.DeleteFunc(tasks, func(id string, _ blackboard.Status) bool { return strings.HasPrefix(id, filler) })
	return tasks
}

// Sound checks that the board is valid, the journal agrees, and nothing is left over but
// the worktrees of the given tasks.
func (p *Place) Sound(worktrees ...string) {
	p.TB.Helper()
	s := p.State()
	for _, v := range audit.Validate(s, nil, audit.Evidence{Now: time.Now(), Write: true, Archive: p.TaskArchive}) {
		p.TB.Errorf("the board is invalid: %s", v)
	}
	if entries, err := (history.Journal{Path: p.Project.Journal()}).Read(history.Filter{}); err != nil {
		p.TB.Error(err)
	} else {
		for _, d := range transition.Replay(entries, p.statuses(), true) {
			p.TB.Error(d.Message)
		}
	}
	var want []string
	for _, w := range worktrees {
		want = append(want, filepath.Join(p.Dir, ".worktrees", w))
	}
	got := []string{}
	for _, line := range strings.Split(p.Git(p.Dir, "worktree", "list", "--porcelain"), "\n") {
		if path, ok := strings.CutPrefix(line, "worktree "); ok && strings.Contains(path, ".worktrees") {
			got = append(got, path)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) && len(got)+len(want) > 0 {
		p.TB.Errorf("worktrees %v, want %v", got, want)
	}
	if folders, _ := filepath.Glob(filepath.Join(p.Dir, ".worktrees", "*")); len(folders) != len(want) {
		p.TB.Errorf("folders %v, want %v", folders, want)
	}
	if refs := p.Git(p.Dir, "for-each-ref", "refs/liza/candidate"); refs != "" {
		p.TB.Errorf("candidates are left: %s", refs)
	}
	if status := p.Git(p.Dir, "status", "--porcelain"); status != "?? .liza/" && status != "" {
		p.TB.Errorf("the user's checkout was touched: %s", status)
	}
}

// Outside commits a file to the integration branch, which a person then accepts.
func (p *Place) Outside(name, text string) {
	p.TB.Helper()
	p.Push(name, text)
	p.Accept()
}

// Accept is a person's decision that the integration branch is right where it is.
func (p *Place) Accept() {
	p.TB.Helper()
	p.Must(p.Service("").Merges.AcceptIntegration(context.Background(), ""))
}

// Push commits a file to the integration branch as somebody else's push would. For the name
// "" it only makes and returns a worktree at the head of the branch.
func (p *Place) Push(name, text string) string {
	p.TB.Helper()
	dir := filepath.Join(p.TB.TempDir(), "outside")
	p.Git(p.Dir, "worktree", "add", "-q", "--detach", dir, "integration")
	if name == "" {
		return dir
	}
	Write(p.TB, filepath.Join(dir, name), text)
	p.Git(dir, "add", "-A")
	p.Git(dir, "commit", "-q", "-m", "outside")
	p.Git(p.Dir, "update-ref", "refs/heads/integration", p.Git(dir, "rev-parse", "HEAD"))
	p.Git(p.Dir, "worktree", "remove", "--force", dir)
	return ""
}

// shared is a file that stands for a board which several hosts use.
type shared struct{ *store.File }

func (shared) Now() time.Time { return time.Now() }

func (shared) ClockOffset() time.Duration { return 0 }
