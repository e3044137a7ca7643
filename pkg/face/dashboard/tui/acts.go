package tui

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/verb/verb"
)

// actKeys are what a person may do. Each calls the method of the command with that name.
func actKeys() []key {
	return []key{
		{names: []string{"a"}, name: "answer", help: "answer a question", can: func(m Model) bool { return m.question() != nil }, do: Model.askAnswer},
		{names: []string{"m"}, name: "approve", help: "approve the merge", can: Model.canApprove, do: Model.askApprove},
		{names: []string{"x"}, name: "reject", help: "send the work back to its coder, with a reason", can: Model.canApprove, do: Model.askReject},
		{names: []string{"c"}, name: "comment", help: "say something about this line to the coder", can: Model.canComment, do: Model.askComment},
		{names: []string{"U"}, name: "unblock", help: "let a blocked task start over", can: is(blackboard.Blocked), do: Model.askUnblock},
		{names: []string{"f"}, name: "finalize", help: "make a draft a task that agents take", can: is(blackboard.Draft), do: Model.finalize},
		{names: []string{"i"}, name: "accept", help: "accept the integration branch where it is now", can: waiting("integration"), do: Model.askAccept},
		{names: []string{"I"}, name: "restore", help: "put the integration branch back", can: waiting("integration"), do: Model.askRestore},
		{names: []string{"r"}, name: "resume", help: "let the team go on; acknowledge the circuit breaker", can: Model.stopped, do: Model.askResume},
		{names: []string{"u"}, name: "unhold", help: "let agents take the task again", can: Model.held, do: Model.unhold},
		{names: []string{"n"}, name: "note", help: "leave a note for the task's agent, or for the planner", can: func(m Model) bool { return m.read }, do: Model.askNote},
		{names: []string{"h"}, name: "hold", help: "keep agents from taking the task", can: Model.holdable, do: Model.askHold},
		{names: []string{"p"}, name: "pause", help: "let nothing new start", can: func(m Model) bool { return m.read && len(m.view.Control) == 0 }, do: Model.askPause},
		{names: []string{"R"}, name: "release", help: "free the claim of the task", can: Model.claimed, do: Model.askRelease},
		{names: []string{"e"}, name: "edit", help: "open the worktree of the task in your editor", can: Model.hasFolder, do: func(m Model) (Model, tea.Cmd) { return m.outside(m.o.Editor) }},
		{names: []string{"s"}, name: "shell", help: "a shell in the worktree of the task", can: Model.hasFolder, do: func(m Model) (Model, tea.Cmd) { return m.outside(m.o.Shell) }},
		{names: []string{"S"}, name: "stop", help: "end the run of the agent; it takes no work until B", can: func(m Model) bool { a := m.agent(); return a != nil && a.Stopped == "" }, do: Model.askStop},
		{names: []string{"B"}, name: "begin again", help: "restart the agent, perhaps with another task", can: func(m Model) bool { a := m.agent(); return a != nil && (a.Stopped != "" || a.Task != "") }, do: Model.askRestart},
		{names: []string{"P"}, name: "priority", help: "change the priority of the task", can: Model.editable, do: Model.askPriority},
		{names: []string{"E"}, help: "change the title of the task", can: Model.editable, do: Model.askTitle},
		{names: []string{"+"}, name: "new task", help: "add a task", can: func(m Model) bool { return m.read }, do: Model.askTask},
		{names: []string{"N"}, help: "leave a note for the planner", can: func(m Model) bool { return m.read }, do: func(m Model) (Model, tea.Cmd) { return m.noteFor("") }},
		{names: []string{"D"}, help: "give the task up (abandon)", can: Model.abandonable, do: Model.askAbandon},
		{names: []string{"A"}, help: "abort the sprint: all agents are stopped", can: func(m Model) bool { return m.read && !m.aborted() }, do: Model.askAbort},
	}
}

// act does something that may take a moment, and says what came of it.
func (m Model) act(do func(ctx context.Context) (string, error)) (Model, tea.Cmd) {
	m.acting++
	ctx, explain := m.ctx, m.o.Explain
	return m, func() tea.Msg {
		text, err := do(ctx)
		if err != nil {
			p := explain(err)
			return saidMsg{text: p.Message, next: p.Next, failed: true}
		}
		return saidMsg{text: text}
	}
}

// asked puts a question to the person.
func (m Model) asked(a ask) (Model, tea.Cmd) {
	m.ask = &a
	return m, nil
}

func (m Model) picks() *dashboard.Task { return m.task(m.picked().task) }

func is(s blackboard.Status) func(Model) bool {
	return func(m Model) bool { t := m.picks(); return t != nil && t.Status == s }
}

func (m Model) waitingOf(kind, task string) *dashboard.Waiting {
	for i, w := range m.view.Waiting {
		if w.Kind == kind && (task == "" || w.Task == task) {
			return &m.view.Waiting[i]
		}
	}
	return nil
}

func waiting(kind string) func(Model) bool {
	return func(m Model) bool { return m.waitingOf(kind, "") != nil }
}

// question is the one that is meant: the one under the cursor, else the first of the task, else, where no
// task is meant, the first of all.
func (m Model) question() *dashboard.Question {
	p := m.picked()
	for i, w := range m.view.Waiting {
		for k, q := range w.Questions {
			if q.ID != "" && (q.ID == p.question || p.question == "" && (w.Task == p.task || m.task(p.task) == nil)) {
				return &m.view.Waiting[i].Questions[k]
			}
		}
	}
	return nil
}

func (m Model) askAnswer() (Model, tea.Cmd) {
	q := *m.question()
	return m.asked(ask{head: "Answer " + q.ID, about: []string{q.Text}, label: "answer:", must: true, do: func(m Model, text string) (Model, tea.Cmd) {
		return m.act(func(ctx context.Context) (string, error) {
			done, err := m.o.Verbs.Answer(ctx, q.ID, text)
			said := q.ID + " is answered"
			if done.Unblocked {
				said += "; " + done.Task + " goes on"
			}
			return said, err
		})
	}})
}

func (m Model) canApprove() bool {
	return m.waitingOf("merge_approval", cmp.Or(m.picked().task, "-")) != nil
}

func (m Model) askApprove() (Model, tea.Cmd) {
	t := *m.picks()
	about := []string{t.Title, m.waitingOf("merge_approval", t.ID).Text}
	return m.asked(ask{head: "Approve the merge of " + t.ID + "?", about: about, yesNo: true, do: func(m Model, _ string) (Model, tea.Cmd) {
		return m.act(func(ctx context.Context) (string, error) {
			_, err := m.o.Verbs.ApproveMerge(ctx, verb.MergeDecision{Task: t.ID})
			return "the merge of " + t.ID + " is approved", err
		})
	}})
}

func (m Model) askReject() (Model, tea.Cmd) {
	id := m.picked().task
	return m.asked(ask{head: "Send " + id + " back to its coder", label: "reason:", must: true, do: func(m Model, text string) (Model, tea.Cmd) {
		return m.act(func(ctx context.Context) (string, error) {
			_, err := m.o.Verbs.RejectMerge(ctx, verb.MergeDecision{Task: id, Reason: text})
			return id + " goes back to its coder", err
		})
	}})
}

// withReason asks why, and does something with a task.
func (m Model) withReason(head, said string, do func(ctx context.Context, id, reason string) error) (Model, tea.Cmd) {
	id := m.picked().task
	return m.asked(ask{head: fmt.Sprintf(head, id), label: "reason:", must: true, do: func(m Model, text string) (Model, tea.Cmd) {
		return m.act(func(ctx context.Context) (string, error) { return fmt.Sprintf(said, id), do(ctx, id, text) })
	}})
}

func (m Model) askUnblock() (Model, tea.Cmd) {
	return m.withReason("Let %s start over", "%s can be taken again", func(ctx context.Context, id, reason string) error {
		_, err := m.o.Verbs.Unblock(ctx, verb.WayOut{Task: id, Reason: reason})
		return err
	})
}

func (m Model) askHold() (Model, tea.Cmd) {
	return m.withReason("Keep agents from taking %s", "%s is on hold", func(ctx context.Context, id, reason string) error {
		_, err := m.o.Verbs.Hold(ctx, id, reason)
		return err
	})
}

func (m Model) unhold() (Model, tea.Cmd) {
	id := m.picked().task
	return m.act(func(ctx context.Context) (string, error) {
		_, err := m.o.Verbs.Unhold(ctx, id)
		return id + " can be taken again", err
	})
}

func (m Model) held() bool { t := m.picks(); return t != nil && t.Hold != "" }

func (m Model) holdable() bool {
	t := m.picks()
	return t != nil && t.Hold == "" && !t.Status.Terminal()
}

func (m Model) finalize() (Model, tea.Cmd) {
	id := m.picked().task
	return m.act(func(ctx context.Context) (string, error) {
		_, err := m.o.Verbs.Finalize(ctx, []string{id})
		return id + " can be taken now", err
	})
}

func (m Model) askAccept() (Model, tea.Cmd) {
	return m.askTip("Accept the integration branch where it is?", "the integration branch is accepted where it is", m.o.Verbs.AcceptIntegration)
}

func (m Model) askRestore() (Model, tea.Cmd) {
	return m.askTip("Put the integration branch back to where Liza left it? The other tip is saved.", "the integration branch is back", m.o.Verbs.RestoreIntegration)
}

func (m Model) askTip(head, said string, do func(context.Context, string) (verb.Branch, error)) (Model, tea.Cmd) {
	return m.asked(ask{head: head, about: []string{m.waitingOf("integration", "").Text}, label: "reason:", do: func(m Model, text string) (Model, tea.Cmd) {
		return m.act(func(ctx context.Context) (string, error) {
			_, err := do(ctx, text)
			return said, err
		})
	}})
}

func (m Model) stopped() bool {
	return m.waitingOf("control", "") != nil || m.waitingOf("breaker", "") != nil
}

func (m Model) aborted() bool {
	for _, c := range m.view.Control {
		if c.Name == "ABORT" {
			return true
		}
	}
	return false
}

func (m Model) askResume() (Model, tea.Cmd) {
	if w := m.waitingOf("breaker", ""); w != nil {
		return m.asked(ask{head: "Acknowledge the circuit breaker, and go on", about: []string{w.Text}, label: "note:", do: func(m Model, text string) (Model, tea.Cmd) {
			return m.act(func(ctx context.Context) (string, error) {
				_, err := m.o.Verbs.Ack(ctx, text, false)
				return "the team goes on", err
			})
		}})
	}
	return m.act(func(ctx context.Context) (string, error) {
		_, err := m.o.Verbs.Resume(ctx, "", "")
		return "the team goes on", err
	})
}

func (m Model) askPause() (Model, tea.Cmd) {
	return m.asked(ask{head: "Pause: nothing new starts, what runs goes on. r resumes.", label: "reason:", do: func(m Model, text string) (Model, tea.Cmd) {
		return m.act(func(ctx context.Context) (string, error) {
			_, err := m.o.Verbs.Pause(ctx, cmp.Or(text, "liza top"))
			return "paused; r resumes", err
		})
	}})
}

func (m Model) askNote() (Model, tea.Cmd) {
	id := m.picked().task
	if m.task(id) == nil {
		id = ""
	}
	return m.noteFor(id)
}

func (m Model) noteFor(id string) (Model, tea.Cmd) {
	return m.asked(ask{head: "A note for " + cmp.Or(id, "the planner"), label: "note:", must: true, do: func(m Model, text string) (Model, tea.Cmd) {
		return m.act(func(ctx context.Context) (string, error) {
			_, err := m.o.Verbs.Note(ctx, verb.NoteInput{Text: text, Task: id})
			return "the note for " + cmp.Or(id, "the planner") + " is on the board", err
		})
	}})
}

func (m Model) askComment() (Model, tea.Cmd) {
	id := m.focused().name
	path, at := m.diffPlace()
	where := cmp.Or(path, "the whole change")
	if at > 0 {
		where += fmt.Sprintf(":%d", at)
	}
	return m.asked(ask{head: "A comment on " + where + " for the coder of " + id, label: "comment:", must: true, do: func(m Model, text string) (Model, tea.Cmd) {
		return m.act(func(ctx context.Context) (string, error) {
			_, err := m.o.Verbs.Comment(ctx, verb.Comment{Task: id, Path: path, Line: at, Text: text})
			return "the coder of " + id + " gets the comment with its next prompt", err
		})
	}})
}

// agent is the one that is meant: the one under the cursor, or that works on the task.
func (m Model) agent() *dashboard.Agent {
	p := m.picked()
	for i, a := range m.view.Agents {
		if a.ID == p.agent && (a.Task == p.task || p.task == "") {
			return &m.view.Agents[i]
		}
	}
	return nil
}

func (m Model) askStop() (Model, tea.Cmd) {
	a := *m.agent()
	about := []string{"It takes no work until B. What it has written is kept" + after(", and others may take ", a.Task) + "."}
	return m.asked(ask{head: "Stop " + a.ID, about: about, label: "reason:", do: func(m Model, text string) (Model, tea.Cmd) {
		return m.act(func(ctx context.Context) (string, error) {
			_, err := m.o.Verbs.StopAgent(ctx, verb.AgentOrder{Agent: a.ID, Reason: text})
			return a.ID + " is stopped; B begins again", err
		})
	}})
}

func (m Model) askRestart() (Model, tea.Cmd) {
	a := *m.agent()
	order := func(m Model, task string) (Model, tea.Cmd) {
		return m.act(func(ctx context.Context) (string, error) {
			_, err := m.o.Verbs.RestartAgent(ctx, verb.AgentOrder{Agent: a.ID, Task: task})
			return a.ID + " begins again" + after(" with ", task), err
		})
	}
	if role, _, _ := blackboard.ParseAgentID(a.ID); role != blackboard.RoleCoder {
		return m.asked(ask{head: "Begin the run of " + a.ID + " again?", yesNo: true, do: order})
	}
	return m.asked(ask{head: "Begin again with " + a.ID, about: []string{"Empty: it takes the best task that there is."}, label: "task:", do: order})
}

func after(word, text string) string {
	if text == "" {
		return ""
	}
	return word + text
}

func (m Model) editable() bool { t := m.picks(); return t != nil && !t.Status.Terminal() }

func (m Model) askPriority() (Model, tea.Cmd) {
	t := *m.picks()
	return m.asked(ask{head: fmt.Sprintf("Priority of %s, now %d; 1 is the highest", t.ID, t.Priority), label: "priority:", must: true, do: func(m Model, text string) (Model, tea.Cmd) {
		n, err := strconv.Atoi(text)
		if err != nil {
			m.said = said{text: "'" + text + "' is not a whole number", failed: true}
			return m, nil
		}
		return m.edited(verb.TaskEdit{Task: t.ID, Priority: &n})
	}})
}

func (m Model) askTitle() (Model, tea.Cmd) {
	t := *m.picks()
	return m.asked(ask{head: "Title of " + t.ID, label: "title:", must: true, input: newEditor(t.Title), do: func(m Model, text string) (Model, tea.Cmd) {
		return m.edited(verb.TaskEdit{Task: t.ID, Title: text})
	}})
}

func (m Model) edited(e verb.TaskEdit) (Model, tea.Cmd) {
	return m.act(func(ctx context.Context) (string, error) {
		done, err := m.o.Verbs.EditTask(ctx, e)
		return strings.Join(append([]string{e.Task + " is changed"}, done.Notices...), "; "), err
	})
}

// askTask asks for what a task has to have, one after the other.
func (m Model) askTask() (Model, tea.Cmd) {
	next := func(label, about string, do func(m Model, text string) (Model, tea.Cmd)) func(m Model, text string) (Model, tea.Cmd) {
		return func(m Model, text string) (Model, tea.Cmd) {
			return m.asked(ask{head: "A new task", about: []string{about}, label: label, must: true, do: do})
		}
	}
	var n verb.NewTask
	send := func(m Model, text string) (Model, tea.Cmd) {
		n.Task.Scope, n.Task.Type, n.Fill = text, "task", true
		return m.act(func(ctx context.Context) (string, error) {
			done, err := m.o.Verbs.AddTask(ctx, n)
			return strings.Join(append([]string{done.Task + " is on the board"}, done.Notices...), "; "), err
		})
	}
	scope := next("scope:", "What is in, and what is out? For example: greet.go and its tests.", send)
	criterion := next("done when:", "How does one see that it is done? For example: greet Ada prints \"Hello Ada\".", func(m Model, text string) (Model, tea.Cmd) {
		n.Task.DoneWhen = text
		return scope(m, "")
	})
	return next("what:", "What is to be done? The spec is that of the goal.", func(m Model, text string) (Model, tea.Cmd) {
		n.Task.Description = text
		return criterion(m, "")
	})(m, "")
}

func (m Model) claimed() bool {
	t := m.picks()
	return t != nil && t.Who != "" && (t.Status == blackboard.Claimed || t.Status == blackboard.ReadyForReview)
}

// askRelease frees a claim. A holder that is alive is stopped: that is asked again.
func (m Model) askRelease() (Model, tea.Cmd) {
	t := *m.picks()
	holder, live := t.Who, false
	for _, a := range m.view.Agents {
		live = live || a.ID == holder && a.Liveness == string(blackboard.Alive)
	}
	in := verb.ReleaseInput{Task: t.ID, Force: live}
	release := func(m Model) (Model, tea.Cmd) {
		return m.act(func(ctx context.Context) (string, error) {
			done, err := m.o.Verbs.Release(ctx, in)
			return t.ID + " is free again (" + string(done.Status) + ")", err
		})
	}
	return m.asked(ask{head: "Free the claim of " + holder + " on " + t.ID, label: "reason:", must: true, do: func(m Model, text string) (Model, tea.Cmd) {
		in.Reason = text
		if !live {
			return release(m)
		}
		return m.asked(ask{head: holder + " is alive. Stop its program and free " + t.ID + " all the same?", about: []string{"What it has written is kept."},
			yesNo: true, do: func(m Model, _ string) (Model, tea.Cmd) { return release(m) }})
	}})
}

func (m Model) abandonable() bool {
	t := m.picks()
	if t == nil {
		return false
	}
	switch t.Status {
	case blackboard.Blocked, blackboard.Draft, blackboard.Unclaimed, blackboard.Rejected, blackboard.IntegrationFailed:
		return true
	}
	return false
}

func (m Model) askAbandon() (Model, tea.Cmd) {
	id := m.picked().task
	return m.asked(ask{head: "Give " + id + " up", label: "reason:", must: true, do: func(m Model, text string) (Model, tea.Cmd) {
		return m.asked(ask{head: "Give " + id + " up for good?", about: []string{"Tasks that depend on it are blocked with a question. Its work is saved under refs/liza/attic/."}, yesNo: true,
			do: func(m Model, _ string) (Model, tea.Cmd) {
				return m.act(func(ctx context.Context) (string, error) {
					_, err := m.o.Verbs.Abandon(ctx, verb.WayOut{Task: id, Reason: text})
					return id + " is given up", err
				})
			}})
	}})
}

func (m Model) askAbort() (Model, tea.Cmd) {
	return m.asked(ask{head: "Abort the sprint", label: "reason:", must: true, do: func(m Model, text string) (Model, tea.Cmd) {
		return m.asked(ask{head: "Stop all agents now?", about: []string{"Their programs are ended and their claims freed. r resumes the sprint later."}, yesNo: true,
			do: func(m Model, _ string) (Model, tea.Cmd) {
				return m.act(func(ctx context.Context) (string, error) {
					_, err := m.o.Verbs.Abort(ctx, text, false)
					return "aborted; r resumes", err
				})
			}})
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
