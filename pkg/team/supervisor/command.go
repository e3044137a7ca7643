package supervisor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
	"liza/pkg/run/activity"
	"liza/pkg/run/agent"
	"liza/pkg/run/policy"
	"liza/pkg/run/role"
	"liza/pkg/run/sandbox"
	"liza/pkg/run/skill"
	"liza/pkg/verb/board"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
)

// A job is one command that the supervisor runs itself: that of an exec or skill task, or an
// item of a rejection.
type job struct {
	kind    blackboard.TaskKind // exec or skill
	command string
	skill   string
	args    map[string]any
	secrets []string
	timeout int // seconds; 0: as configured
}

// jobEnd says what came of a job.
type jobEnd struct {
	code int
	text string // the end of its output
	why  string // why it did not end well, "" when it did
	ask  string // what a person is asked then; "": the usual question
	ran  bool   // it was started
}

func (e jobEnd) failed() bool { return e.why != "" }

func jobOf(t *blackboard.Task) job {
	return job{kind: t.KindOf(), command: t.Command, skill: t.Skill, args: t.Args, secrets: t.Secrets, timeout: t.TimeoutSeconds}
}

// refused is a job that is not started.
func refused(format string, args ...any) jobEnd {
	return jobEnd{code: -1, why: fmt.Sprintf(format, args...)}
}

// Jobs runs the commands that the supervisor runs itself.
type jobs struct {
	*member
	launcher *launcher
	records  *records
	Environ  []string
}

// runJob runs a job in the worktree of a task (specs/roles-and-knowledge.md#9.3, specs/roles-and-knowledge.md#9.4). Only what ends the
// work is an error.
func (js *jobs) runJob(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task, j job) (jobEnd, error) {
	if why := u.board.Board.MayStart(st, t, j.kind); why != "" {
		return refused("%s", why), nil
	}
	c, stdout, why, err := js.command(ctx, st, t, j)
	if err != nil || why.failed() {
		return why, err
	}
	lock, err := js.lockRun(ctx, t.ID)
	if err != nil {
		return refused("%v", err), nil
	}
	defer lock.Close()
	tmp, err := js.temporary()
	if err != nil {
		return jobEnd{}, err
	}
	defer func() { _ = safefile.RemoveTree(tmp) }()
	c.Env = append(c.Env, "TMPDIR="+tmp)
	if t.Writes {
		if c.Git, err = js.openGit(ctx, st, t); err != nil {
			return jobEnd{}, err
		}
	}
	c.Holds, c.Started = lock, func(pid int) { noteRun(lock, pid) }
	x := js.recordJob(ctx, u, st, t, j)
	defer js.launcher.closeRun(ctx, x, nil)
	told := js.launcher.openTold(activity.Event{Task: t.ID, Role: string(j.kind), ID: x.mark}, x.brief, c.Dir, false)
	told.add(activity.Event{Kind: activity.Tool, Tool: string(j.kind), Text: prose.OneLine(cmp.Or(j.command, j.skill), 500)})
	how := "stopped"
	defer func() { told.end(how, nil) }()
	began, before := time.Now(), size(c.Log)
	r := c.RunIn(ctx, js.Service.Board.Enclose)
	refused, err := js.closeGit(ctx, c.Git, t, x.before)
	if err != nil {
		return jobEnd{}, err
	}
	if ctx.Err() != nil {
		return jobEnd{}, context.Cause(ctx)
	}
	end := jobEnd{code: r.ExitCode, ran: true, text: outputSince(c.Log, before)}
	if stdout != nil {
		end.text = tail(js.Service.Board.Mask(stdout.String()))
	}
	switch {
	case r.TimedOut:
		end.why = fmt.Sprintf("it was stopped: the time limit of %s is over", c.Timeout)
	case r.TooMuch:
		end.why = fmt.Sprintf("it was stopped: it wrote more than %d bytes (limits.max_output_bytes)", c.Most)
	case r.Err != nil:
		end.why = r.Err.Error()
	case r.ExitCode != 0:
		end.why = fmt.Sprintf("it ended with exit code %d%s", r.ExitCode, r.Unreached())
	case refused != "":
		end.why = "its commits were not taken over: " + refused
	}
	how = cmp.Or(end.why, "finished")
	x.record.result = &agent.Result{Outcome: agent.Finished, Final: end.text, ExitCode: end.code, Error: end.why, Seconds: time.Since(began).Seconds()}
	x.outcome(outcome.Report{Effect: outcome.Applied, Problem: end.why})
	return end, nil
}

// openGit gives a command that writes what a coder has: a git folder of its own, whose commits are the task's work.
func (js *jobs) openGit(ctx context.Context, st *blackboard.State, t *blackboard.Task) (*git.Folder, error) {
	level, err := js.launcher.enclosure.level(ctx, "")
	if err != nil {
		return nil, err
	}
	return js.Service.Worktrees.OpenFolder(ctx, st, t, js.ID, true, level != sandbox.Closed)
}

// closeGit takes over what a command has committed. refused says why that was not possible.
func (js *jobs) closeGit(ctx context.Context, f *git.Folder, t *blackboard.Task, m board.Mark) (refused string, err error) {
	if f == nil {
		return "", nil
	}
	ctx = context.WithoutCancel(ctx)
	st, err := js.Service.Board.View(ctx)
	if err != nil {
		return "", err
	}
	taken, err := js.Service.Worktrees.TakeOver(ctx, st, st.Task(t.ID))
	return taken.Refused, errors.Join(err, js.Service.Worktrees.CloseFolder(ctx, f, t.ID, m))
}

// putBack undoes what a failed command that writes has left, so that its next run begins where this one did. It returns the
// ref that keeps it, "" when there was nothing.
func (js *jobs) putBack(ctx context.Context, t *blackboard.Task, head string) (ref string, err error) {
	back, err := js.Service.Board.Repo.PutBack(ctx, git.Work{ID: t.ID, Reason: "left by a failed command", Base: t.BaseCommit}, head, func() (bool, error) { return true, nil })
	return back.Attic, err
}

// command makes what a job runs. stdout is set when only that is the output.
func (js *jobs) command(ctx context.Context, st *blackboard.State, t *blackboard.Task, j job) (c review.Command, stdout *bytes.Buffer, why jobEnd, err error) {
	cfg, env := js.Service.Board.Config(), js.cleanEnvironment()
	if known, err := js.Service.Board.Repo.KnowsIdentity(ctx); err != nil {
		return c, nil, why, err
	} else if !known {
		person, err := js.identity(ctx)
		if err != nil {
			return c, nil, why, err
		}
		env = append(env, variables(env, person)...)
	}
	c = review.Command{Dir: js.Service.Board.Repo.WorktreePath(t.ID), Log: js.Service.Board.Project.Output(t.ID), Timeout: cfg.Limits.ExecTimeout, Most: cfg.Limits.MaxOutputBytes, Env: env, Mask: js.Service.Board.MaskLog}
	if j.timeout > 0 {
		c.Timeout = time.Duration(j.timeout) * time.Second
	}
	if j.kind == blackboard.ExecTask {
		c.Shell = j.command
		err := js.Service.Board.MayRun(t.ID, j.command)
		var denied *policy.Denial
		if errors.As(err, &denied) {
			js.Service.PolicyDenied(ctx, t.ID, denied.Error())
			return c, nil, refused("%v; %s", err, denied.Hint()), nil
		}
		if err != nil {
			return c, nil, refused("%v", err), nil
		}
		return c, nil, jobEnd{}, nil
	}
	sk, err := js.Service.Board.Skills().Find(j.skill)
	if err != nil {
		return c, nil, refused("%v", err), nil
	}
	if why := js.skillCommand(&c, sk, st, t, j); why.failed() {
		return c, nil, why, nil
	}
	stdout = &bytes.Buffer{}
	c.Stdout = stdout
	return c, stdout, jobEnd{}, nil
}

// skillCommand fills in argv, variables and input of a skill; it returns what is in the way.
func (js *jobs) skillCommand(c *review.Command, sk *skill.Skill, st *blackboard.State, t *blackboard.Task, j job) jobEnd {
	args, problems := sk.Fill(j.args)
	if len(problems) > 0 {
		return refused("%s", strings.Join(problems, "; "))
	}
	vars, err := sk.Variables(js.Environ)
	if err != nil {
		return refused("%v", err)
	}
	if c.Argv, err = sk.Command(pathOf(js.Environ)); err != nil {
		return refused("the skill %s cannot be started: %v", sk.Name, err)
	}
	c.Reads = append(c.Reads, filepath.Dir(c.Argv[0]))
	if j.timeout == 0 && sk.TimeoutSeconds > 0 {
		c.Timeout = time.Duration(sk.TimeoutSeconds) * time.Second
	}
	c.Env = append(c.Env, vars...)
	secrets, missing, err := js.Service.Board.Vault().SecretsOf(sk.Secrets)
	if err != nil {
		return refused("%v", err)
	}
	if name := wanted(j.secrets, missing); name != "" {
		end := refused("the task needs the secret %s, and nobody gave it", name)
		end.ask = fmt.Sprintf("What is the secret %s? Put it into .liza/secrets/%s and answer when it is there.", name, name)
		return end
	}
	if len(missing) > 0 {
		js.warn(t.ID, "the skill %s goes without the secrets %s: they are not known", sk.Name, strings.Join(missing, ", "))
	}
	input, err := json.Marshal(map[string]any{"args": args, "task": t.ID, "session": filepath.Base(js.Service.Board.Project.Root), "workspace": c.Dir,
		"goal": goalOf(st, t), "secrets": secrets})
	if err != nil {
		return refused("%v", err)
	}
	c.Stdin = string(input) + "\n"
	return jobEnd{}
}

// wanted is the first secret of a task that is missing; what only its skill declares is not
// wanted by everybody who uses the skill.
func wanted(secrets, missing []string) string {
	for _, name := range secrets {
		if slices.Contains(missing, name) {
			return name
		}
	}
	return ""
}

func goalOf(st *blackboard.State, t *blackboard.Task) string {
	if p := transition.Plan(st, t.Plan); p != nil {
		return p.Goal
	}
	if st.Goal != nil {
		return st.Goal.Description
	}
	return ""
}

// cleanEnvironment is what a command may see of Liza's own: where programs are, whose home it
// is, and what exec.env_allow names. TMPDIR comes with the run. Never tokens or LIZA_*.
func (js *jobs) cleanEnvironment() []string {
	env := []string{"PATH=" + pathOf(js.Environ), "LANG=C.UTF-8", "HOME=" + js.Service.Board.Home}
	for _, name := range js.Service.Board.Config().Exec.EnvAllow {
		for _, v := range js.Environ {
			if strings.HasPrefix(v, name+"=") && !strings.HasPrefix(v, "LIZA_") {
				env = append(env, v)
			}
		}
	}
	return env
}

func (js *jobs) temporary() (string, error) {
	if err := safefile.MakeFolder(js.Service.Board.Project.Tmp(), 0o755); err != nil {
		return "", fmt.Errorf("cannot make a folder for temporary files: %w", err)
	}
	dir, err := os.MkdirTemp(js.Service.Board.Project.Tmp(), "run-")
	if err != nil {
		return "", fmt.Errorf("cannot make a folder for temporary files: %w", err)
	}
	return dir, nil
}

// Times of a command that a dead supervisor has left running.
const (
	formerLook  = 200 * time.Millisecond
	formerGrace = 5 * time.Second
	formerWait  = 30 * time.Second
)

// lockRun makes sure that no command of the task runs at the same time. The lock is inherited
// by the command: it lasts as long as any of its processes, so that a command whose supervisor
// was killed is found. It is stopped then.
func (js *jobs) lockRun(ctx context.Context, task string) (*os.File, error) {
	path := filepath.Join(js.Service.Board.Project.GitDir, "liza", "run-"+task+".lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock of the command: %w", err)
	}
	for began := time.Now(); ; {
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return f, nil
		}
		stopFormer(f, time.Since(began) > formerGrace)
		if time.Since(began) > formerWait || !sleep(ctx, formerLook) {
			f.Close()
			return nil, errors.New("an earlier run of its command still goes on")
		}
	}
}

// noteRun writes down which process the lock is held by.
func noteRun(f *os.File, pid int) {
	start, _ := agent.ProcessStart(pid)
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt(fmt.Appendf(nil, "%d %d\n", pid, start), 0)
	}
}

// stopFormer stops the group of the process that holds the lock, when it is certainly that one.
func stopFormer(f *os.File, kill bool) {
	var pid int
	var start int64
	text := make([]byte, 64)
	n, _ := f.ReadAt(text, 0)
	if _, err := fmt.Sscanf(string(text[:n]), "%d %d", &pid, &start); err != nil || pid <= 1 || start == 0 || !agent.Alive(pid, start) {
		return
	}
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-pid, signal)
}

// recordJob puts the beginning of a job into the history of its task: a supervisor that is
// killed leaves it open, and the next one closes it as failed.
func (js *jobs) recordJob(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task, j job) *run {
	text := j.command
	if j.kind == blackboard.SkillTask {
		args, err := json.Marshal(j.args)
		if err == nil {
			text = fmt.Sprintf("%s %s", j.skill, args)
		}
	}
	x := &run{brief: briefing{role: role.Resolved{Role: &role.Role{Name: string(j.kind), Kind: role.Kind(j.kind)}}, program: string(j.kind)},
		before: outcome.MarkOf(js.Service, st, js.ID, t.ID), mark: board.RunMark(js.generation(st), transition.NextRun(st, js.ID))}
	x.brief.Text = text
	x.record = js.records.record(ctx, st, u, x, t.ID, t.ID)
	return x
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// outputSince is the end of what a command wrote to its log, without the line that names it.
func outputSince(log string, before int64) string {
	data, err := safefile.Read(log)
	if err != nil || int64(len(data)) < before {
		return ""
	}
	_, text, _ := strings.Cut(string(data[before:]), "\n")
	return tail(text)
}

// tail is the end of an output, as much as is on the board.
func tail(text string) string { return strings.ToValidUTF8(text[max(0, len(text)-maxOutput):], "") }

// check does the checks of a submission before its reviewer is started (
// specs/roles-and-knowledge.md#5.5). judge: there is something left to judge. Checks that cannot be done are a review
// that failed: it is counted, given back, and tried again.
func (s *Supervisor) check(ctx context.Context, u *unit) (judge bool, err error) {
	c, err := u.board.Reviews.Check(ctx, u.task)
	switch {
	case ctx.Err() != nil:
		return false, err
	case isLost(err) || isRefused(err):
		return false, err
	case err != nil:
		s.member.warn(u.task, "%v", err)
		_, err = u.board.Reviews.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: verb.StuckReview, What: "failed", Reason: err.Error()})
		return false, err
	case c.Rejected != "":
		s.member.say(u.task, "rejected: %s", c.Rejected)
		return false, nil
	}
	if c.Attempt != "" {
		s.member.say(u.task, "%s", c.Attempt)
		return false, nil
	}
	var failed []string
	for _, x := range c.Checks {
		if x.Status == review.Failed {
			failed = append(failed, x.Name+" ("+x.Severity+")")
		}
	}
	if len(failed) > 0 {
		s.member.warn(u.task, "checks failed: %s", strings.Join(failed, ", "))
	} else if len(c.Checks) > 0 {
		s.member.tell(Clean, u.task, "checks: nothing found")
	}
	return true, nil
}
