package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/role"
	"liza/pkg/safefile"
	"liza/pkg/verb"
)

// programIn is the agent program and the model for a run. When the role cannot be used
// nothing is started; then the program is the one that is configured.
func (s *Supervisor) programIn(_ *blackboard.State, t *blackboard.Task) (name, model string) {
	used, err := s.roleFor(role.Kind(s.Role), t)
	if err != nil {
		return first(s.CLI, s.Desk.Config().Agents.Default), s.Model
	}
	return s.programFor(used.Role, t)
}

func (s *Supervisor) program(_ context.Context, t *blackboard.Task) (name, model string) {
	return s.programIn(nil, t)
}

// spawn prepares prompt, environment and log, runs the program, and records its end.
func (s *Supervisor) spawn(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (agent.Result, error) {
	p, err := s.prompt(ctx, st, t, u, nil)
	if err != nil {
		return agent.Result{}, err
	}
	adapter, err := s.Adapter(p.program)
	if err != nil {
		return agent.Result{}, err
	}
	spec := agent.Spec{Dir: s.Desk.Repo.WorktreePath(t.ID), Prompt: p.Text, Model: p.model, Role: string(s.Role), TaskID: t.ID, Worktree: s.Desk.Repo.WorktreePath(t.ID),
		Session: u.session}
	return s.launch(ctx, adapter, spec, p, st, t.ID, t.ID)
}

// launch runs one program for task ("" for a planner). folder names its prompts.
func (s *Supervisor) launch(ctx context.Context, adapter agent.Adapter, spec agent.Spec, b briefing, st *blackboard.State, task, folder string) (agent.Result, error) {
	if s.Slots != nil {
		select {
		case s.Slots <- struct{}{}:
			defer func() { <-s.Slots }()
		case <-ctx.Done():
			return agent.Result{Outcome: agent.Killed}, nil
		}
	}
	run := st.NextRun(s.ID)
	token, hash, err := s.Desk.NewToken()
	if err != nil {
		return agent.Result{}, err
	}
	mark := verb.RunMark(s.generation(st), run)
	s.current = s.record(ctx, st, string(s.Role), task, folder, b, mark, token)
	file, err := s.savePrompt(folder, spec.Prompt, s.current.sequence())
	if err != nil {
		return agent.Result{}, err
	}
	log, err := s.openLog(task, run)
	if err != nil {
		return agent.Result{}, err
	}
	defer log.Close()
	spec.PromptFile, spec.Output = file, log
	spec.Env = s.environment(task, token, mark, file, spec.Worktree)
	spec.Timeout, spec.Stall, spec.KillGrace = st.Duration(s.key("run_timeout")), st.Duration("stall_timeout"), st.Duration("kill_grace")
	if spec.Terminal = s.Interactive; spec.Terminal != nil && !adapter.Info().Interactive {
		s.say(task, "%s takes no prompt when it is opened; it is in %s", b.program, file)
	}
	spec.Activity = func() time.Time { return s.activity(task, spec.Dir) }
	spec.Started = func(p agent.Process) error {
		return s.Desk.Update(ctx, "spawn", func(st *blackboard.State, a blackboard.Actor) error {
			if t := st.Task(task); t != nil && s.Role == blackboard.RoleCoder {
				t.ResolvedRole = b.role.Record()
			}
			return st.Spawned(a, blackboard.Child{PID: p.Pid, PIDStart: p.Start, PGID: p.Pgid, Run: run, RunID: mark, TokenHash: hash, Task: task}, s.Desk.Now())
		})
	}
	r := s.Start(ctx, adapter, spec)
	s.current.ended(r)
	return r, s.ended(ctx, task, run, b, r)
}

func (s *Supervisor) generation(st *blackboard.State) string {
	if e := st.Agents[s.ID]; e != nil {
		return e.Generation
	}
	return ""
}

// environment is what an agent program is told about itself (cli 5).
func (s *Supervisor) environment(task, token, mark, prompt, worktree string) []string {
	env := []string{"LIZA_AGENT_ID=" + s.ID, "LIZA_AGENT_TOKEN=" + token, "LIZA_ROLE=" + string(s.Role), "LIZA_TASK_ID=" + task,
		"LIZA_WORKTREE=" + worktree, "LIZA_ROOT=" + s.Desk.Project.Root, "LIZA_BIN=" + s.Liza, "LIZA_PROMPT_FILE=" + prompt, "LIZA_RUN=" + mark}
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

// savePrompt keeps the exact bytes of a prompt, readable by its owner only, under the number
// that its run has in the history. A run without one takes the next number that is free.
func (s *Supervisor) savePrompt(folder, text string, number int) (string, error) {
	dir := filepath.Dir(s.Desk.Project.Prompt(folder, 1))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot save the prompt: %v", err)
	}
	if number > 0 {
		path := s.Desk.Project.Prompt(folder, number)
		if err := safefile.Replace(path, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("cannot save the prompt: %w", err)
		}
		return path, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("cannot save the prompt: %v", err)
	}
	for n := len(entries) + 1; ; n++ {
		path := s.Desk.Project.Prompt(folder, n)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("cannot save the prompt: %v", err)
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", fmt.Errorf("cannot save the prompt: %w", err)
		}
		return path, nil
	}
}

// openLog opens the output log and marks the beginning of a run in it.
func (s *Supervisor) openLog(task string, run int) (io.WriteCloser, error) {
	path := s.Desk.Project.OutputAgent(s.ID)
	if task != "" {
		path = s.Desk.Project.Output(task)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot open the output log: %v", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the output log: %v", err)
	}
	if _, err := fmt.Fprintf(f, "=== %s %s run %d\n", blackboard.TimeOf(s.Desk.Now()), s.ID, run); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write the output log: %w", err), f.Close())
	}
	return f, nil
}

// ended records what a run cost and how it ended, whatever comes of its outcome.
func (s *Supervisor) ended(ctx context.Context, task string, run int, b briefing, r agent.Result) error {
	ctx = context.WithoutCancel(ctx)
	if errors.Is(context.Cause(ctx), errLost) || s.lease.lost() {
		return nil
	}
	rr := blackboard.RunResult{Task: task, Seconds: int(r.Seconds + 0.5), TokensIn: r.Usage.TokensIn, TokensOut: r.Usage.TokensOut, Cached: r.Usage.TokensCached,
		Crashed: r.Outcome == agent.Crashed && !r.Restart && !s.answered(r)}
	if r.Usage.CostKnown {
		rr.Cost = &r.Usage.CostCents
	}
	exit, _, _ := verb.ParseExit(r.Final, string(s.Role), s.Desk.Config().Exit.Strict)
	rr.Attempt = blackboard.Attempt{Run: run, Kind: string(s.Role), Role: b.role.Role.Name, Outcome: string(r.Outcome), Summary: firstLine(r.Error), CostCents: rr.Cost, Seconds: rr.Seconds, Commit: s.head(ctx, task)}
	if exit != nil {
		rr.Attempt.Action, rr.Attempt.Summary = exit.Action, exit.Summary
		rr.Outcome = &blackboard.LastOutcome{Action: exit.Action, Summary: exit.Summary, EvidenceFiles: s.Desk.Inside(task, exit.EvidenceFiles), At: blackboard.TimeOf(s.Desk.Now())}
	}
	s.recordUsage(task, run, b, r)
	err := s.Desk.Update(ctx, "run", func(st *blackboard.State, a blackboard.Actor) error {
		if task == "" { // BeginPlanning and EndPlanning frame a planner's run
			return st.EndRun(a, rr, s.Desk.Now())
		}
		return st.EndRun(a, rr, s.Desk.Now())
	})
	if isLost(err) {
		s.lease.end()
	}
	return err
}

func (s *Supervisor) head(ctx context.Context, task string) string {
	if task == "" || s.Role != blackboard.RoleCoder {
		return ""
	}
	w, err := s.Desk.Repo.BranchTip(ctx, "task/"+task)
	if err != nil {
		return ""
	}
	return w
}

// recordUsage appends to usage.jsonl; no decision reads it, so a failure is only told.
func (s *Supervisor) recordUsage(task string, run int, b briefing, r agent.Result) {
	line := map[string]any{"at": blackboard.TimeOf(s.Desk.Now()), "run": run, "agent": s.ID, "kind": s.Role, "role": b.role.Role.Name, "task": task, "adapter": b.program, "model": b.model,
		"cost_cents": nil, "tokens_in": r.Usage.TokensIn, "tokens_out": r.Usage.TokensOut, "tokens_cached": r.Usage.TokensCached, "seconds": int(r.Seconds + 0.5), "outcome": r.Outcome}
	if r.Usage.CostKnown {
		line["cost_cents"] = r.Usage.CostCents
	}
	data, err := json.Marshal(line)
	if err == nil {
		err = safefile.Append(s.Desk.Project.Usage(), append(data, '\n'))
	}
	if err != nil {
		s.warn(task, "cannot record the usage: %v", err)
	}
}

// activity is when the agent last did something that is not output: a verb of its own, or
// a change in its worktree.
func (s *Supervisor) activity(task, dir string) time.Time {
	var last time.Time
	if st, err := s.Desk.View(context.Background()); err == nil {
		for _, t := range st.Tasks {
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

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
