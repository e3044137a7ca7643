package verb

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
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
	id         board.Identity
	agent      string
	task       blackboard.Task // as it was reserved
	base       string
	keep       bool
	fresh      bool          // a registration was made for this claim
	former     *board.Orphan // what the holder left whose claim is over
	nonce      string
	candidates []string
	unusable   map[string]error // roles that tasks want and that cannot be used: many may want the same
}

// Claim gives the caller the named task, or the best claimable one for id "", and its
// worktree (specs/protocol.md#7.2: reserve, provision, confirm).
func (d *Service) Claim(ctx context.Context, id string) (Claimed, error) {
	if err := d.FollowSettings(ctx); err != nil {
		return Claimed{}, err
	}
	r, take, err := d.reservation(ctx, id)
	if err != nil {
		return Claimed{}, err
	}
	err = d.UpdateAs(ctx, "claim", r.id, take)
	if d.tellUnusable(ctx, r.unusable); err != nil {
		return Claimed{}, err
	}
	return d.ClaimReserved(ctx, r)
}

// ReserveNext makes phase one of a claim of the best task a part of the next write of d, which ends the caller's work: a draft.
// done reports whether it took place; then ClaimReserved goes on.
func (d *Service) ReserveNext(ctx context.Context) (r *Reservation, done func() bool, err error) {
	r, take, err := d.reservation(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	d.Then(take)
	return r, d.Followed, nil
}

// ClaimReserved is a claim from its second phase on.
func (d *Service) ClaimReserved(ctx context.Context, r *Reservation) (Claimed, error) {
	d.Failpoint("claim.reserved")
	// Read again although reserve has read it: a dependency may have been merged in between, and the work has to begin with it.
	r.base = d.newerHead(ctx, r.base)
	facts := transition.ClaimFacts{Confirm: true, Base: r.base}
	provided, err := d.provision(ctx, r, &facts)
	if err != nil {
		return Claimed{}, d.claimFailed(ctx, r, err)
	}
	d.Failpoint("claim.provided")
	claimed, err := d.confirm(ctx, r, facts, provided)
	if err != nil {
		return Claimed{}, d.claimFailed(ctx, r, err)
	}
	d.Failpoint("claim.confirmed")
	if provided != nil {
		// Last, and never an error: git's lock on the worktree is what tells a recovery that the claim was not confirmed.
		if err := d.Repo.UnlockWorktree(ctx, r.task.ID); err != nil {
			claimed.Warnings = append(claimed.Warnings, err.Error())
		}
	}
	return claimed, nil
}

// DropReserved takes back a reservation of which no claim is made.
func (d *Service) DropReserved(ctx context.Context, r *Reservation) error {
	return d.UpdateAs(ctx, "claim", r.id, func(s *blackboard.State, a transition.Actor) error {
		transition.CancelReserve(s, r.task.ID, a)
		return nil
	})
}

// newerHead is the integration head after a reservation. The one that was read before may
// lack what was merged meanwhile, and with it made the task claimable.
func (d *Service) newerHead(ctx context.Context, base string) string {
	s, err := d.View(ctx)
	if err != nil {
		return base
	}
	if d.FollowRemote(ctx, s) != nil {
		return base
	}
	if head, err := d.IntegrationHead(ctx, s); err == nil {
		return head
	}
	return base
}

// reservation returns phase one of a claim, to be written by take: selection and guards in one step, so that two coders never
// select the same task.
func (d *Service) reservation(ctx context.Context, name string) (r *Reservation, take func(*blackboard.State, transition.Actor) error, err error) {
	r = &Reservation{unusable: map[string]error{}}
	if r.id, err = d.Identify(); err != nil {
		return nil, nil, err
	}
	// Not inside the update, which may run more than once: the lock of the worktree names this claim, whatever the outcome.
	if r.nonce, err = d.RandomHex(8); err != nil {
		return nil, nil, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return nil, nil, err
	}
	in := d.Input()
	in.RoleCheck = d.RoleCheck(func(err error) { r.unusable[err.Error()] = err })
	if err := d.FollowRemote(ctx, s); err != nil {
		return nil, nil, err
	}
	if r.base, err = d.IntegrationHead(ctx, s); err != nil {
		return nil, nil, err
	}
	d.Failpoint("claim.looked")
	return r, func(s *blackboard.State, a transition.Actor) error {
		now := d.Now()
		// Before Identify, which registers an agent that a person acts for.
		registered := s.Agents[a.ID] != nil
		if _, err := transition.Identify(s, a, now); err != nil {
			return err
		}
		in := in
		in.MayTake = d.mayTake(s)
		in.Claim = &transition.ClaimFacts{Base: r.base, Reserve: s.Duration("claim_reserve"), Named: name != ""}
		chosen := name
		if name == "" {
			t, why := transition.NextTask(s, a, in, now)
			if t == nil {
				return NothingToDo(why)
			}
			chosen = t.ID
		}
		if err := transition.Reserve(s, chosen, a, in, now); err != nil {
			return err
		}
		r.note(d, s, s.Task(chosen), a.ID, !registered)
		return nil
	}, nil
}

// Look refuses as a claim of any task or review would that finds nothing, without the lock of the board and for the price of a look at
// it: each change wakes a whole team, most of which finds nothing. nil: there may be something.
func (d *Service) Look(ctx context.Context, s *blackboard.State) error {
	id, err := d.Identify()
	if err != nil {
		return nil // the claim says it
	}
	a, now := id.Actor(s), d.Now()
	e := s.Agents[a.ID]
	if e == nil {
		return nil
	}
	if _, err := transition.Identify(s, a, now); err != nil {
		return nil // under the lock it is said
	}
	in := d.Input()
	in.MayTake = d.mayTake(s)
	in.Claim = &transition.ClaimFacts{Reserve: s.Duration("claim_reserve")}
	var t *blackboard.Task
	var why string
	if e.Role == blackboard.RoleReviewer {
		if d.Config().Review.Disabled() {
			return nil // the claim says it
		}
		t, why = transition.NextReview(s, a, in, now)
	} else {
		unusable := map[string]error{} // many tasks may want the same role
		in.RoleCheck = d.RoleCheck(func(err error) { unusable[err.Error()] = err })
		t, why = transition.NextTask(s, a, in, now)
		d.tellUnusable(ctx, unusable)
	}
	if t == nil {
		return NothingToDo(why)
	}
	return nil
}

func (d *Service) tellUnusable(ctx context.Context, unusable map[string]error) {
	for _, text := range slices.Sorted(maps.Keys(unusable)) {
		d.TellUnusable(ctx, unusable[text])
	}
}

// note keeps what phase two needs to know about the task.
func (r *Reservation) note(d *Service, s *blackboard.State, t *blackboard.Task, agent string, fresh bool) {
	r.agent, r.task, r.fresh = agent, *t, fresh
	r.keep = t.HandoffPending || t.Status == blackboard.IntegrationFailed ||
		(t.Status == blackboard.Rejected || t.Status == blackboard.Claimed) && t.AssignedTo == agent ||
		t.Status == blackboard.Claimed && t.FinishedRun(t.ClaimSeq) != nil
	r.former = nil
	if e := s.Agents[t.AssignedTo]; t.Status == blackboard.Claimed && sameRegistration(e, t.ClaimGeneration) {
		r.former = d.OrphanOf(t.AssignedTo, e)
	} else if t.Status == blackboard.Unclaimed { // the program of a claim that a person ended in the file
		for id, e := range s.Agents {
			if id != agent && e != nil && e.Role == blackboard.RoleCoder && e.Child != nil && e.Child.Task == t.ID {
				r.former = d.OrphanOf(id, e)
			}
		}
	}
	r.candidates = nil
	for _, c := range []string{t.ReviewCommit, lastCommit(t)} {
		if c != "" {
			r.candidates = append(r.candidates, c)
		}
	}
}

// provision is phase two: the former holder's process is stopped, its work saved, the
// worktree provided and set up. Nothing of it happens under the state lock.
func (d *Service) provision(ctx context.Context, r *Reservation, facts *transition.ClaimFacts) (*git.Provided, error) {
	if r.former != nil {
		// First of all: a program that still runs would write into what is saved and handed over below.
		if err := d.Stop(ctx, *r.former); err != nil {
			return nil, err
		}
	}
	if r.task.KindOf() == blackboard.MessageTask {
		return nil, nil
	}
	if err := d.comesFrom(ctx, r); err != nil {
		return nil, err
	}
	if _, err := d.Repo.Relink(ctx, r.task.ID); err != nil {
		return nil, err
	}
	if err := d.Fetch(ctx, slices.Concat([]string{r.task.RestartFrom}, r.task.Bases(), r.candidates)...); err != nil {
		return nil, err
	}
	provided, err := d.Repo.ProvideWorktree(ctx, git.Provide{ID: r.task.ID, Base: r.base, Keep: r.keep, RestartFrom: r.task.RestartFrom,
		Candidates: r.candidates, WorkBase: r.task.BaseCommit, Nonce: r.nonce, Now: d.Now()})
	if err != nil {
		return nil, err
	}
	facts.Host = d.ThisHost()
	facts.Worktree = filepath.ToSlash(filepath.Join(".worktrees", r.task.ID))
	facts.Fresh, facts.BaseCommit = provided.Base != "", provided.Base
	if !provided.Created {
		return &provided, nil
	}
	return &provided, d.SetUp(ctx, r.task.ID)
}

// comesFrom prepares for a task whose worktree another host has: what this host still has of it is older, and work goes on at
// what was pushed there.
func (d *Service) comesFrom(ctx context.Context, r *Reservation) error {
	t := &r.task
	if !d.Elsewhere(t) {
		return nil
	}
	s, err := d.View(ctx)
	if err != nil {
		return err
	}
	if err := d.shelve(ctx, s, t); err != nil {
		return err
	}
	switch t.Status {
	case blackboard.Claimed, blackboard.Rejected: // elsewhere the next coder begins afresh, beside the work of the one before
		r.keep, err = d.brought(ctx, t)
	}
	return err
}

// confirm is phase three: the reservation and the guards still hold, and the claim is written.
func (d *Service) confirm(ctx context.Context, r *Reservation, facts transition.ClaimFacts, p *git.Provided) (Claimed, error) {
	var out Claimed
	in := d.Input()
	in.SpecHash = d.SpecHash(r.task.SpecRef)
	in.Claim = &facts
	if p != nil {
		in.Attic = p.Attic
		if r.keep && (p.Recovered || facts.Fresh) {
			in.Recovered = &p.Recovered
		}
	}
	err := d.UpdateAs(ctx, "claim", r.id, func(s *blackboard.State, a transition.Actor) error {
		// All guards again: phase two took time without the lock, in which a person may have held or superseded the task.
		if err := transition.Claim(s, r.task.ID, a, in, d.Now()); err != nil {
			return err
		}
		if r.former != nil {
			r.former.Forget(s) // stopped in phase two
		}
		t := s.Task(r.task.ID)
		out = Claimed{Task: t.ID, Agent: a.ID, Worktree: t.Worktree, BaseCommit: t.BaseCommit, Lease: t.LeaseExpires, Iteration: t.Iteration}
		return nil
	})
	if p != nil {
		out.Warnings = append(out.Warnings, p.Warnings...)
		for _, l := range p.LockRemoved {
			out.Warnings = append(out.Warnings, "removed "+l+", a lock file that a killed git left")
		}
		if p.Lost != "" {
			out.Warnings = append(out.Warnings, "a folder that was not a worktree was moved to "+p.Lost)
		}
	}
	return out, err
}

// claimFailed takes back what phases one and two made: the task's bytes are as before.
func (d *Service) claimFailed(ctx context.Context, r *Reservation, cause error) error {
	// The cause may be that ctx has ended, and the reservation has to go all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if r.task.KindOf() != blackboard.MessageTask {
		if err := d.Repo.Abandon(ctx, r.task.ID, r.nonce); err != nil {
			cause = errors.Join(cause, err)
		}
	}
	err := d.UpdateAs(ctx, "claim", r.id, func(s *blackboard.State, a transition.Actor) error {
		// Somebody else has it: the reservation had lapsed, and theirs stays.
		if !transition.CancelReserve(s, r.task.ID, a) {
			return nil
		}
		// The registration was for this claim only: nobody would ever take it back.
		if r.fresh && a.Via {
			delete(s.Agents, a.ID)
		}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(d.Now()), Agent: a.ID, Action: blackboard.ActionClaimFailed, Task: r.task.ID, Detail: prose.FirstLine(cause.Error())})
		if bad, ok := errors.AsType[*SetupError](cause); ok {
			var err error
			bad.Times, err = transition.SetupFailed(s, r.task.ID, transition.SystemActor(d.Facts()), transition.Input{Reason: bad.Message, Tail: bad.Tail}, d.Now())
			bad.Blocked = s.Task(r.task.ID).Status == blackboard.Blocked
			return err
		}
		return nil
	})
	if err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// ClaimReview gives the caller the named review, or the next one for id "".
func (d *Service) ClaimReview(ctx context.Context, id string) (Claimed, error) {
	take := d.NewTakeover()
	r, claim, err := d.reviewOf(ctx, id, take)
	if err != nil {
		return *r, err
	}
	if err := take.Try(ctx, func() error { return d.Update(ctx, "claim-review", claim) }); err != nil {
		return *r, err
	}
	d.ReviewClaimed(ctx, r)
	return *r, nil
}

// ReviewNext makes the claim of the next review a part of the next write of d, which ends the caller's review: a draft. done reports
// whether it took place; then ReviewClaimed goes on. A review that another reviewer left unfinished is not taken in this way.
func (d *Service) ReviewNext(ctx context.Context) (r *Claimed, done func() bool, err error) {
	r, claim, err := d.reviewOf(ctx, "", nil)
	if err != nil {
		return nil, nil, err
	}
	d.Then(claim)
	return r, d.Followed, nil
}

// ReviewClaimed completes the claim of a review, outside of the board.
func (d *Service) ReviewClaimed(ctx context.Context, r *Claimed) {
	if r.Worktree == "" {
		return
	}
	if _, err := d.Repo.Relink(ctx, r.Task); err != nil {
		r.Warnings = append(r.Warnings, err.Error())
	}
}

// reviewOf returns the claim of the named review, or of the next one, to be written by claim. Without take no review is claimed that
// somebody has left unfinished.
func (d *Service) reviewOf(ctx context.Context, id string, take interface{ Need(*board.Orphan) error }) (r *Claimed, claim func(*blackboard.State, transition.Actor) error, err error) {
	r = &Claimed{}
	if err := d.FollowSettings(ctx); err != nil {
		return r, nil, err
	}
	if d.Config().Review.Disabled() {
		return r, nil, &transition.Refusal{Exit: transition.ExitRefused, Next: "liza approve-merge ID", Message: "review.mode is disabled: people decide"}
	}
	if _, err := d.Roles().Resolve(role.Reviewer, nil, d.RoleSettings()); err != nil {
		d.TellUnusable(ctx, err)
		return r, nil, RoleRefusal(nil, err)
	}
	spec, err := d.specHashes(ctx)
	if err != nil {
		return r, nil, err
	}
	in := d.Input()
	return r, func(s *blackboard.State, a transition.Actor) error {
		now := d.Now()
		if _, err := transition.Identify(s, a, now); err != nil {
			return err
		}
		in := in
		in.MayTake = d.mayTake(s)
		chosen := id
		if id == "" {
			t, why := transition.NextReview(s, a, in, now)
			if t == nil {
				return NothingToDo(why)
			}
			chosen = t.ID
		}
		var former *board.Orphan
		if t := s.Task(chosen); t != nil {
			in.SpecHash, former = spec[t.SpecRef], d.formerReviewer(s, t)
		}
		if take == nil && former != nil {
			return NothingToDo("a former review of " + chosen + " is to be ended first")
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
func (d *Service) formerReviewer(s *blackboard.State, t *blackboard.Task) *board.Orphan {
	if e := s.Agents[t.ReviewingBy]; sameRegistration(e, t.ReviewingGeneration) {
		return d.OrphanOf(t.ReviewingBy, e)
	}
	return nil
}

// sameRegistration reports whether a claim of that generation is the entry's. A claim of Liza v1
// names none.
func sameRegistration(e *blackboard.Agent, generation string) bool {
	return e != nil && (generation == "" || e.Generation == "" || e.Generation == generation)
}

// specHashes hashes the spec files of everything that is ready for review.
func (d *Service) specHashes(ctx context.Context) (map[string]string, error) {
	s, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for t := range s.Tasks() {
		if _, ok := out[t.SpecRef]; !ok && t.Status == blackboard.ReadyForReview {
			out[t.SpecRef] = d.SpecHash(t.SpecRef)
		}
	}
	return out, nil
}
