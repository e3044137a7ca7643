package dashboard

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/prose"
)

// ReportFacts is what a report tells besides the state.
type ReportFacts struct {
	Facts
	Tasks   []*blackboard.Task         // all of the sprint, archived ones included
	Journal []blackboard.Entry         // of the sprint: the entries run_failed
	Runs    []history.UsageLine        // the ledger
	Link    func(commit string) string // the page of a commit, "" when there is none; may be nil
}

// Report is what a sprint did (specs/cli.md#2, report).
type Report struct {
	At          blackboard.Time    `json:"at"`
	Revision    int                `json:"revision"`
	Headline    string             `json:"headline"` // what came of it, in one or two sentences
	Goal        Goal               `json:"goal"`
	Sprint      Sprint             `json:"sprint"`
	Counts      []Count            `json:"counts"`
	Metrics     Metrics            `json:"metrics"`
	Tasks       []ReportTask       `json:"tasks"`
	Rejections  []ReportRejection  `json:"rejections"`
	Annotations []ReportAnnotation `json:"annotations"`
	Anomalies   []ReportAnomaly    `json:"anomalies"`
	Discoveries []ReportDiscovery  `json:"discoveries"`
	Checkpoints []ReportCheckpoint `json:"checkpoints"`
	LookAt      []Hint             `json:"look_at"`
	Timeline    Timeline           `json:"timeline"`
	Graph       GraphView          `json:"graph"`
	Figures     Figures            `json:"figures"`
	Retro       any                `json:"retrospective"`

	graph *graph
}

// ReportTask is one task of the sprint. Times are in seconds; what does not apply is null.
type ReportTask struct {
	ID            string            `json:"id"`
	Title         string            `json:"title"`
	Status        blackboard.Status `json:"status"`
	Archived      bool              `json:"archived"`
	Who           string            `json:"who,omitempty"`
	Iteration     int               `json:"iteration"`
	Rejections    int               `json:"rejections"`
	LeadSeconds   *int              `json:"lead_seconds"`
	WorkSeconds   int               `json:"work_seconds"`
	ReviewSeconds int               `json:"review_seconds"`
	WaitSeconds   *int              `json:"wait_seconds"`
	Spent         string            `json:"spent"` // time in each status, in words
	Cost          Cost              `json:"cost"`
	MergeCommit   string            `json:"merge_commit,omitempty"`
	Sandbox       string            `json:"sandbox,omitempty"`   // the weakest level of its runs
	Outcome       string            `json:"outcome,omitempty"`   // why it ended without a merge, or does not go on
	Summary       string            `json:"summary,omitempty"`   // what its coder said last
	Link          string            `json:"link,omitempty"`      // of the page of its merge commit
	Approvals     string            `json:"approvals,omitempty"` // of a quorum, in words
	files         bool              // its work is a change of files
}

// ReportRejection is one rejection of the sprint.
type ReportRejection struct {
	Task   string          `json:"task"`
	At     blackboard.Time `json:"at"`
	By     string          `json:"by"`
	Commit string          `json:"commit,omitempty"`
	Reason string          `json:"reason"`
}

// ReportAnomaly is one anomaly of the sprint.
type ReportAnomaly struct {
	ID       string          `json:"id"`
	At       blackboard.Time `json:"at"`
	Type     string          `json:"type"`
	Task     string          `json:"task,omitempty"`
	Reporter string          `json:"reporter,omitempty"`
	Details  string          `json:"details,omitempty"`
}

// ReportDiscovery is a discovery that no task came of.
type ReportDiscovery struct {
	ID          string `json:"id"`
	Severity    string `json:"severity"`
	Urgency     string `json:"urgency"`
	Description string `json:"description"`
	Deferred    string `json:"deferred,omitempty"`
}

// ReportCheckpoint is one stop for people and what they decided.
type ReportCheckpoint struct {
	N         int             `json:"n"`
	At        blackboard.Time `json:"at"`
	By        string          `json:"by"`
	Message   string          `json:"message,omitempty"`
	Decision  string          `json:"decision,omitempty"`
	DecidedBy string          `json:"decided_by,omitempty"`
}

// Hint is something that a person should look at, and the command that shows or does it.
type Hint struct {
	Text string `json:"text"`
	Next string `json:"next,omitempty"`
}

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
	r.LookAt = lookAt(v, r)
	return r
}

// since reports whether something happened in the current sprint; a time that cannot be
// read counts.
func since(s *blackboard.State, t blackboard.Time) bool {
	at, ok := t.At()
	if !ok || s.Sprint == nil || s.Sprint.Timeline == nil {
		return true
	}
	started, ok := s.Sprint.Timeline.Started.At()
	return !ok || !at.Before(started)
}

func reportTask(s *blackboard.State, t *blackboard.Task, row Task, now time.Time) ReportTask {
	x := t.Times(now)
	said := ""
	if t.LastOutcome != nil {
		said = t.LastOutcome.Summary
	}
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
