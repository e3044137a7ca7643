package prompt

import (
	"cmp"
	"sort"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// conversation has the messages of people to the planner, and the answers.
type conversation struct {
	state *blackboard.State
	plan  *blackboard.Plan // plan that the request became, or nil
	kind  Kind             // kind of the reader
	first bool             // the plan is being made: the goal is the message
	most  int              // most messages in the prompt
}

func conversationOf(in *Input) conversation {
	_, plan := in.goalOf()
	return conversation{in.State, plan, in.Kind, planningOf(in).first(), count(in.Messages, 10)}
}

// talked makes a section's text of the conversation.
func talked(text func(conversation) string) func(*Input) string {
	return func(in *Input) string { return text(conversationOf(in)) }
}

// news are the notes without a task that no planner run has seen.
func (c conversation) news() []*blackboard.Note {
	var list []*blackboard.Note
	for _, n := range c.state.HumanNotes {
		if n.For == "" && len(n.SeenBy) == 0 {
			list = append(list, n)
		}
	}
	return list
}

// caller says whose request it is (specs/roles-and-knowledge.md#9.7), and which secrets there are.
func (c conversation) caller() string {
	name, caller := c.callerOf()
	var l lines
	l.add("The request comes from %s, whose role is %s.", name, caller)
	l.named("Secrets that are known, by name", strings.Join(c.state.Secrets, ", "))
	return l.String()
}

func (c conversation) callerOf() (name, caller string) {
	if c.plan != nil && c.plan.Caller != nil {
		name, caller = c.plan.Caller.Name, c.plan.Caller.Role
	}
	for _, n := range c.news() {
		if n.By != "" {
			name, caller = n.By, n.CallerRole
		}
	}
	return cmp.Or(name, "a person"), cmp.Or(caller, "admin")
}

// newMessage is the goal on the first planning, and the new notes.
func (c conversation) newMessage() string {
	var l lines
	if c.first && c.state.Goal != nil {
		l.add("%s", strings.TrimSpace(c.state.Goal.Description))
	}
	for _, n := range c.news() {
		l.add("- %s%s: %s", n.ID, after(" by ", n.By), strings.TrimSpace(n.Message))
	}
	for _, q := range c.state.Questions {
		if q.Task == "" && q.Status == blackboard.QuestionAnswered && !q.OfCheck() {
			l.add("- you asked: %s\n  answer%s: %s", oneLine(q.Text, 500), after(" by ", q.By), strings.TrimSpace(q.Answer))
		}
	}
	return l.String()
}

// messages are the conversation so far: notes without a task that were seen, and the texts
// that were delivered, oldest first.
func (c conversation) messages() string {
	type message struct {
		at   time.Time
		text string
	}
	var all []message
	through, summarized := c.summarizedThrough()
	raw := map[*blackboard.Note]bool{}
	for _, e := range transition.RawEntries(c.state) {
		raw[e.Note] = true
	}
	add := func(at blackboard.Time, text string) {
		t, _ := at.At()
		all = append(all, message{t, text})
	}
	for _, n := range c.state.HumanNotes {
		if n != nil && n.For == "" && (c.kind != Planner || len(n.SeenBy) > 0) && (!summarized || raw[n]) {
			add(n.Timestamp, "- "+cmp.Or(n.By, "a person")+": "+strings.TrimSpace(n.Message))
		}
	}
	for t := range c.state.Tasks() {
		if t.KindOf() == blackboard.MessageTask && t.Status == blackboard.Merged && t.Output != nil {
			at := blackboard.Time("")
			if h := t.LastEntry(blackboard.HistoryMerged); h != nil {
				at = h.Time
			}
			if t, ok := at.At(); summarized && (!ok || !t.After(through)) {
				continue
			}
			add(at, "- told the user: "+strings.TrimSpace(t.Output.Text))
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].at.Before(all[j].at) })
	if len(all) > c.most {
		all = all[len(all)-c.most:]
	}
	var l lines
	for _, m := range all {
		l.add("%s", m.text)
	}
	return l.String()
}

func (c conversation) summarizedThrough() (time.Time, bool) {
	if c.state.Goal == nil {
		return time.Time{}, false
	}
	return c.state.Goal.SummarizedThrough.At()
}
