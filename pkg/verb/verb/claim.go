package verb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/worktree"
)

// Claimed is the result of a claim.
type Claimed struct {
	Task       string          `json:"task"`
	Agent      string          `json:"agent"`
	Worktree   string          `json:"worktree,omitempty"`
	BaseCommit string          `json:"base_commit,omitempty"`
	Commit     string          `json:"review_commit,omitempty"` // of a review
	Lease      blackboard.Time `json:"lease_expires"`
	Iteration  int             `json:"iteration,omitempty"`
	Warnings   []string        `json:"warnings,omitempty"`
}

// A Reservation is a task that was reserved for the caller: what phase one of a claim decided (specs/protocol.md#7.2).
type Reservation struct {
	id       board.Identity
	claim    worktree.Claim
	fresh    bool             // a registration was made for this claim
	former   *board.Orphan    // what the holder left whose claim is over
	life     time.Duration    // how long it lasts unless it is extended
	unusable map[string]error // roles that tasks want and that cannot be used: many may want the same
}

// Claim gives the caller the named task, or the best claimable one for id "", and its worktree (specs/protocol.md#7.2: reserve, provision, confirm).
func (v *Service) Claim(ctx context.Context, id string) (Claimed, error) {
	if err := v.Board.FollowSettings(ctx); err != nil {
		return Claimed{}, err
	}
	r, take, err := v.reservation(ctx, id)
	if err != nil {
		return Claimed{}, err
	}
	err = v.Board.UpdateAs(ctx, "claim", r.id, take)
	if v.tellUnusable(ctx, r.unusable); err != nil {
		return Claimed{}, err
	}
	return v.ClaimReserved(ctx, r)
}

// ReserveNext makes phase one of a claim of the best task a part of the next write of d, which ends the caller's work: a draft. done reports whether
// it took place; then ClaimReserved goes on.
func (v *Service) ReserveNext(ctx context.Context) (r *Reservation, done func() bool, err error) {
	r, take, err := v.reservation(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	next := &board.Following{Change: take}
	v.Board.Then(next)
	return r, func() bool { return next.Done }, nil
}

// ClaimReserved is a claim from its second phase on: the former holder's process is stopped, its work saved, the worktree provided and set up.
// Nothing of that happens under the state lock.
func (v *Service) ClaimReserved(ctx context.Context, r *Reservation) (Claimed, error) {
	v.Board.Failpoint("claim.reserved")
	// Read again although reserve has read it: a dependency may have been merged in between, and the work has to begin with it.
	r.claim.Base = v.Integration.NewerHead(ctx, r.claim.Base)
	if r.former != nil {
		// First of all: a program that still runs would write into what is saved and handed over below.
		if err := v.Board.Orphans().Stop(ctx, *r.former); err != nil {
			return Claimed{}, v.claimFailed(ctx, r, err)
		}
	}
	release := v.keepReserved(ctx, r)
	provided, err := v.Worktrees.Provide(ctx, r.claim)
	release()
	if err != nil {
		return Claimed{}, v.claimFailed(ctx, r, err)
	}
	v.Board.Failpoint("claim.provided")
	claimed, err := v.confirm(ctx, r, provided)
	if err != nil {
		return Claimed{}, v.claimFailed(ctx, r, err)
	}
	v.Board.Failpoint("claim.confirmed")
	// Last, and never an error: git's lock on the worktree is what tells a recovery that the claim was not confirmed.
	if err := v.Worktrees.Confirm(ctx, r.claim); err != nil {
		claimed.Warnings = append(claimed.Warnings, err.Error())
	}
	return claimed, nil
}

// keepReserved extends the reservation until release is called: a setup may download and compile for many minutes, and its own
// time limit bounds it.
func (v *Service) keepReserved(ctx context.Context, r *Reservation) (release func()) {
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		for r.life > 0 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(r.life / 3):
			}
			mine := false
			err := v.Board.UpdateAs(ctx, "claim", r.id, func(s *blackboard.State, a transition.Actor) error {
				mine = transition.ExtendReserve(s, r.claim.Task.ID, a, v.Board.Now())
				return nil
			})
			if err == nil && !mine {
				return // the confirmation tells
			}
		}
	})
	return func() { cancel(); ended.Wait() }
}

// DropReserved takes back a reservation of which no claim is made.
func (v *Service) DropReserved(ctx context.Context, r *Reservation) error {
	return v.Board.UpdateAs(ctx, "claim", r.id, func(s *blackboard.State, a transition.Actor) error {
		transition.CancelReserve(s, r.claim.Task.ID, a)
		return nil
	})
}

// reservation returns phase one of a claim, to be written by take: selection and guards in one step, so that two coders never select the same task.
func (v *Service) reservation(ctx context.Context, name string) (r *Reservation, take func(*blackboard.State, transition.Actor) error, err error) {
	r = &Reservation{unusable: map[string]error{}}
	if r.id, err = v.Board.Identify(); err != nil {
		return nil, nil, err
	}
	// Not inside the update, which may run more than once: the lock of the worktree names this claim, whatever the outcome.
	if r.claim.Nonce, err = v.Board.RandomHex(8); err != nil {
		return nil, nil, err
	}
	s, err := v.Board.View(ctx)
	if err != nil {
		return nil, nil, err
	}
	in := v.Board.Input()
	in.RoleCheck = v.Board.Roles().Check(func(err error) { r.unusable[err.Error()] = err })
	if err := v.Integration.FollowRemote(ctx, s); err != nil {
		return nil, nil, err
	}
	if r.claim.Base, err = v.Integration.IntegrationHead(ctx, s); err != nil {
		return nil, nil, err
	}
	v.Board.Failpoint("claim.looked")
	return r, func(s *blackboard.State, a transition.Actor) error {
		now := v.Board.Now()
		// Before Identify, which registers an agent that a person acts for.
		r.fresh = s.Agents[a.ID] == nil
		if _, err := transition.Identify(s, a, now); err != nil {
			return err
		}
		in := in
		in.MayTake = v.mayTake(s)
		in.Claim = &transition.ClaimFacts{Base: r.claim.Base, Reserve: s.Duration("claim_reserve"), Named: name != ""}
		chosen := name
		if name == "" {
			t, why := transition.NextTask(s, a, in, now)
			if t == nil {
				return board.NothingToDo(why)
			}
			chosen = t.ID
		}
		if err := transition.Reserve(s, chosen, a, in, now); err != nil {
			return err
		}
		r.note(v.Board.Orphans(), s, s.Task(chosen), a.ID)
		r.life = in.Claim.Reserve
		return nil
	}, nil
}

// Look refuses as a claim of any task or review would that finds nothing, without the lock of the board and for the price of a look at it: each
// change wakes a whole team, most of which finds nothing. nil: there may be something.
func (v *Service) Look(ctx context.Context, s *blackboard.State) error {
	id, err := v.Board.Identify()
	if err != nil {
		return nil // the claim says it
	}
	a, now := id.Actor(s), v.Board.Now()
	e := s.Agents[a.ID]
	if e == nil {
		return nil
	}
	if _, err := transition.Identify(s, a, now); err != nil {
		return nil // under the lock it is said
	}
	in := v.Board.Input()
	in.MayTake = v.mayTake(s)
	in.Claim = &transition.ClaimFacts{Reserve: s.Duration("claim_reserve")}
	var t *blackboard.Task
	var why string
	if e.Role == blackboard.RoleReviewer {
		if v.Board.Config().Review.Disabled() {
			return nil // the claim says it
		}
		t, why = transition.NextReview(s, a, in, now)
	} else {
		unusable := map[string]error{} // many tasks may want the same role
		in.RoleCheck = v.Board.Roles().Check(func(err error) { unusable[err.Error()] = err })
		t, why = transition.NextTask(s, a, in, now)
		v.tellUnusable(ctx, unusable)
	}
	if t == nil {
		return board.NothingToDo(why)
	}
	return nil
}

func (v *Service) tellUnusable(ctx context.Context, unusable map[string]error) {
	for _, text := range slices.Sorted(maps.Keys(unusable)) {
		v.Board.Roles().TellUnusable(ctx, unusable[text])
	}
}

// note keeps what phase two needs to know about the task.
func (r *Reservation) note(orphans board.Orphans, s *blackboard.State, t *blackboard.Task, agent string) {
	r.claim.Task = *t
	r.claim.Keep = t.HandoffPending || t.Status == blackboard.IntegrationFailed ||
		(t.Status == blackboard.Rejected || t.Status == blackboard.Claimed) && t.AssignedTo == agent ||
		t.Status == blackboard.Claimed && t.FinishedRun(t.ClaimSeq) != nil
	r.former = nil
	if e := s.Agents[t.AssignedTo]; t.Status == blackboard.Claimed && sameRegistration(e, t.ClaimGeneration) {
		r.former = orphans.OrphanOf(t.AssignedTo, e)
	} else if t.Status == blackboard.Unclaimed { // the program of a claim that a person ended in the file
		for id, e := range s.Agents {
			if id != agent && e != nil && e.Role == blackboard.RoleCoder && e.Child != nil && e.Child.Task == t.ID {
				r.former = orphans.OrphanOf(id, e)
			}
		}
	}
}

// confirm is phase three: the reservation and the guards still hold, and the claim is written.
func (v *Service) confirm(ctx context.Context, r *Reservation, p worktree.Provided) (Claimed, error) {
	var out Claimed
	in := v.Board.Input()
	in.SpecHash = v.Board.SpecHash(r.claim.Task.SpecRef)
	in.Claim, in.Attic, in.Recovered = &p.Facts, p.Attic, p.Recovered
	err := v.Board.UpdateAs(ctx, "claim", r.id, func(s *blackboard.State, a transition.Actor) error {
		// All guards again: phase two took time without the lock, in which a person may have held or superseded the task.
		if err := transition.Claim(s, r.claim.Task.ID, a, in, v.Board.Now()); err != nil {
			return err
		}
		if r.former != nil {
			r.former.Forget(s) // stopped in phase two
		}
		t := s.Task(r.claim.Task.ID)
		out = Claimed{Task: t.ID, Agent: a.ID, Worktree: t.Worktree, BaseCommit: t.BaseCommit, Lease: t.LeaseExpires, Iteration: t.Iteration, Warnings: p.Warnings}
		return nil
	})
	return out, err
}

// claimFailed takes back what phases one and two made: the task's bytes are as before.
func (v *Service) claimFailed(ctx context.Context, r *Reservation, cause error) error {
	// The cause may be that ctx has ended, and the reservation has to go all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	task := r.claim.Task.ID
	if err := v.Worktrees.Cancel(ctx, r.claim); err != nil {
		cause = fmt.Errorf("%w; %w", cause, err)
	}
	err := v.Board.UpdateAs(ctx, "claim", r.id, func(s *blackboard.State, a transition.Actor) error {
		// Somebody else has it: the reservation had lapsed, and theirs stays.
		if !transition.CancelReserve(s, task, a) {
			return nil
		}
		// The registration was for this claim only: nobody would ever take it back.
		if r.fresh && a.Via {
			delete(s.Agents, a.ID)
		}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(v.Board.Now()), Agent: a.ID, Action: blackboard.ActionClaimFailed, Task: task, Detail: prose.FirstLine(cause.Error())})
		if bad, ok := errors.AsType[*worktree.SetupError](cause); ok {
			var err error
			bad.Times, err = transition.SetupFailed(s, task, transition.SystemActor(v.Board.Facts()), transition.Input{Reason: bad.Message, Tail: bad.Tail}, v.Board.Now())
			bad.Blocked = s.Task(task).Status == blackboard.Blocked
			return err
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w; the reservation ends by itself: %w", cause, err)
	}
	return cause
}

// ClaimReview gives the caller the named review, or the next one for id "".
func (v Reviews) ClaimReview(ctx context.Context, id string) (Claimed, error) {
	take := v.verbs.Board.Orphans().NewTakeover()
	r, claim, err := v.verbs.reviewOf(ctx, id, take, nil)
	if err != nil {
		return *r, err
	}
	if err := take.Try(ctx, func() error { return v.verbs.Board.Update(ctx, "claim-review", v.verbs.asItself(claim)) }); err != nil {
		return *r, err
	}
	v.verbs.ReviewClaimed(ctx, r)
	return *r, nil
}

// ReviewNext makes the claim of the next review a part of the next write of d, which ends the caller's review: a draft. done reports whether it took
// place; then ReviewClaimed goes on. A review that another reviewer left unfinished is not taken in this way.
func (v *Service) ReviewNext(ctx context.Context) (r *Claimed, done func() bool, err error) {
	r, claim, err := v.reviewOf(ctx, "", nil, nil)
	if err != nil {
		return nil, nil, err
	}
	next := &board.Following{Change: v.asItself(claim)}
	v.Board.Then(next)
	return r, func() bool { return next.Done }, nil
}

// A reviewClaim claims a review for an agent that may take some tasks only; nil: all.
type reviewClaim func(s *blackboard.State, a transition.Actor, may func(*blackboard.Task) string) error

// asItself is the claim of the caller.
func (v *Service) asItself(claim reviewClaim) func(*blackboard.State, transition.Actor) error {
	return func(s *blackboard.State, a transition.Actor) error { return claim(s, a, v.mayTake(s)) }
}

// ReviewFor returns the claim of the next review for another agent of this process, to be made by the write that hands task in.
func (v *Service) ReviewFor(ctx context.Context, task *blackboard.Task) (*Claimed, reviewClaim, error) {
	return v.reviewOf(ctx, "", nil, task)
}

// ReviewClaimed completes the claim of a review, outside of the board.
func (v *Service) ReviewClaimed(ctx context.Context, r *Claimed) {
	if r.Worktree == "" {
		return
	}
	if _, err := v.Board.Repo.Relink(ctx, r.Task); err != nil {
		r.Warnings = append(r.Warnings, err.Error())
	}
}

// reviewOf returns the claim of the named review, or of the next one, to be written by claim. Without take no review is claimed that somebody has
// left unfinished. The task coming, if not nil, is about to be ready for review.
func (v *Service) reviewOf(ctx context.Context, id string, take interface{ Need(*board.Orphan) error }, coming *blackboard.Task) (r *Claimed, claim reviewClaim, err error) {
	r = &Claimed{}
	if err := v.Board.FollowSettings(ctx); err != nil {
		return r, nil, err
	}
	if v.Board.Config().Review.Disabled() {
		return r, nil, &transition.Refusal{Exit: transition.ExitRefused, Next: "liza approve ID", Message: "review.mode is disabled: people decide"}
	}
	if _, err := v.Board.Roles().Library().Resolve(role.Reviewer, nil, v.Board.Roles().Settings()); err != nil {
		v.Board.Roles().TellUnusable(ctx, err)
		return r, nil, board.RoleRefusal(nil, err)
	}
	spec, err := v.specHashes(ctx)
	if err != nil {
		return r, nil, err
	}
	if coming != nil {
		spec[coming.SpecRef] = v.Board.SpecHash(coming.SpecRef)
	}
	in := v.Board.Input()
	return r, func(s *blackboard.State, a transition.Actor, may func(*blackboard.Task) string) error {
		now := v.Board.Now()
		if _, err := transition.Identify(s, a, now); err != nil {
			return err
		}
		in := in
		in.MayTake = may
		chosen := id
		if id == "" {
			t, why := transition.NextReview(s, a, in, now)
			if t == nil {
				return board.NothingToDo(why)
			}
			chosen = t.ID
		}
		var former *board.Orphan
		if t := s.Task(chosen); t != nil {
			in.SpecHash, former = spec[t.SpecRef], v.Reviews.formerReviewer(s, t)
		}
		if take == nil && former != nil {
			return board.NothingToDo("a former review of " + chosen + " is to be ended first")
		}
		if err := transition.ClaimReview(s, chosen, a, in, now); err != nil && !errors.Is(err, transition.ErrAlreadyDone) {
			return err
		}
		t := s.Task(chosen)
		if former != nil && (former.Agent != a.ID || former.Generation != t.ReviewingGeneration) {
			if err := take.Need(former); err != nil {
				return err
			}
			former.Forget(s)
		}
		*r = Claimed{Task: t.ID, Agent: a.ID, Worktree: t.Worktree, BaseCommit: t.BaseCommit, Commit: t.ReviewCommit, Lease: t.ReviewLeaseExpires}
		return nil
	}, nil
}

// formerReviewer is what the registration left that has the review claim of a task.
func (v Reviews) formerReviewer(s *blackboard.State, t *blackboard.Task) *board.Orphan {
	if e := s.Agents[t.ReviewingBy]; sameRegistration(e, t.ReviewingGeneration) {
		return v.verbs.Board.Orphans().OrphanOf(t.ReviewingBy, e)
	}
	return nil
}

// sameRegistration reports whether a claim of that generation is the entry's. A claim of Liza v1 names none.
func sameRegistration(e *blackboard.Agent, generation string) bool {
	return e != nil && (generation == "" || e.Generation == "" || e.Generation == generation)
}

// specHashes hashes the spec files of everything that is ready for review.
func (v *Service) specHashes(ctx context.Context) (map[string]string, error) {
	s, err := v.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for t := range s.Tasks() {
		if _, ok := out[t.SpecRef]; !ok && t.Status == blackboard.ReadyForReview {
			out[t.SpecRef] = v.Board.SpecHash(t.SpecRef)
		}
	}
	return out, nil
}
