package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/history"
)

// BuildFigures are the figures of the sprint: tasks are all of it, archived ones included, runs the ledger.
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
	f.Forecast = forecast(runs, s)
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

// maxPoints bounds a plot: more cannot be told apart.
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

// forecast is nil when nothing is open, or nothing was merged that it could be based on.
func forecast(runs []history.UsageLine, s *blackboard.State) *ForecastView {
	x := history.ForecastOf(runs, s)
	if x.OpenTasks == 0 || x.SecondsRest == nil {
		return nil
	}
	v := &ForecastView{OpenTasks: x.OpenTasks, Cents: x.Rest, Seconds: x.SecondsRest}
	var rest []string
	if x.Rest != nil {
		rest = append(rest, "cost about "+x.Rest.Dollars())
	}
	if *x.SecondsRest > 0 {
		rest = append(rest, "take about "+long(*x.SecondsRest)+" of agents' work")
	}
	if len(rest) == 0 {
		return nil
	}
	v.Text = fmt.Sprintf("%s still open; going by the %d merged so far, the rest will %s", tasksAre(x.OpenTasks), x.MergedTasks, strings.Join(rest, " and "))
	return v
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

// quality tells how reviews went and how long things took. What did not happen is left out.
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
