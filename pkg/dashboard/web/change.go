package web

import (
	"context"
	"net/http"

	"liza/pkg/blackboard"
	"liza/pkg/verb"
)

func (o Options) changing() map[string]handler {
	return map[string]handler{
		"/api/tasks/{id}/approve-merge": o.decide(o.Service.ApproveMerge),
		"/api/tasks/{id}/reject-merge":  o.decide(o.Service.RejectMerge),
		"/api/tasks/{id}/hold":          o.hold,
		"/api/tasks/{id}/unhold":        o.unhold,
		"/api/tasks/{id}/release":       o.release,
		"/api/questions/{id}/answer":    o.answer,
		"/api/notes":                    o.note,
		"/api/pause":                    o.pause,
		"/api/resume":                   o.resume,
		"/api/checkpoint":               o.checkpoint,
		"/api/abort":                    o.abort,
	}
}

// known refuses a task that is not on the board.
func (o Options) known(r *http.Request) (string, error) {
	id := r.PathValue("id")
	s, err := o.Service.View(r.Context())
	if err == nil && s.Task(id) == nil {
		err = notFound("task", id)
	}
	return id, err
}

func (o Options) decide(decide func(context.Context, verb.MergeDecision) (verb.Done, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		var in struct {
			Reason   string `json:"reason"`
			Override bool   `json:"override"`
		}
		if err := body(w, r, &in); err != nil {
			return nil, err
		}
		id, err := o.known(r)
		if err != nil {
			return nil, err
		}
		return decide(r.Context(), verb.MergeDecision{Task: id, Reason: in.Reason, Override: in.Override})
	}
}

func (o Options) hold(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Reason string `json:"reason"`
	}
	if err := body(w, r, &in); err != nil {
		return nil, err
	}
	id, err := o.known(r)
	if err != nil {
		return nil, err
	}
	return o.Service.Hold(r.Context(), id, in.Reason)
}

func (o Options) unhold(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := body(w, r, &struct{}{}); err != nil {
		return nil, err
	}
	id, err := o.known(r)
	if err != nil {
		return nil, err
	}
	return o.Service.Unhold(r.Context(), id)
}

func (o Options) release(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Reason   string `json:"reason"`
		Coder    bool   `json:"coder"`
		Reviewer bool   `json:"reviewer"`
		Force    bool   `json:"force"`
	}
	if err := body(w, r, &in); err != nil {
		return nil, err
	}
	if in.Coder && in.Reviewer {
		return nil, badInput("coder and reviewer exclude each other")
	}
	id, err := o.known(r)
	if err != nil {
		return nil, err
	}
	return o.Service.Release(r.Context(), verb.ReleaseInput{Task: id, Reason: in.Reason, Coder: in.Coder, Reviewer: in.Reviewer, Force: in.Force})
}

func (o Options) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Answer string `json:"answer"`
		Text   string `json:"text"`
	}
	if err := body(w, r, &in); err != nil {
		return nil, err
	}
	if in.Answer == "" {
		in.Answer = in.Text
	}
	id := r.PathValue("id")
	s, err := o.Service.View(r.Context())
	if err != nil {
		return nil, err
	}
	if !asked(s, id) {
		return nil, notFound("question", id)
	}
	return o.Service.Answer(r.Context(), id, in.Answer)
}

func asked(s *blackboard.State, id string) bool {
	for _, q := range s.Questions {
		if q.ID == id {
			return true
		}
	}
	return false
}

func (o Options) note(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Text string `json:"text"`
		Task string `json:"task"`
		ID   string `json:"id"`
	}
	if err := body(w, r, &in); err != nil {
		return nil, err
	}
	return o.Service.Note(r.Context(), verb.NoteInput{Text: in.Text, Task: in.Task, ID: in.ID})
}

func (o Options) pause(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Reason string `json:"reason"`
	}
	if err := body(w, r, &in); err != nil {
		return nil, err
	}
	return o.Service.Pause(r.Context(), in.Reason)
}

func (o Options) resume(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Decision string `json:"decision"`
		Note     string `json:"note"`
	}
	if err := body(w, r, &in); err != nil {
		return nil, err
	}
	return o.Service.Resume(r.Context(), in.Decision, in.Note)
}

func (o Options) checkpoint(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Message string `json:"message"`
	}
	if err := body(w, r, &in); err != nil {
		return nil, err
	}
	return o.Service.Checkpoint(r.Context(), in.Message)
}

func (o Options) abort(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Reason string `json:"reason"`
		Goal   bool   `json:"goal"`
	}
	if err := body(w, r, &in); err != nil {
		return nil, err
	}
	return o.Service.Abort(r.Context(), in.Reason, in.Goal)
}
