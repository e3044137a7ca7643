package supervisor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
	"liza/pkg/run/agent"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/prompt"
	"liza/pkg/run/role"
	"liza/pkg/run/sandbox"
	"liza/pkg/verb/outcome"

	"liza/pkg/verb/board"
)

// spawn prepares prompt, environment and log, runs the program, and records its end.
func (s *Supervisor) spawn(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (*run, error) {
	p, err := s.prompt(ctx, st, t, u, nil)
	if err != nil {
		return nil, err
	}
	dir := s.folder(t)
	spec := agent.Spec{Dir: dir, Role: string(s.Role), TaskID: t.ID, Worktree: dir}
	return s.launch(ctx, spec, p, st, u, t.ID)
}

// launch runs one program for task ("" for a planner), and records its end. An error says that it could not be started or
// that its end could not be written; a run that comes with it is closed like any other.
func (s *Supervisor) launch(ctx context.Context, spec agent.Spec, b briefing, st *blackboard.State, u *unit, task string) (*run, error) {
	adapter, err := s.Adapter(b.program)
	if err != nil {
		return nil, err
	}
	token, hash, err := s.Service.Agents.NewToken()
	if err != nil {
		return nil, err
	}
	folder := cmp.Or(spec.TaskID, board.PlannerRuns) // of its prompts and its history
	r := &run{brief: b, task: task, number: transition.NextRun(st, s.ID), before: outcome.MarkOf(s.Service, st, s.ID, task)}
	r.mark = board.RunMark(s.generation(st), r.number)
	s.lease.setRun(r.mark)
	r.record = s.record(ctx, st, u, r, task, folder)
	file, err := s.savePrompt(folder, b.Text, r.record.sequence())
	if err != nil {
		return r, err
	}
	log, err := s.openLog(task, fmt.Sprintf("%s run %d (%s): %s", s.ID, r.number, r.mark, s.named(ctx, b.program, adapter)))
	if err != nil {
		return r, err
	}
	defer log.Close()
	spec.Prompt, spec.Model, spec.PromptFile, spec.Output = b.Text, b.model, file, log
	spec.Stall, spec.KillGrace = st.Duration("stall_timeout"), st.Duration("kill_grace")
	if b.resumed != nil {
		spec.Session = b.resumed.ID
	}
	if err := s.equip(ctx, adapter, &spec, r, st, task); err != nil {
		return r, err
	}
	if r.sandbox, err = s.level(ctx, b.program); err != nil {
		return r, err
	}
	if err := s.openGit(ctx, r, st, task, spec.Worktree, r.sandbox == sandbox.Closed); err != nil {
		return r, err
	}
	if spec.Liza == "" {
		hash = "" // it has no verbs
	}
	closeBroker := func() {}
	if spec.Liza != "" {
		if closeBroker, err = s.openBroker(&spec, r, task, token); err != nil {
			return r, err
		}
		defer closeBroker()
	}
	closeWall, err := s.openWall(ctx, &spec, r, task)
	if err != nil {
		return r, err
	}
	defer closeWall()
	spec.Started = func(p agent.Process) error {
		r.begun(p)
		defer r.noted()
		return u.board.Board.Update(ctx, "spawn", func(st *blackboard.State, a transition.Actor) error {
			if t := st.Task(task); t != nil && s.Role == blackboard.RoleCoder {
				t.ResolvedRole = b.role.Record()
			}
			if b.role.Role.Kind == role.Coder {
				transition.DeliverAnswers(st, task)
			}
			if b.reask == 0 {
				transition.UseFacts(st, prompt.FactsIn(st, b.Text), s.Service.Board.Now())
			}
			return transition.Spawned(st, a, blackboard.Child{PID: p.Pid, PIDStart: p.Start, PGID: p.Pgid, Run: r.number, RunID: r.mark, TokenHash: hash, Task: task, Sandbox: string(r.sandbox), CLI: b.program}, s.Service.Board.Now())
		})
	}
	told := s.openTold(r.event(task), b, spec.Dir)
	spec.Event = told.hear
	before := s.around(ctx, r)
	within, stop := context.WithCancelCause(ctx)
	go r.wall.WatchDisk(within, stop)
	r.result, r.over = s.watched(within, adapter, spec, b, task)
	stop(nil)
	closeBroker() // nothing that came out of the run happens after its end is read
	s.takeOver(ctx, r, task)
	s.tellChanges(ctx, before, r, task)
	err = s.read(ctx, u, r, task)
	told.end(r.outcomeText(), err)
	return r, err
}

// equip gives a program what its kind has. A messenger and a summarizer have no id, no broker and no verbs.
func (s *Supervisor) equip(ctx context.Context, adapter agent.Adapter, spec *agent.Spec, r *run, st *blackboard.State, task string) (err error) {
	if adapter != nil && adapter.Info().Schema {
		if spec.SchemaFile, err = s.saveSchema(); err != nil {
			return err
		}
	}
	kind, file := r.brief.role.Role.Kind, spec.PromptFile
	if kind != role.Kind(s.Role) {
		spec.Env = []string{"LIZA_ROLE=" + string(kind), "LIZA_TASK_ID=" + spec.TaskID, "LIZA_ROOT=" + s.Service.Board.Project.Root, "LIZA_BIN=" + s.Liza, "LIZA_PROMPT_FILE=" + file, "LIZA_RUN=" + r.mark}
		spec.Timeout = s.Service.Board.Config().Limits.Timeout.Messenger
		if kind == role.Summarizer {
			spec.Timeout = s.Service.Board.Config().Limits.Timeout.Summarizer
		}
		return nil
	}
	settings, err := s.gitSettings(ctx, s.Environ)
	if err != nil {
		return err
	}
	dir := spec.Dir
	spec.Env = append(s.environment(task, r.mark, file, spec.Worktree), settings...)
	spec.Liza, spec.Timeout = s.Liza, st.Duration(s.key("run_timeout"))
	spec.Activity = func() time.Time { return s.activity(task, dir) }
	if spec.Terminal = s.Interactive; spec.Terminal != nil && !adapter.Info().Interactive {
		s.say(task, "%s takes no prompt when it is opened; it is in %s", r.program(), file)
	}
	return nil
}

// read takes in what a program has said, and records the end of its run.
func (s *Supervisor) read(ctx context.Context, u *unit, r *run, task string) error {
	kind := r.brief.role.Role.Kind
	r.talk = conversed(r.brief.resumed, r.result)
	if kind == role.Reviewer && !errors.Is(context.Cause(ctx), errLost) {
		s.putBack(ctx, r, task)
	}
	if kind == role.Planner { // before anything of what it says is written
		var err error
		if r.result.Final, err = s.Service.Board.Vault().KeepFound(context.WithoutCancel(ctx), r.result.Final); err != nil {
			return err
		}
	}
	s.masked(&r.result)
	strict := s.Service.Board.Config().Exit.Strict && kind != role.Messenger // whose whole output may be its answer
	r.answer = exitcmd.Read(r.result.Final, string(kind), strict)
	r.answer.Problem = because(r.answer.Problem, r.result)
	if r.record != nil {
		r.record.result = &r.result
	}
	return s.ended(ctx, u, task, r)
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

// putBack undoes what a reviewer did to the worktree that it judged, before the end of the run is
// written: until then nothing else touches what it approved.
func (s *Supervisor) putBack(ctx context.Context, r *run, task string) {
	changed, err := s.Service.Worktrees.PutBack(context.WithoutCancel(ctx), task, s.ID)
	if err != nil {
		s.warn(task, "%v", err) // an approval of what is not at the submitted commit is refused
	}
	if r.changed = changed; changed != "" {
		s.warn(task, "the reviewer changed the work; put back: %s", changed)
	}
}

// masked takes secrets out of all that a run says.
func (s *Supervisor) masked(r *agent.Result) {
	mask := func(text *string) { *text = s.Service.Board.Mask(*text) }
	mask(&r.Final)
	mask(&r.Error)
	for i := range r.Tail {
		mask(&r.Tail[i])
	}
}

func (s *Supervisor) generation(st *blackboard.State) string {
	if e := st.Agents[s.ID]; e != nil {
		return e.Generation
	}
	return ""
}

// environment is what an agent program is told about itself (specs/cli.md#5).
func (s *Supervisor) environment(task, mark, prompt, worktree string) []string {
	env := []string{"LIZA_AGENT_ID=" + s.ID, "LIZA_ROLE=" + string(s.Role), "LIZA_TASK_ID=" + task,
		"LIZA_WORKTREE=" + worktree, "LIZA_ROOT=" + s.Service.Board.Project.Root, "LIZA_BIN=" + s.Liza, "LIZA_PROMPT_FILE=" + prompt, "LIZA_RUN=" + mark}
	return append(env, "PATH="+filepath.Dir(s.Liza)+string(os.PathListSeparator)+pathOf(s.Environ))
}

func pathOf(environ []string) string {
	for _, e := range environ {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			return p
		}
	}
	return "/usr/local/bin:/usr/bin:/bin"
}

// saveSchema writes what `liza help schema` prints, and tells where. All runs share the file;
// each rewrites it, so that it is never old enough to be taken for a left-over (verb.GC).
func (s *Supervisor) saveSchema() (string, error) {
	path := s.Service.Board.Project.ExitSchema()
	text, err := s.Schema()
	if err == nil {
		err = safefile.MakeFolder(filepath.Dir(path), 0o755)
	}
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
func (s *Supervisor) savePrompt(folder, text string, number int) (string, error) {
	dir := filepath.Dir(s.Service.Board.Project.Prompt(folder, 1))
	if err := safefile.MakeFolder(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot save the prompt: %v", err)
	}
	if number > 0 {
		path := s.Service.Board.Project.Prompt(folder, number)
		if err := safefile.Replace(path, []byte(s.Service.Board.Mask(text)), 0o600); err != nil {
			return "", fmt.Errorf("cannot save the prompt: %w", err)
		}
		return path, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("cannot save the prompt: %v", err)
	}
	for n := len(entries) + 1; ; n++ {
		path := s.Service.Board.Project.Prompt(folder, n)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("cannot save the prompt: %v", err)
		}
		_, err = f.WriteString(s.Service.Board.Mask(text))
		if err = errors.Join(err, f.Close()); err != nil {
			return "", fmt.Errorf("cannot save the prompt: %w", err)
		}
		return path, nil
	}
}

// named is the program with its version, where it tells one: who reads the log later, such as
// `liza explain`, needs to know whose words they are.
func (s *Supervisor) named(ctx context.Context, program string, adapter agent.Adapter) string {
	if s.Version == nil {
		return program
	}
	return strings.TrimSpace(program + " " + s.Version(ctx, adapter))
}

// openLog opens the output log and marks the beginning of a run in it. Secrets are masked. What a planner says is written when the log is closed: until then nobody knows
// which secrets its plan has.
func (s *Supervisor) openLog(task, run string) (io.WriteCloser, error) {
	path := s.Service.Board.Project.OutputAgent(s.ID)
	if task != "" {
		path = s.Service.Board.Project.Output(task)
	}
	f, err := safefile.OpenLog(path, 0o600, safefile.MaxLog)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(f, "=== %s %s\n", blackboard.TimeOf(s.Service.Board.Now()), run); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write the output log: %w", err), f.Close())
	}
	return s.maskedLog(f), nil
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

func (s *Supervisor) maskedLog(f io.WriteCloser) io.WriteCloser {
	known := s.Service.Board.MaskLog(f)
	if s.Role != blackboard.RolePlanner {
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
func (s *Supervisor) ended(ctx context.Context, u *unit, task string, x *run) error {
	b, r, exit := x.brief, x.result, x.answer.Exit
	ctx = context.WithoutCancel(ctx)
	if errors.Is(context.Cause(ctx), errLost) || s.lease.lost() {
		return nil
	}
	rr := transition.RunResult{Task: task, Seconds: int(r.Seconds + 0.5), TokensIn: r.Usage.TokensIn, TokensOut: r.Usage.TokensOut, Cached: r.Usage.TokensCached,
		Crashed: s.Interactive == nil && b.role.Role.Kind == role.Kind(s.Role) && r.Outcome == agent.Crashed && !mayRestart(r, b.restarts) && !x.answered() && !x.lostTalk()}
	rr.Finished = r.Outcome == agent.Finished
	if r.Usage.CostKnown {
		cents := blackboard.AmountOf(r.Usage.CostCents)
		rr.Cost = &cents
	}
	rr.Attempt = blackboard.Attempt{Run: x.number, Kind: string(b.role.Role.Kind), Role: b.role.Role.Name, Outcome: string(r.Outcome), Summary: prose.FirstLine(r.Error), CostCents: rr.Cost, Seconds: rr.Seconds,
		Commit: s.head(ctx, task), CLI: b.program, Session: x.talk, Sandbox: string(x.sandbox)}
	if exit != nil {
		rr.Attempt.Action, rr.Attempt.Summary = exit.Action, exit.Summary
		rr.Outcome = &blackboard.LastOutcome{Action: exit.Action, Summary: exit.Summary, EvidenceFiles: outcome.Inside(s.Service, task, exit.EvidenceFiles), At: blackboard.TimeOf(s.Service.Board.Now())}
	}
	s.recordUsage(task, x)
	ended := s.Service.Board.Now()
	err := u.board.Board.Later(ctx, "run", func(st *blackboard.State, a transition.Actor) error {
		if why := outcome.Contradicts(st.Task(task), s.ID, exit); b.role.Role.Kind == role.Reviewer && why != "" {
			if err := outcome.VoidApproval(st, a, task, why, ended); err != nil {
				return err
			}
		}
		return transition.EndRun(st, a, rr, ended)
	})
	switch {
	case err != nil:
	case !x.answered() || b.role.Role.Kind != role.Kind(s.Role):
		err = u.board.Board.Write(ctx, "run")
	case rr.Finished && s.Role == blackboard.RoleCoder:
		if err := s.Service.Board.Orphans().KeepEnd(s.ID, x.mark, rr); err != nil {
			s.warn(task, "%v", err)
		}
	}
	if isLost(err) {
		s.lease.end()
	}
	return err
}

func (s *Supervisor) head(ctx context.Context, task string) string {
	if task == "" || s.Role != blackboard.RoleCoder {
		return ""
	}
	w, err := s.Service.Board.Repo.BranchTip(ctx, "task/"+task)
	if err != nil {
		return ""
	}
	return w
}

// recordUsage appends to usage.jsonl; no decision reads it, so a failure is only told.
func (s *Supervisor) recordUsage(task string, x *run) {
	b, r := x.brief, x.result
	line := map[string]any{"at": blackboard.TimeOf(s.Service.Board.Now()), "run": x.number, "agent": s.ID, "kind": b.role.Role.Kind, "role": b.role.Role.Name, "task": task, "adapter": b.program, "model": b.model,
		"cost_cents": nil, "tokens_in": nil, "tokens_out": nil, "tokens_cached": nil, "seconds": int(r.Seconds + 0.5), "outcome": r.Outcome, "id": x.mark}
	if r.Usage.CostKnown {
		line["cost_cents"] = blackboard.AmountOf(r.Usage.CostCents)
	}
	if r.Usage.TokensKnown {
		line["tokens_in"], line["tokens_out"], line["tokens_cached"] = r.Usage.TokensIn, r.Usage.TokensOut, r.Usage.TokensCached
	}
	data, err := json.Marshal(line)
	if err == nil {
		err = safefile.Append(s.Service.Board.Project.Usage(), []byte(s.Service.Board.Mask(string(data))+"\n"))
	}
	if err != nil {
		s.warn(task, "cannot record the usage: %v", err)
	}
}

// activity is when the agent last did something that is not output: a verb of its own, or
// a change in its worktree.
func (s *Supervisor) activity(task, dir string) time.Time {
	var last time.Time
	if st, err := s.Service.Board.View(context.Background()); err == nil {
		for t := range st.Tasks() {
			for _, h := range t.History {
				if at, ok := h.Time.At(); ok && h.Agent == s.ID && at.After(last) {
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
