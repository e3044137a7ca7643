package dashboard

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/project"
	"liza/pkg/team/findings"
)

// reasonInLists is how many characters of a reason a list has; liza show has all of it.
const reasonInLists = 160

// board returns the points that wait for a person, and warnings, from the findings about the board.
func (b builder) board() (waits []Waiting, warnings []string) {
	f := findings.Observation{Now: b.f.Now, State: b.s, Process: b.f.Process, ReviewMode: b.f.ReviewMode, HumanReview: b.f.HumanReview, Tip: b.f.Tip, NoProgram: b.f.NoProgram,
		CheckedOutAt: b.f.CheckedOutAt, FiltersOff: b.f.FiltersOff, SettingsHeld: b.f.SettingsHeld}
	f.Triggers.HumanReview = b.f.HumanReview
	for _, c := range b.f.Control {
		f.Orders = append(f.Orders, project.Order{Control: project.Control(c.Name), Since: c.Since, Reason: c.Reason})
	}
	found, odd := findings.Board(f)
	waits = []Waiting{}
	for _, x := range found {
		w := Waiting{Kind: x.Wait(), Text: x.Text, Questions: x.Questions, Next: x.Next}
		if t := b.s.Task(x.Subject); t != nil {
			w.Task = t.ID
			if x.Kind == blackboard.AlertBlocked {
				w.Text = fmt.Sprintf("blocked (%s): %s", t.BlockedFor().Words(), prose.OneLine(t.BlockedReason, reasonInLists))
			}
		}
		waits = append(waits, w)
	}
	for _, x := range odd {
		warnings = append(warnings, x.String())
	}
	return waits, warnings
}

// gaveUp removes settled cases: the goal is reached, or the task is done.
func (b builder) gaveUp() []GaveUp {
	list := []GaveUp{}
	if b.s.Goal == nil || b.s.Goal.Status != blackboard.InProgress {
		return list
	}
	for _, g := range b.f.GaveUp {
		if t := b.s.Task(g.Task); t == nil && g.Task != "" || t != nil && t.Status.Terminal() {
			continue
		}
		list = append(list, g)
	}
	return list
}

// A Project is one of this person's projects in a list of them.
type Project struct {
	Root    string `json:"root"`
	Name    string `json:"name"`
	Goal    string `json:"goal,omitempty"`
	Status  string `json:"status"`
	AtWork  int    `json:"at_work"`           // agents that work on a task
	Waiting string `json:"waiting,omitempty"` // what waits for the person
}

// waitWords are the kinds of what waits for a person, as a list of projects counts them.
var waitWords = []struct{ kind, word string }{{"question", "question"}, {"blocked", "blocked task"}, {"merge_approval", "merge to approve"}, {"draft", "plan to review"},
	{"hold", "task on hold"}, {"control", "order that stops it"}, {"breaker", "open breaker"}, {"integration", "question of the branch"}, {"goal", "next goal"}}

// ProjectOf returns the line of a project whose board is v.
func ProjectOf(root string, v View) Project {
	p := Project{Root: root, Name: filepath.Base(root), Goal: prose.OneLine(v.Goal.Description, 120), Status: cmp.Or(v.Goal.Status, "no goal")}
	if len(v.Control) > 0 {
		p.Status += ", " + strings.ToLower(v.Control[0].Name)
	}
	for _, a := range v.Agents {
		if a.Task != "" && a.Liveness == string(blackboard.Alive) {
			p.AtWork++
		}
	}
	n := map[string]int{}
	for _, w := range v.Waiting {
		n[w.Kind] += max(1, len(w.Questions))
	}
	var list []string
	for _, w := range waitWords {
		if n[w.kind] > 0 {
			list = append(list, prose.Count(n[w.kind], w.word))
		}
	}
	if len(v.Wrong) > 0 {
		list = []string{"an invalid board"}
	}
	p.Waiting = strings.Join(list, ", ")
	return p
}

// Cells are the columns of the project in a list: its name, how it stands, what waits for the person, and where it is.
func (p Project) Cells() []string {
	status := p.Status
	if p.AtWork > 0 {
		status += fmt.Sprintf(", %d at work", p.AtWork)
	}
	return []string{plain(p.Name), plain(status), p.Waiting, plain(p.Root)}
}
