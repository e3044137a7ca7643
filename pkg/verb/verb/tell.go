package verb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
)

// maxText is how many bytes a text for a running program may have: it goes into a conversation, and cannot be shortened there.
const maxText = 8 << 10

// ThePlanner is to whom a text is told that is for no task.
const ThePlanner = "planner"

// TellInput is a text for those who work on a task, or a note for the planner.
type TellInput struct {
	To    string `json:"to,omitempty" arg:"[TASK|AGENT|planner]" help:"task, or agent that works on it, or planner" unset:"with --list, all"`
	Text  string `json:"text,omitempty" arg:"[TEXT]" help:"what it is told"`
	At    string `json:"at,omitempty" word:"FILE:LINE" faces:"cli,http" help:"about this line or file of the task's change; . is the whole change"`
	Now   bool   `json:"now,omitempty" help:"at once: a program that takes no texts while it works is interrupted, and goes on with it"`
	After bool   `json:"after,omitempty" help:"with the prompt of the next run"`
	ID    string `json:"id,omitempty" word:"KEY" help:"key of the text; a second one with the same key changes nothing"`
	List  bool   `json:"list,omitempty" help:"show where the texts are"`
}

// Told is the result of tell: the text with where it is, or with List all of them.
type Told struct {
	ID      string     `json:"id,omitempty"`
	Task    string     `json:"task,omitempty"`
	Already bool       `json:"already_done,omitempty"`
	Reaches string     `json:"reaches,omitempty"` // who gets it, and how
	Texts   []TextLine `json:"texts,omitempty"`
}

// TextLine is where one text is.
type TextLine struct {
	ID    string          `json:"id"`
	Task  string          `json:"task,omitempty"`
	By    string          `json:"by"`
	Text  string          `json:"text"`
	When  string          `json:"when"`
	State string          `json:"state"` // queued, delivered or seen
	How   string          `json:"how,omitempty"`
	Run   string          `json:"run,omitempty"`
	At    blackboard.Time `json:"at"`
	Moved string          `json:"moved,omitempty"`
	Where string          `json:"where"` // the same in words
}

// TextLines are the texts for a task, "" for all, without those that Liza itself says.
func TextLines(s *blackboard.State, task string) []TextLine {
	list := []TextLine{}
	for _, n := range s.HumanNotes {
		if r := n.Receipt; r != nil && !n.Liza() && (task == "" || n.For == task) {
			list = append(list, TextLine{n.ID, n.For, n.By, n.Message, n.When, r.State, r.How, r.Run, r.At, r.Moved, r.String()})
		}
	}
	return list
}

// Tell says a text to those who work on a task, on the first rung of the ladder that their program has (specs/protocol.md#13.13).
func (v *Service) Tell(ctx context.Context, in TellInput) (Told, error) {
	if err := v.Board.Clean(field("the text", &in.Text)); err != nil {
		return Told{}, err
	}
	when, limit := blackboard.WhenNext, maxText
	switch {
	case in.Now:
		when = blackboard.WhenNow
	case in.After:
		when = blackboard.WhenAfter
	}
	if in.To == ThePlanner {
		limit = maxNote
	}
	switch {
	case in.List:
		s, err := v.Board.View(ctx)
		if err != nil {
			return Told{}, err
		}
		task, err := addressee(s, in.To)
		return Told{Texts: TextLines(s, task)}, err
	case in.To == "":
		return Told{}, board.WrongUsage("liza help tell", "tell whom? name a task, an agent, or planner")
	case in.Now && in.After:
		return Told{}, board.WrongUsage("liza help tell", "--now and --after exclude each other")
	case len(in.Text) > limit:
		return Told{}, board.WrongUsage("liza help tell", "the text has %d bytes; %d is the limit: put the rest into a file of the repository", len(in.Text), limit)
	}
	var out Told
	err := v.Board.Update(ctx, "tell", func(s *blackboard.State, a transition.Actor) error {
		n := &blackboard.Note{ID: in.ID, Message: in.Text, When: when}
		if a.ID == blackboard.Human && a.Inside == "" {
			n.By, n.CallerRole = v.Board.Caller.Person, v.Board.CallerRole(v.Board.Caller.Person)
		}
		if in.To == ThePlanner {
			n.When = ""
			if err := transition.AddNote(s, n, a, v.Board.Now()); err != nil {
				return err
			}
			out = Told{ID: n.ID, Reaches: textReaches(s, n)}
			return nil
		}
		task, err := addressee(s, in.To)
		if err != nil {
			return err
		}
		n.For = task
		if err := transition.TellText(s, n, a, v.Board.Now()); err != nil {
			return err
		}
		out = Told{ID: n.ID, Task: task, Reaches: textReaches(s, n)}
		return nil
	})
	if transition.IsAlreadyDone(err) {
		return Told{ID: in.ID, Already: true}, nil
	}
	return out, err
}

// addressee is the task that a task or an agent stands for; "" is the planner's.
func addressee(s *blackboard.State, to string) (task string, err error) {
	e := s.Agents[to]
	switch {
	case to == "" || e == nil || s.Task(to) != nil:
		return to, nil
	case e.Role == blackboard.RolePlanner:
		return "", nil
	case e.CurrentTask != "":
		return e.CurrentTask, nil
	case e.Child != nil && e.Child.Task != "":
		return e.Child.Task, nil
	}
	return "", &transition.Refusal{Guard: "G06", Exit: transition.ExitRefused, Next: "liza tell TASK TEXT", Message: to + " works on nothing; a text for a task waits for its next run"}
}

// runsOf are the agents whose programs work on a task now.
func runsOf(s *blackboard.State, task string) (ids []string) {
	for id, a := range s.Agents {
		if a.Child != nil && a.Child.Task == task {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// textReaches says who gets a text, and how.
func textReaches(s *blackboard.State, n *blackboard.Note) string {
	t := s.Task(n.For)
	if t == nil {
		return "the planner gets it with its next run"
	}
	running := runsOf(s, n.For)
	r := transition.Reach{Over: t.Status.Terminal(), Running: len(running) > 0}
	for _, id := range running {
		r.Speaks, r.Resumes = s.Agents[id].Child.Speaks, s.Agents[id].Child.Resumes
	}
	who := strings.Join(running, ", ")
	switch transition.Rung(n.When, r) {
	case blackboard.ByProposal:
		return fmt.Sprintf("%s is %s: it is a proposal for another task; next: liza status", t.ID, t.Status)
	case blackboard.ByTurn:
		return who + " gets it in its running turn, with the next call of a tool"
	case blackboard.ByResume:
		return who + " is interrupted, and goes on in its conversation with it"
	case blackboard.ByCommand:
		return who + " gets it with its next liza command, else with its next run"
	}
	return "the next run for " + t.ID + " gets it"
}
