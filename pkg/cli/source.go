package cli

import (
	"cmp"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/dashboard/source"
	"liza/pkg/history"
	"liza/pkg/verb"
)

// source reads the project for a view that goes on, in the words of a vocabulary.
func (e *Env) source(d *verb.Service, view string) *source.Source {
	return &source.Source{Service: d, Facts: func(s *blackboard.State) dashboard.Facts {
		f := e.viewFacts(d, s, view)
		f.GaveUp = e.gaveUp(d)
		return f
	}}
}

// recentEntries is how far back in the journal a status looks for supervisors that gave up.
const recentEntries = 1000

// gaveUp are the supervisors that ended by themselves lately and have not come back.
func (e *Env) gaveUp(d *verb.Service) []dashboard.GaveUp {
	entries, err := (history.Journal{Path: d.Project.Journal()}).Read(history.Filter{Last: recentEntries})
	if err != nil {
		return nil // liza validate says what is wrong with the journal
	}
	last := map[string]blackboard.Entry{}
	var order []string
	for _, x := range entries {
		switch x.Action {
		case blackboard.ActionRegistered:
			delete(last, x.Agent)
		case blackboard.ActionAgentGaveUp:
			last[x.Agent] = x
			order = append(order, x.Agent)
		}
	}
	var list []dashboard.GaveUp
	for _, id := range order {
		x, open := last[id]
		if !open {
			continue
		}
		delete(last, id)
		next, _ := x.Extra["next"].(string)
		list = append(list, dashboard.GaveUp{Agent: id, Task: x.Task, Why: x.Detail, At: x.Timestamp, Next: cmp.Or(next, "liza status")})
	}
	return list
}

// viewFacts is what a view shows besides the state.
func (e *Env) viewFacts(d *verb.Service, s *blackboard.State, view string) dashboard.Facts {
	cfg := d.Config()
	f := dashboard.Facts{Now: d.Now(), Process: d.Facts(), ReviewMode: blackboard.ReviewMode(cfg.Review.Mode), HumanReview: cfg.Plan.HumanReview, Vocabulary: view}
	for _, o := range d.Orders(s) {
		f.Control = append(f.Control, dashboard.Control{Name: string(o.Control), Since: o.Since, Reason: o.Reason})
	}
	return f
}
