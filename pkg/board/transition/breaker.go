package transition

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// BreakerFinding is a pattern that the circuit breaker found among the anomalies.
type BreakerFinding struct {
	Pattern  string
	Severity string
}

// BreakerSeverities are the severities of patterns, the worst first (specs/protocol.md#11.4).
var BreakerSeverities = []string{"ARCHITECTURE_FLAW", "SPEC_FLAW", "EXTERNAL_DEPENDENCY"}

// BreakerLook is the result of one analysis of the anomalies; the worst finding is the first.
type BreakerLook struct {
	Found   []BreakerFinding
	Report  string // path of the report
	Summary string // path of the summary, if there will be a checkpoint
}

// breakerRule is one line of the table of specs/protocol.md#5.4.
type breakerRule struct {
	ID    string
	Event string // check or acknowledge
	From  []string
	To    string // "": the status stays
	Who   Party
	When  string            // the condition in words
	Does  string            // the effects in words
	Log   blackboard.Action // journal action, "" for none

	holds func(*breakerMove) bool
	apply func(*breakerMove)
}

// The events of the circuit breaker.
const (
	breakerCheck = "check"
	breakerAck   = "acknowledge"
)

// breakerRules is the state machine of the circuit breaker. A check without a new pattern
// never changes the status, so C01 holds in both.
var breakerRules = []breakerRule{
	{ID: "C01", Event: breakerCheck, From: []string{blackboard.BreakerOK, blackboard.BreakerTripped}, Who: BySystem, When: "no pattern matches that is not known already",
		Does: "last_check", holds: (*breakerMove).nothingNew, apply: (*breakerMove).looked},
	{ID: "C02", Event: breakerCheck, From: []string{blackboard.BreakerOK}, To: blackboard.BreakerTripped, Who: BySystem, When: "a pattern matches",
		Does: "last_check, current_trigger, history; S01 when the sprint is IN_PROGRESS; report", Log: blackboard.ActionBreakerTriggered, holds: (*breakerMove).somethingNew, apply: (*breakerMove).trip},
	{ID: "C03", Event: breakerCheck, From: []string{blackboard.BreakerTripped}, To: blackboard.BreakerTripped, Who: BySystem, When: "a pattern matches that is not in current_trigger.patterns",
		Does: "last_check, current_trigger.patterns; pattern and severity are those of the worst; report", Log: blackboard.ActionBreakerTriggered, holds: (*breakerMove).somethingNew, apply: (*breakerMove).extend},
	{ID: "C04", Event: breakerAck, From: []string{blackboard.BreakerTripped}, To: blackboard.BreakerOK, Who: ByHuman, When: "",
		Does: "watermark = newest anomaly, current_trigger null; history resolution, resolved_at, resolved_by; a resume (S02) follows", Log: blackboard.ActionBreakerAcknowledged,
		holds: func(*breakerMove) bool { return true }, apply: (*breakerMove).acknowledge},
}

// breakerMove is one event of the circuit breaker on its way through the table.
type breakerMove struct {
	state  *blackboard.State
	cb     *blackboard.CircuitBreaker
	actor  Actor
	now    time.Time
	look   BreakerLook
	fresh  []BreakerFinding // findings that the board does not have yet
	note   string
	detail string
}

// CheckBreaker records an analysis of the anomalies and returns the number of the rule that it followed: C01, C02 or C03. A
// status that a person set to OK counts as acknowledged before anything else.
func CheckBreaker(s *blackboard.State, look BreakerLook, facts blackboard.ProcessFacts, now time.Time) string {
	settleBreaker(s, now)
	m := &breakerMove{state: s, cb: breaker(s), actor: SystemActor(facts), now: now, look: look}
	for _, f := range look.Found {
		if !knows(m.cb, f.Pattern) {
			m.fresh = append(m.fresh, f)
		}
	}
	r := m.pick(breakerCheck)
	m.follow(r)
	return r.ID
}

// AcknowledgeBreaker acknowledges all anomalies up to now, so that ResumeSprint lets work go on (C04).
func AcknowledgeBreaker(s *blackboard.State, note string, a Actor, now time.Time) error {
	by, err := identify(s, a, now)
	if err != nil {
		return err
	}
	m := &breakerMove{state: s, cb: s.CircuitBreaker, actor: a, now: now, note: note}
	if m.cb == nil {
		m.cb = &blackboard.CircuitBreaker{Status: blackboard.BreakerOK}
	}
	r := m.pick(breakerAck)
	switch {
	case by.party&breakerParty(breakerAck) == 0:
		return refuse("G03", ExitRefused, "liza status", "%s may not acknowledge; human may", article(a, by.party))
	case r == nil:
		next := "liza status"
		if sprintStatus(s) == blackboard.AtCheckpoint {
			next = "liza resume"
		}
		return refuse("G06", ExitNothing, next, "the circuit breaker is %s; there is nothing to acknowledge", m.cb.Status)
	}
	m.follow(r)
	return nil
}

func breaker(s *blackboard.State) *blackboard.CircuitBreaker {
	if s.CircuitBreaker == nil {
		s.CircuitBreaker = &blackboard.CircuitBreaker{Status: blackboard.BreakerOK}
	}
	if !tripped(s.CircuitBreaker) {
		s.CircuitBreaker.Status = blackboard.BreakerOK // as every reader takes what is unknown
	}
	return s.CircuitBreaker
}

func knows(b *blackboard.CircuitBreaker, pattern string) bool {
	t := b.CurrentTrigger
	return tripped(b) && t != nil && (t.Pattern == pattern || t.Patterns.Has(pattern))
}

func (m *breakerMove) pick(event string) *breakerRule {
	for i := range breakerRules {
		if r := &breakerRules[i]; r.Event == event && slices.Contains(r.From, m.cb.Status) && r.holds(m) {
			return r
		}
	}
	return nil
}

// breakerParty is who may cause an event of the breaker.
func breakerParty(event string) (who Party) {
	for _, r := range breakerRules {
		if r.Event == event {
			who |= r.Who
		}
	}
	return who
}

// follow carries out a rule. The journal entry comes before those of its consequences.
func (m *breakerMove) follow(r *breakerRule) {
	mark := len(m.state.Entries())
	r.apply(m)
	if r.To != "" {
		m.cb.Status = r.To
	}
	if r.Log != "" {
		e := blackboard.Entry{Timestamp: blackboard.TimeOf(m.now), Agent: m.actor.ID, Action: r.Log, Detail: oneLine(m.detail), Extra: via(m.actor)}
		consequences := m.state.TakeEntries(mark)
		m.state.Record(e)
		m.state.Record(consequences...)
	}
}

func (m *breakerMove) nothingNew() bool { return len(m.fresh) == 0 }

func (m *breakerMove) somethingNew() bool { return len(m.fresh) > 0 }

func (m *breakerMove) looked() {
	m.cb.LastCheck = blackboard.TimeOf(m.now)
}

func (m *breakerMove) trip() {
	at, worst := blackboard.TimeOf(m.now), m.look.Found[0]
	m.cb.LastCheck = at
	m.cb.CurrentTrigger = &blackboard.BreakerTrigger{Timestamp: at, Pattern: worst.Pattern, Severity: worst.Severity, ReportFile: m.look.Report, Patterns: patternsOf(m.look.Found)}
	m.cb.History = append(m.cb.History, &blackboard.BreakerRecord{Timestamp: at, Pattern: worst.Pattern, Severity: worst.Severity, Result: blackboard.BreakerTripped})
	m.detail = strings.Join(m.cb.CurrentTrigger.Patterns, ", ")
	if m.state.Sprint != nil && sprintStatus(m.state) == blackboard.InProgress {
		// The guards of a checkpoint are the two conditions above.
		_ = CheckpointSprint(m.state, "", BreakerMessage(worst.Pattern), m.look.Summary, m.actor, m.now)
	}
}

// extend adds new findings to the trigger. Patterns that matched before stay named, also when they no longer match.
func (m *breakerMove) extend() {
	m.cb.LastCheck = blackboard.TimeOf(m.now)
	t := m.cb.CurrentTrigger
	if t == nil {
		t = &blackboard.BreakerTrigger{Timestamp: blackboard.TimeOf(m.now)}
		m.cb.CurrentTrigger = t
	}
	names := patternsOf(m.look.Found)
	if worst := m.look.Found[0]; names.Has(t.Pattern) || severity(worst.Severity) < severity(t.Severity) {
		t.Pattern, t.Severity = worst.Pattern, worst.Severity
	}
	t.ReportFile = m.look.Report
	for _, old := range t.Patterns {
		if !names.Has(old) {
			names = append(names, old)
		}
	}
	t.Patterns = names
	m.detail = "also " + strings.Join(patternsOf(m.fresh), ", ")
}

// severity returns the index of name in BreakerSeverities, or their number if name is unknown.
func severity(name string) int {
	if i := slices.Index(BreakerSeverities, name); i >= 0 {
		return i
	}
	return len(BreakerSeverities)
}

func patternsOf(found []BreakerFinding) blackboard.List {
	var names blackboard.List
	for _, f := range found {
		names = append(names, f.Pattern)
	}
	return names
}

// BreakerMessage returns the message of the breaker's checkpoint.
func BreakerMessage(pattern string) string { return "breaker: " + pattern }

func (m *breakerMove) acknowledge() {
	m.resolve(len(m.state.Anomalies), orText(m.note, "acknowledged"), m.actor.name())
	m.detail = m.note
}

// resolve ends the trigger: the first n anomalies are acknowledged.
func (m *breakerMove) resolve(n int, resolution, by string) {
	setWatermark(m.state, n)
	m.cb.CurrentTrigger = nil
	for _, h := range m.cb.History {
		if unresolved(h) {
			h.Resolution, h.ResolvedAt, h.ResolvedBy = resolution, blackboard.TimeOf(m.now), by
		}
	}
}

func unresolved(r *blackboard.BreakerRecord) bool {
	return r.Result == blackboard.BreakerTripped && r.ResolvedAt.None()
}

func orText(text, instead string) string {
	if blank(text) {
		return instead
	}
	return text
}

// settleBreaker writes down that a person set the status to OK by hand: that counts as
// acknowledged up to last_check (specs/protocol.md#5.4).
func settleBreaker(s *blackboard.State, now time.Time) {
	if !setToOK(s) {
		return
	}
	m := &breakerMove{state: s, cb: breaker(s), now: now}
	m.resolve(AcknowledgedAnomalies(s), "the status was set to OK by hand", blackboard.Human)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: blackboard.Human, Action: blackboard.ActionBreakerAcknowledged, Detail: "the status was set to OK by hand"})
}

// setToOK reports whether the status is OK although a trigger was never resolved.
func setToOK(s *blackboard.State) bool {
	cb := s.CircuitBreaker
	if cb == nil || tripped(cb) {
		return false
	}
	return cb.CurrentTrigger != nil || slices.ContainsFunc(cb.History, unresolved)
}

// AcknowledgedAnomalies returns how many anomalies at the beginning of the list are acknowledged: those up to the watermark
// (specs/protocol.md#11.2).
func AcknowledgedAnomalies(s *blackboard.State) int {
	cb, n := s.CircuitBreaker, 0
	if cb == nil {
		return 0
	}
	n = upTo(s, cb.Watermark)
	last, ok := cb.LastCheck.At()
	if !ok || !setToOK(s) {
		return n
	}
	for i, a := range s.Anomalies {
		if at, ok := a.Timestamp.At(); ok && !at.After(last) {
			n = max(n, i+1)
		}
	}
	return n
}

// upTo counts the anomalies up to the given id. If that one was removed, anomalies with a lower number count.
func upTo(s *blackboard.State, id string) int {
	n, number := 0, anomalyNumber(id)
	for i, a := range s.Anomalies {
		switch {
		case id == "":
		case a.ID == id:
			return i + 1
		case number > 0 && anomalyNumber(a.ID) > 0 && anomalyNumber(a.ID) < number:
			n = i + 1
		}
	}
	return n
}

func anomalyNumber(id string) int {
	digits, ok := strings.CutPrefix(id, "anom-")
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(digits)
	return n
}

// setWatermark acknowledges the first n anomalies. One that has no id gets one.
func setWatermark(s *blackboard.State, n int) {
	if n = min(n, len(s.Anomalies)); n == 0 {
		return
	}
	last := s.Anomalies[n-1]
	if last.ID == "" {
		last.ID = nextID("anom-", s.Anomalies, func(a *blackboard.Anomaly) string { return a.ID })
	}
	s.CircuitBreaker.Watermark = last.ID
}

// notLooked sets the time of the last look before a new anomaly that has the same second, or an earlier one of a clock that was set back.
func notLooked(s *blackboard.State, a *blackboard.Anomaly) {
	if s.CircuitBreaker == nil {
		return
	}
	last, looked := s.CircuitBreaker.LastCheck.At()
	if at, ok := a.Timestamp.At(); ok && looked && !at.After(last) {
		s.CircuitBreaker.LastCheck = blackboard.TimeOf(at.Add(-time.Second))
	}
}

// BreakerBehind reports whether an anomaly is newer than the last analysis: its writer ended before it could analyse, or a
// person wrote it.
func BreakerBehind(s *blackboard.State, now time.Time) bool {
	var last time.Time
	if s.CircuitBreaker != nil {
		last, _ = s.CircuitBreaker.LastCheck.At()
	}
	for _, a := range s.Anomalies[AcknowledgedAnomalies(s):] {
		if at, ok := a.Timestamp.At(); ok && at.After(last) && !at.After(now) {
			return true
		}
	}
	return false
}
