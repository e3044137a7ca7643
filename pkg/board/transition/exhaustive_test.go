package transition

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"liza/pkg/board/blackboard"
)

// exits are the exit codes with which a guard may refuse; 4 where nothing is here.
var exits = map[string][]Exit{
	"":    {ExitFailure, ExitUsage},
	"G02": {ExitRefused, ExitLeaseLost}, "G06": {ExitRefused, ExitLeaseLost}, "G31": {ExitRefused, ExitLeaseLost}, "G53": {ExitRefused, ExitLeaseLost},
	"G32": {ExitLeaseLost}, "G54": {ExitLeaseLost},
	"G09": {ExitUsage}, "G10": {ExitUsage}, "G16": {ExitUsage}, "G57": {ExitUsage}, "G70": {ExitUsage}, "G72": {ExitUsage},
	"G12": {ExitUsage, ExitRefused},
	"G13": {ExitInvalid}, "G14": {ExitInvalid}, "G15": {ExitInvalid}, "G73": {ExitInvalid}, "G74": {ExitInvalid},
	"G28": {ExitFailure}, "G29": {ExitFailure}, "G62": {ExitFailure}, "G75": {ExitFailure},
}

// combination is one cell of status × event × kind of caller.
type combination struct {
	status blackboard.Status
	event  Event
	kind   string
}

// repeatable are the events of specs/protocol.md#0.7.
var repeatable = []Event{evSubmit, evApprove, evReject, evReplan, evReviewRelease, evBlock, evIntent, evHandoff, evMerge, evMergeIntent, evHold, evUnhold}

// inTable reports whether the transition table has the combination.
func inTable(c combination, p Party) bool {
	return slices.ContainsFunc(Rules, func(r Rule) bool {
		return r.Event == c.event && r.Who&p != 0 && (hasStatus(r.From, c.status) || r.From == nil)
	})
}

// ledger collects what happened in all situations.
type ledger struct {
	mu       sync.Mutex
	happened map[combination]bool
	rules    map[string]bool
}

func (l *ledger) note(c combination, rules ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.happened[c] = true
	for _, id := range rules {
		l.rules[id] = true
	}
}

// P-037: every status × event × caller is as in the table, or refused without a trace.
func TestEveryStatusEventAndCaller(t *testing.T) {
	t.Parallel()
	l := &ledger{happened: map[combination]bool{}, rules: map[string]bool{}}
	t.Run("P-036 P-037", func(t *testing.T) {
		for _, s := range situations {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				tryAll(t, s, l)
			})
		}
	})
	if t.Failed() {
		return
	}
	for _, r := range Rules {
		if !l.rules[r.ID] {
			t.Errorf("rule %s (%s) never happened", r.ID, r.Event)
		}
	}
	for _, status := range append([]blackboard.Status{""}, blackboard.Statuses...) {
		for _, event := range allEvents() {
			for _, who := range everybody {
				c := combination{status, event, who.kind}
				if inTable(c, who.party) && !l.happened[c] {
					t.Errorf("%s of a task that is %q by %s stands in the table, but never happened", event, status, who.kind)
				}
			}
		}
	}
}

func allEvents() []Event {
	var list []Event
	for _, r := range Rules {
		if !slices.Contains(list, r.Event) {
			list = append(list, r.Event)
		}
	}
	return list
}

// tryAll tries every event by everybody in one situation. What refused events leave is
// looked at before an event that the table allows, and at the end.
func tryAll(t *testing.T, s situation, l *ledger) {
	b := situated(t, s)
	pristine := b.State.Clone()
	since := "" // the first event that was refused since the last look
	unchanged := func() {
		if diff := difference(pristine, b.State); diff != "" {
			t.Fatalf("the state changed, although every event since %q was refused: %s", since, diff)
		}
		since = ""
	}
	for _, try := range trials {
		for _, who := range everybody {
			name := try.name + " by " + who.kind
			c := combination{s.status, try.event, who.kind}
			actor := who.actor(b)
			if since != "" && inTable(c, who.party) {
				unchanged()
			}
			err := try.do(b, actor)
			if err == nil {
				l.note(c, happened(t, name, pristine, b, c, who)...)
				b.State = pristine.Clone()
				continue
			}
			since = cmp.Or(since, name)
			notHappened(t, name, err, c, who)
		}
	}
	unchanged()
}

// happened checks an event that was not refused, and returns the rules that it followed.
func happened(t *testing.T, name string, before *blackboard.State, b *board, c combination, who somebody) []string {
	if !inTable(c, who.party) {
		t.Errorf("%s happened, but is not in the table", name)
	}
	if v := writeErrors(b.State, b.now); len(v) > 0 {
		t.Errorf("%s leaves an invalid state: %v", name, v)
	}
	if c.status.Terminal() && b.Task("x").Status != c.status {
		t.Errorf("%s leads out of %s", name, c.status)
	}
	checkMetrics(t, name, b.State)
	for _, e := range entriesOf(b.State) {
		if via := e.Extra["via"] == blackboard.Human; via != strings.HasPrefix(who.kind, "human --as") && e.Agent != blackboard.System {
			t.Errorf("%s: via human in %s is %v", name, e.Action, via)
		}
	}
	used := rulesBehind(before, b.State, c, who.party)
	if used == nil {
		t.Errorf("%s leaves status, history and journal as no rule says: %s", name, trace(before, b.State))
	}
	return append(used, consequences(b.State)...)
}

func entriesOf(s *blackboard.State) []*blackboard.Entry {
	var list []*blackboard.Entry
	for i := range s.Entries() {
		list = append(list, &s.Entries()[i])
	}
	return list
}

// together are the events that one call may cause one after the other.
var together = map[Event][][]Event{
	evSubmit:    {{evSubmit}, {evSubmit, evPass, evMerge}},
	evApprove:   {{evApprove}, {evReject}},
	evRunFailed: {{evRunFailed}, {evRunFailed, evLimit}},
}

// rulesBehind finds the rules whose statuses, history and journal entries are exactly
// those that the event left.
func rulesBehind(before, after *blackboard.State, c combination, p Party) []string {
	chains := together[c.event]
	if chains == nil {
		chains = [][]Event{{c.event}}
	}
	for _, chain := range chains {
		if used := follow(chain, c.status, p, trace(before, after)); used != nil {
			return used
		}
	}
	return nil
}

// traces is what an event leaves on a task.
type traces struct {
	status       blackboard.Status
	history, log []string
}

func trace(before, after *blackboard.State) traces {
	id := "x"
	if before.Task("x") == nil || after.Task("new") != nil {
		id = "new"
	}
	x := traces{status: after.Task(id).Status}
	old := 0
	if was := before.Task(id); was != nil {
		old = len(was.History)
	}
	x.history = events(after.Task(id))[old:]
	for _, action := range actions(after, id) {
		if action != "anomaly" && action != "gate_overruled_ok" {
			x.log = append(x.log, action)
		}
	}
	return x
}

// follow tries to explain what is left by rules of the events, in order.
func follow(chain []Event, from blackboard.Status, p Party, left traces) []string {
	if len(chain) == 0 {
		if left.status == from && len(left.history) == 0 && len(left.log) == 0 {
			return []string{}
		}
		return nil
	}
	for _, r := range Rules {
		if r.Event != chain[0] || r.From != nil && !hasStatus(r.From, from) || r.Who&p == 0 {
			continue
		}
		rest, ok := left.without(r)
		if !ok {
			continue
		}
		to := r.To
		if to == "" {
			to = from
		}
		who := p
		if len(chain) > 1 && (chain[1] == evPass || chain[1] == evMerge) {
			who = BySystem
		}
		if used := follow(chain[1:], to, who, rest); used != nil {
			return append(used, r.ID)
		}
	}
	return nil
}

func (x traces) without(r Rule) (traces, bool) {
	h, l := len(r.History), len(r.Log)
	if len(x.history) < h || len(x.log) < l || !slices.Equal(x.history[:h], plainWords(r.History)) || !slices.Equal(x.log[:l], plainWords(r.Log)) {
		return x, false
	}
	return traces{x.status, x.history[h:], x.log[l:]}, true
}

// notHappened checks a refusal.
func notHappened(t *testing.T, name string, err error, c combination, who somebody) {
	if IsAlreadyDone(err) {
		if !slices.Contains(repeatable, c.event) || who.party == 0 {
			t.Errorf("%s is answered as done already", name)
		}
		return
	}
	var r *Refusal
	if !errors.As(err, &r) {
		t.Errorf("%s: %v is no refusal", name, err)
		return
	}
	checkRefusal(t, r)
	allowed := exits[r.Guard]
	if allowed == nil {
		allowed = []Exit{ExitRefused}
	}
	if !slices.Contains(allowed, r.Exit) {
		t.Errorf("%s: exit %d by %s (%s)", name, r.Exit, r.Guard, r.Message)
	}
	switch {
	case who.guard != "" && r.Guard != who.guard:
		t.Errorf("%s: refused by %s (%s), want %s", name, r.Guard, r.Message, who.guard)
	case !inTable(c, who.party) && r.Exit != ExitRefused && r.Exit != ExitLeaseLost:
		t.Errorf("%s is not in the table: exit %d (%s), want 4", name, r.Exit, r.Message)
	}
}

// consequences names the rules that follow from others, by what the journal says.
func consequences(s *blackboard.State) []string {
	var rules []string
	for _, e := range s.Entries() {
		switch {
		case e.Action == "retargeted":
			rules = append(rules, "T31")
		}
	}
	return rules
}

// checkMetrics asserts that the stored figures are those of a count from nothing, but for
// the iterations that only the journal tells of.
func checkMetrics(t testing.TB, name string, s *blackboard.State) {
	t.Helper()
	var c contribution
	merged := 0
	for task := range s.Tasks() {
		x := contributionOf(task)
		c.done += x.done
		c.inProgress += x.inProgress
		c.blocked += x.blocked
		c.cycles += x.cycles
		c.approvals += x.approvals
		c.rejections += x.rejections
		c.submitted += x.submitted
		if task.Status == blackboard.Merged {
			merged++
		}
	}
	m := *metrics(s)
	got := contribution{done: m.TasksDone, inProgress: m.TasksInProgress, blocked: m.TasksBlocked, cycles: m.ReviewCyclesTotal,
		approvals: m.ReviewVerdictApprovals, rejections: m.ReviewVerdictRejections, submitted: m.TaskSubmittedForReviewCount}
	if got != c {
		t.Errorf("%s: the metrics are %+v, counted anew %+v", name, got, c)
	}
	if rate := percent(merged, c.done); !blackboard.SamePointed(rate, m.TaskOutcomeApprovalRatePercent) {
		t.Errorf("%s: the outcome rate is not that of %d merged of %d", name, merged, c.done)
	}
}
