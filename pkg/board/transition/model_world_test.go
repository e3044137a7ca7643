package transition

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"liza/pkg/board/blackboard"
)

// A world is a board together with what a board cannot say: whose process is gone, and what
// the integration branch contains. The model and the random sequences let everything
// happen in it that may happen, with the functions that the verbs call.
type world struct {
	*board
	size   *worldSize
	gone   [maxAgents]bool  // the supervisor's process has ended
	regs   [maxAgents]int   // how often the agent has registered
	inside [maxTasks]string // the task's commit that the integration branch contains
	fault  string           // what must not have happened in the last step
	lost   taskArchive      // what became of archived tasks; random sequences only
}

const (
	maxAgents = 8
	maxTasks  = 8
)

// worldSize says who and what there is in a world.
type worldSize struct {
	coders, reviewers, planners []string
	tasks                       []string // as far as steps are made for them
	config                      blackboard.Settings
}

func (z *worldSize) agents() []string { return slices.Concat(z.coders, z.reviewers, z.planners) }

// A step is something that may happen in a world. do gives an error when it cannot happen
// there, and then leaves no trace.
type step struct {
	name string
	who  stepKind
	do   func(w *world) error
}

type stepKind byte

const (
	byTeam   stepKind = iota // agents, supervisors and what they do as system
	byPlan                   // the planner
	byPeople                 // a person
	byFate                   // crashes, restarts and time
)

var errNotHere = errors.New("it cannot happen here")

// newWorld has every agent registered and ready, and the tasks that make puts on the board.
func newWorld(b *board, size *worldSize, make func(*board)) *world {
	w := &world{board: b, size: size, lost: taskArchive{}}
	b.Overrides = size.config
	for _, id := range size.agents() {
		w.must(w.register(id))
	}
	make(b)
	b.TakeEntries(0)
	return w
}

// fork is a copy for one step.
func (w *world) fork() *world {
	c := *w
	c.board = &board{State: w.State.Fork(), t: w.t, now: w.now}
	c.fault = ""
	return &c
}

func (w *world) nth(agent string) int { return slices.Index(w.size.agents(), agent) }

func (w *world) token(agent string) string {
	return fmt.Sprintf("sha256:registration-%s-%d", agent, w.regs[w.nth(agent)])
}

// facts are what everybody on the machine can see of processes.
func (w *world) facts() blackboard.ProcessFacts {
	return blackboard.ProcessFacts{Host: "devbox", BootID: "boot", Running: func(pid int, _ int64) (running, known bool) {
		i := pid/1000 - 1
		return !w.gone[i] && w.regs[i] == pid%1000, true
	}}
}

func (w *world) system() Actor { return SystemActor(w.facts()) }

// supervisor acts only while its process lives.
func (w *world) supervisor(agent string, do func(a Actor) error) error {
	if w.gone[w.nth(agent)] || w.Agents[agent] == nil {
		return errNotHere
	}
	return do(Actor{ID: agent, TokenHash: w.token(agent), Facts: w.facts()})
}

// program is the agent's running program, which may outlive its supervisor. What it causes
// to a task it must have held.
func (w *world) program(agent, id string, do func(a Actor) error) error {
	e := w.Agents[agent]
	if e == nil || e.Child == nil {
		return errNotHere
	}
	held := false
	if t := w.Find(id); t != nil {
		held = t.Status == blackboard.Claimed && t.AssignedTo == agent && t.ClaimGeneration == e.Generation ||
			t.Status == blackboard.ReadyForReview && t.ReviewingBy == agent && t.ReviewingGeneration == e.Generation
	}
	if err := do(Actor{ID: agent, TokenHash: e.Child.TokenHash, Facts: w.facts()}); err != nil {
		return err
	}
	if !held {
		w.fault = agent + " changed " + id + " without holding it"
	}
	return w.runEnds(agent, id)
}

// spawn starts the program of a claim, never for an iteration too many.
func (w *world) spawn(agent, id string) error {
	if t := w.Find(id); t != nil && IterationsPast(w.board.State, t) {
		return errNotHere
	}
	return w.supervisor(agent, func(a Actor) error {
		run := NextRun(w.board.State, agent)
		c := blackboard.Child{PID: 1, Run: run, TokenHash: fmt.Sprintf("sha256:run-%s-%d-%d", agent, w.regs[w.nth(agent)], run), Task: id}
		return Spawned(w.board.State, a, c, w.now)
	})
}

// runEnds is what the supervisor writes after a run, if it still lives.
func (w *world) runEnds(agent, id string) error {
	err := w.supervisor(agent, func(a Actor) error {
		role, _, _ := blackboard.ParseAgentID(agent)
		w.must(EndRun(w.board.State, a, RunResult{Task: id, Attempt: blackboard.Attempt{Kind: string(role), Outcome: finishedRun}}, w.now))
		return nil
	})
	if errors.Is(err, errNotHere) {
		return nil
	}
	return err
}

// register enters a supervisor again, as a new process.
func (w *world) register(agent string) error {
	i := w.nth(agent)
	n := w.regs[i] + 1
	entry := &blackboard.Agent{Generation: fmt.Sprintf("g-%s-%d", agent, n), TokenHash: fmt.Sprintf("sha256:registration-%s-%d", agent, n),
		Host: "devbox", BootID: "boot", PID: 1000*(i+1) + n, PIDStart: 7}
	if err := Register(w.board.State, agent, entry, Actor{ID: blackboard.Human, Name: "ada", Facts: w.facts()}, w.now); err != nil {
		return err
	}
	w.regs[i], w.gone[i] = n, false
	return w.supervisor(agent, func(a Actor) error { return SetReady(w.board.State, a, "claude", "", w.now) })
}

// leaseOver tells of an agent that is registered whether others may take what it holds.
func (w *world) leaseOver(agent string) bool {
	return leaseOver(w.Agents[agent], w.now.Add(-w.Duration("lease_grace")))
}

// pass lets time go on; who is alive goes on beating, but for those who are silent.
func (w *world) pass(d time.Duration, silent ...string) {
	var beating []string
	for _, id := range w.size.agents() {
		if w.Agents[id] != nil && !w.gone[w.nth(id)] && !w.leaseOver(id) && !slices.Contains(silent, id) {
			beating = append(beating, id)
		}
	}
	w.after(d)
	for _, id := range beating {
		w.must(w.supervisor(id, func(a Actor) error { return Beat(w.board.State, a, w.now) }))
	}
}

// reserve is phase one of a claim, confirm phase three: what a supervisor does in between
// can take as long as it likes, and it can die of it.
func (w *world) reserve(agent, id string) error {
	return w.supervisor(agent, func(a Actor) error { return Reserve(w.board.State, id, a, claimed(id), w.now) })
}

func (w *world) confirm(agent, id string) error {
	t := w.Find(id)
	if t == nil || t.Claiming == nil || t.Claiming.By != agent {
		return errNotHere
	}
	keep := t.HandoffPending || t.Status == blackboard.IntegrationFailed || (t.Status == blackboard.Rejected || t.Status == blackboard.Claimed) && t.AssignedTo == agent
	in := claimed(id)
	in.Claim.Confirm, in.Claim.Fresh = true, !keep || t.Worktree == ""
	if t.KindOf() == "msg" {
		in.Claim.Worktree = ""
	}
	if err := w.supervisor(agent, func(a Actor) error { return Claim(w.board.State, id, a, in, w.now) }); err != nil {
		return err
	}
	w.must(w.spawn(agent, id))
	return nil
}

// commit is a commit that the task did not have before.
func (w *world) commit(id string) string {
	return commitOf(10_000*(1+slices.Index(w.size.tasks, id)) + len(w.Find(id).History))
}

func (w *world) submit(agent, id string) error {
	if w.Find(id) == nil {
		return errNotHere
	}
	return w.program(agent, id, func(a Actor) error { return Submit(w.board.State, id, a, submitted(id, w.commit(id)), w.now) })
}

// candidate is the merge commit of the task.
func (w *world) candidate(id string) string {
	return commitOf(900_000 + slices.Index(w.size.tasks, id))
}

// moveBranch is step M8 of a merge: git moves the integration branch after the intent.
func (w *world) moveBranch(id string) error {
	i, t := slices.Index(w.size.tasks, id), w.Find(id)
	if t == nil || t.MergeIntent == nil || w.inside[i] != "" {
		return errNotHere
	}
	w.inside[i] = t.ReviewCommit
	return nil
}

// merging are the events of a merge that need or exclude that the branch contains the work.
func (w *world) merging(id string, contained bool, do func(in Input) error) error {
	if w.Find(id) == nil || (w.inside[slices.Index(w.size.tasks, id)] != "") != contained {
		return errNotHere
	}
	return do(mergeable(w.candidate(id)))
}

// open tells of a claim of something that nobody holds and nobody prepares.
func (w *world) waits(t *blackboard.Task) bool {
	reserved := t.Claiming != nil && !past(t.Claiming.Expires, w.now)
	_, kept := keptUntil(w.board.State, t, "", w.facts(), w.now)
	return reserved || t.Status == blackboard.Rejected && kept
}
