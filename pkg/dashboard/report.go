package dashboard

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/prose"
)

// BuildReport makes the report of the current sprint.
func BuildReport(s *blackboard.State, f ReportFacts) Report {
	v := Build(s, f.Facts)
	r := Report{At: v.At, Revision: v.Revision, Goal: v.Goal, Sprint: v.Sprint, Metrics: MetricsOf(s, f.Tasks, f.Journal, f.Now),
		Tasks: []ReportTask{}, Rejections: []ReportRejection{}, Annotations: []ReportAnnotation{}, Anomalies: []ReportAnomaly{}, Discoveries: []ReportDiscovery{}, Checkpoints: []ReportCheckpoint{}, LookAt: []Hint{}}
	if s == nil {
		s = &blackboard.State{}
	}
	b := builder{s: s, f: f.Facts}
	rows := []Task{}
	for _, t := range f.Tasks {
		row := b.task(t)
		rows = append(rows, row)
		x := reportTask(s, t, row, f.Now)
		if f.Link != nil && x.Short() != "" {
			x.Link = f.Link(t.MergeCommit)
		}
		r.Tasks = append(r.Tasks, x)
		r.Rejections = append(r.Rejections, rejectionsOf(s, t)...)
		r.Annotations = append(r.Annotations, annotationsOf(t)...)
	}
	r.Counts = b.counts(rows)
	for _, a := range s.Anomalies {
		if since(s, a.Timestamp) {
			r.Anomalies = append(r.Anomalies, ReportAnomaly{ID: a.ID, At: a.Timestamp, Type: string(a.Type), Task: a.Task, Reporter: a.Reporter, Details: valueText(reflect.ValueOf(a.Details))})
		}
	}
	for _, d := range s.Discovered {
		if d != nil && d.ConvertedToTask == "" {
			x := ReportDiscovery{ID: d.ID, Severity: cmp.Or(d.Severity, "low"), Urgency: cmp.Or(d.Urgency, "deferred"), Description: d.Description}
			if d.Deferred != nil {
				x.Deferred = d.Deferred.Reason
			}
			r.Discoveries = append(r.Discoveries, x)
		}
	}
	if s.Sprint != nil {
		for _, c := range s.Sprint.Checkpoints {
			if c != nil {
				r.Checkpoints = append(r.Checkpoints, ReportCheckpoint{N: c.N, At: c.At, By: c.By, Message: c.Message, Decision: c.Decision, DecidedBy: c.DecidedBy})
			}
		}
		r.Retro = Plain(s.Sprint.Retrospective)
	}
	r.Timeline = BuildTimeline(s, f.Tasks, f.Runs, f.Now)
	r.Figures = BuildFigures(s, f.Tasks, f.Runs, f.Now)
	r.graph = graphOf(f.Tasks)
	r.Graph = r.graph.view()
	r.Headline = r.headline(len(v.Waiting))
	if text := blackboard.UnverifiedText(f.Tasks); text != "" {
		r.Headline += " " + text + ": their checks were red before and after."
	}
	r.LookAt = lookAt(v, r)
	return r
}

func reportTask(s *blackboard.State, t *blackboard.Task, row Task, now time.Time) ReportTask {
	x := t.Times(now)
	said, _ := t.LastSummary()
	return ReportTask{files: t.ChangesFiles(), Approvals: t.ApprovalsText(), Summary: said, ID: t.ID, Title: row.Title, Status: t.Status, Archived: s.Task(t.ID) == nil, Who: t.AssignedTo, Iteration: t.Iteration, Rejections: t.ReviewCyclesTotal,
		LeadSeconds: x.Lead, WorkSeconds: x.Work, ReviewSeconds: x.Review, WaitSeconds: x.Wait, Spent: t.Spent(now), Cost: row.Cost, MergeCommit: t.MergeCommit, Sandbox: t.WeakestSandbox(), Outcome: outcome(t, row)}
}

func outcome(t *blackboard.Task, row Task) string {
	var parts []string
	for _, text := range []string{row.Note, t.RescopeReason, t.RootCause} {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

func rejectionsOf(s *blackboard.State, t *blackboard.Task) (list []ReportRejection) {
	for _, h := range t.History {
		if h.Event == blackboard.HistoryRejected && since(s, h.Time) {
			list = append(list, ReportRejection{Task: t.ID, At: h.Time, By: h.Agent, Commit: h.Commit, Reason: h.Reason})
		}
	}
	return list
}

// lookAt lists what a person should look at, what waits for him first.
func lookAt(v View, r Report) []Hint {
	list := []Hint{}
	add := func(next, format string, args ...any) {
		list = append(list, Hint{Text: strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "), Next: next})
	}
	for _, w := range v.Waiting {
		about := ""
		if w.Task != "" && !strings.Contains(w.Text, w.Task) {
			about = w.Task + ": "
		}
		add(w.Next, "%s%s", about, w.Text)
	}
	for _, request := range v.Requests {
		add("", "%s", request)
	}
	for _, w := range v.Warnings {
		add("", "%s", w)
	}
	var open []string
	for _, t := range r.Tasks {
		show := "liza show " + t.ID
		if t.Rejections > 1 {
			add(show, "%s was rejected %d times", t.ID, t.Rejections)
		}
		if t.Sandbox == blackboard.SandboxLevels[0] {
			open = append(open, t.ID)
		}
		if t.Status == blackboard.Abandoned {
			add(show, "%s was given up: %s", t.ID, t.Outcome)
		}
	}
	if len(open) > 0 {
		add("liza doctor", "agents worked without a wall (open) on %s: they could read and write whatever you can", strings.Join(open, ", "))
	}
	for _, d := range r.Discoveries {
		if d.Urgency == "immediate" || d.Severity == "critical" || d.Severity == "high" {
			add("liza show "+d.ID, "nothing came of %s (%s): %s", d.ID, d.Severity, d.Description)
		}
	}
	if n, ok := r.Metrics.Get("run_failed_count"); ok && n > 0 {
		add("liza log --action "+string(blackboard.ActionRunFailed), "%s of agents failed", prose.Count(int(n), "run"))
	}
	if n, ok := r.Metrics.Get("unknown_cost_runs"); ok && n > 0 {
		add("", "%s told nothing of what it cost", prose.Count(int(n), "run"))
	}
	return list
}
