package transition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// A text is a note that a person wants to reach a run while it works (specs/protocol.md#13.13). It goes down a ladder: into the
// running turn, into the resumed conversation, with the next command of liza, with the next prompt, and when its task is over into a
// proposal. Its receipt says where it is; what was given to one run is never new to another.

// Reach is what is known of the run that a text is for.
type Reach struct {
	Over    bool // the task is terminal
	Running bool
	Speaks  bool // its program takes texts while it works
	Resumes bool // its program can go on in its conversation
}

// Rung is the first one of the ladder that a text can take.
func Rung(when string, r Reach) string {
	switch {
	case r.Over:
		return blackboard.ByProposal
	case !r.Running || when == blackboard.WhenAfter:
		return blackboard.ByPrompt
	case r.Speaks:
		return blackboard.ByTurn
	case when == blackboard.WhenNow && r.Resumes:
		return blackboard.ByResume
	}
	return blackboard.ByCommand
}

// TellText stores a text for the runs of a task, or for the planner. People may, a planner may tell the runs of tasks, and
// Liza itself tells a run about its limits.
func TellText(s *blackboard.State, n *blackboard.Note, a Actor, now time.Time) error {
	by, err := identify(s, a, now)
	switch {
	case err != nil:
		return err
	case by.party&(ByHuman|BySystem|ByPlanner) == 0:
		return refuse("G03", ExitRefused, "liza discover TEXT --task ID", "%s may not tell an agent; human or planner may", article(a, by.party))
	case by.party&ByPlanner != 0 && n.For == "":
		return refuse("G03", ExitRefused, "liza tell TASK TEXT", "a planner tells the agents of tasks, not a planner")
	case blank(n.Message):
		return refuse("G09", ExitUsage, "liza help tell", "the text is empty")
	case n.For != "" && s.Task(n.For) == nil:
		return unknownTask(s, n.For)
	case n.ID != "" && slices.ContainsFunc(s.HumanNotes, func(old *blackboard.Note) bool { return old.ID == n.ID }):
		return ErrAlreadyDone
	}
	if n.When == "" {
		n.When = blackboard.WhenNext
	}
	n.Receipt = &blackboard.Receipt{State: blackboard.TextQueued, At: blackboard.TimeOf(now)}
	addNote(s, n, a, now)
	if t := s.Task(n.For); t != nil && t.Status.Terminal() {
		proposeTexts(s, t, now)
	}
	return nil
}

// TellRun lets Liza itself say something to the run of an agent that is under way: once for each key, and to that run only.
func TellRun(s *blackboard.State, agent, key, text string, now time.Time) {
	e := s.Agents[agent]
	if e == nil || e.Child == nil || e.Child.Task == "" || e.Child.RunID == "" {
		return
	}
	id := "liza-" + key + "-" + e.Child.RunID
	if !slices.ContainsFunc(s.HumanNotes, func(n *blackboard.Note) bool { return n.ID == id }) {
		s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: id, Timestamp: blackboard.TimeOf(now), Message: text, For: e.Child.Task, By: blackboard.System,
			When: blackboard.WhenNext, Run: e.Child.RunID, Receipt: &blackboard.Receipt{State: blackboard.TextQueued, At: blackboard.TimeOf(now)}})
	}
}

// NearLimit says what a task has left of the limits that come near with running, the usage so far of its present run; "" when none does.
func NearLimit(s *blackboard.State, t *blackboard.Task, running Spent) string {
	var left []string
	for _, m := range meters(s, t, running)[:3] {
		if s.WarnPercent > 0 && m.near(s.WarnPercent) && !m.value.Reaches(m.limit, 0) {
			left = append(left, fmt.Sprintf("%s %s", m.value.Left(m.limit), unitOf[m.key]))
		}
	}
	if left == nil {
		return ""
	}
	return strings.Join(left, " and ") + " left: commit what you have"
}

// TakeTexts gives the texts that can go into the running turn to the run of an agent, before they are said: who looks later finds that
// somebody has them. It returns copies.
func TakeTexts(s *blackboard.State, agent string, now time.Time) (taken []*blackboard.Note) {
	for _, n := range s.NewNotes(agent) {
		if n.Queued() && n.When != blackboard.WhenAfter {
			n.SeenBy = append(n.SeenBy, agent)
			deliver(s, n, agent, blackboard.ByTurn, s.Agents[agent].Child.RunID, now)
			copied := *n
			taken = append(taken, &copied)
		}
	}
	return taken
}

// SeeTexts notes that the model has texts that were given to a run: those of ids, and with how those that came in that way.
func SeeTexts(s *blackboard.State, agent, run string, ids, how []string, now time.Time) {
	for _, n := range s.HumanNotes {
		if n.GivenTo(run) && (slices.Contains(ids, n.ID) || slices.Contains(how, n.Receipt.How)) {
			n.Receipt.State, n.Receipt.At = blackboard.TextSeen, blackboard.TimeOf(now)
			told(s, n, agent, blackboard.ActionNoteSeen, n.ID, now)
		}
	}
}

// MoveTexts sends texts that a run could not get another way, with the reason.
func MoveTexts(s *blackboard.State, agent, run, reason string, ids []string, now time.Time) {
	for _, n := range s.HumanNotes {
		if n.GivenTo(run) && slices.Contains(ids, n.ID) {
			requeue(s, n, agent, reason, now)
		}
	}
}

// PromptHad notes that the prompt of a run that begins had the notes ids. resumed: it goes on in its conversation.
func PromptHad(s *blackboard.State, agent string, ids []string, resumed bool, now time.Time) {
	e := s.Agents[agent]
	if e == nil || e.Child == nil {
		return
	}
	requeueLost(s, e.Child.Task, now)
	for _, n := range s.HumanNotes {
		if !slices.Contains(ids, n.ID) {
			continue
		}
		if !n.SeenBy.Has(agent) {
			n.SeenBy = append(n.SeenBy, agent)
		}
		if n.Queued() {
			how := blackboard.ByPrompt
			if resumed && n.When == blackboard.WhenNow {
				how = blackboard.ByResume
			}
			deliver(s, n, agent, how, e.Child.RunID, now)
		}
	}
}

// endTexts settles what a run that has ended was given. What it had in its prompt, or by a command, it has seen when it came to its
// end; what was said to it and not repeated is told again. Liza's own words go with the run.
func endTexts(s *blackboard.State, agent, run string, finished bool, now time.Time) {
	s.HumanNotes = slices.DeleteFunc(s.HumanNotes, func(n *blackboard.Note) bool { return n.Liza() && n.Run == run })
	for _, n := range s.HumanNotes {
		switch {
		case !n.GivenTo(run):
		case finished && n.Receipt.How != blackboard.ByTurn:
			SeeTexts(s, agent, run, []string{n.ID}, nil, now)
		default:
			requeue(s, n, agent, runEnded, now)
		}
		if t := s.Task(n.For); t != nil && t.Status.Terminal() {
			proposeTexts(s, t, now)
		}
	}
}

// proposeTexts makes proposals for another task of the texts that no run of a task will get.
func proposeTexts(s *blackboard.State, t *blackboard.Task, now time.Time) {
	requeueLost(s, t.ID, now)
	for _, n := range s.HumanNotes {
		if n.For != t.ID || !n.Queued() {
			continue
		}
		if !n.Liza() {
			d := &blackboard.Discovery{ID: nextID("disc-", s.Discovered, func(d *blackboard.Discovery) string { return d.ID }), By: n.By, During: t.ID, Description: n.Message,
				Severity: "low", Urgency: "deferred", Recommendation: "a task for what was said when " + t.ID + " was over", Created: blackboard.TimeOf(now)}
			s.Discovered = append(s.Discovered, d)
			n.Receipt.Moved = "the task is " + string(t.Status) + "; see " + d.ID
		}
		deliver(s, n, blackboard.System, blackboard.ByProposal, "", now)
	}
}

// requeueLost queues the texts of a task again that were given to runs whose supervisor was killed: nobody wrote their end.
func requeueLost(s *blackboard.State, task string, now time.Time) {
	under := map[string]bool{}
	for _, e := range s.Agents {
		if e.Child != nil {
			under[e.Child.RunID] = true
		}
	}
	for _, n := range s.Texts(task) {
		if n.GivenTo(n.Receipt.Run) && !under[n.Receipt.Run] {
			requeue(s, n, blackboard.System, runEnded, now)
		}
	}
}

// runEnded is why a text is told again.
const runEnded = "the run ended before it had it"

func deliver(s *blackboard.State, n *blackboard.Note, agent, how, run string, now time.Time) {
	n.Receipt.State, n.Receipt.How, n.Receipt.Run, n.Receipt.At = blackboard.TextDelivered, how, run, blackboard.TimeOf(now)
	told(s, n, agent, blackboard.ActionTold, n.ID+": "+n.Receipt.String(), now)
}

func requeue(s *blackboard.State, n *blackboard.Note, agent, reason string, now time.Time) {
	*n.Receipt = blackboard.Receipt{State: blackboard.TextQueued, Moved: reason, At: blackboard.TimeOf(now)}
	told(s, n, agent, blackboard.ActionTold, n.ID+": "+n.Receipt.String(), now)
}

func told(s *blackboard.State, n *blackboard.Note, agent string, action blackboard.Action, detail string, now time.Time) {
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: agent, Action: action, Task: n.For, Detail: detail})
}
