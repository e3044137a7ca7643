// Package replay has the verbs for runs that did not happen: an answer that a person gives in the place of a program
// (poststep), recorded answers once more (replay), and the next run of a task on a copy of the board (Rehearse). Each
// goes through the verbs that a real run uses, so that what they show is what would happen.
package replay

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

// ReplayedRun is one interaction of a replay.
type ReplayedRun struct {
	Sequence int    `json:"sequence"`
	Kind     string `json:"kind,omitempty"`
	Action   string `json:"action,omitempty"`
	Before   string `json:"status_before"`
	Recorded string `json:"status_after"` // what the file says
	Got      string `json:"status_got,omitempty"`
	Result   string `json:"result"` // same, differs, skipped
	Why      string `json:"why,omitempty"`
}

// What a ReplayedRun may result in.
const (
	ReplaySame    = "same"
	ReplayDiffers = "differs"
	ReplaySkipped = "skipped"
)

// Replay applies recorded answers one after the other to the board of a scratch project,
// along the path of Poststep, and compares the status after each with the recorded one
// (specs/roles-and-knowledge.md#7.4). It must never be given a project that somebody works in.
func Replay(ctx context.Context, service *verb.Service, list []history.Interaction) ([]ReplayedRun, error) {
	scratch := service.With(func(s *board.Session) { s.NoSpecFiles = true })
	r := &replay{service: simulator{scratch}, identities: map[string]identity{}}
	if err := r.newTask(ctx); err != nil {
		return nil, err
	}
	runs := []ReplayedRun{}
	for i, in := range list {
		run, err := r.one(ctx, in, reasked(list[i+1:], in))
		if err != nil {
			return runs, fmt.Errorf("cannot replay interaction %d: %w", in.Sequence, err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// reasked reports whether an answer that could not be used was not the last one: that depends
// on how often an agent was asked, not on the answer.
func reasked(rest []history.Interaction, in history.Interaction) bool {
	if in.Liza.Effect != "" {
		return in.Liza.Effect == string(outcome.Reask) && in.Liza.StatusAfter != string(blackboard.Blocked) && in.Liza.StatusAfter != blackboard.AtCheckpoint
	}
	for _, next := range rest {
		if next.Liza.Event == "" {
			return next.Request.Metadata.Reask > in.Request.Metadata.Reask
		}
	}
	return false
}

// replay is a scratch project on its way through recorded interactions. Each agent of the
// file keeps its registration, so that claims last as long as they did.
type replay struct {
	service    simulator
	task       string
	tasks      int
	identities map[string]identity
}

// identity is a registered agent: as itself, and as the person who acts for it.
type identity struct{ actor, via simulator }

func (r *replay) newTask(ctx context.Context) error {
	r.tasks++
	r.task = fmt.Sprintf("task-%d", r.tasks)
	_, err := r.service.Service.AddTask(ctx, verb.NewTask{Task: blackboard.Task{ID: r.task, Description: "Replay what was recorded", SpecRef: "README.md",
		DoneWhen: "replay.md has 1 line", Scope: "replay.md", Type: "docs"}})
	return err
}

// one replays an interaction, or says why that cannot be done.
func (r *replay) one(ctx context.Context, in history.Interaction, again bool) (ReplayedRun, error) {
	kind, before := recordedKind(in)
	run := ReplayedRun{Sequence: in.Sequence, Kind: string(kind), Action: strings.Join(in.Response.Actions, " "), Before: before, Recorded: in.Liza.StatusAfter, Result: ReplaySkipped}
	if run.Why = r.noReplay(in, kind); run.Why != "" {
		return run, nil
	}
	r.service.Service.Board.Scripted = in.Request.Metadata.Adapter == "scripted"
	s, err := r.ready(ctx, in, kind, before)
	if err != nil {
		return run, err
	}
	post := PoststepInput{Task: r.task, Kind: kind, Response: in.Response.RawResponse, EmptyCommit: true, Reasked: again}
	if kind == role.Planner {
		post.Task = board.PlannerRuns
	}
	var out Poststepped
	s.actor.Service.Board.AllowEmpty, s.actor.Service.Board.Scripted = true, r.service.Service.Board.Scripted
	if err := s.actor.simulate(ctx, post, standing{status: before}, &out); err != nil {
		return run, err
	}
	run.Got, run.Result = out.StatusAfter, ReplaySame
	switch {
	case run.Recorded == "":
		run.Why = "no status was recorded"
	case run.Got != run.Recorded:
		run.Result, run.Why = ReplayDiffers, out.Problem
		if kind == role.Reviewer && run.Recorded == string(blackboard.Rejected) && run.Got == string(blackboard.Approved) {
			run.Why = "checks may have overruled it; what they found is not in the file"
		}
	}
	return run, nil
}

// recordedKind is the kind of agent whose answer an interaction has, and the status in which
// it began. A file of another program tells less than ours.
func recordedKind(in history.Interaction) (role.Kind, string) {
	kind, known := role.KindOf(in.Request.Metadata.Kind)
	if !known {
		kind, _ = role.KindOf(in.Request.Metadata.Role)
	}
	before := in.Liza.StatusBefore
	if before == "" {
		before = map[role.Kind]string{role.Coder: string(blackboard.Unclaimed), role.Reviewer: string(blackboard.ReadyForReview)}[kind]
	}
	return kind, before
}

// noReplay says why the outcome of an interaction does not follow from its answer.
func (r *replay) noReplay(in history.Interaction, kind role.Kind) string {
	said := exitcmd.Read(in.Response.RawResponse, string(kind))
	exit, problem := said.Exit, said.Problem
	foreign := reflect.ValueOf(in.Liza).IsZero() || in.Liza.Effect == "" && in.Liza.Outcome == ""
	switch {
	case in.Liza.Event != "":
		return in.Liza.Event + " is not a run"
	case kind != role.Planner && kind != role.Coder && kind != role.Reviewer:
		return "what it wrote was delivered, not judged"
	case in.Liza.Effect == string(outcome.ByVerbs), in.Response.Status == history.Success && problem != nil:
		return "the outcome came from verbs"
	case in.Liza.Effect == string(outcome.Dropped):
		return "the task had been taken away from it"
	case !foreign && in.Liza.Effect == "", in.Response.Status == history.TimedOut:
		return cmp.Or(in.Liza.Error, "the run ended without an answer")
	case exit != nil && exit.Plan != nil && len(exit.Plan.Decisions) > 0:
		return "its plan decides about tasks of its project"
	}
	return ""
}

// ready brings the board to where the interaction began, and identities its agent.
func (r *replay) ready(ctx context.Context, in history.Interaction, kind role.Kind, before string) (identity, error) {
	if len(r.service.Service.Board.Project.Controls().Orders()) > 0 { // a planner was stuck; people let it go on
		if _, err := sprint.Resume(ctx, r.service.Service, "CONTINUE", "replay"); err != nil {
			return identity{}, err
		}
	}
	id := in.Request.Metadata.Agent
	if of, _, ok := blackboard.ParseAgentID(id); !ok || of != blackboard.Role(kind) {
		id = blackboard.Role(kind).IDPrefix() + "1"
	}
	s, err := r.identityOf(ctx, id, blackboard.Role(kind))
	if err != nil || kind == role.Planner {
		return s, err
	}
	held := func(t *blackboard.Task) bool {
		return kind == role.Coder && t.Status == blackboard.Claimed && t.AssignedTo == id || kind == role.Reviewer && t.Status == blackboard.ReadyForReview && t.ReviewingBy == id
	}
	t, err := r.look(ctx)
	if err != nil {
		return s, err
	}
	if held(t) && (before == string(blackboard.Claimed) || kind == role.Reviewer) {
		return s, nil
	}
	want := blackboard.Status(before)
	if want == blackboard.Claimed {
		want = blackboard.Unclaimed // a claim that was lost, or was somebody else's
	}
	if err := r.reach(ctx, want); err != nil {
		return s, err
	}
	return s, s.via.claimFor(ctx, PoststepInput{Task: r.task, Kind: kind})
}

func (r *replay) identityOf(ctx context.Context, id string, as blackboard.Role) (identity, error) {
	if s, ok := r.identities[id]; ok {
		return s, nil
	}
	person := r.service.Service.With(func(s *board.Session) { s.Caller = board.Caller{As: id, Person: s.Caller.Person} })
	registered, err := person.Agents.Register(ctx, verb.RegisterInput{ID: id, Role: as})
	if err != nil {
		return identity{}, err
	}
	program := r.service.Service.With(func(s *board.Session) { s.Caller = board.Caller{AgentID: id, Token: registered.Token} })
	r.identities[id] = identity{simulator{program}, simulator{person}}
	return r.identities[id], nil
}

func (r *replay) look(ctx context.Context) (*blackboard.Task, error) {
	s, err := r.service.Service.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	return s.Task(r.task), nil
}

// reach brings the task to a status by what people and agents would have done.
func (r *replay) reach(ctx context.Context, want blackboard.Status) error {
	for range 8 {
		t, err := r.look(ctx)
		if err != nil {
			return err
		}
		if t.Status == want && t.ReviewingBy == "" && t.Hold == nil {
			return nil
		}
		if err := r.towards(ctx, t, want); err != nil {
			return err
		}
	}
	return fmt.Errorf("the scratch task cannot be brought to %s", want)
}

// towards is one step on the way.
func (r *replay) towards(ctx context.Context, t *blackboard.Task, want blackboard.Status) error {
	fresh := want == blackboard.Unclaimed
	switch {
	case t.Hold != nil:
		_, err := r.service.Service.Unhold(ctx, t.ID)
		return err
	case t.Status == blackboard.Claimed && fresh:
		_, err := r.identities[t.AssignedTo].actor.Service.Release(ctx, verb.ReleaseInput{Task: t.ID, Coder: true, Reason: "replay"})
		return err
	case t.Status == blackboard.Claimed:
		coder := r.identities[t.AssignedTo].actor
		coder.Service.Board.AllowEmpty = true
		if err := coder.commitNothing(ctx, t.ID); err != nil {
			return err
		}
		_, err := coder.Service.Submit(ctx, verb.SubmitInput{Task: t.ID})
		return err
	case t.Status == blackboard.Blocked:
		if _, err := r.service.Service.Unblock(ctx, verb.WayOut{Task: t.ID, Reason: "replay"}); err != nil {
			return r.newTask(ctx) // two coders failed: only another task can follow
		}
		return nil
	case t.Status == blackboard.ReadyForReview && t.ReviewingBy != "" && want == blackboard.ReadyForReview:
		_, err := r.service.Service.Release(ctx, verb.ReleaseInput{Task: t.ID, Reviewer: true, Force: true, Reason: "replay"})
		return err
	case t.Status == blackboard.ReadyForReview && (want == blackboard.Rejected || want == blackboard.IntegrationFailed):
		return r.judge(ctx, t.ID, want)
	case t.Status == blackboard.Approved && want == blackboard.IntegrationFailed:
		return r.service.Service.Board.Update(ctx, "replay", func(s *blackboard.State, a transition.Actor) error {
			return transition.FailIntegration(s, t.ID, transition.SystemActor(a.Facts), transition.Input{Merge: &transition.MergeFacts{Reason: "conflict"}, Reason: "conflict"}, r.service.Service.Board.Now())
		})
	case !fresh && (t.Status == blackboard.Unclaimed || t.Status == blackboard.Rejected || t.Status == blackboard.IntegrationFailed):
		s, err := r.identityOf(ctx, "coder-1", blackboard.RoleCoder)
		if err != nil {
			return err
		}
		return s.via.claimFor(ctx, PoststepInput{Task: t.ID, Kind: role.Coder})
	}
	return r.newTask(ctx)
}

// judge is a verdict that nobody recorded.
func (r *replay) judge(ctx context.Context, task string, want blackboard.Status) error {
	s, err := r.identityOf(ctx, "code-reviewer-1", blackboard.RoleReviewer)
	if err != nil {
		return err
	}
	if err := s.via.claimFor(ctx, PoststepInput{Task: task, Kind: role.Reviewer}); err != nil {
		return err
	}
	in := verb.VerdictInput{Task: task, Verdict: verb.Approve}
	if want == blackboard.Rejected {
		in.Verdict, in.Reason = verb.Reject, "replay.md:1 is rejected, as it was recorded"
	}
	_, err = s.actor.Service.Reviews.Verdict(ctx, in)
	return err
}
