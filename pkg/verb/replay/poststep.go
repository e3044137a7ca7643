package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
	"liza/pkg/code/review"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
)

// simulator is a service with the steps of runs that did not happen.
type simulator struct{ Service *verb.Service }

// PoststepInput is an answer that is applied as if a run of that kind had given it.
type PoststepInput struct {
	Task        string // or PlannerRuns
	Kind        role.Kind
	Response    string
	EmptyCommit bool // make an empty commit when the coder's worktree has no new one
	Reasked     bool // of a replay: an answer that cannot be used was asked for again
}

// Poststepped is the result of Poststep.
type Poststepped struct {
	Task          string   `json:"task"`
	Kind          string   `json:"kind"`
	Agent         string   `json:"agent"`
	StatusBefore  string   `json:"status_before"`
	Event         string   `json:"event"`
	StatusAfter   string   `json:"status_after"` // what the answer led to
	Action        string   `json:"action,omitempty"`
	Summary       string   `json:"summary_for_supervisor,omitempty"`
	EvidenceFiles []string `json:"evidence_files"`
	Problem       string   `json:"problem,omitempty"`  // why the answer could not be used
	Released      bool     `json:"released"`           // the claim still held, and was given back
	Sequence      int      `json:"sequence,omitempty"` // of the interaction that was recorded
	Warnings      []string `json:"warnings,omitempty"`
}

// Poststep feeds an answer through the path that the end of a run takes
// (specs/roles-and-knowledge.md#7.4). The task is claimed for the lowest free agent, the answer is
// applied, recorded as simulated, and the agent leaves. There is one answer only: what
// would be asked for again counts as the end of the re-asks. It is for people.
func Poststep(ctx context.Context, service *verb.Service, in PoststepInput) (Poststepped, error) {
	d := simulator{service}
	if err := d.Service.Board.PersonOnly(ctx, "simulate a run"); err != nil {
		return Poststepped{}, err
	}
	before, err := d.poststepFrom(ctx, in)
	if err != nil {
		return Poststepped{}, err
	}
	actor, via, err := d.actFor(ctx, in)
	if err != nil {
		return Poststepped{}, err
	}
	out := Poststepped{Task: in.Task, Kind: string(in.Kind), Agent: actor.Service.Board.Caller.AgentID, StatusBefore: before.status, EvidenceFiles: d.evidenceOf(in)}
	err = via.claimFor(ctx, in)
	judge := in.Kind != role.Reviewer
	if err == nil && !judge {
		judge, err = actor.checkFor(ctx, in, &out)
	}
	if err == nil && judge {
		err = actor.simulate(ctx, in, before, &out)
	}
	left, leaveErr := actor.leaveSimulation(context.WithoutCancel(ctx), via)
	out.Released = left
	return out, errors.Join(err, leaveErr)
}

// evidenceOf are the files that an answer names, those in the workspace.
func (d simulator) evidenceOf(in PoststepInput) []string {
	exit := d.answer(in).Exit
	task := in.Task
	if in.Kind == role.Planner {
		task = ""
	}
	if exit == nil {
		return []string{}
	}
	return outcome.Inside(d.Service, task, exit.EvidenceFiles)
}

func (d simulator) answer(in PoststepInput) exitcmd.Answer {
	return exitcmd.Read(in.Response, string(in.Kind))
}

// standing is the task, or for a planner the sprint, before a simulated run.
type standing struct {
	status string
	state  string
}

// poststepFrom refuses what no run of that kind could end.
func (d simulator) poststepFrom(ctx context.Context, in PoststepInput) (standing, error) {
	s, err := d.Service.Board.View(ctx)
	if err != nil {
		return standing{}, err
	}
	if in.Task == board.PlannerRuns || in.Kind == role.Planner {
		if in.Task != board.PlannerRuns || in.Kind != role.Planner {
			return standing{}, transition.Refuse(transition.ExitUsage, "liza help poststep", "the planner's runs belong to %s: liza poststep %s --as planner", board.PlannerRuns, board.PlannerRuns)
		}
		from := standing{state: history.JobState(nil, false)}
		if s.Sprint != nil {
			from.status = s.Sprint.Status
		}
		return from, nil
	}
	t := s.Task(in.Task)
	if t == nil {
		return standing{}, d.Service.Board.Histories().Known(ctx, in.Task)
	}
	from := standing{status: string(t.Status), state: history.JobState(t, t.ReviewingBy != "")}
	wrong := func(next, why string) (standing, error) {
		return from, transition.Refuse(transition.ExitRefused, next, "no run of a %s can have ended: task %s %s", in.Kind, t.ID, why)
	}
	live, _ := s.ClaimLiveness(t, d.Service.Board.Now(), d.Service.Board.Facts())
	claimed := t.Status == blackboard.Claimed && live != blackboard.Expired
	switch {
	case in.Kind == role.Coder && t.KindOf() != blackboard.CodeTask:
		return wrong("liza show "+t.ID, "is of kind "+string(t.KindOf()))
	case in.Kind == role.Coder && claimed:
		return wrong("liza retry "+t.ID+" --reason T", "is claimed by "+t.AssignedTo)
	case in.Kind == role.Coder:
		switch t.Status {
		case blackboard.Unclaimed, blackboard.Rejected, blackboard.IntegrationFailed, blackboard.Claimed:
			return from, nil
		}
		return wrong("liza show "+t.ID, "is "+string(t.Status))
	case t.Status != blackboard.ReadyForReview:
		return wrong("liza show "+t.ID, "is "+string(t.Status))
	}
	return from, nil
}

// actFor registers the lowest free agent of the kind for a person, and returns its service and
// that of the person who acts for it.
func (d simulator) actFor(ctx context.Context, in PoststepInput) (actor, via simulator, err error) {
	s, err := d.Service.Board.View(ctx)
	if err != nil {
		return actor, via, err
	}
	agent := transition.FreeAgentID(s, blackboard.Role(in.Kind), d.Service.Board.Now())
	person := d.Service.With(func(s *board.Session) { s.Caller = board.Caller{As: agent, Person: s.Caller.Person} })
	r, err := person.Agents.Register(ctx, verb.RegisterInput{ID: agent, Role: blackboard.Role(in.Kind)})
	if err != nil {
		return actor, via, err
	}
	program := d.Service.With(func(s *board.Session) {
		s.Caller = board.Caller{AgentID: agent, Token: r.Token, Person: s.Caller.Person}
		s.AllowEmpty = in.EmptyCommit
	})
	return simulator{program}, simulator{person}, nil
}

// claimFor takes the work as the supervisor of the agent would.
func (d simulator) claimFor(ctx context.Context, in PoststepInput) (err error) {
	switch in.Kind {
	case role.Coder:
		_, err = d.Service.Claim(ctx, in.Task)
	case role.Reviewer:
		_, err = d.Service.Reviews.ClaimReview(ctx, in.Task)
	}
	return err
}

// checkFor does the checks that come before a reviewer's run. Without judge they have left
// nothing to judge, and the answer is not used.
func (d simulator) checkFor(ctx context.Context, in PoststepInput, out *Poststepped) (judge bool, err error) {
	c, err := d.Service.Reviews.Check(ctx, in.Task)
	if err != nil {
		return false, err
	}
	if c.Rejected != "" {
		out.Event, out.StatusAfter = "rejected", string(c.Status)
		out.Warnings = append(out.Warnings, unread+c.Rejected)
		return false, nil
	}
	for _, x := range c.Checks {
		if x.Status == review.Failed {
			out.Warnings = append(out.Warnings, "the check "+x.Name+" failed ("+x.Severity+"): "+x.Message)
		}
	}
	return true, nil
}

// unread is why an answer was not used.
const unread = "no reviewer would have been started: "

// simulate is the end of the run: the attempt, the answer, the interaction.
func (d simulator) simulate(ctx context.Context, in PoststepInput, from standing, out *Poststepped) error {
	task := in.Task
	if in.Kind == role.Planner {
		task = ""
	}
	before := d.commitOf(ctx, task)
	if in.EmptyCommit && in.Kind == role.Coder {
		if err := d.commitNothing(ctx, task); err != nil {
			return err
		}
	}
	s, err := d.Service.Board.View(ctx)
	if err != nil {
		return err
	}
	mark := outcome.MarkOf(d.Service, s, d.Service.Board.Caller.AgentID, task)
	if err := d.endSimulated(ctx, in, task); err != nil {
		return err
	}
	r := outcome.Run{Kind: string(in.Kind), Task: task, Before: mark, Answer: d.answer(in)}
	o, err := outcome.Apply(ctx, d.Service, r)
	if err == nil && o.Effect == outcome.Reask {
		out.Problem = o.Problem
		if !in.Reasked {
			ended, e := outcome.Unanswered(ctx, d.Service, r, o.Problem, 1)
			o.Status, o.Note, err = ended.Status, ended.Note, e
		}
	}
	if err != nil {
		return err
	}
	return d.recordSimulated(ctx, in, from, mark, o, before, out)
}

// endSimulated enters the run into the attempts of its task, as one that cost nothing.
func (d simulator) endSimulated(ctx context.Context, in PoststepInput, task string) error {
	free := blackboard.Amount(0)
	rr := transition.RunResult{Task: task, Cost: &free}
	rr.Attempt = blackboard.Attempt{Kind: string(in.Kind), Outcome: "finished", CostCents: &free, Commit: d.commitOf(ctx, task)}
	if exit := d.answer(in).Exit; exit != nil {
		rr.Attempt.Action, rr.Attempt.Summary = exit.Action, exit.Summary
		rr.Outcome = &blackboard.LastOutcome{Action: exit.Action, Summary: exit.Summary, EvidenceFiles: outcome.Inside(d.Service, task, exit.EvidenceFiles), At: blackboard.TimeOf(d.Service.Board.Now())}
	}
	return d.Service.Board.Update(ctx, "run", func(s *blackboard.State, a transition.Actor) error {
		return transition.EndRun(s, a, rr, d.Service.Board.Now())
	})
}

// recordSimulated says what came of the answer, and writes the interaction.
func (d simulator) recordSimulated(ctx context.Context, in PoststepInput, from standing, mark board.Mark, o outcome.Report, before string, out *Poststepped) error {
	s, err := d.Service.Board.View(ctx)
	if err != nil {
		return err
	}
	out.tell(s, in, mark, o)
	out.Warnings = append(out.Warnings, o.Warnings...)
	free := blackboard.Amount(0)
	x := history.Interaction{Timestamp: blackboard.TimeOf(d.Service.Board.Now()), StateBefore: from.state, WorkspacePath: d.Service.Board.Project.Root}
	x.Request.Metadata = history.Metadata{Role: d.roleName(in.Kind, s.Task(in.Task)), Phase: from.state, Kind: string(in.Kind), Agent: d.Service.Board.Caller.AgentID, Adapter: "poststep"}
	x.Liza = history.RunFacts{StatusBefore: from.status, StatusAfter: out.StatusAfter, Simulated: true, Effect: string(o.Effect), CostCents: &free, Error: out.Problem}
	if in.Kind != role.Planner {
		x.WorkspacePath = d.Service.Board.Repo.WorktreePath(in.Task)
		x.Liza.CommitBefore, x.Liza.CommitAfter = before, d.commitOf(ctx, in.Task)
		if t := s.Task(in.Task); t != nil {
			x.Request.Metadata.Iteration = t.Iteration
		}
	}
	x.Response = history.Response{Status: history.Success, RawResponse: exitcmd.Text(in.Response)}
	if out.Problem != "" {
		x.Response.Status = history.Failed
	}
	if exit := d.answer(in).Exit; exit != nil {
		x.Response.Actions, x.Response.EvidenceFiles, x.Response.Summary = []string{exit.Action}, exit.EvidenceFiles, exit.Summary
	}
	if out.Sequence, err = d.Service.Board.Histories().Interactions(in.Task).Append(ctx, x); err != nil {
		out.Warnings = append(out.Warnings, err.Error())
	}
	return nil
}

// roleName is the role that a run of that kind would have had.
func (d simulator) roleName(kind role.Kind, t *blackboard.Task) string {
	used, err := d.Service.Board.Roles().Of(kind, t)
	if err != nil {
		return string(kind) // nothing was started, so it does not matter
	}
	return used.Role.Name
}

// tell fills in what came of the answer.
func (p *Poststepped) tell(s *blackboard.State, in PoststepInput, m board.Mark, o outcome.Report) {
	p.Action, p.Summary = o.Action, o.Summary
	p.Event = strings.ReplaceAll(o.Note, " ", "_")
	if o.Effect == outcome.Continue {
		p.Event = "retried"
	}
	if in.Kind == role.Planner {
		if s.Sprint != nil {
			p.StatusAfter = s.Sprint.Status
		}
		p.Event = "planned"
		if o.Plan == "" {
			p.Event = prose.FirstLine(o.Note)
		}
		return
	}
	t := s.Task(in.Task)
	if t == nil {
		return
	}
	p.StatusAfter = string(t.Status)
	if len(t.History) > m.History {
		p.Event = string(t.History[len(t.History)-1].Event)
	}
}

// leaveSimulation gives back what the agent still holds and ends its registration.
func (d simulator) leaveSimulation(ctx context.Context, via simulator) (released bool, err error) {
	s, err := d.Service.Board.View(ctx)
	if err != nil {
		return false, err
	}
	id := d.Service.Board.Caller.AgentID
	if s.Agents[id] == nil {
		return false, nil
	}
	for t := range s.Tasks() {
		coder := t.Status == blackboard.Claimed && t.AssignedTo == id
		reviewer := t.Status == blackboard.ReadyForReview && t.ReviewingBy == id
		if !coder && !reviewer {
			continue
		}
		released = true
		if reviewer {
			_, err = d.Service.Reviews.Verdict(ctx, verb.VerdictInput{Task: t.ID, Verdict: verb.StuckReview, What: "released", Reason: "the simulated run is over"})
		} else {
			_, err = d.Service.Release(ctx, verb.ReleaseInput{Task: t.ID, Coder: true, Reason: "the simulated run is over"})
		}
		if err != nil {
			return released, fmt.Errorf("cannot release %s: %w", t.ID, err)
		}
	}
	return released, via.Service.Agents.Unregister(ctx, id, false)
}

// commitOf is the tip of a task's branch, "" for none.
func (d simulator) commitOf(ctx context.Context, task string) string {
	if task == "" {
		return ""
	}
	tip, err := d.Service.Board.Repo.BranchTip(ctx, "task/"+task)
	if err != nil {
		return ""
	}
	return tip
}

// commitNothing puts an empty commit on a task's branch, when it has none that was not
// handed in before. The worktree's files stay as they are.
func (d simulator) commitNothing(ctx context.Context, task string) error {
	s, err := d.Service.Board.View(ctx)
	if err != nil {
		return err
	}
	t, head := s.Task(task), d.commitOf(ctx, task)
	if head != t.BaseCommit && head != t.ReviewCommit {
		return nil
	}
	tree, err := d.Service.Board.Repo.MergeTree(ctx, head, head)
	if err != nil {
		return err
	}
	commit, err := d.Service.Board.Repo.CommitTree(ctx, tree, []string{head}, fmt.Sprintf("Nothing: a simulated run\n\nLiza-Task: %s\nLiza-Attempt: %d\n", t.ID, t.ClaimSeq))
	if err != nil {
		return err
	}
	return d.Service.Board.Repo.UpdateRef(ctx, "refs/heads/task/"+task, commit, head)
}
