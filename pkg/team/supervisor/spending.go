package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/verb/sprint"
)

// A spending starts programs, counts what they use, and stops them at the limits of a task, the sprint and the day.
type spending struct {
	*member
	Start   func(context.Context, agent.Adapter, agent.Spec) agent.Result
	Running *Running // nil: what this member uses is counted alone
}

// showProvider writes what is new about a wait on the board: once when it begins, once when
// it is over. The end of a run clears it, too.
func (s *spending) showProvider(ctx context.Context, w *providerWait, task string) {
	w.mu.Lock()
	told, pause, same := w.told, w.pause, w.told == w.shown
	w.mu.Unlock()
	if same {
		return
	}
	err := s.Service.Board.Update(ctx, "provider wait", func(st *blackboard.State, a transition.Actor) error {
		return transition.WaitForProvider(st, a, told, s.Service.Board.Now())
	})
	if err != nil {
		return // it is tried again at the next look; the run itself is not concerned
	}
	w.mu.Lock()
	w.shown = told
	w.mu.Unlock()
	if told != nil {
		s.say(task, "its program waits %s for the provider, until %s: %s", pause.Round(time.Second), told.Until, told.Reason)
	}
}

// recordUsage appends to usage.jsonl; no decision reads it, so a failure is only told.
func (s *spending) recordUsage(task string, x *run) {
	b, r := x.brief, x.result
	if x.adopted { // whose former supervisor may have been killed after this
		lines, _ := history.ReadUsage(s.Service.Board.Project.Usage())
		if slices.ContainsFunc(lines, func(l history.UsageLine) bool { return l.ID == x.mark }) {
			return
		}
	}
	line := map[string]any{"at": blackboard.TimeOf(s.Service.Board.Now()), "run": x.number, "agent": s.ID, "kind": b.role.Role.Kind, "role": b.role.Role.Name, "task": task, "adapter": b.program, "model": b.model,
		"cost_cents": nil, "tokens_in": nil, "tokens_out": nil, "tokens_cached": nil, "seconds": int(r.Seconds + 0.5), "outcome": r.Outcome, "id": x.mark}
	if b.reask > 0 {
		line["reask"] = b.reask
	}
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

// Running is what the agent programs of one process have used so far that are still running.
// Limits of the sprint and of the day count it; the board knows only runs that have ended.
// They also share what they saw of each other's worktrees a moment ago.
type Running struct {
	mu   sync.Mutex
	runs map[string]*running // by agent
	seen map[string]seen     // by task

	offers []*offer // one for each reviewer that has been idle
}

func (l *Running) addOffer(o *offer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offers = append(l.offers, o)
}

// takeOffer returns an open offer, locked, or nil.
func (l *Running) takeOffer() *offer {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.offers {
		if o.mu.TryLock() {
			if o.open {
				return o
			}
			o.mu.Unlock()
		}
	}
	return nil
}

// offered reports whether there is an open offer.
func (l *Running) offered() bool {
	o := l.takeOffer()
	if o != nil {
		o.mu.Unlock()
	}
	return o != nil
}

// seen are the files that a task had changed at a time.
type seen struct {
	at    time.Time
	files []string
}

// seenFor is how long that is told without another look: with many coders each prompt would look into every worktree.
const seenFor = 10 * time.Second

func (l *Running) sawChanged(task string, now time.Time, look func() ([]string, error)) ([]string, error) {
	if l == nil {
		return look()
	}
	l.mu.Lock()
	s, known := l.seen[task]
	l.mu.Unlock()
	if age := now.Sub(s.at); known && age >= 0 && age < seenFor {
		return s.files, nil
	}
	files, err := look()
	if err == nil {
		l.mu.Lock()
		if l.seen == nil {
			l.seen = map[string]seen{}
		}
		l.seen[task] = seen{now, files}
		l.mu.Unlock()
	}
	return files, err
}

type running struct {
	began time.Time
	usage agent.Usage
}

func (r *running) spent(now time.Time) transition.Spent {
	return transition.Spent{Cents: blackboard.AmountOf(r.usage.CostCents), Tokens: r.usage.TokensIn + r.usage.TokensOut, Seconds: max(0, int(now.Sub(r.began)/time.Second))} // a clock may be set back
}

func (l *Running) begin(id string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == nil {
		l.runs = map[string]*running{}
	}
	l.runs[id] = &running{began: now}
}

func (l *Running) used(id string, u agent.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[id]; r != nil {
		r.usage = u
	}
}

func (l *Running) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, id)
}

// spent is what the run of one agent has used, and what all have.
func (l *Running) spent(id string, now time.Time) (own, all transition.Spent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, r := range l.runs {
		s := r.spent(now)
		all = all.Add(s)
		if name == id {
			own = s
		}
	}
	return own, all
}

// spendingLook is how often the limits of a running program are looked at.
const spendingLook = time.Second

// lastFigures is how long a program may go on when it has reached a limit: many tell what they used with their last words,
// and work that is done must not be cut off by the figure of its cost.
const lastFigures = 500 * time.Millisecond

// watched starts a program and stops it when it reaches a limit of its task, the sprint or
// the day (specs/decisions.md#D13). over is that limit.
func (s *spending) watched(ctx context.Context, adapter agent.Adapter, spec agent.Spec, b briefing, task string) (r agent.Result, over *limitError) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ledger := s.Running
	if ledger == nil {
		ledger = &Running{}
	}
	began := s.Service.Board.Now()
	if spec.Adopted != nil {
		began = spec.Adopted.Began
	}
	ledger.begin(s.ID, began)
	defer ledger.end(s.ID)
	spent := make(chan struct{}, 1)
	waits := &providerWait{}
	hear := spec.Event
	spec.Event = func(e agent.Event) {
		if hear != nil {
			hear(e)
		}
		switch {
		case waits.hear(e, s.Service):
		case e.Kind == agent.EventUsage:
			ledger.used(s.ID, s.settled(b, e.Usage))
		default:
			return
		}
		select {
		case spent <- struct{}{}:
		default:
		}
	}
	done := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		look := time.NewTicker(spendingLook)
		defer look.Stop()
		var reached *limitError
		near := false
		var late <-chan time.Time
		for {
			select {
			case <-done:
				return
			case <-late:
				stop(reached)
				return
			case <-look.C:
			case <-spent:
			}
			s.showProvider(ctx, waits, task)
			if !near && task != "" {
				near = s.tellNear(ctx, ledger, task)
			}
			if reached == nil {
				if reached = s.overspent(ctx, ledger, task); reached != nil {
					late = time.After(lastFigures)
				}
			}
		}
	})
	func() {
		defer looking.Wait()
		defer close(done)
		r = s.Start(ctx, adapter, spec)
	}()
	r.Seconds = max(0, r.Seconds)
	r.Usage = s.settled(b, r.Usage)
	if cause := context.Cause(ctx); r.Outcome == agent.Killed && errors.As(cause, &over) {
		r.Error = "stopped: " + over.Error()
	}
	if r.Outcome == agent.Stopped {
		ledger.used(s.ID, r.Usage)
		over = s.overspent(context.WithoutCancel(ctx), ledger, task)
		r.Restart = over == nil && spec.Budget > 0 && r.Usage.CostCents >= 100*spec.Budget // a limit that was raised meanwhile
	}
	return r, over
}

// budget is what the limits of cost leave to the next run, in US dollars; 0 means no limit.
func (s *spending) budget(st *blackboard.State, task string) float64 {
	now, running := s.Service.Board.Now(), transition.Spent{}
	if s.Running != nil {
		_, running = s.Running.spent("", now)
	}
	running.Cents = max(running.Cents, transition.Reserved(st, s.ID))
	return float64(transition.CostLeft(st, st.Task(task), running, now)) / 100
}

// tellNear tells the running program once that a limit of its task comes near, and reports whether it did.
func (s *spending) tellNear(ctx context.Context, ledger *Running, task string) bool {
	st, err := s.Service.Board.View(ctx)
	if err != nil || st.Task(task) == nil {
		return false
	}
	own, _ := ledger.spent(s.ID, s.Service.Board.Now())
	text := transition.NearLimit(st, st.Task(task), own)
	if e := st.Agents[s.ID]; text == "" || e == nil || e.Child == nil {
		return false
	}
	return s.Service.Board.Update(ctx, "limit", func(st *blackboard.State, _ transition.Actor) error {
		transition.TellRun(st, s.ID, "limit", text, s.Service.Board.Now())
		return nil
	}) == nil
}

// overspent is the limit that the running program has reached, or nil.
func (s *spending) overspent(ctx context.Context, ledger *Running, task string) *limitError {
	st, err := s.Service.Board.View(ctx)
	if err != nil {
		return nil
	}
	now := s.Service.Board.Now()
	own, all := ledger.spent(s.ID, now)
	if t := st.Task(task); t != nil {
		if h := transition.ReachedWhile(st, t, own, now); h != nil {
			return &limitError{task: h}
		}
	}
	if o := transition.SprintReached(st, all, 0, now); o != nil {
		return &limitError{sprint: o}
	}
	return nil
}

// settled is what a run itself has used: what its conversation had used before is taken off,
// and tokens are priced when the program tells no cost.
func (s *spending) settled(b briefing, u agent.Usage) agent.Usage {
	if before := b.resumed; u.WholeSession && before != nil {
		u.TokensIn = max(0, u.TokensIn-before.TokensIn)
		u.TokensOut = max(0, u.TokensOut-before.TokensOut)
		u.TokensCached = max(0, u.TokensCached-before.TokensCached)
	}
	u.WholeSession = false
	if u.CostKnown || !u.TokensKnown {
		return u
	}
	if price, ok := priceOf(s.Service.Board.Config().Prices, b.program, b.model); ok {
		u.CostKnown = true
		u.CostCents = float64(blackboard.AmountOf((float64(u.TokensIn)*price.In + float64(u.TokensOut)*price.Out) / 1e4)) // USD per million is cents per 10,000
	}
	return u
}

// priceOf finds the price of a model: the longest key that is a part of PROGRAM:MODEL.
func priceOf(prices map[string]config.Price, program, model string) (config.Price, bool) {
	name := strings.ToLower(program + ":" + model)
	found, ok := "", false
	for _, key := range slices.Sorted(maps.Keys(prices)) {
		if strings.Contains(name, strings.ToLower(key)) && (!ok || len(key) > len(found)) {
			found, ok = key, true
		}
	}
	return prices[found], ok
}

// sprintSpent stops the sprint when a limit of it or of the day is reached, so that nothing
// new starts (S01). The reserve is what the next run may cost; what programs are still
// allowed to cost that run now is waited for.
func (s *spending) sprintSpent(ctx context.Context, st *blackboard.State, reserve blackboard.Amount) (stopped bool, w waiting, err error) {
	if !transition.LimitsSprint(st) {
		return false, waiting{}, nil
	}
	now := s.Service.Board.Now()
	if o := transition.SprintReached(st, transition.Spent{}, reserve, now); o != nil {
		return true, waiting{why: o.String()}, s.stopSprint(ctx, o)
	}
	running := transition.Spent{}
	if s.Running != nil {
		_, running = s.Running.spent("", now)
	}
	running.Cents = max(running.Cents, transition.Reserved(st, s.ID))
	if o := transition.SprintReached(st, running, reserve, now); o != nil {
		return true, waiting{why: "runs that are under way may use up what is left: " + o.String(), until: now.Add(spendingLook)}, nil
	}
	return false, waiting{}, nil
}

func (s *spending) stopSprint(ctx context.Context, o *transition.Overspent) error {
	_, err := sprint.SystemCheckpoint(ctx, s.Service, "", o.String())
	if isRefused(err) {
		return nil // somebody was faster
	}
	s.warn("", "the sprint is stopped: %s; next: liza config limits.%s N, then liza resume", o, o.Key)
	return err
}

// reserve puts aside what the next run may cost when a limit of the sprint or of the day has
// to hold for several at a time. wait is not zero when it has to wait for the others.
func (s *spending) reserve(ctx context.Context, st *blackboard.State, t *blackboard.Task) (over *limitError, wait time.Duration, err error) {
	if !transition.LimitsSprint(st) {
		return nil, 0, nil
	}
	var cents blackboard.Amount
	if t != nil {
		cents = transition.NextCost(t)
	}
	err = s.Service.Board.Update(ctx, "reserve", func(st *blackboard.State, a transition.Actor) error {
		over, wait = nil, 0
		now := s.Service.Board.Now()
		if o := transition.SprintReached(st, transition.Spent{}, cents, now); o != nil {
			over = &limitError{sprint: o}
			return nil
		}
		if transition.SprintReached(st, transition.Spent{Cents: transition.Reserved(st, a.ID)}, cents, now) != nil {
			wait = spendingLook
			return nil
		}
		return transition.ReserveCost(st, a, cents, now)
	})
	return over, wait, err
}

// stopForLimit does what a limit asks for that was reached before or during a run: the task
// is halted, or the sprint is stopped and the claim given back. Work is saved besides.
func (s *spending) stopForLimit(ctx context.Context, u *unit, over *limitError) error {
	ctx = context.WithoutCancel(ctx)
	s.warn(u.task, "%v", over)
	if over.task != nil {
		if st, err := u.board.Board.View(ctx); err == nil && st.Task(u.task) != nil {
			if h := transition.Reached(st, st.Task(u.task), s.Service.Board.Now()); h != nil {
				over.task = h // with all that the run has used in the end
			}
		}
		done, err := u.board.Halt(ctx, u.task, over.task)
		if done.Attic != "" {
			s.say(u.task, "work that is not committed is saved in %s", done.Attic)
		}
		return err
	}
	err := s.stopSprint(ctx, over.sprint)
	if u.task == "" {
		return err
	}
	return errors.Join(s.letGo(ctx, u, over.Error()), err)
}
