package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

type reason struct {
	Reason string `json:"reason"`
}

func (o Options) changing() map[string]handler {
	d := o.Service
	return map[string]handler{
		"/api/tasks/{id}/approve-merge": onTask(o, decision(d.ApproveMerge)),
		"/api/tasks/{id}/reject-merge":  onTask(o, decision(d.RejectMerge)),
		"/api/tasks/{id}/hold": onTask(o, func(ctx context.Context, id string, in reason) (any, error) {
			return d.Hold(ctx, id, in.Reason)
		}),
		"/api/tasks/{id}/unhold": onTask(o, func(ctx context.Context, id string, _ struct{}) (any, error) {
			return d.Unhold(ctx, id)
		}),
		"/api/tasks/{id}/release": onTask(o, o.release),
		"/api/tasks/{id}/unblock": onTask(o, func(ctx context.Context, id string, in reason) (any, error) {
			return d.Unblock(ctx, verb.WayOut{Task: id, Reason: in.Reason})
		}),
		"/api/tasks/{id}/comments": onTask(o, func(ctx context.Context, id string, in struct {
			Path string `json:"path"`
			Line int    `json:"line"`
			Text string `json:"text"`
		}) (any, error) {
			return d.Comment(ctx, verb.Comment{Task: id, Path: in.Path, Line: in.Line, Text: in.Text})
		}),
		"/api/tasks/{id}/edit": onTask(o, o.edit),
		"/api/add-task":        act(o.addTask),
		"/api/agents/{id}/stop": act(func(ctx context.Context, id string, in reason) (any, error) {
			return d.StopAgent(ctx, verb.AgentOrder{Agent: id, Reason: in.Reason})
		}),
		"/api/agents/{id}/restart": act(func(ctx context.Context, id string, in struct {
			Reason string `json:"reason"`
			Task   string `json:"task"`
		}) (any, error) {
			return d.RestartAgent(ctx, verb.AgentOrder{Agent: id, Reason: in.Reason, Task: in.Task})
		}),
		"/api/tasks/{id}/resubmit": onTask(o, o.resubmit),
		"/api/finalize": act(func(ctx context.Context, _ string, in struct {
			Tasks []string `json:"tasks"`
		}) (any, error) {
			return d.Finalize(ctx, in.Tasks)
		}),
		"/api/questions/{id}/answer": act(o.answer),
		"/api/notes":                 act(o.note),
		"/api/pause":                 act(func(ctx context.Context, _ string, in reason) (any, error) { return sprint.Pause(ctx, d, in.Reason) }),
		"/api/resume":                act(o.resume),
		"/api/checkpoint":            act(o.checkpoint),
		"/api/abort":                 act(o.abort),
		"/api/ack":                   act(o.acknowledge),
		"/api/integration/accept": act(func(ctx context.Context, _ string, in reason) (any, error) {
			return d.AcceptIntegration(ctx, in.Reason)
		}),
		"/api/integration/restore": act(func(ctx context.Context, _ string, in reason) (any, error) {
			return d.RestoreIntegration(ctx, in.Reason)
		}),
	}
}

// act reads the body of a request and does what its path says. id is that of the path, if it has one.
func act[In any](do func(ctx context.Context, id string, in In) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		var in In
		if err := body(w, r, &in); err != nil {
			return nil, err
		}
		return do(r.Context(), r.PathValue("id"), in)
	}
}

// onTask is act that refuses a task that is not on the board.
func onTask[In any](o Options, do func(ctx context.Context, id string, in In) (any, error)) handler {
	return act(func(ctx context.Context, id string, in In) (any, error) {
		s, err := o.Service.View(ctx)
		if err != nil {
			return nil, err
		}
		if s.Task(id) == nil {
			return nil, notFound("task", id)
		}
		return do(ctx, id, in)
	})
}

type merge struct {
	Reason   string `json:"reason"`
	Override bool   `json:"override"`
}

func decision(decide func(context.Context, verb.MergeDecision) (verb.Done, error)) func(context.Context, string, merge) (any, error) {
	return func(ctx context.Context, id string, in merge) (any, error) {
		return decide(ctx, verb.MergeDecision{Task: id, Reason: in.Reason, Override: in.Override})
	}
}

func (o Options) release(ctx context.Context, id string, in struct {
	Reason   string `json:"reason"`
	Coder    bool   `json:"coder"`
	Reviewer bool   `json:"reviewer"`
	Force    bool   `json:"force"`
}) (any, error) {
	if in.Coder && in.Reviewer {
		return nil, badInput("coder and reviewer exclude each other")
	}
	return o.Service.Release(ctx, verb.ReleaseInput{Task: id, Reason: in.Reason, Coder: in.Coder, Reviewer: in.Reviewer, Force: in.Force})
}

func (o Options) resubmit(ctx context.Context, id string, in struct {
	Limits blackboard.Settings `json:"limits"`
}) (any, error) {
	return o.Service.Resubmit(ctx, id, in.Limits)
}

func (o Options) answer(ctx context.Context, id string, in struct {
	Answer string `json:"answer"`
	Text   string `json:"text"`
}) (any, error) {
	if in.Answer == "" {
		in.Answer = in.Text
	}
	s, err := o.Service.View(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(s.Questions, func(q *blackboard.Question) bool { return q.ID == id }) {
		return nil, notFound("question", id)
	}
	return o.Service.Answer(ctx, id, in.Answer)
}

func (o Options) note(ctx context.Context, _ string, in struct {
	Text string `json:"text"`
	Task string `json:"task"`
	ID   string `json:"id"`
}) (any, error) {
	return o.Service.Note(ctx, verb.NoteInput{Text: in.Text, Task: in.Task, ID: in.ID})
}

func (o Options) resume(ctx context.Context, _ string, in struct {
	Decision string `json:"decision"`
	Note     string `json:"note"`
}) (any, error) {
	return sprint.Resume(ctx, o.Service, in.Decision, in.Note)
}

func (o Options) checkpoint(ctx context.Context, _ string, in struct {
	Message string `json:"message"`
}) (any, error) {
	return sprint.Checkpoint(ctx, o.Service, in.Message)
}

func (o Options) abort(ctx context.Context, _ string, in struct {
	Reason string `json:"reason"`
	Goal   bool   `json:"goal"`
}) (any, error) {
	return sprint.Abort(ctx, o.Service, in.Reason, in.Goal)
}

func (o Options) acknowledge(ctx context.Context, _ string, in struct {
	Note string `json:"note"`
	Keep bool   `json:"keep_checkpoint"`
}) (any, error) {
	return o.Service.Ack(ctx, in.Note, in.Keep)
}

// newTask has the names of state.yaml, as its answer has.
type newTask struct {
	ID          string   `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	DoneWhen    string   `json:"done_when"`
	Scope       string   `json:"scope"`
	SpecRef     string   `json:"spec_ref"` // left out: that of the goal
	Type        string   `json:"type"`
	Priority    *int     `json:"priority"`
	DependsOn   []string `json:"depends_on"`
	Draft       bool     `json:"draft"`
}

func (o Options) addTask(ctx context.Context, _ string, in newTask) (any, error) {
	t := blackboard.Task{ID: in.ID, Title: in.Title, Description: in.Description, DoneWhen: in.DoneWhen, Scope: in.Scope, SpecRef: in.SpecRef, Type: cmp.Or(in.Type, "task"),
		Priority: in.Priority, DependsOn: append(blackboard.List{}, in.DependsOn...)}
	return o.Service.AddTask(ctx, verb.NewTask{Task: t, Draft: in.Draft, Fill: true})
}

func (o Options) edit(ctx context.Context, id string, in struct {
	Priority    *int   `json:"priority"`
	Title       string `json:"title"`
	Description string `json:"description"`
	DoneWhen    string `json:"done_when"`
	Scope       string `json:"scope"`
}) (any, error) {
	return o.Service.EditTask(ctx, verb.TaskEdit{Task: id, Priority: in.Priority, Title: in.Title, Description: in.Description, DoneWhen: in.DoneWhen, Scope: in.Scope})
}
