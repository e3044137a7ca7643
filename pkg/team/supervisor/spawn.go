package supervisor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/run/agent"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/prompt"
	"liza/pkg/run/role"
	"liza/pkg/run/sandbox"
	"liza/pkg/run/service"
	"liza/pkg/verb/board"
	"liza/pkg/verb/outcome"
)

// A launcher runs agent programs, and records their ends.
type launcher struct {
	*member
	records      *records
	surroundings *surroundings
	enclosure    *enclosure
	spending     *spending
	lease        *leaseKeeper
	Adapter      func(name string) (agent.Adapter, error)
	Version      func(context.Context, agent.Adapter) string
	Schema       func() ([]byte, error)
	Interactive  *agent.Terminal
	Environ      []string
	Liza         string // the path of the running liza
}

// closeRun writes the interaction of a run that is over, when what came of it is known. x is nil when none was begun.
func (l *launcher) closeRun(ctx context.Context, x *run, cause error) {
	if x == nil {
		return
	}
	l.Service.Board.Failpoint("run.written")
	l.surroundings.closeGit(ctx, x)
	if x.result.Recorded != nil {
		x.result.Recorded()
	}
	if x.unkeep != nil {
		x.unkeep()
	}
	l.records.closeRecord(ctx, x.record, x.answer.Exit, cause)
}

// closeJudged removes the checkout of a reviewer whose run is over.
func (l *launcher) closeJudged(ctx context.Context, task string) {
	if l.Role != blackboard.RoleReviewer {
		return
	}
	if err := l.Service.Checks.CloseJudged(ctx, task); err != nil {
		l.warn(task, "cannot remove the checkout of the reviewer: %v", err)
	}
}

// launch runs one program for task ("" for a planner), and records its end. An error says that it could not be started or
// that its end could not be written; a run that comes with it is closed like any other.
func (l *launcher) launch(ctx context.Context, spec agent.Spec, b briefing, st *blackboard.State, u *unit, task string) (*run, error) {
	adapter, err := l.Adapter(b.program)
	if err != nil {
		return nil, err
	}
	token, hash, err := l.Service.Agents.NewToken()
	if err != nil {
		return nil, err
	}
	folder := cmp.Or(spec.TaskID, board.PlannerRuns) // of its prompts and its history
	level, err := l.enclosure.level(ctx, b.program)
	if err != nil {
		return nil, err
	}
	at := l.enclosure.place(level, spec.Dir)
	b.Text, spec.At = at.Text(b.Text), at.Inside(spec.Dir)
	r := &run{brief: b, task: task, number: transition.NextRun(st, l.ID), before: outcome.MarkOf(l.Service, st, l.ID, task), sandbox: level, place: at}
	r.mark = board.RunMark(l.generation(st), r.number)
	l.lease.setRun(r.mark)
	r.record = l.records.record(ctx, st, u, r, task, folder)
	file, err := l.savePrompt(folder, b.Text, r.record.sequence())
	if err != nil {
		return r, err
	}
	log, err := l.openLog(task, fmt.Sprintf("%s run %d (%s): %s", l.ID, r.number, r.mark, l.named(ctx, b.program, adapter)))
	if err != nil {
		return r, err
	}
	defer log.Close()
	spec.Prompt, spec.Model, spec.PromptFile, spec.Output = b.Text, b.model, file, log
	spec.Stall, spec.KillGrace = st.Duration("stall_timeout"), st.Duration("kill_grace")
	if b.resumed != nil {
		spec.Session = b.resumed.ID
	}
	if err := l.equip(ctx, adapter, &spec, r, st, task); err != nil {
		return r, err
	}
	if err := l.surroundings.openGit(ctx, r, st, task, spec.Worktree, r.sandbox == sandbox.Closed); err != nil {
		return r, err
	}
	if spec.Liza == "" {
		hash = "" // it has no verbs
	} else if adapter != nil && spec.Terminal == nil && task != "" {
		info := adapter.Info()
		r.speaks, r.resumes = info.Dialogue && !info.Interrupts, info.Resumes
	}
	closeBroker := func() {}
	if spec.Liza != "" {
		if closeBroker, err = l.enclosure.openBroker(&spec, r, task, token); err != nil {
			return r, err
		}
		defer closeBroker()
	}
	closeWall, err := l.enclosure.openWall(ctx, &spec, r, task)
	if err != nil {
		return r, err
	}
	defer closeWall()
	if b.why != "" {
		l.say(task, "%s", b.climbed())
	}
	spec.Started = func(p agent.Process) error {
		l.Service.Board.Failpoint("run.started")
		defer l.Service.Board.Failpoint("run.spawned")
		r.begun(p)
		defer r.noted()
		return u.board.Board.Update(ctx, "spawn", func(st *blackboard.State, a transition.Actor) error {
			if t := st.Task(task); t != nil && l.Role == blackboard.RoleCoder {
				t.ResolvedRole = b.role.Record()
			}
			if b.role.Role.Kind == role.Coder {
				transition.DeliverAnswers(st, task)
			}
			if b.reask == 0 {
				transition.UseFacts(st, prompt.FactsIn(st, b.Text), l.Service.Board.Now())
			}
			if b.why != "" {
				st.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(l.Service.Board.Now()), Agent: a.ID, Action: blackboard.ActionModelEscalated, Task: task, Detail: b.climbed()})
			}
			err := transition.Spawned(st, a, blackboard.Child{PID: p.Pid, PIDStart: p.Start, PGID: p.Pgid, Run: r.number, RunID: r.mark, TokenHash: hash, Task: task, Sandbox: string(r.sandbox), Ports: r.wall.Ports(), CLI: b.program,
				Speaks: r.speaks, Resumes: r.resumes}, l.Service.Board.Now())
			if err == nil {
				transition.PromptHad(st, l.ID, b.notes, b.resumed != nil, l.Service.Board.Now())
			}
			return err
		})
	}
	before := l.surroundings.around(ctx, r)
	if err := l.keep(ctx, adapter, &spec, r, u, before); err != nil {
		return r, err
	}
	return r, l.follow(ctx, adapter, spec, r, u, before, closeBroker)
}

// follow runs a program, or goes on with the run that was adopted, and takes in what comes of it.
func (l *launcher) follow(ctx context.Context, adapter agent.Adapter, spec agent.Spec, r *run, u *unit, before git.Surroundings, closeBroker func()) error {
	b, task := r.brief, r.task
	told := l.openTold(r.event(task), b, spec.Dir, spec.Adopted != nil)
	spec.Event = told.hear
	within, stop := context.WithCancelCause(ctx)
	closeTexts := l.openTexts(within, &spec, r, task, adapter, stop)
	go r.wall.WatchDisk(within, stop)
	r.result, r.over = l.spending.watched(within, adapter, spec, b, task)
	if why, tail := r.wall.ServiceFailure(); why != "" && r.result.ExitCode == service.NotReady {
		r.result.Outcome, r.result.Error, r.result.Tail = agent.Crashed, why, tail // the program was not started
	}
	r.told = r.result.Outcome == agent.Killed && errors.Is(context.Cause(within), errTold)
	closeTexts()
	stop(nil)
	for _, f := range r.kept {
		f.Close()
	}
	closeBroker() // nothing that came out of the run happens after its end is read
	l.Service.Board.Failpoint("run.over")
	l.surroundings.takeOver(ctx, r, task)
	l.surroundings.tellChanges(ctx, before, r, task)
	l.waitReadable(ctx, task)
	r.byVerbs = spec.Terminal != nil || r.result.Outcome == agent.Finished && r.result.ExitCode == 0
	err := l.read(ctx, u, r, task)
	l.Service.Board.Failpoint("run.read")
	told.end(r.outcomeText(), err)
	return err
}

// waitReadable waits until the board can be read: what a run has answered is paid for, and stays while a person mends a line.
func (l *launcher) waitReadable(ctx context.Context, task string) {
	for told := false; ; told = true {
		_, err := l.Service.Board.View(ctx)
		if !unreadable(err) {
			return
		}
		if !told {
			l.warn(task, "keeps the answer of the run until the board can be read: %v", err)
		}
		if !sleep(ctx, time.Second) {
			return
		}
	}
}

// equip gives a program what its kind has. A messenger and a summarizer have no id, no broker and no verbs.
func (l *launcher) equip(ctx context.Context, adapter agent.Adapter, spec *agent.Spec, r *run, st *blackboard.State, task string) (err error) {
	kind, file := r.brief.role.Role.Kind, spec.PromptFile
	spec.Budget = l.spending.budget(st, task)
	if adapter != nil {
		if err := l.addSchemas(adapter.Info(), spec, string(kind)); err != nil {
			return err
		}
	}
	if kind != role.Kind(l.Role) {
		spec.NoTools = true
		spec.Env = []string{"LIZA_ROLE=" + string(kind), "LIZA_TASK_ID=" + spec.TaskID, "LIZA_ROOT=" + l.Service.Board.Project.Root, "LIZA_BIN=" + l.Liza, "LIZA_PROMPT_FILE=" + file, "LIZA_RUN=" + r.mark}
		spec.Timeout = messengerTimeout
		if kind == role.Summarizer {
			spec.Timeout = summarizerTimeout
		}
		return nil
	}
	settings, err := l.gitSettings(ctx, l.Environ)
	if err != nil {
		return err
	}
	dir := spec.Dir
	spec.Env = append(l.environment(task, r.mark, file, spec.Worktree), settings...)
	spec.Liza, spec.Timeout = l.Liza, st.Duration("run_timeout")
	spec.Activity = func() time.Time { return l.activity(task, dir) }
	if spec.Terminal = l.Interactive; spec.Terminal != nil && !adapter.Info().Interactive {
		l.say(task, "%s takes no prompt when it is opened; it is in %s", r.program(), file)
	}
	return nil
}

// read takes in what a program has said, and records the end of its run.
func (l *launcher) read(ctx context.Context, u *unit, r *run, task string) error {
	kind := r.brief.role.Role.Kind
	r.talk = conversed(r.brief.resumed, r.result)
	if kind == role.Reviewer && !errors.Is(context.Cause(ctx), errLost) {
		l.putBack(ctx, task)
	}
	if kind == role.Planner { // before anything of what it says is written
		var err error
		if r.result.Final, err = l.Service.Board.Vault().KeepFound(context.WithoutCancel(ctx), r.result.Final); err != nil {
			return err
		}
	}
	l.masked(&r.result)
	r.answer = exitcmd.Read(r.result.Final, string(kind))
	r.answer.Problem = because(r.answer.Problem, r.result)
	if r.record != nil {
		r.record.result = &r.result
	}
	return l.ended(ctx, u, task, r)
}

// answerEnd is how many bytes of the end of an answer are told.
const answerEnd = 100

// because adds to a missing exit command what the end of the answer tells about it: it was cut off, or what it says instead.
func because(problem error, r agent.Result) error {
	if !errors.Is(problem, exitcmd.ErrMissing) {
		return problem
	}
	if r.Outcome == agent.Reask && r.Error != "" {
		return fmt.Errorf("%w: %s", problem, r.Error)
	}
	if end := prose.OneLine(r.Final[max(0, len(r.Final)-answerEnd):], 0); end != "" {
		return fmt.Errorf("%w; the answer ends: %s", problem, end)
	}
	return problem
}

// putBack undoes what came late to the worktree of what was judged, before the end of the run is written: nothing else is approved.
func (l *launcher) putBack(ctx context.Context, task string) {
	if _, err := l.Service.Worktrees.PutBack(context.WithoutCancel(ctx), task, ""); err != nil {
		l.warn(task, "%v", err) // an approval of what is not at the submitted commit is refused
	}
}

// masked takes secrets out of all that a run says.
func (l *launcher) masked(r *agent.Result) {
	mask := func(text *string) { *text = l.Service.Board.Mask(*text) }
	mask(&r.Final)
	mask(&r.Error)
	for i := range r.Tail {
		mask(&r.Tail[i])
	}
}

// environment is what an agent program is told about itself (specs/cli.md#5).
func (l *launcher) environment(task, mark, prompt, worktree string) []string {
	env := []string{"LIZA_AGENT_ID=" + l.ID, "LIZA_ROLE=" + string(l.Role), "LIZA_TASK_ID=" + task,
		"LIZA_WORKTREE=" + worktree, "LIZA_ROOT=" + l.Service.Board.Project.Root, "LIZA_BIN=" + l.Liza, "LIZA_PROMPT_FILE=" + prompt, "LIZA_RUN=" + mark}
	return append(env, "PATH="+filepath.Dir(l.Liza)+string(os.PathListSeparator)+pathOf(l.Environ))
}

func pathOf(environ []string) string {
	for _, e := range environ {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			return p
		}
	}
	return "/usr/local/bin:/usr/bin:/bin"
}

// addSchemas gives a program that enforces a schema that of the exit command: whole in a file where its arguments name that, and
// of its kind of agent, unless the project says no (specs/configuration.md#programs-that-enforce-a-schema).
func (l *launcher) addSchemas(program agent.Info, spec *agent.Spec, kind string) (err error) {
	if program.Schema {
		text, err := l.Schema()
		if err != nil {
			return err
		}
		if spec.SchemaFile, err = l.saveSchema(l.Service.Board.Project.ExitSchema(), text); err != nil {
			return err
		}
	}
	if !l.enforced(program, kind) {
		return nil
	}
	strict := exitcmd.AnswerSchema(kind, true)
	spec.Schema = string(exitcmd.AnswerSchema(kind, false))
	spec.StrictSchemaFile, err = l.saveSchema(l.Service.Board.Project.StrictSchema(kind), strict)
	return err
}

// enforced reports whether a program holds the answer of a kind of agent to its schema.
func (m *member) enforced(program agent.Info, kind string) bool {
	return program.Enforces && exitcmd.AnswerSchema(kind, true) != nil
}

// Who only writes a text has less time than who works: a team waits for it.
const (
	messengerTimeout  = 2 * time.Minute
	summarizerTimeout = 5 * time.Minute
)

// saveSchema writes a schema and returns its path. All runs share the file; each rewrites it, so
// that it is never old enough to be taken for a left-over (verb.GC).
func (l *launcher) saveSchema(path string, text []byte) (string, error) {
	err := safefile.MakeFolder(filepath.Dir(path), 0o755)
	if err == nil {
		err = safefile.Replace(path, text, 0o644)
	}
	if err != nil {
		return "", fmt.Errorf("cannot write the schema of the exit command: %w", err)
	}
	return path, nil
}

// savePrompt keeps the exact bytes of a prompt, readable by its owner only, under the number
// that its run has in the history. A run without one takes the next number that is free.
func (l *launcher) savePrompt(folder, text string, number int) (string, error) {
	dir := filepath.Dir(l.Service.Board.Project.Prompt(folder, 1))
	if err := safefile.MakeFolder(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot save the prompt: %w", err)
	}
	if number > 0 {
		path := l.Service.Board.Project.Prompt(folder, number)
		if err := safefile.Replace(path, []byte(l.Service.Board.Mask(text)), 0o600); err != nil {
			return "", fmt.Errorf("cannot save the prompt: %w", err)
		}
		return path, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("cannot save the prompt: %w", err)
	}
	for n := len(entries) + 1; ; n++ {
		path := l.Service.Board.Project.Prompt(folder, n)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("cannot save the prompt: %w", err)
		}
		_, err = f.WriteString(l.Service.Board.Mask(text))
		if err = errors.Join(err, f.Close()); err != nil {
			return "", fmt.Errorf("cannot save the prompt: %w", err)
		}
		return path, nil
	}
}

// named is the program with its version, where it tells one: who reads the log later
// needs to know whose words they are.
func (l *launcher) named(ctx context.Context, program string, adapter agent.Adapter) string {
	if l.Version == nil {
		return program
	}
	return strings.TrimSpace(program + " " + l.Version(ctx, adapter))
}

// openLog opens the output log and marks the beginning of a run in it. Secrets are masked. What a planner says is written when the log is closed: until then nobody knows
// which secrets its plan has.
func (l *launcher) openLog(task, run string) (io.WriteCloser, error) {
	path := l.Service.Board.Project.OutputAgent(l.ID)
	if task != "" {
		path = l.Service.Board.Project.Output(task)
	}
	f, err := safefile.OpenLog(path, 0o600, safefile.MaxLog)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(f, "=== %s %s\n", blackboard.TimeOf(l.Service.Board.Now()), run); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write the output log: %w", err), f.Close())
	}
	return l.maskedLog(f), nil
}

// outputLog is the log of a run, masked.
type outputLog struct {
	io.Writer
	close []io.Closer // in this order
}

func (l outputLog) Close() error {
	var all []error
	for _, c := range l.close {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}

func (l *launcher) maskedLog(f io.WriteCloser) io.WriteCloser {
	known := l.Service.Board.MaskLog(f)
	if l.Role != blackboard.RolePlanner {
		return outputLog{known, []io.Closer{known, f}}
	}
	later := &withheld{to: known}
	return outputLog{later, []io.Closer{later, known, f}}
}

// maxWithheld is how much of a planner's output is kept for the log.
const maxWithheld = 32 << 20

// withheld keeps what is written to it until it is closed.
type withheld struct {
	mu   sync.Mutex
	text bytes.Buffer
	over bool
	to   io.Writer
}

func (w *withheld) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	keep := p[:max(0, min(len(p), maxWithheld-w.text.Len()))]
	w.over = w.over || len(keep) < len(p)
	w.text.Write(keep)
	return len(p), nil
}

func (w *withheld) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		w.text.WriteString("\n[… the rest of the output is left out]\n")
	}
	_, err := w.text.WriteTo(w.to)
	return err
}

// ended records what a run cost and how it ended, whatever comes of its outcome: with an answer of a coder or reviewer in one
// write with what the answer does, else at once.
func (l *launcher) ended(ctx context.Context, u *unit, task string, x *run) error {
	b, r, exit := x.brief, x.result, x.answer.Exit
	ctx = context.WithoutCancel(ctx)
	if errors.Is(context.Cause(ctx), errLost) || l.lease.lost() {
		return nil
	}
	rr := transition.RunResult{Task: task, Seconds: int(r.Seconds + 0.5), TokensIn: r.Usage.TokensIn, TokensOut: r.Usage.TokensOut, Cached: r.Usage.TokensCached,
		Crashed: l.Interactive == nil && b.role.Role.Kind == role.Kind(l.Role) && r.Outcome == agent.Crashed && x.ownEnd() && !x.climbs(), Climbs: x.climbs()}
	rr.Finished = r.Outcome == agent.Finished
	if r.Usage.CostKnown {
		cents := blackboard.AmountOf(r.Usage.CostCents)
		rr.Cost = &cents
	}
	rr.Attempt = blackboard.Attempt{Run: x.number, Kind: string(b.role.Role.Kind), Role: b.role.Role.Name, Outcome: string(r.Outcome), Summary: prose.FirstLine(r.Error), CostCents: rr.Cost, Seconds: rr.Seconds,
		Commit: l.head(ctx, task), CLI: b.program, Rung: b.rung, Session: x.talk, Sandbox: string(x.sandbox)}
	if exit != nil {
		rr.Attempt.Action, rr.Attempt.Summary = exit.Action, exit.Summary
		rr.Outcome = &blackboard.LastOutcome{Action: exit.Action, Summary: exit.Summary, EvidenceFiles: outcome.Inside(l.Service, task, exit.EvidenceFiles), At: blackboard.TimeOf(l.Service.Board.Now())}
	}
	l.spending.recordUsage(task, x)
	if e := l.Service.Board.LastState(ctx).Agents[l.ID]; e != nil {
		x.said = e.Said
	}
	ended := l.Service.Board.Now()
	err := u.board.Board.Later(ctx, "run", func(st *blackboard.State, a transition.Actor) error {
		end := rr
		if transition.Incomplete(end.Attempt.Outcome) && (!x.ownEnd() || !l.holds(st, u, x.before)) { // it came to its end by verbs
			end.Attempt.Rung = 0
		}
		return transition.EndRun(st, a, end, ended)
	})
	switch {
	case err != nil:
	case !x.answered() || b.role.Role.Kind != role.Kind(l.Role):
		err = u.board.Board.Write(ctx, "run")
	case rr.Finished && l.Role == blackboard.RoleCoder:
		if err := l.Service.Board.Orphans().KeepEnd(l.ID, x.mark, rr); err != nil {
			l.warn(task, "%v", err)
		}
	}
	if isLost(err) {
		l.lease.end()
	}
	return err
}

// activity is when the agent last did something that is not output: a verb of its own, or
// a change in its worktree.
func (l *launcher) activity(task, dir string) time.Time {
	var last time.Time
	if st, err := l.Service.Board.View(context.Background()); err == nil {
		for t := range st.Tasks() {
			for _, h := range t.History {
				if at, ok := h.Time.At(); ok && h.Agent == l.ID && at.After(last) {
					last = at
				}
			}
		}
	}
	if task == "" {
		return last
	}
	seen := 0
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if seen++; err != nil || seen > 50000 {
			return fs.SkipAll
		}
		if e.IsDir() && e.Name() == "node_modules" {
			return fs.SkipDir
		}
		if info, err := e.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		return nil
	})
	return last
}
