package telemetry

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/run/activity"
)

// span is something that has ended.
type span struct {
	trace      trace.TraceID
	id, parent trace.SpanID // parent: zero at the root of a trace
	link       trace.SpanContext
	name       string
	from, to   time.Time
	attributes []attribute.KeyValue
	failed     string             // why, "" for what went well
	run        *history.UsageLine // of a run
	ended      string             // the action in the journal by which it ended, of a task
	task       string
}

func traceID(words ...string) trace.TraceID {
	sum := sha256.Sum256([]byte("trace\x00" + strings.Join(words, "\x00")))
	return trace.TraceID(sum[:16])
}

func spanID(words ...string) trace.SpanID {
	sum := sha256.Sum256([]byte("span\x00" + strings.Join(words, "\x00")))
	return trace.SpanID(sum[:8])
}

// spansOf are the spans of everything on the board that has ended. The same board gives the same spans.
func spansOf(s *blackboard.State, usage []history.UsageLine) []span {
	if s.Goal == nil {
		return nil
	}
	goal := s.Goal.ID
	var list []span
	root := span{trace: traceID(goal), id: spanID(goal), name: "goal", from: when(s.Goal.Created), to: when(s.Goal.CompletedAt),
		attributes: []attribute.KeyValue{semconv.GenAIOperationNameInvokeWorkflow, attribute.String("liza.goal.id", goal), attribute.String("liza.outcome", s.Goal.Status)}, ended: "goal_completed"}
	if s.Goal.Status == blackboard.Completed {
		list = append(list, root)
	}
	runs := map[runKey][]history.UsageLine{}
	for _, l := range usage {
		if l.Task == "" && !when(l.At).Before(root.from) {
			list = append(list, runSpan(goal, root, l, ""))
		}
		runs[runKey{l.Task, l.Agent, l.Run}] = append(runs[runKey{l.Task, l.Agent, l.Run}], l)
	}
	for t := range s.Tasks() {
		list = append(list, taskSpans(goal, root, t, runs)...)
	}
	return list
}

// runKey names a run, but for the registration of its agent.
type runKey struct {
	task, agent string
	run         int
}

func taskSpans(goal string, root span, t *blackboard.Task, runs map[runKey][]history.UsageLine) []span {
	about := []attribute.KeyValue{attribute.String("liza.goal.id", goal), attribute.String("liza.task.id", t.ID)}
	task := span{trace: traceID(goal, t.ID), id: spanID(goal, t.ID), name: "task " + t.ID, task: t.ID, from: when(t.Created),
		link: trace.NewSpanContext(trace.SpanContextConfig{TraceID: root.trace, SpanID: root.id})}
	var list []span
	attempts := map[int]*attempt{}
	for _, a := range attemptsOf(goal, task, t) {
		attempts[a.seq] = a
		if a.outcome != "" {
			done := a.span
			done.attributes = append(about[:len(about):len(about)], attribute.Int("liza.attempt", a.seq), attribute.String("liza.outcome", a.outcome), attribute.String("liza.agent.id", a.agent))
			list = append(list, done)
		}
		list = append(list, a.merges...)
	}
	for _, r := range t.Attempts {
		line, known := nearest(runs[runKey{t.ID, r.Agent, r.Run}], r.Ended)
		if a := attempts[r.ClaimSeq]; a != nil && known {
			list = append(list, runSpan(goal, a.span, line, r.Sandbox))
		}
	}
	list = append(list, checkSpans(task, t, attempts)...)
	if t.Status.Terminal() && len(t.History) > 0 {
		last := t.History[len(t.History)-1]
		task.to, task.ended = when(last.Time), string(last.Event)
		task.attributes = append(about, attribute.String("liza.outcome", string(t.Status)), attribute.String("liza.task.type", t.Type),
			attribute.Int("liza.attempts", len(attempts)), attribute.Int("liza.rejections", t.ReviewCyclesTotal))
		if u := t.Usage; u != nil {
			task.attributes = append(task.attributes, attribute.Float64("liza.cost.usd", float64(u.CostCents)/100))
		}
		list = append(list, task)
	}
	return list
}

// attempt is what happens from one claim of a coder to its end.
type attempt struct {
	span
	seq             int
	agent, outcome  string // outcome: "" while it goes on
	review, approve time.Time
	reviewed        string // the commit of the review
	merges          []span
}

// attemptsOf reads the attempts out of a task's history.
func attemptsOf(goal string, task span, t *blackboard.Task) (list []*attempt) {
	var open *attempt
	end := func(h *blackboard.HistoryEntry, outcome blackboard.HistoryEvent) {
		if open != nil {
			open.to, open.outcome, open.ended = when(h.Time), string(outcome), string(h.Event)
			open = nil
		}
	}
	for _, h := range t.History {
		switch {
		case h == nil:
		case blackboard.IsClaimEvent(h.Event):
			end(h, blackboard.HistoryLeaseExpired)
			seq := cmp.Or(h.ClaimSeq, len(list)+1)
			open = &attempt{seq: seq, agent: h.Agent, span: span{trace: task.trace, id: spanID(goal, t.ID, fmt.Sprint(seq)), parent: task.id, name: fmt.Sprintf("attempt %d", seq), task: t.ID, from: when(h.Time)}}
			list = append(list, open)
		case open == nil:
		case h.Event == blackboard.HistoryReviewClaimed:
			open.review, open.reviewed = when(h.Time), h.Commit
		case h.Event == blackboard.HistoryApproved:
			open.approve = when(h.Time)
		case h.Event == blackboard.HistoryMerged, h.Event == blackboard.HistoryIntegrationFailed:
			open.merged(goal, h)
			end(h, h.Event)
		case h.Event == blackboard.HistoryReleased && h.What == "review":
		case h.Event == blackboard.HistoryRejected, h.Event == blackboard.HistoryBlocked, h.Event == blackboard.HistoryReleased, h.Event == blackboard.HistoryHandoff, h.Event == blackboard.HistorySuperseded, h.Event == blackboard.HistoryAbandoned:
			end(h, h.Event)
		}
	}
	return list
}

// merged adds the span of a merge with its integration checks: from the approval on.
func (a *attempt) merged(goal string, h *blackboard.HistoryEntry) {
	if a.approve.IsZero() {
		return
	}
	m := span{trace: a.trace, id: spanID(goal, a.task, fmt.Sprint(a.seq), "merge", string(h.Time)), parent: a.id, name: "merge", task: a.task, from: a.approve, to: when(h.Time), ended: string(h.Event),
		attributes: []attribute.KeyValue{attribute.String("liza.task.id", a.task), attribute.String("liza.outcome", string(h.Event))}}
	if h.Event == blackboard.HistoryIntegrationFailed {
		m.failed = cmp.Or(h.Reason, string(h.Event))
	}
	a.merges = append(a.merges, m)
}

// checkSpans are the checks of the last review, and of the last rejection. The board knows how long each took and
// that they ran one after the other when the review had been claimed.
func checkSpans(task span, t *blackboard.Task, attempts map[int]*attempt) (list []span) {
	var checks []*blackboard.Check
	if r := t.WholeReview(); r != nil {
		checks = r.Checks
	}
	if t.RejectionReason != nil {
		checks = append(checks[:len(checks):len(checks)], t.RejectionReason.Checks...)
	}
	next := map[*attempt]time.Time{}
	for _, c := range checks {
		if c == nil || c.Status != blackboard.CheckPassed && c.Status != blackboard.CheckFailed {
			continue
		}
		var of *attempt
		for _, a := range attempts {
			if a.reviewed == c.Commit && !a.review.IsZero() && (of == nil || a.seq > of.seq) {
				of = a
			}
		}
		if of == nil {
			continue
		}
		at := next[of]
		if at.IsZero() {
			at = of.review
		}
		x := span{trace: task.trace, id: spanID(task.id.String(), of.id.String(), "check", c.Name, c.Commit), parent: of.id, name: "check " + c.Name, task: t.ID,
			from: at, to: at.Add(time.Duration(c.Seconds) * time.Second),
			attributes: []attribute.KeyValue{attribute.String("liza.task.id", t.ID), attribute.String("liza.check.name", c.Name), attribute.String("liza.outcome", string(string(c.Status))), attribute.Int("liza.check.exit_code", c.ExitCode)}}
		if c.Status == blackboard.CheckFailed {
			x.failed = "check failed"
		}
		list = append(list, x)
		next[of] = x.to
	}
	return list
}

// runSpan is the span of one run of an agent program.
func runSpan(goal string, parent span, l history.UsageLine, sandbox string) span {
	to := when(l.At)
	x := span{trace: parent.trace, id: spanID(goal, "run", cmp.Or(l.ID, fmt.Sprint(l.Agent, l.Run, l.At))), parent: parent.id, name: "invoke_agent " + l.Agent, task: l.Task,
		from: to.Add(-time.Duration(l.Seconds) * time.Second), to: to, run: &l}
	x.attributes = append(model(l), semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentName(l.Agent), attribute.String("liza.goal.id", goal), attribute.String("liza.role", l.Kind),
		attribute.String("liza.program", l.Adapter), attribute.String("liza.outcome", l.Outcome), attribute.String("liza.run.id", l.ID))
	for key, value := range map[string]string{"liza.task.id": l.Task, "liza.sandbox": sandbox} {
		if value != "" {
			x.attributes = append(x.attributes, attribute.String(key, value))
		}
	}
	if l.TokensIn != nil && l.TokensOut != nil {
		x.attributes = append(x.attributes, semconv.GenAIUsageInputTokens(*l.TokensIn), semconv.GenAIUsageOutputTokens(*l.TokensOut))
	}
	if l.CostCents != nil {
		x.attributes = append(x.attributes, attribute.Float64("liza.cost.usd", float64(*l.CostCents)/100))
	}
	if l.Outcome != finished {
		x.failed = l.Outcome
	}
	return x
}

// finished is the outcome of a run that came to its end.
const finished = "finished"

// model says whose model a run used, as far as that is known.
func model(l history.UsageLine) []attribute.KeyValue {
	provider := map[string]attribute.KeyValue{"claude": semconv.GenAIProviderNameAnthropic, "codex": semconv.GenAIProviderNameOpenAI, "gemini": semconv.GenAIProviderNameGCPGemini}
	p, known := provider[l.Adapter]
	if !known {
		p = semconv.GenAIProviderNameKey.String(l.Adapter)
	}
	list := []attribute.KeyValue{p}
	if l.Model != "" {
		list = append(list, semconv.GenAIRequestModel(l.Model))
	}
	return list
}

// nearest is the line that was written at the end of a run; another registration of the same agent
// counts its runs from 1 again.
func nearest(lines []history.UsageLine, ended blackboard.Time) (best history.UsageLine, ok bool) {
	for _, l := range lines {
		if !ok || when(l.At).Sub(when(ended)).Abs() <= when(best.At).Sub(when(ended)).Abs() {
			best, ok = l, true
		}
	}
	return best, ok
}

func when(t blackboard.Time) time.Time {
	at, _ := t.At()
	return at
}

// toolSpans are the tool calls of a run, out of its activity file. They say more exactly, too, when the
// run began and ended.
func toolSpans(run *span, events []activity.Event) (list []span) {
	var open *span
	close := func(at time.Time) {
		if open != nil {
			open.to = at
			list, open = append(list, *open), nil
		}
	}
	for i, e := range events {
		switch e.Kind {
		case activity.Run:
			run.from = e.At
		case activity.Tool:
			close(e.At)
			open = &span{trace: run.trace, id: spanID(run.id.String(), "tool", fmt.Sprint(i)), parent: run.id, name: "execute_tool " + e.Tool, task: run.task, from: e.At,
				attributes: []attribute.KeyValue{semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(e.Tool), semconv.GenAIAgentName(run.run.Agent)}}
			if run.task != "" {
				open.attributes = append(open.attributes, attribute.String("liza.task.id", run.task))
			}
		case activity.End:
			close(e.At)
			run.to = e.At
		default:
			close(e.At)
		}
	}
	close(run.to)
	return list
}

// eventsOf are the events of the run with that correlation id in an activity file, none when it is not there.
func eventsOf(path, id string) (list []activity.Event) {
	all, _, err := activity.Read(path, 0)
	if err != nil {
		return nil // the run is told without its tools
	}
	within := false
	for _, e := range all {
		if e.Kind == activity.Run {
			within = e.ID == id
		}
		if within {
			list = append(list, e)
		}
	}
	return list
}
