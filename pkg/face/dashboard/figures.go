package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
)

// BuildFigures computes the figures of the sprint from its tasks, archived ones included, and the usage ledger runs.
func BuildFigures(s *blackboard.State, tasks []*blackboard.Task, runs []history.UsageLine, now time.Time) Figures {
	f := Figures{Spent: []Point{}, Merged: []Point{}, ByTask: []Spending{}, ByAgent: []Spending{}, Quality: []Figure{}}
	if s == nil {
		return f
	}
	runs = slices.DeleteFunc(slices.Clone(runs), func(r history.UsageLine) bool { return !during(s, r.At) })
	slices.SortStableFunc(runs, func(a, b history.UsageLine) int { return compareTimes(a.At, b.At) })
	f.Total = cost(s.Usage)
	f.ByTask, f.ByAgent = spendings(runs, "task"), spendings(runs, "agent")
	f.Spent = spent(runs)
	f.Merged = mergedPoints(s, tasks)
	f.Quality = quality(tasks, runs, now)
	return f
}

func spendings(runs []history.UsageLine, by string) []Spending {
	list := []Spending{}
	for _, u := range history.SumUsage(runs, by) {
		list = append(list, Spending{Name: u.Name, Cost: Cost{Cents: u.CostCents, Runs: u.Runs, UnknownRuns: u.UnknownCostRuns}, Seconds: u.Seconds, Tokens: u.TokensIn + u.TokensOut})
	}
	return list
}

// maxPoints is the most points of a plot: more cannot be distinguished.
const maxPoints = 300

func spent(runs []history.UsageLine) []Point {
	list, sum := []Point{}, blackboard.Amount(0)
	for _, r := range runs {
		if r.CostCents != nil {
			sum = sum.Plus(*r.CostCents)
			list = append(list, Point{At: r.At, Value: float64(sum)})
		}
	}
	return thin(list)
}

func mergedPoints(s *blackboard.State, tasks []*blackboard.Task) []Point {
	var times []blackboard.Time
	for _, t := range tasks {
		if h := t.LastEntry(blackboard.HistoryMerged); h != nil && t.Status == blackboard.Merged && during(s, h.Time) {
			times = append(times, h.Time)
		}
	}
	slices.SortStableFunc(times, compareTimes)
	list := []Point{}
	for i, at := range times {
		list = append(list, Point{At: at, Value: float64(i + 1)})
	}
	return thin(list)
}

// thin leaves out points in between, never the last one.
func thin(list []Point) []Point {
	if len(list) <= maxPoints {
		return list
	}
	out := make([]Point, 0, maxPoints)
	for i := range maxPoints {
		out = append(out, list[(i+1)*len(list)/maxPoints-1])
	}
	return out
}

func tasksAre(n int) string {
	if n == 1 {
		return "1 task is"
	}
	return fmt.Sprintf("%d tasks are", n)
}

// long is a duration for sentences: 45s, 12m, 3h 20m, 2d 4h.
func long(seconds int) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d < time.Hour:
		return age(seconds)
	case d < 48*time.Hour:
		return strings.TrimSuffix(fmt.Sprintf("%dh %dm", seconds/3600, seconds%3600/60), " 0m")
	}
	return strings.TrimSuffix(fmt.Sprintf("%dd %dh", seconds/86400, seconds%86400/3600), " 0h")
}

// quality returns figures of the reviews and durations of the sprint, without undefined ones.
func quality(tasks []*blackboard.Task, runs []history.UsageLine, now time.Time) []Figure {
	q := count(tasks, now)
	list := []Figure{}
	add := func(when bool, name, format string, args ...any) {
		if when {
			list = append(list, Figure{Name: name, Text: fmt.Sprintf(format, args...)})
		}
	}
	add(q.reviewed > 0, "approved at the first review", "%d of %d", q.first, q.reviewed)
	add(q.reviews > 0, "reviews that asked for changes", "%d of %d", q.rejections, q.reviews)
	add(len(q.reviewTimes) > 0, "a review took", "%s on average", long(mean(q.reviewTimes)))
	add(len(q.workTimes) > 0, "the work on a task took", "%s on average", long(mean(q.workTimes)))
	add(len(q.leads) > 0, "from ready to start until merged", "%s, the median of %d tasks", long(middle(q.leads)), len(q.leads))
	add(q.mergeFailures > 0, "merges that failed at first", "%d", q.mergeFailures)
	failed := 0
	for _, r := range runs {
		if r.Outcome != "" && r.Outcome != "finished" {
			failed++
		}
	}
	add(len(runs) > 0, "runs of agents that failed", "%d of %d", failed, len(runs))
	return list
}

type counted struct {
	reviewed, first, reviews, rejections, mergeFailures int
	reviewTimes, workTimes, leads                       []int
}

func count(tasks []*blackboard.Task, now time.Time) (q counted) {
	for _, t := range tasks {
		verdicts := 0
		for _, h := range t.History {
			switch {
			case h == nil:
			case h.Event == blackboard.HistoryIntegrationFailed:
				q.mergeFailures++
			case h.Event == blackboard.HistoryRejected, h.Event == blackboard.HistoryApproved && !h.Auto:
				if verdicts++; verdicts == 1 {
					q.reviewed++
					if h.Event == blackboard.HistoryApproved {
						q.first++
					}
				}
				if q.reviews++; h.Event == blackboard.HistoryRejected {
					q.rejections++
				}
			}
		}
		for _, x := range t.Stays(now) {
			if x.Status == blackboard.ReadyForReview && x.Reviewer != "" {
				q.reviewTimes = append(q.reviewTimes, int(x.To.Sub(x.From)/time.Second))
			}
		}
		if x := t.Times(now); t.Status == blackboard.Merged && x.Lead != nil {
			q.leads = append(q.leads, *x.Lead)
			q.workTimes = append(q.workTimes, x.Work)
		}
	}
	return q
}

func mean(list []int) int {
	sum := 0
	for _, n := range list {
		sum += n
	}
	return sum / max(1, len(list))
}

func middle(list []int) int {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// Metric is one figure of specs/protocol.md#12. A nil value is undefined or unknown.
type Metric struct {
	Name  string
	Value *blackboard.Amount
	Unit  string // seconds, us (microseconds), percent, cents or ""
}

// Metrics are the figures of a sprint in the order of specs/protocol.md#12.
type Metrics []Metric

// MetricsOf returns all figures of specs/protocol.md#12: those on the board, and those computed from the tasks of the sprint, archived
// ones included, and from the journal entries run_failed.
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

// Get returns the value of the figure called name; ok is false when it has none.
func (m Metrics) Get(name string) (blackboard.Amount, bool) {
	for _, x := range m {
		if x.Name == name && x.Value != nil {
			return *x.Value, true
		}
	}
	return 0, false
}

// MarshalJSON returns one object whose keys are in the order of the figures.
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
