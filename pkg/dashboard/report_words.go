package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/prose"
)

// headline says what came of the sprint.
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

// Delivered are the merged tasks, in the order of their merges.
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

// Open are the tasks that are not done, what needs somebody first.
func (r Report) Open() []ReportTask {
	list := r.tasks(func(t ReportTask) bool { return !t.Status.Terminal() })
	slices.SortStableFunc(list, func(a, b ReportTask) int { return cmp.Compare(rank(a.Status), rank(b.Status)) })
	return list
}

// GivenUp are the tasks that ended without a merge; what replaced others is told elsewhere.
func (r Report) GivenUp() []ReportTask {
	return r.tasks(func(t ReportTask) bool { return t.Status == blackboard.Abandoned })
}

// Replaced are the tasks that others took the place of.
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

// Title is the first line of the goal.
func (r Report) Title() string {
	line, _, _ := strings.Cut(strings.TrimSpace(r.Goal.Description), "\n")
	return cmp.Or(strings.TrimSpace(line), "Report of "+cmp.Or(r.Sprint.ID, "the sprint"))
}

// More is the rest of the goal.
func (r Report) More() string {
	_, rest, _ := strings.Cut(strings.TrimSpace(r.Goal.Description), "\n")
	return strings.TrimSpace(rest)
}

// Period is when the sprint was.
func (r Report) Period() string {
	return period(r.Sprint.Started, cmp.Or(r.Sprint.Ended, r.At))
}

// Written is when the report was made.
func (r Report) Written() string { return day(r.At) }

// Facts of a delivered task in words: who, how long, at what cost, how its reviews went.
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

// Why is why an open task does not go on, in words.
func (t ReportTask) Why() string {
	text := t.Outcome
	if t.Status == blackboard.Blocked {
		_, text, _ = strings.Cut(text, ": ") // the kind of block says less than its reason
	}
	for status, words := range statusWords {
		text = strings.ReplaceAll(text, "("+string(status)+")", "("+words+")")
	}
	return text
}

// State is the status in words.
func (t ReportTask) State() string { return StatusWords(t.Status) }

// Short is the merge commit as people write it, "" for work that changes no files.
func (t ReportTask) Short() string {
	if !t.files {
		return ""
	}
	return shortCommit(t.MergeCommit)
}

// Table is a part of the report that has a row of words for each entry.
type Table struct {
	Title, Note string
	Heads       []string
	Rows        [][]string
}

func (t *Table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Tables are the parts that are the same in every format; those without a row are left out.
func (r Report) Tables() []Table {
	rejections := Table{Title: "Sent back by reviews", Heads: []string{"task", "when", "by", "why"}}
	for _, x := range r.Rejections {
		rejections.add(x.Task, clock(x.At), x.By, x.Reason)
	}
	findings := Table{Title: "What the last reviews found", Heads: []string{"task", "place", "kind", "by", "finding"}}
	for _, x := range r.Annotations {
		findings.add(x.Task, x.Place(), x.Severity, x.Check, x.Message+after("; fix: ", x.Fix))
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
		checkpoints.add(clock(x.At), cmp.Or(x.Message, "by "+x.By), strings.ToLower(strings.ReplaceAll(x.Decision, "_", " "))+after(" by ", x.DecidedBy))
	}
	replaced := Table{Title: "Given up or replaced", Heads: []string{"task", "title", "why"}}
	for _, x := range r.GivenUp() {
		replaced.add(x.ID, x.Title, "given up"+after(": ", x.Outcome))
	}
	for _, x := range r.Replaced() {
		replaced.add(x.ID, x.Title, x.Outcome)
	}
	return slices.DeleteFunc([]Table{rejections, findings, replaced, discoveries, anomalies, checkpoints}, func(t Table) bool { return len(t.Rows) == 0 })
}
