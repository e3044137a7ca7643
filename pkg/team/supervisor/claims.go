package supervisor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/worktree"
)

// maxClaimFailures is how often in a row a claim may fail before a person has to look.
const maxClaimFailures = 3

// claimFailed tells of a claim that may succeed when it is tried again: the worktree could
// not be made, by whatever git or the disk had to say. What the store says is waited for elsewhere.
func claimFailed(err error) bool {
	if _, invalid := errors.AsType[*store.InvalidError](err); invalid || unreadable(err) || boardWaits(err) {
		return false
	}
	if _, remote := errors.AsType[*git.RemoteError](err); remote {
		return false
	}
	return err != nil && (exitOf(err) == 0 || exitOf(err) == transition.ExitFailure)
}

// code claims the best task and works on it until the claim ends, then on the one that was reserved with its end.
func (s *Supervisor) code(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	if done, err := s.applyLimits(hard, st); err != nil || done {
		return done, waiting{}, err
	}
	w, err := s.closed(hard, st)
	if err != nil || w.why != "" {
		return false, w, err
	}
	if w, idle := s.programs.nothingTo(st, s.look(hard, st)); idle {
		return false, w, nil
	}
	for {
		did, w, err := s.codeOne(soft, hard, st)
		if s.reserved == nil {
			return did, w, err
		}
		if err != nil || soft.Err() != nil {
			dropped := s.reserved
			s.reserved = nil
			return did, w, errors.Join(err, s.Service.DropReserved(context.WithoutCancel(hard), dropped))
		}
	}
}

// claim claims what was reserved, else the best task.
func (s *Supervisor) claim(ctx context.Context) (verb.Claimed, error) {
	if r := s.reserved; r != nil {
		s.reserved = nil
		return s.Service.ClaimReserved(ctx, r)
	}
	return s.Service.Claim(ctx, s.Task)
}

func (s *Supervisor) codeOne(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	var c verb.Claimed
	var err error
	for failures := 0; ; failures++ {
		c, err = s.claim(hard)
		if !claimFailed(err) {
			break
		}
		bad, isSetup := errors.AsType[*worktree.SetupError](err)
		about := s.Task
		if isSetup {
			about = bad.Task
		}
		s.member.warn(about, "claim failed: %v", err)
		if isSetup && bad.Times > 0 { // counted with the task: others may be claimed
			if bad.Blocked {
				s.member.warn(bad.Task, "blocked: its worktree could not be set up %d times in a row", bad.Times)
				return true, waiting{}, nil
			}
			if !rest(soft, hard, crashWaits.after(bad.Times)) {
				return false, waiting{}, ErrAborted
			}
			return true, waiting{}, nil
		}
		if failures == maxClaimFailures {
			return false, waiting{}, gaveUp(fmt.Sprintf("%d claims failed in a row", failures+1), err)
		}
		if !sleep(hard, time.Second+rand.N(4*time.Second)) {
			return false, waiting{}, ErrAborted
		}
	}
	if w, idle := s.programs.nothingTo(st, err); idle {
		return false, w, s.onlyTask(err)
	}
	if err != nil {
		return false, waiting{}, s.claimRefused(soft, hard, err)
	}
	s.failed.claims.end()
	s.member.say(c.Task, "claimed, iteration %d", c.Iteration)
	for _, w := range c.Warnings {
		s.member.warn(c.Task, "%s", w)
	}
	return true, waiting{}, s.work(soft, hard, c.Task)
}

// claimRefused waits longer after each claim in a row that fails, whatever the reason: a claim
// that fails leaves entries behind, which wake everybody, who would try again at once.
func (s *Supervisor) claimRefused(soft, hard context.Context, err error) error {
	if isLost(err) {
		return err
	}
	if !rest(soft, hard, s.failed.claims.next(claimWaits)) {
		return ErrAborted
	}
	return err
}

// review claims the next review and works on it until the verdict, then on the one that was claimed with the verdict.
func (s *Supervisor) review(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	if w, err := s.closed(hard, st); err != nil || w.why != "" {
		return false, w, err
	}
	if w, idle := s.programs.nothingTo(st, s.look(hard, st)); idle {
		s.offerReview()
		return false, w, nil
	}
	c, err := s.Service.Reviews.ClaimReview(hard, s.Task)
	if w, idle := s.programs.nothingTo(st, err); idle {
		return false, w, s.onlyTask(err)
	}
	if err != nil {
		return false, waiting{}, s.claimRefused(soft, hard, err)
	}
	return true, waiting{}, s.reviewAll(soft, hard, c)
}

// reviewAll works on a review, then on those that were claimed with the verdict of the one before.
func (s *Supervisor) reviewAll(soft, hard context.Context, c verb.Claimed) error {
	s.failed.claims.end()
	for {
		s.member.tell(Reviews, c.Task, "reviews %s", blackboard.ShortCommit(c.Commit))
		err := s.work(soft, hard, c.Task)
		if s.reviews == nil || err != nil || soft.Err() != nil { // what was claimed besides is given back by the next step, or the end
			s.reviews = nil
			return err
		}
		c, s.reviews = *s.reviews, nil
		s.Service.ReviewClaimed(hard, &c)
	}
}

// An offer is that of a reviewer with nothing to do: the write by which a coder of the team hands work in claims the review for it.
type offer struct {
	mu     sync.Mutex // held by the coder that writes just now
	open   bool
	agent  string
	id     board.Identity
	token  string // of the registration of id
	may    func(*blackboard.State, *blackboard.Task) string
	review *verb.Claimed // that was claimed
}

// offerReview makes the offer of a reviewer. It ends with the next step of the reviewer.
func (s *Supervisor) offerReview() {
	if !s.Team || s.Running == nil || s.Once || s.Task != "" || s.Interactive != nil {
		return
	}
	if s.offer == nil {
		s.offer = &offer{}
		s.Running.addOffer(s.offer)
	}
	o, caller := s.offer, s.Service.Board.Caller
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.token != caller.Token {
		id, err := s.Service.Board.Identify()
		if err != nil {
			return
		}
		o.agent, o.id, o.token = s.ID, id, caller.Token
	}
	o.may, o.open = s.Service.Board.May, true
}

// withdraw ends the offer, and returns the review that was claimed for it. Of nil it is nil.
func (o *offer) withdraw() (review *verb.Claimed) {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	review, o.review, o.open = o.review, nil, false
	return review
}

// handTo lets the write that hands the work of u in also claim the next review, for a reviewer of the team that has nothing to do.
func (l *Running) handTo(ctx context.Context, st *blackboard.State, u *unit) {
	if l == nil || !l.offered() {
		return
	}
	review, claim, err := u.board.ReviewFor(ctx, st.Task(u.task))
	if err != nil {
		return
	}
	var to *offer // whose lock is held
	f := &board.Following{}
	free := func() {
		if to != nil {
			to.mu.Unlock()
		}
		to = nil
	}
	f.Change = func(st *blackboard.State, _ transition.Actor) error {
		if to == nil {
			to = l.takeOffer()
		}
		if to == nil {
			return errNoReviewer
		}
		if st.Stopped[to.agent] != nil { // it has not seen it yet
			free()
			return errNoReviewer
		}
		claimed := false
		defer func() {
			if !claimed {
				free()
			}
		}()
		err := claim(st, to.id.Actor(st), func(t *blackboard.Task) string { return to.may(st, t) })
		claimed = err == nil
		return err
	}
	f.Ended = func() {
		if f.Done {
			to.open, to.review = false, review
		}
		free()
	}
	u.board.Board.Then(f)
}

var errNoReviewer = errors.New("no reviewer waits")

// look says why there is nothing to claim, nil when there may be something. Who works on one task only is told by the claim.
func (s *Supervisor) look(ctx context.Context, st *blackboard.State) error {
	if s.Task != "" {
		return nil
	}
	return s.Service.Look(ctx, st)
}

// closed says why the limits of sprint and day let nothing new start, when there is work.
func (s *Supervisor) closed(ctx context.Context, st *blackboard.State) (waiting, error) {
	for t := range st.Tasks() {
		if t != nil && t.Hold == nil && s.programs.takes(t.Status) {
			_, w, err := s.spending.sprintSpent(ctx, st, 0)
			return w, err
		}
	}
	return waiting{}, nil
}

// nothingTo reports whether a claim found nothing, lost a race, or has to wait.
func (p *programs) nothingTo(st *blackboard.State, err error) (waiting, bool) {
	if isNothing(err) || isRefused(err) {
		until := p.heldBack(st)
		return waiting{why: err.Error(), until: until, paused: !until.IsZero()}, true
	}
	return waiting{}, false
}

// onlyTask ends a supervisor that was started for one task which cannot be had.
func (s *Supervisor) onlyTask(err error) error {
	if s.Task != "" && s.Once {
		return err
	}
	return nil
}

// applyLimits blocks claimable tasks that have reached a limit (T26, T27), without a claim.
func (s *Supervisor) applyLimits(ctx context.Context, st *blackboard.State) (bool, error) {
	for t := range st.Tasks() {
		if t.Hold != nil {
			continue
		}
		if t.Status != blackboard.Unclaimed && t.Status != blackboard.Rejected && t.Status != blackboard.IntegrationFailed {
			continue
		}
		h, over := transition.Reached(st, t, s.Service.Board.Now()), transition.IterationsOver(st, t)
		if h == nil && !over {
			continue
		}
		op := func(st *blackboard.State, a transition.Actor) error {
			if h != nil {
				return transition.HaltTask(st, t.ID, transition.SystemActor(a.Facts), transition.Input{Halt: h}, s.Service.Board.Now())
			}
			return transition.LimitIterations(st, t.ID, transition.SystemActor(a.Facts), transition.Input{Reason: lastError(t)}, s.Service.Board.Now())
		}
		err := s.Service.Board.Update(ctx, "limit", op)
		if err != nil && !isRefused(err) {
			return false, err
		}
		if err == nil {
			s.member.warn(t.ID, "blocked: a limit is reached")
			return true, nil
		}
	}
	return false, nil
}
