package supervisor

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/run/role"
	"liza/pkg/verb/verb"
)

// Programs are the agent programs that a member may start, and what they wait for.
type programs struct {
	*member
	Adapter     func(name string) (agent.Adapter, error)
	CLI, Model  string          // of the command line; "" as configured
	Interactive *agent.Terminal // nil: no person works with the program
	Jitter      func() float64  // nil: waits do not differ
	quotas      streak
}

// choice is the agent program and the model of a run. wait says why none may be started
// now, and until when.
type choice struct {
	name, model string
	wait        waiting
	place
}

// place is where a run is on its ladder of models: from 1 to rungs, 0 without one. why says why it is on a higher one than the run
// before, or than the lowest; "" when it is not.
type place struct {
	rung, rungs int
	why         string
}

// programFor is the agent program and the model of a run of that role (1.7).
func (ps *programs) programFor(r *role.Role, t *blackboard.Task) (name, model string) {
	return ps.Service.Board.Roles().Library().Program(r, t, ps.Service.Board.Roles().Settings(), ps.CLI, ps.Model, ps.known)
}

// first is the program of a run as its role has it, or the rung of its ladder. A reviewer is never on a lower one than the coder
// whose work it judges, as far as its own ladder goes.
func (ps *programs) first(st *blackboard.State, kind role.Kind, r *role.Role, t *blackboard.Task) (c choice) {
	if t != nil && t.CLI != "" && kind == role.Coder {
		c.name, c.model, _ = strings.Cut(t.CLI, ":")
		return c
	}
	m, why := ps.ladder(r, t)
	if t == nil || m.Ladder == nil || why != "" || kind != role.Coder && kind != role.Reviewer {
		c.name, c.model = ps.programFor(r, t)
		return c
	}
	c.rungs = len(m.Ladder)
	c.rung, c.why = transition.NextRung(t, string(kind), c.rungs, m.AfterRejections)
	c.why = prose.After("the run before ended ", c.why)
	switch {
	case kind == role.Reviewer:
		c.rung = max(c.rung, min(transition.LastRung(t, string(role.Coder)), c.rungs))
	case transition.LastRung(t, string(kind)) == 0 && !m.FromBottom:
		c.rung, c.why = transition.FirstRung(st, t, c.rungs)
	}
	c.name, c.model = ps.Service.Board.Roles().Library().Program(r, t, ps.Service.Board.Roles().Settings(), "", m.Ladder[c.rung-1], ps.known)
	return c
}

// ladder is what models says for a role. why says that its ladder has no effect here.
func (ps *programs) ladder(r *role.Role, t *blackboard.Task) (m config.Model, why string) {
	name := ps.Service.Board.Roles().Library().ModelSetting(r, t, ps.Service.Board.Roles().Settings())
	if m = ps.Service.Board.Config().Models[name]; m.Ladder == nil {
		return m, ""
	}
	switch {
	case ps.Interactive != nil:
		why = "a person works with the program"
	case ps.CLI != "" || ps.Model != "":
		why = "the command line names the program or its model"
	default:
		return m, ""
	}
	return m, fmt.Sprintf("the ladder of models.%s has no effect: %s", name, why)
}

// tellLadder says that a ladder is not climbed here.
func (ps *programs) tellLadder() {
	if used, err := ps.roleFor(role.Kind(ps.Role), nil); err == nil {
		if _, why := ps.ladder(used.Role, nil); why != "" {
			ps.warn("", "%s", why)
		}
	}
}

// climb lets the run after one that failed to complete begin on the next rung, under the same claim.
func (s *Supervisor) climb(ctx context.Context, u *unit, outcome, why string) (next, error) {
	u.reask, u.talk, u.fresh, u.reasks = nil, nil, true, 0
	s.member.warn(u.task, "%s: %s", outcome, why)
	_, err := u.board.RunFailed(ctx, u.task, outcome, why)
	return next{again: true}, err
}

// known reports whether an agent program has that name.
func (ps *programs) known(name string) bool {
	_, err := ps.Adapter(name)
	return err == nil
}

// choose is the program of a run: that of the role or, while it waits for its quota window,
// the first of agents.fallback that does not, with its own default model. A reviewer's is
// another one than those that wrote the work, where the policy wants that.
func (ps *programs) choose(st *blackboard.State, kind role.Kind, r *role.Role, t *blackboard.Task) choice {
	main := ps.first(st, kind, r, t)
	options := ps.accounts(main)
	main.name = options[0].name
	fallback := ps.Service.Board.Config().Agents.Fallback
	names := fallback.For(r.Name)
	if names == nil {
		names = fallback.For(string(kind))
	}
	for _, name := range names {
		if blackboard.ProgramName(main.name) != name && ps.known(name) {
			options = append(options, ps.accounts(choice{name: name, place: main.place})...)
		}
	}
	for _, c := range options {
		w := ps.waits(st, kind, c.name, t)
		if w.why == "" {
			return c
		}
		soonest := main.wait.until.IsZero() || !w.until.IsZero() && w.until.Before(main.wait.until)
		if main.wait.why == "" || soonest {
			main.wait = w
		}
	}
	return main
}

// accounts are the choices of a program with several accounts, in the order of their names.
func (ps *programs) accounts(c choice) (all []choice) {
	if a, err := ps.Adapter(c.name); err == nil && a != nil && !strings.Contains(c.name, "@") {
		for _, account := range a.Info().Accounts {
			all = append(all, choice{name: c.name + "@" + account, model: c.model, place: c.place})
		}
	}
	if all == nil {
		all = []choice{c}
	}
	return all
}

// waits says why a program may not be started for a run.
func (ps *programs) waits(st *blackboard.State, kind role.Kind, name string, t *blackboard.Task) waiting {
	if kind == role.Reviewer && t != nil && ps.Service.Board.Config().Policy.ReviewerOtherCLI {
		for _, author := range transition.Wrote(t) {
			if why := ps.sameProvider(author, name); why != "" {
				return waiting{why: why}
			}
		}
	}
	if kind == role.Reviewer && t != nil && t.UsedPrograms().Has(blackboard.ProgramName(name)) {
		return waiting{why: fmt.Sprintf("%s has approved %s already, and another program has to review it (review.quorum)", name, t.ID)}
	}
	if until, reason := transition.PausedUntil(st, name, ps.Service.Board.Now()); !until.IsZero() {
		return waiting{why: fmt.Sprintf("%s is paused until %s: %s", name, blackboard.TimeOf(until), reason), until: until}
	}
	return waiting{}
}

// sameProvider says why a program may not judge what another one wrote: it is the same, or the
// same provider's (policy.reviewer_other_cli).
func (ps *programs) sameProvider(author, reviewer string) string {
	if author == blackboard.ProgramName(reviewer) {
		return fmt.Sprintf("%s wrote the work, and another program has to review it (policy.reviewer_other_cli)", author)
	}
	if p := ps.provider(author); p != "" && p == ps.provider(reviewer) {
		return fmt.Sprintf("%s wrote the work, and %s is of the same provider, %s (policy.reviewer_other_cli)", author, reviewer, p)
	}
	return ""
}

func (ps *programs) provider(name string) string {
	a, err := ps.Adapter(name)
	if err != nil || a == nil {
		return ""
	}
	return a.Info().Provider
}

// kindOf is the kind of agent that works on a task for this supervisor; none is needed for
// commands and for messages that are sent as they stand.
func (ps *programs) kindOf(t *blackboard.Task) (k role.Kind, needed bool) {
	switch {
	case ps.Role != blackboard.RoleCoder || t == nil || t.KindOf() == blackboard.CodeTask:
		return role.Kind(ps.Role), true
	case t.KindOf() == blackboard.MessageTask:
		return role.Messenger, ps.Service.Board.Config().Messenger.Mode != "verbatim"
	}
	return role.Coder, false
}

// chosen is the choice for the next run on a task (nil for a planner). When the role cannot
// be used nothing is started; then the program is the one that is configured.
func (ps *programs) chosen(st *blackboard.State, t *blackboard.Task) choice {
	kind, needed := ps.kindOf(t)
	if !needed {
		return choice{}
	}
	used, err := ps.roleFor(kind, t)
	if err != nil {
		return choice{name: cmp.Or(ps.CLI, ps.Service.Board.Config().Agents.Default), model: ps.Model}
	}
	return ps.choose(st, kind, used.Role, t)
}

// may is what the claims of this agent ask (verb.Service.May).
func (ps *programs) may(st *blackboard.State, t *blackboard.Task) string {
	return ps.chosen(st, t).wait.why
}

// heldBack is when the first of the tasks can be taken for which the agent's programs are
// paused; the zero time when there is none.
func (ps *programs) heldBack(st *blackboard.State) time.Time {
	var end time.Time
	if len(st.Programs) == 0 {
		return end
	}
	for t := range st.Tasks() {
		if t == nil || t.Hold != nil || !ps.takes(t.Status) {
			continue
		}
		if until := ps.chosen(st, t).wait.until; !until.IsZero() && (end.IsZero() || until.Before(end)) {
			end = until
		}
	}
	return end
}

// takes reports whether tasks of that status are given to agents of this role.
func (ps *programs) takes(status blackboard.Status) bool {
	if ps.Role == blackboard.RoleReviewer {
		return status == blackboard.ReadyForReview
	}
	return status == blackboard.Unclaimed || status == blackboard.Rejected || status == blackboard.IntegrationFailed
}

// pauseProgram gives the work back and starts nothing of the program that has run before its
// quota window ends; other programs go on.
func (ps *programs) pauseProgram(ctx context.Context, u *unit, x *run) error {
	name, r := x.program(), x.result
	until := quotaUntil(ps.quotas.next(quotaWaits), r, ps.Service.Board.Now())
	err := ps.Service.Board.Update(ctx, "program", func(st *blackboard.State, _ transition.Actor) error {
		transition.Pause(st, name, r.Error, until.Add(time.Second), ps.Service.Board.Now())
		return nil
	})
	if err != nil {
		return err
	}
	ps.warn("", "%s has used up its quota; paused until %s", name, until.Format(time.RFC3339))
	if u.task == "" {
		return nil
	}
	return ps.letGo(ctx, u, "quota: "+r.Error)
}

// unusable ends the supervisor, because a person has to do something for the program: to log
// in, to pay, or to correct the configuration.
func (ps *programs) unusable(ctx context.Context, u *unit, x *run) error {
	r := x.result
	if u.task != "" {
		if err := ps.letGo(ctx, u, r.Error); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("the agent program %s cannot be used: %s", x.program(), r.Error)
	look := "liza doctor --cli " + x.program()
	if name := variableIn(r.Error); name != "" { // a sandbox passes on only what it is told
		what += fmt.Sprintf(" (set %s where liza runs, and let its runs have it)", name)
		look = fmt.Sprintf("liza config agents.%s.sandbox.allow.env %s", x.program(), name)
	}
	// Each of a team comes to the same end: people are told once a day.
	ps.Service.Board.Notify(ctx, "agent_unusable", "", what+" "+ps.Service.Board.Now().UTC().Format(time.DateOnly), what+"; next: "+look)
	return &GaveUp{Task: u.task, Why: what, Next: look, Extra: map[string]any{"cause": "agent_unusable", "program": x.program(), "run": x.mark}}
}

// variableIn returns the environment variable that a message says is missing, or "".
func variableIn(text string) string {
	if at := missingVariable().FindStringSubmatch(text); at != nil {
		return at[1]
	}
	return ""
}

var missingVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i:env(?:ironment)?[ _]var)(?i:iables?)?\W{0,4}([A-Z][A-Z0-9_]{2,63})\b`)
})

// setBack handles the ends of a run that say nothing about the work: the provider asks for
// patience, or a person is needed (specs/roles-and-knowledge.md#8.4).
func (ps *programs) setBack(ctx context.Context, u *unit, x *run) (n next, handled bool, err error) {
	switch r := x.result; {
	case r.Outcome.Transient():
		wait := u.transients.next(transientWaits)
		if r.RetryAfter > 0 {
			wait = r.RetryAfter
		} else if ps.Jitter != nil {
			wait += time.Duration(ps.Jitter() * spread * float64(wait))
		}
		ps.warn(u.task, "%s: %s; tries again in %s", r.Outcome, r.Error, wait.Round(100*time.Millisecond))
		return next{again: true, wait: wait}, true, nil
	case r.Outcome == agent.QuotaWindow:
		return next{}, true, ps.pauseProgram(ctx, u, x)
	case r.Outcome == agent.Unusable:
		return next{}, true, ps.unusable(ctx, u, x)
	}
	ps.quotas.end()
	return next{}, false, nil
}

// spread is how much of a wait is left to chance, so that agents do not all come back at once.
const spread = 0.2

// roleFor is the role of a run.
func (ps *programs) roleFor(kind role.Kind, t *blackboard.Task) (role.Resolved, error) {
	return ps.Service.Board.Roles().Library().Resolve(kind, t, ps.Service.Board.Roles().Settings())
}

// providerWait is what a running program says that it waits for. The program is heard on one
// goroutine, and the board is written on another: a slow disk must not hold up its output.
type providerWait struct {
	mu    sync.Mutex
	told  *blackboard.ProviderWait // nil: it goes on
	shown *blackboard.ProviderWait
	pause time.Duration
}

// worthTelling is the shortest wait that people are told of: most programs try again at once.
const worthTelling = 5 * time.Second

// hear reports whether the event begins or ends a wait.
func (w *providerWait) hear(e agent.Event, d *verb.Service) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Kind {
	case agent.EventError:
		if !e.Retry || e.RetryAfter < worthTelling {
			return false
		}
		reason := cmp.Or(e.Word, prose.FirstLine(e.Text), "it tries again")
		if e.Status > 0 {
			reason = fmt.Sprintf("%s (%d)", reason, e.Status)
		}
		w.told, w.pause = &blackboard.ProviderWait{Reason: d.Board.Mask(reason), Until: blackboard.TimeOf(d.Board.Now().Add(e.RetryAfter))}, e.RetryAfter
		return true
	case agent.EventText, agent.EventTool, agent.EventFinal:
		going := w.told != nil
		w.told = nil
		return going
	}
	return false
}
