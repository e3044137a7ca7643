package transition

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

var (
	gap  = BreakerFinding{"spec_gap_cluster", "SPEC_FLAW"}
	loop = BreakerFinding{"retry_cluster", "ARCHITECTURE_FLAW"}
	mail = BreakerFinding{"external_service_outage", "EXTERNAL_DEPENDENCY"}
)

func (b *board) look(found ...BreakerFinding) string {
	return CheckBreaker(b.State, BreakerLook{Found: found, Report: "report.md", Summary: "summary.md"}, blackboard.ProcessFacts{}, b.now)
}

func (b *board) anomalies(n int) {
	for range n {
		AddAnomaly(b.State, "x", "coder-1", "x-odd", nil, b.now)
	}
}

func TestTheBreakerFollowsItsTable(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.anomalies(2)
	b.TakeEntries(0)

	want(t, "nothing found", b.look(), "C01")
	want(t, "status", b.CircuitBreaker.Status, blackboard.BreakerOK)
	want(t, "last_check", b.CircuitBreaker.LastCheck, blackboard.TimeOf(b.now))
	if len(b.CircuitBreaker.History) > 0 || len(b.Entries()) > 0 {
		t.Errorf("an automatic look without result is noted: %+v %+v", b.CircuitBreaker.History, b.Entries())
	}

	b.after(time.Minute)
	want(t, "a pattern", b.look(gap), "C02")
	want(t, "status", b.CircuitBreaker.Status, blackboard.BreakerTripped)
	trigger := b.CircuitBreaker.CurrentTrigger
	want(t, "the trigger", trigger.Pattern+" "+trigger.Severity+" "+trigger.ReportFile, "spec_gap_cluster SPEC_FLAW report.md")
	want(t, "its time", trigger.Timestamp, blackboard.TimeOf(b.now))
	want(t, "the sprint", b.Sprint.Status, blackboard.AtCheckpoint)
	want(t, "the checkpoint", b.Sprint.Checkpoints[0].Message+" "+b.Sprint.Checkpoints[0].File, "breaker: spec_gap_cluster summary.md")
	var said []string
	for _, e := range b.Entries() {
		said = append(said, e.Agent+" "+string(e.Action))
	}
	wantList(t, "the journal", said, []string{"system breaker_triggered", "system sprint_checkpoint"})

	want(t, "the same again", b.look(gap), "C01")
	want(t, "nothing never leaves TRIGGERED", b.look(), "C01")
	want(t, "status", b.CircuitBreaker.Status, blackboard.BreakerTripped)
	want(t, "a lesser one", b.look(gap, mail), "C03")
	want(t, "the worst", trigger.Pattern, "spec_gap_cluster")
	want(t, "a worse one", b.look(loop, gap, mail), "C03")
	want(t, "the worst", trigger.Pattern+" "+trigger.Severity, "retry_cluster ARCHITECTURE_FLAW")
	wantList(t, "all", trigger.Patterns, []string{"retry_cluster", "spec_gap_cluster", "external_service_outage"})
	want(t, "checkpoints", len(b.Sprint.Checkpoints), 1)
	b.refused("G07", ExitRefused, "acknowledge it first", func() error { return ResumeSprint(b.State, "", "", person, b.now) })
	b.valid()

	b.refused("G03", ExitRefused, "may not acknowledge; human may", func() error { return AcknowledgeBreaker(b.State, "seen", programOf("coder-1"), b.now) })
	b.refused("G03", ExitRefused, "may not acknowledge; human may", func() error { return AcknowledgeBreaker(b.State, "seen", personAs("coder-1"), b.now) })
	b.anomalies(1)
	b.TakeEntries(0)
	b.after(time.Minute)
	b.must(AcknowledgeBreaker(b.State, "seen", person, b.now))
	want(t, "the sprint", b.Sprint.Status, blackboard.AtCheckpoint)
	b.must(ResumeSprint(b.State, "", "seen", person, b.now))
	cb := b.CircuitBreaker
	want(t, "the watermark", cb.Status+" "+cb.Watermark, "OK anom-3")
	if cb.CurrentTrigger != nil {
		t.Errorf("the trigger stays: %+v", cb.CurrentTrigger)
	}
	record := cb.History[0]
	want(t, "the record", record.Pattern+" "+record.Result+" "+record.Resolution+" "+record.ResolvedBy, "spec_gap_cluster TRIGGERED seen ada")
	want(t, "its end", record.ResolvedAt, blackboard.TimeOf(b.now))
	want(t, "the sprint", b.Sprint.Status, blackboard.InProgress)
	want(t, "the decision", b.Sprint.Checkpoints[0].Decision, "CONTINUE")
	want(t, "the journal", b.Entries()[0].Action, "breaker_acknowledged")
	b.refused("G06", ExitNothing, "nothing to acknowledge", func() error { return AcknowledgeBreaker(b.State, "seen", person, b.now) })
	b.valid()
}

// breakerTable is the part of specs/state-machines.md about the circuit breaker.
func breakerTable() string {
	var b strings.Builder
	b.WriteString("| # | event | from | to | who | when | effects | journal |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range breakerRules {
		to := r.To
		if to == "" {
			to = "same"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", r.ID, r.Event, strings.Join(r.From, ", "), to, strings.Join(kinds(r.Who), ", "), r.When, r.Does, r.Log)
	}
	return b.String()
}

func TestABreakerThatTripsOutsideOfWorkMakesNoCheckpoint(t *testing.T) {
	t.Parallel()
	for _, status := range []string{blackboard.AtCheckpoint, blackboard.Completed, blackboard.Aborted} {
		b := team(t)
		b.Sprint.Status = status
		want(t, status, b.look(gap), "C02")
		want(t, "the sprint", b.Sprint.Status, status)
		b.must(AcknowledgeBreaker(b.State, "", person, b.now))
		want(t, "the sprint", b.Sprint.Status, status)
	}
	b := team(t)
	b.Sprint, b.CircuitBreaker = nil, nil
	want(t, "without a sprint", b.look(gap), "C02")
	b.must(AcknowledgeBreaker(b.State, "", person, b.now))
}

func TestAStatusSetToOKByHandCountsAsAcknowledged(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*blackboard.CircuitBreaker){
		"the status only":     func(cb *blackboard.CircuitBreaker) { cb.Status = blackboard.BreakerOK },
		"status and trigger":  func(cb *blackboard.CircuitBreaker) { cb.Status, cb.CurrentTrigger = "", nil },
		"status, not history": func(cb *blackboard.CircuitBreaker) { cb.Status, cb.History = blackboard.BreakerOK, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			b.add("x")
			b.anomalies(2)
			b.look(gap)
			b.after(time.Minute)
			b.anomalies(1) // after the last look
			want(t, "acknowledged while TRIGGERED", AcknowledgedAnomalies(b.State), 0)
			edit(b.CircuitBreaker)
			want(t, "acknowledged", AcknowledgedAnomalies(b.State), 2)
			b.TakeEntries(0)
			want(t, "the next look", b.look(), "C01")
			cb := b.CircuitBreaker
			want(t, "watermark", cb.Status+" "+cb.Watermark, "OK anom-2")
			if cb.CurrentTrigger != nil || slices.ContainsFunc(cb.History, unresolved) {
				t.Errorf("the trigger is not settled: %+v", cb)
			}
			want(t, "the journal", b.Entries()[0].Agent+" "+string(b.Entries()[0].Action), "human breaker_acknowledged")
			want(t, "acknowledged", AcknowledgedAnomalies(b.State), 2)
			b.Anomalies = b.Anomalies[:3]
			b.valid()
		})
	}
}

func TestAStatusSetToOKByHandCountsInTheSecondOfTheNextAnomaly(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.anomalies(2)
	b.look(gap)
	b.CircuitBreaker.Status = blackboard.BreakerOK
	b.anomalies(1)
	want(t, "the next look", b.look(), "C01")
	want(t, "watermark", b.CircuitBreaker.Status+" "+b.CircuitBreaker.Watermark, "OK anom-2")
}

func TestTheWatermarkHoldsWhenItsAnomalyIsGone(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.anomalies(4)
	b.CircuitBreaker = &blackboard.CircuitBreaker{Status: blackboard.BreakerOK, Watermark: "anom-3"}
	want(t, "acknowledged", AcknowledgedAnomalies(b.State), 3)
	b.Anomalies = slices.Delete(b.Anomalies, 2, 3)
	want(t, "without anom-3", AcknowledgedAnomalies(b.State), 2)
	b.CircuitBreaker.Watermark = "something else"
	want(t, "an unknown watermark", AcknowledgedAnomalies(b.State), 0)

	// Anomalies of Liza v1 have no ids; the newest gets one.
	b.Anomalies = append(b.Anomalies, &blackboard.Anomaly{Type: "x-odd"})
	b.look(gap)
	b.must(AcknowledgeBreaker(b.State, "", person, b.now))
	want(t, "the watermark", b.CircuitBreaker.Watermark, "anom-5")
	want(t, "acknowledged", AcknowledgedAnomalies(b.State), 4)
}

func TestAnAnomalyThatNobodyLookedAtIsSeen(t *testing.T) {
	t.Parallel()
	b := team(t)
	want(t, "without anomalies", BreakerBehind(b.State, b.now), false)
	b.anomalies(1)
	want(t, "before the first look", BreakerBehind(b.State, b.now), true)
	b.look()
	want(t, "after it", BreakerBehind(b.State, b.now), false)
	b.after(time.Second)
	b.anomalies(1)
	want(t, "a new one", BreakerBehind(b.State, b.now), true)
	want(t, "one from the future", BreakerBehind(b.State, b.now.Add(-time.Second)), false)
	b.Anomalies[1].Timestamp = "soon"
	want(t, "one without a time", BreakerBehind(b.State, b.now), false)
}

// Times have seconds: what comes after a look, in its second, is as new as what comes later.
func TestAnAnomalyAfterALookIsSeenWhateverTheClockSays(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]time.Duration{"in a second before it": -5 * time.Second, "in its second": 0, "after it": time.Second} {
		b := team(t)
		b.anomalies(1)
		b.look()
		looked := b.now
		b.after(later)
		AddAnomaly(b.State, "", blackboard.System, blackboard.AnomalyLateWork, blackboard.Settings{"what": "a branch"}, b.now)
		want(t, name, BreakerBehind(b.State, b.now), true)
		b.look()
		want(t, name+", after a look", BreakerBehind(b.State, b.now), false)
		want(t, name+", the last look", b.CircuitBreaker.LastCheck, blackboard.TimeOf(looked.Add(later)))
	}
}
