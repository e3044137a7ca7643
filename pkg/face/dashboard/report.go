package dashboard

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
)

// ReportFacts has the facts outside the state that a report needs.
type ReportFacts struct {
	Input
	Tasks   []*blackboard.Task         // all tasks of the sprint, archived ones included
	Journal []blackboard.Entry         // entries run_failed of the sprint
	Runs    []history.UsageLine        // the usage ledger
	Link    func(commit string) string // returns the page of a commit, or ""; may be nil
}

// Report has the results, costs and open work of a sprint (specs/cli.md#2, report).
type Report struct {
	At          blackboard.Time    `json:"at"`
	Revision    int                `json:"revision"`
	Headline    string             `json:"headline"` // its result, in one or two sentences
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

// ReportTask is one task of the sprint. Times are in seconds; an inapplicable value is null.
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
	Outcome       string            `json:"outcome,omitempty"`   // why it ended without a merge, or does not continue
	Summary       string            `json:"summary,omitempty"`   // its coder's last summary
	Link          string            `json:"link,omitempty"`      // address of the page of its merge commit
	Approvals     string            `json:"approvals,omitempty"` // approvals of a quorum, in words
	files         bool              // its work changes files
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

// ReportDiscovery is a discovery that was not converted to a task.
type ReportDiscovery struct {
	ID          string `json:"id"`
	Severity    string `json:"severity"`
	Urgency     string `json:"urgency"`
	Description string `json:"description"`
	Deferred    string `json:"deferred,omitempty"`
}

// ReportCheckpoint is one checkpoint of the sprint with its decision.
type ReportCheckpoint struct {
	N         int             `json:"n"`
	At        blackboard.Time `json:"at"`
	By        string          `json:"by"`
	Message   string          `json:"message,omitempty"`
	Decision  string          `json:"decision,omitempty"`
	DecidedBy string          `json:"decided_by,omitempty"`
}

// Hint is a point for a person to look at, with the command that shows or settles it.
type Hint struct {
	Text string `json:"text"`
	Next string `json:"next,omitempty"`
}

// BuildReport returns the report of the sprint of s.
func BuildReport(s *blackboard.State, f ReportFacts) Report {
	v := Build(s, f.Input)
	r := Report{At: v.At, Revision: v.Revision, Goal: v.Goal, Sprint: v.Sprint, Metrics: MetricsOf(s, f.Tasks, f.Journal, f.Now),
		Tasks: []ReportTask{}, Rejections: []ReportRejection{}, Annotations: []ReportAnnotation{}, Anomalies: []ReportAnomaly{}, Discoveries: []ReportDiscovery{}, Checkpoints: []ReportCheckpoint{}, LookAt: []Hint{}}
	if s == nil {
		s = &blackboard.State{}
	}
	b := builder{s: s, f: f.Input}
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
		if d.ConvertedToTask == "" {
			x := ReportDiscovery{ID: d.ID, Severity: cmp.Or(d.Severity, "low"), Urgency: cmp.Or(d.Urgency, "deferred"), Description: d.Description}
			if d.Deferred != nil {
				x.Deferred = d.Deferred.Reason
			}
			r.Discoveries = append(r.Discoveries, x)
		}
	}
	if s.Sprint != nil {
		for _, c := range s.Sprint.Checkpoints {
			r.Checkpoints = append(r.Checkpoints, ReportCheckpoint{N: c.N, At: c.At, By: c.By, Message: c.Message, Decision: c.Decision, DecidedBy: c.DecidedBy})
		}
		r.Retro = Plain(s.Sprint.Retrospective)
	}
	r.Timeline = BuildTimeline(s, f.Tasks, f.Runs, f.Now)
	r.Figures = BuildFigures(s, f.Tasks, f.Runs, f.Now)
	r.graph = graphOf(f.Tasks)
	r.Graph = r.graph.view()
	r.Headline = r.headline(len(v.Waiting))
	if text := blackboard.UnverifiedText(f.Tasks); text != "" {
		r.Headline += " " + text + ": their checks were red before and after, or could not run."
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

// lookAt returns the hints for a person; first the points that wait for one.
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

// headline returns the result of the sprint.
func (r Report) headline(waiting int) string {
	merged, open, all := len(r.Delivered()), len(r.Open()), len(r.Tasks)-len(r.Replaced())
	var b strings.Builder
	switch {
	case all == 0:
		return "No tasks yet."
	case merged == 0:
		fmt.Fprintf(&b, "None of %s is delivered yet", prose.Count(all, "task"))
	case merged == 1 && all == 1:
		b.WriteString("The one task is delivered")
	case merged == all:
		fmt.Fprintf(&b, "All %d tasks are delivered", all)
	default:
		fmt.Fprintf(&b, "%d of %d tasks are delivered", merged, all)
	}
	if s := r.Sprint.AgeSeconds; s > 0 {
		b.WriteString(" after " + long(s))
	}
	b.WriteString(priced(r.Figures.Total) + ".")
	if open > 0 {
		fmt.Fprintf(&b, " %s open", tasksAre(open))
		if waiting > 0 {
			fmt.Fprintf(&b, ", and %s for a person", waits(waiting))
		}
		b.WriteString(".")
	}
	return b.String()
}

func waits(n int) string {
	if n == 1 {
		return "1 thing waits"
	}
	return fmt.Sprintf("%d things wait", n)
}

// priced is a cost at the end of a sentence.
func priced(c Cost) string {
	switch {
	case c.Cents == 0:
		return ""
	case c.UnknownRuns > 0:
		return fmt.Sprintf(", for at least %s (%s did not tell what they cost)", c.Cents.Dollars(), prose.Count(c.UnknownRuns, "run"))
	}
	return ", for " + c.Cents.Dollars()
}

// Delivered returns the merged tasks in the order of their merges.
func (r Report) Delivered() []ReportTask {
	at := map[string]int{}
	for i, m := range r.Timeline.Marks {
		if m.Kind == "merged" {
			at[m.Task] = i
		}
	}
	list := r.tasks(func(t ReportTask) bool { return t.Status == blackboard.Merged })
	slices.SortStableFunc(list, func(a, b ReportTask) int { return cmp.Compare(at[a.ID], at[b.ID]) })
	return list
}

// Open returns the tasks that are not terminal, the most urgent first.
func (r Report) Open() []ReportTask {
	list := r.tasks(func(t ReportTask) bool { return !t.Status.Terminal() })
	slices.SortStableFunc(list, func(a, b ReportTask) int { return cmp.Compare(a.Status.Rank(), b.Status.Rank()) })
	return list
}

// GivenUp returns the abandoned tasks.
func (r Report) GivenUp() []ReportTask {
	return r.tasks(func(t ReportTask) bool { return t.Status == blackboard.Abandoned })
}

// Replaced returns the superseded tasks.
func (r Report) Replaced() []ReportTask {
	return r.tasks(func(t ReportTask) bool { return t.Status == blackboard.Superseded })
}

func (r Report) tasks(want func(ReportTask) bool) (list []ReportTask) {
	for _, t := range r.Tasks {
		if want(t) {
			list = append(list, t)
		}
	}
	return list
}

// Title returns the first line of the goal, or names the sprint.
func (r Report) Title() string {
	line, _, _ := strings.Cut(strings.TrimSpace(r.Goal.Description), "\n")
	return cmp.Or(strings.TrimSpace(line), "Report of "+cmp.Or(r.Sprint.ID, "the sprint"))
}

// More returns the goal without its first line.
func (r Report) More() string {
	_, rest, _ := strings.Cut(strings.TrimSpace(r.Goal.Description), "\n")
	return strings.TrimSpace(rest)
}

// Period returns start and end of the sprint.
func (r Report) Period() string {
	return period(r.Sprint.Started, cmp.Or(r.Sprint.Ended, r.At))
}

// Written returns the time of the report.
func (r Report) Written() string { return day(r.At) }

// Facts returns coder, times, rejections, approvals and cost of a delivered task, in words.
func (t ReportTask) Facts() string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if t.Who != "" {
		add("by " + t.Who)
	}
	if t.WorkSeconds > 0 {
		add(long(t.WorkSeconds) + " of work")
	}
	if t.ReviewSeconds > 0 {
		add(long(t.ReviewSeconds) + " of review")
	}
	if t.Rejections > 0 {
		add("sent back " + times(t.Rejections))
	}
	add(t.Approvals)
	if t.Cost.Cents > 0 {
		add(money(t.Cost))
	}
	return strings.Join(parts, " · ")
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// Why returns in words why an open task does not go on.
func (t ReportTask) Why() string {
	text := t.Outcome
	if t.Status == blackboard.Blocked {
		_, text, _ = strings.Cut(text, ": ") // the kind of block says less than its reason
	}
	for _, i := range blackboard.StatusTable {
		text = strings.ReplaceAll(text, "("+string(i.Status)+")", "("+i.Words+")")
	}
	return text
}

// State returns the status in words.
func (t ReportTask) State() string { return t.Status.Info().Words }

// Short returns the abbreviated merge commit, "" for a task that changes no files.
func (t ReportTask) Short() string {
	if !t.files {
		return ""
	}
	return blackboard.ShortCommit(t.MergeCommit)
}

// Table is a section of the report with a row of texts for each entry.
type Table struct {
	Title, Note string
	Heads       []string
	Rows        [][]string
}

func (t *Table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Tables returns the sections that are tables in every format, without empty ones.
func (r Report) Tables() []Table {
	rejections := Table{Title: "Sent back by reviews", Heads: []string{"task", "when", "by", "why"}}
	for _, x := range r.Rejections {
		rejections.add(x.Task, clock(x.At), x.By, x.Reason)
	}
	findings := Table{Title: "What the last reviews found", Heads: []string{"task", "place", "kind", "by", "finding"}}
	for _, x := range r.Annotations {
		findings.add(x.Task, x.Place(), x.Severity, x.Check, x.Message+prose.After("; fix: ", x.Fix))
	}
	anomalies := Table{Title: "What agents reported", Heads: []string{"what", "task", "by", "details"}}
	for _, x := range r.Anomalies {
		anomalies.add(strings.ReplaceAll(x.Type, "_", " "), x.Task, x.Reporter, strings.ReplaceAll(x.Details, "_", " "))
	}
	discoveries := Table{Title: "Found on the way, and not done", Heads: []string{"severity", "what", "deferred because"}}
	for _, x := range r.Discoveries {
		discoveries.add(x.Severity, x.Description, x.Deferred)
	}
	checkpoints := Table{Title: "Decisions of people", Heads: []string{"when", "asked", "decided"}}
	for _, x := range r.Checkpoints {
		checkpoints.add(clock(x.At), cmp.Or(x.Message, "by "+x.By), strings.ToLower(strings.ReplaceAll(x.Decision, "_", " "))+prose.After(" by ", x.DecidedBy))
	}
	replaced := Table{Title: "Given up or replaced", Heads: []string{"task", "title", "why"}}
	for _, x := range r.GivenUp() {
		replaced.add(x.ID, x.Title, "given up"+prose.After(": ", x.Outcome))
	}
	for _, x := range r.Replaced() {
		replaced.add(x.ID, x.Title, x.Outcome)
	}
	return slices.DeleteFunc([]Table{rejections, findings, replaced, discoveries, anomalies, checkpoints}, func(t Table) bool { return len(t.Rows) == 0 })
}
