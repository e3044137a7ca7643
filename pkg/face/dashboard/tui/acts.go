package tui

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/verb/integration"
	"liza/pkg/verb/verb"
)

// actKeys are what a person may do. Each calls the method of the command with that name.
func actKeys() []key {
	return []key{
		{names: []string{"a"}, name: "answer", help: "answer a question", can: may(func(d acts) bool { return d.question() != nil }), do: acting(acts.askAnswer)},
		{names: []string{"m"}, name: "approve", help: "approve the merge", can: may(acts.canApprove), do: acting(acts.askApprove)},
		{names: []string{"x"}, name: "reject", help: "send the work back to its coder, with a reason", can: may(acts.canApprove), do: acting(acts.askReject)},
		{names: []string{"w"}, name: "pick", help: "let this attempt go on; the others are kept in the attic", can: may(acts.pickable), do: acting(acts.askPick)},
		{names: []string{"c"}, name: "comment", help: "say something about this line to the coder", can: may(acts.canComment), do: acting(acts.askComment)},
		{names: []string{"U"}, name: "unblock", help: "let a blocked task start over", can: may(is(blackboard.Blocked)), do: acting(acts.askUnblock)},
		{names: []string{"f"}, name: "finalize", help: "make a draft a task that agents take", can: may(is(blackboard.Draft)), do: acting(acts.finalize)},
		{names: []string{"i"}, name: "accept", help: "accept the integration branch where it is now", can: may(waiting("integration")), do: acting(acts.askAccept)},
		{names: []string{"I"}, name: "restore", help: "put the integration branch back", can: may(waiting("integration")), do: acting(acts.askRestore)},
		{names: []string{"r"}, name: "resume", help: "let the team go on; acknowledge the circuit breaker", can: may(acts.stopped), do: acting(acts.askResume)},
		{names: []string{"u"}, name: "unhold", help: "let agents take the task again", can: may(acts.held), do: acting(acts.unhold)},
		{names: []string{"n"}, name: "note", help: "tell the task's agent something, or leave a note for the planner", can: func(m Model) bool { return m.read }, do: acting(acts.askNote)},
		{names: []string{"h"}, name: "hold", help: "keep agents from taking the task", can: may(acts.holdable), do: acting(acts.askHold)},
		{names: []string{"p"}, name: "pause", help: "let nothing new start", can: func(m Model) bool { return m.read && len(m.view.Control) == 0 }, do: acting(acts.askPause)},
		{names: []string{"R"}, name: "release", help: "free the claim of the task", can: may(acts.claimed), do: acting(acts.askRelease)},
		{names: []string{"e"}, name: "edit", help: "open the worktree of the task in your editor", can: Model.hasFolder, do: func(m Model) (Model, tea.Cmd) { return m.outside(m.o.Editor) }},
		{names: []string{"s"}, name: "shell", help: "a shell in the worktree of the task", can: Model.hasFolder, do: func(m Model) (Model, tea.Cmd) { return m.outside(m.o.Shell) }},
		{names: []string{"O"}, name: "server", help: "open a server that the agent has started in your browser, until you leave", can: may(acts.atWork), do: func(m Model) (Model, tea.Cmd) { return m.carryOut(m.askServer()) }},
		{names: []string{"S"}, name: "stop", help: "end the run of the agent; it takes no work until B", can: may(func(d acts) bool { a := d.agent(); return a != nil && a.Stopped == "" }), do: acting(acts.askStop)},
		{names: []string{"B"}, name: "begin again", help: "restart the agent, perhaps with another task", can: may(func(d acts) bool { a := d.agent(); return a != nil && (a.Stopped != "" || a.Task != "") }), do: acting(acts.askRestart)},
		{names: []string{"P"}, name: "priority", help: "change the priority of the task", can: may(acts.editable), do: acting(acts.askPriority)},
		{names: []string{"E"}, help: "change the title of the task", can: may(acts.editable), do: acting(acts.askTitle)},
		{names: []string{"+"}, name: "new task", help: "add a task", can: func(m Model) bool { return m.read }, do: acting(acts.askTask)},
		{names: []string{"N"}, help: "leave a note for the planner", can: func(m Model) bool { return m.read }, do: acting(func(d acts) step { return d.noteFor("") })},
		{names: []string{"D"}, help: "give the task up (abandon)", can: may(acts.abandonable), do: acting(acts.askAbandon)},
		{names: []string{"A"}, help: "abort the sprint: all agents are stopped", can: func(m Model) bool { return m.read && !m.acts().aborted() }, do: acting(acts.askAbort)},
	}
}

// acts is what a person can do: with the thing under the cursor, by the verbs.
type acts struct {
	sight
	under picked // what is under the cursor
	focus place
	at    int // the row of focus with the cursor
	verbs Verbs
}

func (m Model) acts() acts {
	at := m.focused()
	return acts{m.sight, m.picked(), at, m.scrolls[at].at, m.o.Verbs}
}

// A step is what an act leads to: a question to the person, something that takes a moment, or an answer at once.
type step struct {
	ask  *ask
	do   func(ctx context.Context) (string, error)
	said said
}

func asks(a ask) step                                        { return step{ask: &a} }
func does(do func(ctx context.Context) (string, error)) step { return step{do: do} }

// carryOut does what a step says.
func (m Model) carryOut(s step) (Model, tea.Cmd) {
	switch {
	case s.ask != nil:
		m.ask = s.ask
		return m, nil
	case s.do == nil:
		m.said = s.said
		return m, nil
	}
	m.acting++
	ctx, explain := m.ctx, m.explain
	return m, func() tea.Msg {
		text, err := s.do(ctx)
		if err != nil {
			p := explain(err)
			return saidMsg{text: p.Message, next: p.Next, failed: true}
		}
		return saidMsg{text: text}
	}
}

// acting returns what a key does whose step follows from what is under the cursor, may whether it can be pressed.
func acting(do func(acts) step) func(Model) (Model, tea.Cmd) {
	return func(m Model) (Model, tea.Cmd) { return m.carryOut(do(m.acts())) }
}

func may(can func(acts) bool) func(Model) bool { return func(m Model) bool { return can(m.acts()) } }

func (d acts) picks() *dashboard.Task { return d.task(d.under.task) }

func is(s blackboard.Status) func(acts) bool {
	return func(d acts) bool { t := d.picks(); return t != nil && t.Status == s }
}

func (s sight) waitingOf(kind, task string) *dashboard.Waiting {
	for i, w := range s.view.Waiting {
		if w.Kind == kind && (task == "" || w.Task == task) {
			return &s.view.Waiting[i]
		}
	}
	return nil
}

func waiting(kind string) func(acts) bool {
	return func(d acts) bool { return d.waitingOf(kind, "") != nil }
}

// question is the one that is meant: the one under the cursor, else the first of the task, else, where no
// task is meant, the first of all.
func (d acts) question() *dashboard.Question {
	p := d.under
	for i, w := range d.view.Waiting {
		for k, q := range w.Questions {
			if q.ID != "" && (q.ID == p.question || p.question == "" && (w.Task == p.task || d.task(p.task) == nil)) {
				return &d.view.Waiting[i].Questions[k]
			}
		}
	}
	return nil
}

func (d acts) askAnswer() step {
	q := *d.question()
	return asks(ask{head: "Answer " + q.ID, about: []string{q.Text}, label: "answer:", must: true, do: func(text string) step {
		return does(func(ctx context.Context) (string, error) {
			done, err := d.verbs.Answer(ctx, q.ID, text)
			said := q.ID + " is answered"
			if done.Unblocked {
				said += "; " + done.Task + " goes on"
			}
			return said, err
		})
	}})
}

func (d acts) canApprove() bool {
	w := d.waitingOf("merge_approval", cmp.Or(d.under.task, "-"))
	return w != nil && !w.Picks()
}

func (d acts) askApprove() step {
	t := *d.picks()
	about := []string{t.Title, d.waitingOf("merge_approval", t.ID).Text}
	return asks(ask{head: "Approve the merge of " + t.ID + "?", about: about, yesNo: true, do: func(string) step {
		return does(func(ctx context.Context) (string, error) {
			_, err := d.verbs.ApproveMerge(ctx, verb.MergeDecision{Task: t.ID})
			return "the merge of " + t.ID + " is approved", err
		})
	}})
}

func (d acts) askReject() step {
	id := d.under.task
	return asks(ask{head: "Send " + id + " back to its coder", label: "reason:", must: true, do: func(text string) step {
		return does(func(ctx context.Context) (string, error) {
			_, err := d.verbs.RejectMerge(ctx, verb.MergeDecision{Task: id, Reason: text})
			return id + " goes back to its coder", err
		})
	}})
}

// withReason asks why, and does something with a task.
func (d acts) withReason(head, said string, do func(ctx context.Context, id, reason string) error) step {
	id := d.under.task
	return asks(ask{head: fmt.Sprintf(head, id), label: "reason:", must: true, do: func(text string) step {
		return does(func(ctx context.Context) (string, error) { return fmt.Sprintf(said, id), do(ctx, id, text) })
	}})
}

func (d acts) askUnblock() step {
	return d.withReason("Let %s start over", "%s can be taken again", func(ctx context.Context, id, reason string) error {
		_, err := d.verbs.Unblock(ctx, verb.WayOut{Task: id, Reason: reason})
		return err
	})
}

func (d acts) askPick() step {
	return d.withReason("Let the attempt %s go on", "%s goes on", func(ctx context.Context, id, reason string) error {
		_, err := d.verbs.Pick(ctx, verb.PickInput{Task: id, Reason: reason})
		return err
	})
}

func (d acts) pickable() bool {
	t := d.picks()
	return t != nil && slices.ContainsFunc(t.Tries, func(x dashboard.Try) bool { return x.ID == t.ID && x.Pick })
}

func (d acts) askHold() step {
	return d.withReason("Keep agents from taking %s", "%s is on hold", func(ctx context.Context, id, reason string) error {
		_, err := d.verbs.Hold(ctx, id, reason)
		return err
	})
}

func (d acts) unhold() step {
	id := d.under.task
	return does(func(ctx context.Context) (string, error) {
		_, err := d.verbs.Unhold(ctx, id)
		return id + " can be taken again", err
	})
}

func (d acts) held() bool { t := d.picks(); return t != nil && t.Hold != "" }

func (d acts) holdable() bool {
	t := d.picks()
	return t != nil && t.Hold == "" && !t.Status.Terminal()
}

func (d acts) finalize() step {
	id := d.under.task
	return does(func(ctx context.Context) (string, error) {
		_, err := d.verbs.Finalize(ctx, []string{id})
		return id + " can be taken now", err
	})
}

func (d acts) askAccept() step {
	return d.askTip("Accept the integration branch where it is?", "the integration branch is accepted where it is", d.verbs.AcceptIntegration)
}

func (d acts) askRestore() step {
	return d.askTip("Put the integration branch back to where Liza left it? The other tip is saved.", "the integration branch is back", d.verbs.RestoreIntegration)
}

func (d acts) askTip(head, said string, do func(context.Context, string) (integration.Standing, error)) step {
	return asks(ask{head: head, about: []string{d.waitingOf("integration", "").Text}, label: "reason:", do: func(text string) step {
		return does(func(ctx context.Context) (string, error) {
			_, err := do(ctx, text)
			return said, err
		})
	}})
}

func (d acts) stopped() bool {
	return d.waitingOf("control", "") != nil || d.waitingOf("breaker", "") != nil
}

func (d acts) aborted() bool {
	for _, c := range d.view.Control {
		if c.Name == "ABORT" {
			return true
		}
	}
	return false
}

func (d acts) askResume() step {
	if w := d.waitingOf("breaker", ""); w != nil {
		return asks(ask{head: "Acknowledge the circuit breaker, and go on", about: []string{w.Text}, label: "note:", do: func(text string) step {
			return does(func(ctx context.Context) (string, error) {
				_, err := d.verbs.Resume(ctx, "", text)
				return "the team goes on", err
			})
		}})
	}
	return does(func(ctx context.Context) (string, error) {
		_, err := d.verbs.Resume(ctx, "", "")
		return "the team goes on", err
	})
}

func (d acts) askPause() step {
	return asks(ask{head: "Pause: nothing new starts, what runs goes on. r resumes.", label: "reason:", do: func(text string) step {
		return does(func(ctx context.Context) (string, error) {
			_, err := d.verbs.Pause(ctx, cmp.Or(text, "liza top"))
			return "paused; r resumes", err
		})
	}})
}

func (d acts) askNote() step {
	id := d.under.task
	if d.task(id) == nil {
		id = ""
	}
	return d.noteFor(id)
}

func (d acts) noteFor(id string) step {
	return asks(ask{head: "A note for " + cmp.Or(id, "the planner"), label: "note:", must: true, do: func(text string) step {
		return does(func(ctx context.Context) (string, error) {
			if id == "" {
				_, err := d.verbs.Tell(ctx, verb.TellInput{To: verb.ThePlanner, Text: text})
				return "the note for the planner is on the board", err
			}
			told, err := d.verbs.Tell(ctx, verb.TellInput{To: id, Text: text})
			return told.ID + ": " + told.Reaches, err
		})
	}})
}

func (d acts) askComment() step {
	id := d.focus.name
	path, at := d.diffPlace()
	where := cmp.Or(path, "the whole change")
	if at > 0 {
		where += fmt.Sprintf(":%d", at)
	}
	return asks(ask{head: "A comment on " + where + " for the coder of " + id, label: "comment:", must: true, do: func(text string) step {
		return does(func(ctx context.Context) (string, error) {
			_, err := d.verbs.Comment(ctx, verb.Comment{Task: id, Path: path, Line: at, Text: text})
			return "the coder of " + id + " gets the comment with its next prompt", err
		})
	}})
}

// agent is the one that is meant: the one under the cursor, or that works on the task.
func (d acts) agent() *dashboard.Agent {
	p := d.under
	for i, a := range d.view.Agents {
		if a.ID == p.agent && (a.Task == p.task || p.task == "") {
			return &d.view.Agents[i]
		}
	}
	return nil
}

func (d acts) askStop() step {
	a := *d.agent()
	about := []string{"It takes no work until B. What it has written is kept" + prose.After(", and others may take ", a.Task) + "."}
	return asks(ask{head: "Stop " + a.ID, about: about, label: "reason:", do: func(text string) step {
		return does(func(ctx context.Context) (string, error) {
			_, err := d.verbs.StopAgent(ctx, verb.AgentOrder{Agent: a.ID, Reason: text})
			return a.ID + " is stopped; B begins again", err
		})
	}})
}

func (d acts) askRestart() step {
	a := *d.agent()
	order := func(task string) step {
		return does(func(ctx context.Context) (string, error) {
			_, err := d.verbs.RestartAgent(ctx, verb.AgentOrder{Agent: a.ID, Task: task})
			return a.ID + " begins again" + prose.After(" with ", task), err
		})
	}
	if role, _, _ := blackboard.ParseAgentID(a.ID); role != blackboard.RoleCoder {
		return asks(ask{head: "Begin the run of " + a.ID + " again?", yesNo: true, do: order})
	}
	return asks(ask{head: "Begin again with " + a.ID, about: []string{"Empty: it takes the best task that there is."}, label: "task:", do: order})
}

func (d acts) editable() bool { t := d.picks(); return t != nil && !t.Status.Terminal() }

func (d acts) askPriority() step {
	t := *d.picks()
	return asks(ask{head: fmt.Sprintf("Priority of %s, now %d; 1 is the highest", t.ID, t.Priority), label: "priority:", must: true, do: func(text string) step {
		n, err := strconv.Atoi(text)
		if err != nil {
			return step{said: said{text: "'" + text + "' is not a whole number", failed: true}}
		}
		return d.edited(verb.TaskEdit{Task: t.ID, Priority: &n})
	}})
}

func (d acts) askTitle() step {
	t := *d.picks()
	return asks(ask{head: "Title of " + t.ID, label: "title:", must: true, input: newEditor(t.Title), do: func(text string) step {
		return d.edited(verb.TaskEdit{Task: t.ID, Title: text})
	}})
}

func (d acts) edited(e verb.TaskEdit) step {
	return does(func(ctx context.Context) (string, error) {
		done, err := d.verbs.EditTask(ctx, e)
		return strings.Join(append([]string{e.Task + " is changed"}, done.Notices...), "; "), err
	})
}

// askTask asks for what a task has to have, one after the other.
func (d acts) askTask() step {
	next := func(label, about string, do func(text string) step) func(text string) step {
		return func(string) step {
			return asks(ask{head: "A new task", about: []string{about}, label: label, must: true, do: do})
		}
	}
	var n verb.NewTask
	send := func(text string) step {
		n.Task.Scope, n.Task.Type, n.Fill = text, "task", true
		return does(func(ctx context.Context) (string, error) {
			done, err := d.verbs.AddTask(ctx, n)
			return strings.Join(append([]string{done.Task + " is on the board"}, done.Notices...), "; "), err
		})
	}
	scope := next("scope:", "What is in, and what is out? For example: greet.go and its tests.", send)
	criterion := next("done when:", "How does one see that it is done? For example: greet Ada prints \"Hello Ada\".", func(text string) step {
		n.Task.DoneWhen = text
		return scope("")
	})
	return next("what:", "What is to be done? The spec is that of the goal.", func(text string) step {
		n.Task.Description = text
		return criterion("")
	})("")
}

func (d acts) claimed() bool {
	t := d.picks()
	return t != nil && t.Who != "" && (t.Status == blackboard.Claimed || t.Status == blackboard.ReadyForReview)
}

// askRelease frees a claim. A holder that is alive is stopped: that is asked again.
func (d acts) askRelease() step {
	t := *d.picks()
	holder, live := t.Who, false
	for _, a := range d.view.Agents {
		live = live || a.ID == holder && a.Liveness == string(blackboard.Alive)
	}
	in := verb.ReleaseInput{Task: t.ID, Force: live}
	release := func() step {
		return does(func(ctx context.Context) (string, error) {
			done, err := d.verbs.Release(ctx, in)
			return t.ID + " is free again (" + string(done.Status) + ")", err
		})
	}
	return asks(ask{head: "Free the claim of " + holder + " on " + t.ID, label: "reason:", must: true, do: func(text string) step {
		in.Reason = text
		if !live {
			return release()
		}
		return asks(ask{head: holder + " is alive. Stop its program and free " + t.ID + " all the same?", about: []string{"What it has written is kept."},
			yesNo: true, do: func(string) step { return release() }})
	}})
}

func (d acts) abandonable() bool {
	t := d.picks()
	if t == nil || !t.Status.Known() || t.Status.Terminal() {
		return false
	}
	return t.Status != blackboard.Claimed && t.Status != blackboard.ReadyForReview && t.Status != blackboard.Approved
}

func (d acts) askAbandon() step {
	id := d.under.task
	return asks(ask{head: "Give " + id + " up", label: "reason:", must: true, do: func(text string) step {
		return asks(ask{head: "Give " + id + " up for good?", about: []string{"Tasks that depend on it are blocked with a question. Its work is saved under refs/liza/attic/."}, yesNo: true,
			do: func(string) step {
				return does(func(ctx context.Context) (string, error) {
					_, err := d.verbs.Abandon(ctx, verb.WayOut{Task: id, Reason: text})
					return id + " is given up", err
				})
			}})
	}})
}

func (d acts) askAbort() step {
	return asks(ask{head: "Abort the sprint", label: "reason:", must: true, do: func(text string) step {
		return asks(ask{head: "Stop all agents now?", about: []string{"Their programs are ended and their claims freed. r resumes the sprint later."}, yesNo: true,
			do: func(string) step {
				return does(func(ctx context.Context) (string, error) {
					_, err := d.verbs.Abort(ctx, text, false)
					return "aborted; r resumes", err
				})
			}})
	}})
}

func (d acts) atWork() bool { a := d.agent(); return a != nil && a.Task != "" }

func (m Model) askServer() step {
	a := m.acts().agent()
	return asks(ask{head: "Open a server of " + a.ID + " on " + a.Task, label: "port; empty: its only one:", do: func(text string) step {
		port, err := strconv.Atoi(cmp.Or(text, "0"))
		if err != nil || port < 0 || port > 65535 {
			return step{said: said{text: "'" + text + "' is not a port", failed: true}}
		}
		return does(func(ctx context.Context) (string, error) { return m.o.Open(ctx, a.ID, port) })
	}})
}

func (m Model) hasFolder() bool { return m.o.Folder(m.picked().task) != "" }

// outside leaves the terminal to another program for a while.
func (m Model) outside(program func(dir string) *exec.Cmd) (Model, tea.Cmd) {
	return m, tea.ExecProcess(program(m.o.Folder(m.picked().task)), func(err error) tea.Msg {
		if err != nil {
			return outsideMsg{text: "the program ended with an error: " + err.Error(), failed: true}
		}
		return outsideMsg{}
	})
}
