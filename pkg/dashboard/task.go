package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// BuildTask is the page of a task, on the board or from the archive. What lies in files is not in it: the text of the spec,
// and what agents were asked and answered.
func BuildTask(s *blackboard.State, t *blackboard.Task, f Facts) TaskPage {
	if s == nil {
		s = &blackboard.State{}
	}
	b := builder{s: s, f: f}
	p := TaskPage{Task: b.task(t), Description: t.Description, DoneWhen: t.DoneWhen, Criteria: append([]string{}, t.AcceptanceCriteria...), Scope: t.Scope,
		SpecRef: t.SpecRef, Intent: intentOf(t), DependsOn: []Link{}, Dependents: []Link{}, Attempts: AttemptsOf(t), Findings: FindingsOf(s, t),
		Checks: checksOf(t), Questions: append([]Question{}, b.questionsOf(t)...), History: []Happening{}, Waits: []Waiting{},
		Base: t.BaseCommit, Commit: cmp.Or(t.ReviewCommit, t.ApprovedCommit), MergeCommit: t.MergeCommit, Archived: s.Find(t.ID) == nil, Fields: Plain(t)}
	for _, id := range t.DependsOn {
		p.DependsOn = append(p.DependsOn, b.link(id))
	}
	for o := range s.Tasks() {
		if o != nil && o.DependsOn.Has(t.ID) {
			p.Dependents = append(p.Dependents, b.link(o.ID))
		}
	}
	if r := t.RejectionReason; r != nil {
		p.Rejection = r.Summary
	}
	for _, h := range t.History {
		if h != nil {
			p.History = append(p.History, happening(t.ID, h))
		}
	}
	for _, w := range b.waiting() {
		if w.Task == t.ID {
			p.Waits = append(p.Waits, w)
		}
	}
	return p
}

func (b builder) link(id string) Link {
	l := Link{ID: id}
	if o := b.s.Find(id); o != nil {
		l.Title = o.TitleText()
	}
	l.Status, _ = b.s.StatusOf(id)
	return l
}

// intentOf is what the coder said last that it would do.
func intentOf(t *blackboard.Task) []string {
	for _, h := range slices.Backward(t.History) {
		if h == nil || h.Checkpoint == nil {
			continue
		}
		c := h.Checkpoint
		list := []string{c.Intent}
		add := func(label, text string) { list = append(list, label+": "+text) }
		if c.Validation != "" {
			add("checked by", c.Validation)
		}
		for _, a := range c.Assumptions {
			add("takes for granted", a)
		}
		for _, r := range c.Risks {
			add("risk", r)
		}
		if len(c.FilesToModify) > 0 {
			add("files", strings.Join(c.FilesToModify, ", "))
		}
		return list
	}
	return nil
}

// AttemptsOf are the finished runs for a task that are on the board, the oldest first.
func AttemptsOf(t *blackboard.Task) []Attempt {
	list := []Attempt{}
	for _, a := range t.Attempts {
		if a != nil {
			list = append(list, Attempt{Seq: a.Seq, Agent: a.Agent, Kind: cmp.Or(a.Kind, a.Role), CLI: a.CLI, Outcome: cmp.Or(a.Outcome, a.Action), Summary: a.Summary,
				Ended: a.Ended, Seconds: a.Seconds, CostCents: a.CostCents, Commit: a.Commit, Sandbox: a.Sandbox})
		}
	}
	return list
}

// happening is an entry of a task's history, with what it tells in words.
func happening(task string, h *blackboard.HistoryEntry) Happening {
	var parts []string
	add := func(mark, text string) {
		if text != "" {
			parts = append(parts, mark+text)
		}
	}
	if h.Via != "" {
		add("by a person for ", h.Agent)
	}
	if h.Checkpoint != nil {
		add("", h.Checkpoint.Intent)
	}
	add("", h.What)
	add("", h.Kind.Words())
	if h.Iteration > 0 {
		add("iteration ", fmt.Sprint(h.Iteration))
	}
	add("", h.Reason)
	add("", h.Cause)
	add("replaced by ", strings.Join(h.By, ", "))
	add("taken over from ", h.PreviousAssignee)
	add("held by ", h.Holder)
	add("commit ", shortCommit(h.Commit))
	add("merge commit ", shortCommit(h.MergeCommit))
	add("files ", strings.Join(h.Files, ", "))
	add("without tests: ", h.NoTests)
	add("work saved in ", h.Attic)
	add("log ", h.Log)
	return Happening{At: h.Time, Who: h.Agent, Action: string(h.Event), Task: task, Text: strings.Join(parts, "; ")}
}
