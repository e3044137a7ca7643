package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
	"liza/pkg/face/dashboard"
	"liza/pkg/team/findings"

	"liza/pkg/verb/integration"
)

const (
	shownTasks   = 10 // tasks of a list at the end of a run
	shownCommits = 3  // of a task
)

// builtText says at the end of a run what was built, where it is, and how to take it over; "" when nothing was.
func builtText(b integration.Built, titles map[string]string) string {
	if len(b.Tasks) == 0 {
		return ""
	}
	var t strings.Builder
	fmt.Fprintf(&t, "built: %s merged (%s)\n", prose.Count(len(b.Tasks), "task"), prose.Few(b.Tasks, shownTasks))
	brought := map[string][]git.Logged{}
	for _, w := range b.Work {
		brought[w.Task] = w.Commits
	}
	for _, id := range b.Tasks[:min(len(b.Tasks), shownTasks)] {
		if titles[id] != "" && titles[id] != id {
			fmt.Fprintf(&t, "  %s: %s\n", id, titles[id])
		} else if len(brought[id]) > 0 {
			fmt.Fprintf(&t, "  %s\n", id)
		}
		for i, c := range brought[id] {
			if i == shownCommits {
				fmt.Fprintf(&t, "    and %s more\n", prose.Count(len(brought[id])-i, "commit"))
				break
			}
			fmt.Fprintf(&t, "    %.9s %s\n", c.Hash, dashboard.Cut(c.Subject, listWidth))
		}
	}
	if b.Base == "" {
		fmt.Fprintf(&t, "where: branch %s\n", b.Branch)
		return t.String()
	}
	fmt.Fprintf(&t, "where: branch %s, %s ahead of %s", b.Branch, prose.Count(b.Commits, "commit"), b.Base)
	if b.Stat != "" {
		fmt.Fprintf(&t, ": %s", b.Stat)
	}
	t.WriteString("\n")
	if b.Behind > 0 {
		fmt.Fprintf(&t, "%s; liza sync merges them first\n", b.Lag)
	}
	if b.Commits > 0 {
		fmt.Fprintf(&t, "look:  %s\ntake over: %s\n", b.Look, b.TakeOver)
	}
	return t.String()
}

// openTask is something that is not done at the end of a run, and the command that moves it.
type openTask struct {
	Task   string            `json:"task,omitempty"` // "": it is about the whole team
	Status blackboard.Status `json:"status,omitempty"`
	Text   string            `json:"text"`
	Next   string            `json:"next,omitempty"` // "": it follows when another one moves
}

// openTasks are what waits for the person, and then the other tasks that are not done.
func openTasks(s *blackboard.State, v dashboard.View) []openTask {
	list, told := []openTask{}, map[string]bool{}
	status := map[string]blackboard.Status{}
	for _, t := range v.Tasks {
		status[t.ID] = t.Status
	}
	for _, w := range v.Waiting {
		if w.Kind != "goal" {
			told[w.Task] = true
			list = append(list, openTask{w.Task, status[w.Task], w.Text, w.Next})
		}
	}
	for _, t := range v.Tasks {
		if t.Status.Terminal() || told[t.ID] {
			continue
		}
		next := "liza run"
		switch {
		case len(t.WaitsFor) > 0:
			next = ""
		case t.Status == blackboard.Approved:
			next = cmp.Or(findings.MergesWait(s), next)
		}
		list = append(list, openTask{t.ID, t.Status, cmp.Or(t.Note, strings.ToLower(strings.ReplaceAll(string(t.Status), "_", " "))), next})
	}
	return list
}

// openText lists what is open, each with the command that moves it.
func openText(open []openTask) string {
	if len(open) == 0 {
		return ""
	}
	var t strings.Builder
	t.WriteString("open:\n")
	for i, o := range open {
		if i == shownTasks {
			fmt.Fprintf(&t, "  and %d more: liza status\n", len(open)-i)
			break
		}
		fmt.Fprintf(&t, "  %s\n", strings.TrimPrefix(o.Task+": ", ": ")+dashboard.Cut(o.Text, listWidth))
		if o.Next != "" {
			fmt.Fprintf(&t, "    %s\n", o.Next)
		}
	}
	return t.String()
}

// greet says at the start of a run what the person should know of the integration branch.
func (c *factory) greet(ctx context.Context, s *blackboard.State) error {
	adopts := s.Tip() == ""
	b, err := c.service.Integration.SeeIntegration(ctx, s)
	if err != nil {
		return err
	}
	if adopts && b.Tip != "" {
		c.screen.say(c.env.System.Now(), false, "the board did not remember where Liza left %s; it is taken as it is, at %.9s", b.Branch, b.Tip)
	}
	return nil
}

// ran is the result of `liza run` and `liza-agent`.
type ran struct {
	Goal   string         `json:"goal"`
	Status string         `json:"status"`
	Counts map[string]int `json:"tasks"`
	Time   string         `json:"time"`

	Unverified string            `json:"unverified,omitempty"` // how many merges the checks did not verify
	Built      integration.Built `json:"built"`
	Open       []openTask        `json:"open"` // what is not done, and the command that moves it

	cost   string            // a line for people
	titles map[string]string // of tasks
}

// summary gives the state of the board at the end of a run.
func (c *factory) summary(ctx context.Context, began time.Time) ran {
	r := ran{Counts: map[string]int{}, Open: []openTask{}, Time: c.env.System.Now().Sub(began).Round(100 * time.Millisecond).String()}
	s, err := c.service.Board.View(ctx)
	if err != nil || s.Goal == nil {
		return r
	}
	r.Goal, r.Status = s.Goal.ID, s.Goal.Status
	r.Built = c.service.Integration.Built(ctx, s)
	if tasks, err := c.service.Board.Histories().SprintTasks(s); err == nil {
		r.Unverified = blackboard.UnverifiedText(tasks)
	}
	if v, err := sourceOf(c.service).View(ctx); err == nil {
		r.Open = openTasks(s, v)
	}
	r.cost = costLine(s.Usage)
	r.titles = map[string]string{}
	for t := range s.Tasks() {
		r.titles[t.ID] = prose.OneLine(t.TitleText(), 60)
	}
	for t := range s.Tasks() {
		r.Counts[string(t.Status)]++
	}
	return r
}

func (r ran) String() string {
	var parts []string
	for _, st := range blackboard.Statuses {
		if n := r.Counts[string(st)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, st))
		}
	}
	status := r.Status
	if r.Unverified != "" {
		status += ", " + r.Unverified
	}
	return fmt.Sprintf("goal %s: %s after %s", status, cmp.Or(strings.Join(parts, ", "), "no tasks"), r.Time)
}

// costLine is what a run says of costs at its end; what is not known is never zero.
func costLine(u *blackboard.Usage) string {
	switch {
	case u == nil:
		return ""
	case u.UnknownCostRuns > 0 && u.CostCents == 0:
		return fmt.Sprintf("cost:  unknown, %s\n", prose.Count(u.AgentRuns, "run"))
	case u.UnknownCostRuns > 0:
		return fmt.Sprintf("cost:  %s in %s, %d of them of unknown cost\n", u.CostCents.Dollars(), prose.Count(u.AgentRuns, "run"), u.UnknownCostRuns)
	}
	return fmt.Sprintf("cost:  %s in %s\n", u.CostCents.Dollars(), prose.Count(u.AgentRuns, "run"))
}
