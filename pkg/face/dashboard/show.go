package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

// Find returns the task, goal, agent, question, plan, discovery, note, anomaly or fact called id, in that order, and which of them it is.
func Find(s *blackboard.State, id string) (entry any, what string, ok bool) {
	if s == nil || id == "" {
		return nil, "", false
	}
	if t := s.Task(id); t != nil {
		return t, "task", true
	}
	if s.Goal != nil && s.Goal.ID == id {
		return s.Goal, "goal", true
	}
	if a := s.Agents[id]; a != nil {
		return a, "agent", true
	}
	if q := called(s.Questions, id, func(q *blackboard.Question) string { return q.ID }); q != nil {
		return q, "question", true
	}
	if p := called(s.Plans, id, func(p *blackboard.Plan) string { return p.ID }); p != nil {
		return p, "plan", true
	}
	if d := called(s.Discovered, id, func(d *blackboard.Discovery) string { return d.ID }); d != nil {
		return d, "discovery", true
	}
	if n := called(s.HumanNotes, id, func(n *blackboard.Note) string { return n.ID }); n != nil {
		return n, "note", true
	}
	if a := called(s.Anomalies, id, func(a *blackboard.Anomaly) string { return a.ID }); a != nil {
		return a, "anomaly", true
	}
	if f := called(s.Facts, id, func(f *blackboard.Fact) string { return f.ID }); f != nil {
		return f, "fact", true
	}
	return nil, "", false
}

// called is the entry of a list that has an id, nil when there is none.
func called[T any](list []*T, id string, idOf func(*T) string) *T {
	for _, e := range list {
		if idOf(e) == id {
			return e
		}
	}
	return nil
}

// TaskText formats the entry called id with all of its fields, "" when there is none.
func TaskText(s *blackboard.State, id string) string {
	entry, what, ok := Find(s, id)
	if !ok {
		return ""
	}
	p := &page{width: 100}
	switch x := entry.(type) {
	case *blackboard.Task:
		p.showTask(s, x)
	case *blackboard.Plan:
		return PlanText(s, id)
	default:
		p.line(fmt.Sprintf("%s %s", what, plain(id)))
		p.fields(fieldsOf(entry), 2, "id")
	}
	return p.b.String()
}

// apart are the fields of a task that showTask formats itself.
var apart = []string{"id", "title", "description", "status", "acceptance_criteria", "done_when", "scope", "depends_on", "superseded_by", "supersedes", "history", "attempts",
	"blocked_reason", "blocked_kind", "blocked_questions", "rejection_reason", "fixes", "review", "unverified"}

func (p *page) showTask(s *blackboard.State, t *blackboard.Task) {
	p.line(fmt.Sprintf("%s  %s", plain(t.ID), t.Status))
	if t.Title != "" {
		p.wrap(0, none, t.Title)
	}
	if strings.TrimSpace(t.Description) != "" {
		p.line("")
		p.text(2, t.Description)
	}
	p.part("Done when", append([]string{t.DoneWhen}, t.AcceptanceCriteria...))
	p.part("Scope", []string{t.Scope})
	p.part("Dependencies", links(s, t))
	p.part("Attempts at "+t.AttemptOf, TriesText(tries(s, t)))
	if t.Status == blackboard.Blocked {
		p.part("Blocked: "+t.BlockedFor().Words(), append([]string{t.BlockedReason}, t.BlockedQuestions...))
	}
	if i := s.ImportOf(t.ID); i != nil {
		p.part("Imported from", []string{plain(i.Source + ", " + i.Status)})
	}
	p.part("Requests", builder{s: s}.requests(t))
	p.part("Questions", questions(s, t))
	p.part("Told", texts(s, t))
	p.part("Rejection", rejection(t))
	p.part("Review", reviewOf(t))
	p.part("Checks", checksOf(t))
	if len(t.Unverified) > 0 {
		p.part("Merge", []string{"not verified: " + plain(strings.Join(t.Unverified, "; "))})
	}
	p.part("Findings", findingsOf(t))
	p.title("Fields")
	p.fields(fieldsOf(t), 2, apart...)
	p.part("Attempts", attempts(t))
	if len(t.History) > 0 {
		p.title("History")
		for _, h := range t.History {
			p.line("  " + historyLine(h))
		}
	}
}

// texts are what people have told the agents of a task, with where it is.
func texts(s *blackboard.State, t *blackboard.Task) (list []string) {
	for _, n := range s.Texts(t.ID) {
		if !n.Liza() {
			list = append(list, plain(fmt.Sprintf("%s  %s: %s", n.ID, n.Receipt, prose.OneLine(n.Message, 200))))
		}
	}
	return list
}

// part is a heading with lines, left out without any.
func (p *page) part(title string, list []string) {
	list = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.TrimSpace(s) == "" })
	if len(list) == 0 {
		return
	}
	p.title(title)
	for _, text := range list {
		p.text(2, text)
	}
}

// text writes a text with its own line breaks.
func (p *page) text(indent int, text string) {
	for _, line := range block(text) {
		p.line(strings.TrimRight(strings.Repeat(" ", indent)+line, " "))
	}
}

// fields writes key and value of each field but those named.
func (p *page) fields(list []field, indent int, but ...string) {
	widest := 0
	for _, f := range list {
		if !slices.Contains(but, f.key) {
			widest = max(widest, len(f.key))
		}
	}
	for _, f := range list {
		if slices.Contains(but, f.key) {
			continue
		}
		values := strings.Split(valueText(f.value), "\n")
		p.line(strings.TrimRight(strings.Repeat(" ", indent)+pad(f.key, widest)+"  "+values[0], " "))
		for _, v := range values[1:] {
			p.line(strings.TrimRight(strings.Repeat(" ", indent+widest+2)+v, " "))
		}
	}
}

// valueText is a value on one line, or one line for each item of a list of entries.
func valueText(v reflect.Value) string {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return "null"
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		return inline(fieldsOf(v.Interface()))
	case reflect.Map:
		var parts []string
		plainMap, _ := plainValue(v).(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(plainMap)) {
			parts = append(parts, plain(k)+": "+valueText(reflect.ValueOf(plainMap[k])))
		}
		return strings.Join(parts, ", ")
	case reflect.Slice:
		var parts []string
		sep := ", "
		for i := range v.Len() {
			item := v.Index(i)
			if item.Kind() == reflect.Pointer || item.Kind() == reflect.Struct {
				sep = "\n"
			}
			parts = append(parts, valueText(item))
		}
		return strings.Join(parts, sep)
	case reflect.Invalid:
		return "null"
	}
	return plain(fmt.Sprint(v.Interface()))
}

// inline is an entry on one line.
func inline(list []field) string {
	var parts []string
	for _, f := range list {
		parts = append(parts, f.key+": "+strings.ReplaceAll(valueText(f.value), "\n", "; "))
	}
	return strings.Join(parts, ", ")
}

func links(s *blackboard.State, t *blackboard.Task) []string {
	var list []string
	add := func(label string, ids []string) {
		for _, id := range ids {
			text := label + " " + id
			if o := s.Task(id); o != nil {
				text += fmt.Sprintf(" (%s) %s", o.Status, o.TitleText())
			} else if was, ok := s.StatusOf(id); ok {
				text += fmt.Sprintf(" (%s, archived)", was)
			}
			list = append(list, plain(text))
		}
	}
	add("depends on", t.DependsOn)
	for o := range s.Tasks() {
		if o.DependsOn.Has(t.ID) {
			add("needed by", []string{o.ID})
		}
	}
	add("supersedes", t.Supersedes)
	add("superseded by", t.SupersededBy)
	return list
}

// TriesText lists attempts with what each cost.
func TriesText(list []Try) (lines []string) {
	for _, x := range list {
		lines = append(lines, plain(fmt.Sprintf("%s (%s)%s%s", x.ID, x.Status, prose.After(" ", x.CLI), prose.After(", cost ", money(x.Cost)))))
	}
	return lines
}

func questions(s *blackboard.State, t *blackboard.Task) []string {
	var list []string
	for _, q := range s.Questions {
		if q.Task == t.ID {
			list = append(list, fmt.Sprintf("%s (%s) %s%s", q.ID, q.Status, plain(q.Text), prose.After(" → ", plain(q.Answer))))
		}
	}
	return list
}

func rejection(t *blackboard.Task) []string {
	r := t.RejectionReason
	if r == nil {
		return nil
	}
	list := []string{r.Summary}
	for _, f := range t.Fixes {
		list = append(list, fmt.Sprintf("%d. %s%s", f.N, f.Detail, prose.After("; expected: ", f.Expect)))
	}
	if t.Review == nil { // else they are among those of the review
		for _, f := range r.Findings {
			list = append(list, findingLine(f))
		}
	}
	for _, p := range r.Prior {
		list = append(list, fmt.Sprintf("earlier point %d: %s", p.N, p.State))
	}
	return list
}

func attempts(t *blackboard.Task) []string {
	var list []string
	for i, a := range t.Attempts {
		cost := "?"
		if a.CostCents != nil {
			cost = a.CostCents.Dollars()
		}
		list = append(list, plain(fmt.Sprintf("%d. %s %s %s, %s, %s%s%s%s%s", a.Seq, a.Agent, cmp.Or(a.Role, a.Kind), cmp.Or(a.Outcome, a.Action), age(a.Seconds), cost, prose.After(", ", accountOf(a.CLI))+prose.After(", ", a.Sandbox), prose.After(", ", rungOf(t, i)),
			prose.After(": ", a.Summary), aside("saved: ", a.Attic))))
	}
	return list
}

func historyLine(h *blackboard.HistoryEntry) string {
	rest := slices.DeleteFunc(fieldsOf(h), func(f field) bool { return f.key == "time" || f.key == "event" || f.key == "agent" })
	return strings.TrimRight(fmt.Sprintf("%s  %s %s %s", h.Time, pad(plain(string(h.Event)), 26), pad(plain(h.Agent), 16), inline(rest)), " ")
}

// PlanText formats the plan called id with its tasks and the plans before it; id "" is the plan in force. It returns "" without one.
func PlanText(s *blackboard.State, id string) string {
	if s == nil {
		return ""
	}
	if id == "" && s.Goal != nil {
		id = s.Goal.PlanID
	}
	plan := planOf(s, id)
	if plan == nil {
		return ""
	}
	p := &page{width: 100}
	p.line(fmt.Sprintf("%s  %s", plain(plan.ID), plan.Status))
	p.fields(fieldsOf(plan), 2, "id", "status", "tasks", "failure", "tried", "hash")
	if ids := planTasks(s, plan); len(ids) > 0 {
		p.title("Tasks")
		for _, id := range ids {
			status, title := "archived", ""
			if t := s.Task(id); t != nil {
				status, title = string(t.Status), t.TitleText()
			} else if was, ok := s.StatusOf(id); ok {
				status, title = string(was), "(archived)"
			}
			p.line(strings.TrimRight(fmt.Sprintf("  %s %s %s", pad(plain(id), 16), pad(status, 18), plain(title)), " "))
		}
	}
	p.part("Failure", failureOf(plan))
	seen := map[string]bool{plan.ID: true}
	for parent := planOf(s, plan.Parent); parent != nil && !seen[parent.ID]; parent = planOf(s, parent.Parent) {
		seen[parent.ID] = true
		p.part(fmt.Sprintf("Before: %s  %s", plain(parent.ID), parent.Status), append([]string{parent.Goal}, failureOf(parent)...))
	}
	return p.b.String()
}

func planOf(s *blackboard.State, id string) *blackboard.Plan {
	if id == "" {
		return nil
	}
	return called(s.Plans, id, func(p *blackboard.Plan) string { return p.ID })
}

// planTasks returns the tasks that the plan lists, and those that name the plan.
func planTasks(s *blackboard.State, plan *blackboard.Plan) []string {
	ids := slices.Clone([]string(plan.Tasks))
	for t := range s.Tasks() {
		if t.Plan == plan.ID && !slices.Contains(ids, t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

func failureOf(p *blackboard.Plan) []string {
	var list []string
	if p.Failure != nil {
		list = append(list, strings.TrimSpace(cmp.Or(p.Failure.Task, "planning")+": "+p.Failure.Reason))
	}
	for _, t := range p.Tried {
		list = append(list, "tried: "+t)
	}
	return list
}

// LogLine formats an entry of the journal on one line.
func LogLine(e blackboard.Entry) string {
	var extra []string
	for _, k := range slices.Sorted(maps.Keys(e.Extra)) {
		extra = append(extra, plain(k)+"="+plain(fmt.Sprint(e.Extra[k])))
	}
	line := fmt.Sprintf("%s %s %s %s %s", pad(string(e.Timestamp), 20), pad(plain(e.Agent), 15), pad(plain(string(e.Action)), 18), pad(cmp.Or(plain(e.Task), "-"), 10), plain(e.Detail))
	return strings.TrimRight(line+prose.After("  ", strings.Join(extra, " ")), " ")
}

// accountOf is a program with its account, "" for one that has none.
func accountOf(cli string) string {
	if cli == blackboard.ProgramName(cli) {
		return ""
	}
	return cli
}
