package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/run/prompt"
	"liza/pkg/run/role"
	"liza/pkg/run/sandbox"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// keptFormat is that of keptRun: a run of another one is ended by who would adopt it.
const keptFormat = 1

// A keptRun is what a supervisor has to know of a run to go on with it. Its reaper keeps it.
type keptRun struct {
	Format      int
	Agent, Mark string
	Task        string
	Number      int
	Before      board.Mark
	Prompt      prompt.Prompt
	Role        role.Resolved
	CLI, Model  string
	Rung, Rungs int
	Reask       int
	Restarts    int
	Resumed     *blackboard.Conversation
	Spec        keptSpec
	Sandbox     sandbox.Level
	Git         *git.Folder
	Record      int
	Seen        git.Surroundings
	Due         []transition.Trigger // of a planner
	Reasks      int                  // of its unit of work, as the next two
	With        string
	Claim       string
}

// keptSpec is what of agent.Spec cannot be found again.
type keptSpec struct{ Dir, PromptFile, Session, Worktree string }

// adopted is a run that this process goes on with.
type adopted struct {
	keptRun
	run   *agent.Adopted
	token string // of the run
}

// SocketOf is where the reaper of a run waits for another supervisor.
func SocketOf(base, root, mark string) string {
	return filepath.Join(broker.PathOf(base, root, "run "+mark), broker.Socket)
}

// keep lets the run outlive this process, if it is one of the agent itself and of no terminal. Its servers can be opened in any case.
func (l *launcher) keep(ctx context.Context, adapter agent.Adapter, spec *agent.Spec, r *run, u *unit, seen git.Surroundings) error {
	if !agent.CanKeep || r.socket == nil || r.brief.role.Role.Kind != role.Kind(l.Role) {
		return nil
	}
	folder, err := broker.MakeFolder(l.enclosure.RunBase, l.Service.Board.Project.Root, "run "+r.mark)
	if err != nil {
		return err
	}
	r.unkeep = func() { _ = folder.Remove() }
	defer folder.Listener.Close() // the reaper's is open
	socket, err := broker.FileOf(folder.Listener)
	if err != nil {
		return err
	}
	if r.kept = []*os.File{socket}; spec.Terminal != nil { // it ends with this process
		spec.Door = socket
		return nil
	}
	k := keptRun{Format: keptFormat, Agent: l.ID, Mark: r.mark, Task: r.task, Number: r.number, Before: r.before, Prompt: r.brief.Prompt, Role: r.brief.role, CLI: r.brief.program, Model: r.brief.model, Rung: r.brief.rung, Rungs: r.brief.rungs,
		Reask: r.brief.reask, Restarts: r.brief.restarts, Resumed: r.brief.resumed, Spec: keptSpec{spec.Dir, spec.PromptFile, spec.Session, spec.Worktree}, Sandbox: r.sandbox, Git: r.git, Record: r.record.sequence(),
		Seen: seen, Due: u.due, Reasks: u.reasks, With: u.with, Claim: u.claim}
	facts, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("cannot keep the run: %v", err)
	}
	commands, err := broker.FileOf(r.socket)
	if err != nil {
		return err
	}
	files := []*os.File{commands}
	if r.git != nil {
		files = append(files, r.git.Lock())
	}
	walls, copies, err := r.wall.Kept()
	r.kept = append(append(r.kept, commands), copies...)
	interval, lease, margin := l.intervals(ctx)
	spec.Keep = &agent.Keep{Socket: socket, Files: append(files, walls...), Facts: facts, Wait: max(lease-margin-interval, lease/2)}
	return err
}

// adopt takes over a run whose supervisor died, if there is one for this agent, and registers as that agent.
func (s *Supervisor) adopt(ctx context.Context) (bool, error) {
	if !agent.CanKeep || s.Interactive != nil || s.Task != "" || s.Commands == nil {
		return false, nil
	}
	for tries := 0; ; tries++ {
		st, err := s.Service.Board.View(ctx)
		if err != nil {
			return false, err
		}
		busy := false
		for _, id := range slices.Sorted(maps.Keys(st.Agents)) {
			done, wait, err := s.adoptFrom(ctx, id, st.Agents[id])
			if done || err != nil {
				return done, err
			}
			busy = busy || wait
		}
		if !busy || tries == 50 || !sleep(ctx, 100*time.Millisecond) { // a moment later the board says who has it
			return false, nil
		}
	}
}

// adoptFrom is adopt for one registration. busy reports that another process is about to do it.
func (s *Supervisor) adoptFrom(ctx context.Context, id string, e *blackboard.Agent) (done, busy bool, err error) {
	proc := s.Service.Board.Proc
	if s.ID != "" && s.ID != id || e == nil || e.Role != s.Role || e.Child == nil || e.Host != proc.Host || e.BootID != proc.BootID || !s.Service.Board.Orphans().ProcessGone(e.PID, e.PIDStart) {
		return false, false, nil
	}
	run, err := agent.Adopt(SocketOf(s.RunBase, s.Service.Board.Project.Root, e.Child.RunID))
	if err != nil {
		return false, errors.Is(err, agent.ErrSettling), nil
	}
	a := &adopted{run: run}
	if json.Unmarshal(run.Facts, &a.keptRun) != nil || a.Format != keptFormat || a.Agent != id || a.Mark != e.Child.RunID {
		s.member.warn(e.Child.Task, "the run of %s is of another version of liza, and ended", id)
		run.End(s.Service.Board.LastState(ctx).Duration("kill_grace"))
		return false, false, nil
	}
	started := s.Service.Board.Now()
	reg, err := s.Service.Agents.Adopt(ctx, verb.RegisterInput{ID: id, PID: s.PID, PIDStart: s.PIDStart, Terminal: s.Terminal, Settings: config.Handed(s.Environ)}, a.Mark)
	if err != nil {
		run.Release()
		if isRefused(err) {
			err = nil
		}
		return false, false, err
	}
	a.token, s.adopted = reg.RunToken, a
	s.entered(ctx, id, reg.Token, started)
	s.member.say(a.Task, "goes on with run %d of %s, whose supervisor died", a.Number, id)
	return true, false, nil
}

// goOn works on with the run that was adopted, until its unit of work ends.
func (s *Supervisor) goOn(soft, hard context.Context, a *adopted) error {
	if s.Role == blackboard.RolePlanner {
		return s.planner.planning(soft, hard, a.Due, a)
	}
	return s.workOn(soft, hard, a.Task, a)
}

// leaveToPerson leaves registration and claim to the process of a person who attaches, and goes on as another agent.
func (s *Supervisor) leaveToPerson(ctx context.Context) error {
	err := s.Service.Board.Update(ctx, "leave", func(st *blackboard.State, a transition.Actor) error {
		return transition.LeaveAgent(st, a, s.Service.Board.Now())
	})
	if err != nil {
		return err
	}
	s.member.say("", "a person goes on with its work in a terminal")
	s.forgetRegistration()
	if s.Once {
		return errComplete
	}
	return &transition.Refusal{Exit: transition.ExitLeaseLost, Message: "its work is a person's now", Next: "liza status"}
}

// attachedText is what a program is told whose conversation a person goes on with.
const attachedText = "From here on a person works with you in this conversation, in their terminal. Worktree, task and rules are the same. Say in two sentences where you are, then wait for their words."

// resume is launch for a run that was adopted.
func (l *launcher) resume(ctx context.Context, a *adopted, st *blackboard.State, u *unit) (*run, error) {
	r := &run{adopted: true, number: a.Number, mark: a.Mark, before: a.Before, task: a.Task, git: a.Git, sandbox: a.Sandbox,
		brief: briefing{Prompt: a.Prompt, role: a.Role, program: a.CLI, model: a.Model, place: place{rung: a.Rung, rungs: a.Rungs}, reask: a.Reask, restarts: a.Restarts, resumed: a.Resumed}}
	u.reasks, u.with, u.claim, u.fixed, u.due = a.Reasks, a.With, a.Claim, true, a.Due
	followed := false
	defer func() {
		if !followed {
			a.run.End(st.Duration("kill_grace"))
		}
	}()
	l.lease.setRun(r.mark)
	r.record = l.records.own(ctx, r, a.Record)
	adapter, err := l.Adapter(a.CLI)
	if err != nil {
		return r, err
	}
	if r.git != nil {
		if r.git, err = l.Service.Board.Repo.AdoptFolder(*a.Git, a.run.Files[1]); err != nil {
			return r, err
		}
		a.run.Files = slices.Delete(a.run.Files, 1, 2)
	}
	log, err := l.openLog(r.task, fmt.Sprintf("%s run %d (%s) goes on: its supervisor died", l.ID, r.number, r.mark))
	if err != nil {
		return r, err
	}
	defer log.Close()
	r.place = l.enclosure.place(r.sandbox, a.Spec.Dir)
	spec := agent.Spec{Dir: a.Spec.Dir, At: r.place.Inside(a.Spec.Dir), Prompt: a.Prompt.Text, PromptFile: a.Spec.PromptFile, Model: a.Model, Role: string(l.Role), TaskID: a.Task, Worktree: a.Spec.Worktree, Session: a.Spec.Session,
		Stall: st.Duration("stall_timeout"), KillGrace: st.Duration("kill_grace"), Output: log, Adopted: a.run}
	for _, n := range st.Texts(r.task) {
		if n.GivenTo(r.mark) && n.Receipt.How == blackboard.ByTurn { // its echo may still come, to this process
			spec.Said = append(spec.Said, l.textOf(n))
		}
	}
	if err := l.equip(ctx, adapter, &spec, r, st, r.task); err != nil {
		return r, err
	}
	closeBroker := func() {}
	if !a.run.Over() {
		if closeBroker, err = l.enclosure.openBroker(&spec, r, r.task, a.token); err != nil {
			return r, err
		}
	} else if left, err := broker.Adopt(broker.PathOf(l.enclosure.RunBase, l.Service.Board.Project.Root, l.ID), nil); err == nil { // no command comes any more
		closeBroker = sync.OnceFunc(func() { _ = left.Remove() })
	}
	defer closeBroker()
	closeWall, err := l.enclosure.openWall(ctx, &spec, r, r.task)
	if err != nil {
		return r, err
	}
	defer closeWall()
	kept, err := broker.Adopt(broker.PathOf(l.enclosure.RunBase, l.Service.Board.Project.Root, "run "+r.mark), nil)
	if err != nil {
		return r, err
	}
	r.unkeep = func() { _ = kept.Remove() }
	spec.Started = func(p agent.Process) error {
		defer r.noted()
		r.begun(p)
		return nil
	}
	a.run.Retell = l.Role == blackboard.RolePlanner // what it said was in the memory of its supervisor alone
	followed = true
	return r, l.follow(ctx, adapter, spec, r, u, a.Seen, closeBroker)
}

// own is record for a run that was adopted.
func (rs *records) own(ctx context.Context, x *run, begun int) *recording {
	folder := x.task
	if folder == "" {
		folder = board.PlannerRuns
	}
	r := &recording{log: rs.Service.Board.Histories().Interactions(folder), task: x.task, begun: begun}
	in, err := r.log.Own(ctx, begun, rs.owner())
	if err != nil {
		rs.warnHistory(ctx, x.task, err)
	}
	if in == nil {
		return nil
	}
	r.in = *in
	return r
}
