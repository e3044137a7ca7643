package dashboard

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

// Metric is one figure of specs/protocol.md#12. A value that is nil is undefined or unknown.
type Metric struct {
	Name  string
	Value *blackboard.Amount
	Unit  string // seconds, us (microseconds), percent, cents or ""
}

// Metrics are the figures of a sprint in the order of specs/protocol.md#12.
type Metrics []Metric

// MetricsOf are all figures: those that the board keeps, and those that are computed from
// the sprint's tasks, archived ones included, and the journal's entries run_failed.
func MetricsOf(s *blackboard.State, tasks []*blackboard.Task, journal []blackboard.Entry, now time.Time) Metrics {
	var list Metrics
	figure := func(name, unit string, value blackboard.Amount) { list = append(list, Metric{name, &value, unit}) }
	add := func(name, unit string, value int) { figure(name, unit, blackboard.Amount(value)) }
	maybe := func(name, unit string, value *int) {
		if value != nil {
			add(name, unit, *value)
		} else {
			list = append(list, Metric{name, nil, unit})
		}
	}
	if s == nil {
		s = &blackboard.State{}
	}
	m := &blackboard.Metrics{}
	if s.Sprint != nil && s.Sprint.Metrics != nil {
		m = s.Sprint.Metrics
	}
	add("tasks_done", "", m.TasksDone)
	add("tasks_in_progress", "", m.TasksInProgress)
	add("tasks_blocked", "", m.TasksBlocked)
	add("iterations_total", "", m.IterationsTotal)
	add("review_cycles_total", "", m.ReviewCyclesTotal)
	add("task_submitted_for_review_count", "", m.TaskSubmittedForReviewCount)
	add("review_verdict_approvals", "", m.ReviewVerdictApprovals)
	add("review_verdict_rejections", "", m.ReviewVerdictRejections)
	add("review_verdict_count", "", m.ReviewVerdictCount)
	maybe("review_verdict_approval_rate_percent", "percent", m.ReviewVerdictApprovalRatePercent)
	maybe("task_outcome_approval_rate_percent", "percent", m.TaskOutcomeApprovalRatePercent)

	d := s.Derive(tasks, journal, now)
	add("blocked_count", "", d.BlockedCount)
	add("integration_failed_count", "", d.IntegrationFailedCount)
	add("handoff_count", "", d.HandoffCount)
	add("run_failed_count", "", d.RunFailedCount)
	maybe("lead_time_median", "seconds", d.LeadTimeMedian)
	maybe("lead_time_p90", "seconds", d.LeadTimeP90)
	add("work_time", "seconds", d.WorkTime)
	add("review_time", "seconds", d.ReviewTime)
	add("wait_time", "seconds", d.WaitTime)

	u := d.Usage
	if u.AgentRuns > 0 && u.UnknownCostRuns >= u.AgentRuns {
		maybe("cost_cents", "cents", nil)
	} else {
		figure("cost_cents", "cents", u.CostCents)
	}
	add("tokens", "", u.TokensIn+u.TokensOut)
	add("tokens_in", "", u.TokensIn)
	add("tokens_out", "", u.TokensOut)
	add("tokens_cached", "", u.TokensCached)
	add("seconds", "seconds", u.Seconds)
	add("agent_runs", "", u.AgentRuns)
	add("unknown_cost_runs", "", u.UnknownCostRuns)
	return list
}

// Get is the value of a figure, if it has one.
func (m Metrics) Get(name string) (blackboard.Amount, bool) {
	for _, x := range m {
		if x.Name == name && x.Value != nil {
			return *x.Value, true
		}
	}
	return 0, false
}

// Text is the figure for people.
func (m Metric) Text() string {
	switch {
	case m.Value == nil && m.Name == "cost_cents":
		return "unknown"
	case m.Value == nil:
		return "-"
	case m.Unit == "seconds":
		return age(int(*m.Value))
	case m.Unit == "us":
		return m.Value.String() + " µs"
	case m.Unit == "percent":
		return m.Value.String() + " %"
	}
	return m.Value.String()
}

// Label is the name for people.
func (m Metric) Label() string { return capital(strings.ReplaceAll(m.Name, "_", " ")) }

// Text lists the figures, one on a line.
func (m Metrics) Text() string {
	widest := 0
	for _, x := range m {
		widest = max(widest, len(x.Name))
	}
	var b strings.Builder
	for _, x := range m {
		fmt.Fprintf(&b, "%s  %s\n", pad(x.Name, widest), x.Text())
	}
	return b.String()
}

// CSV has one row for each figure; undefined ones are empty.
func (m Metrics) CSV() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"metric", "value", "unit"})
	for _, x := range m {
		value := ""
		if x.Value != nil {
			value = strconv.FormatFloat(float64(*x.Value), 'f', -1, 64)
		}
		_ = w.Write([]string{x.Name, value, x.Unit})
	}
	w.Flush() // into memory: it cannot fail
	return b.Bytes()
}

// MarshalJSON makes one object, in the order of the figures.
func (m Metrics) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range m {
		value, err := json.Marshal(x.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", x.Name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
