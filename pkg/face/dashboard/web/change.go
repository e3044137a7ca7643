package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/verbs"
)

// changing are the verbs that have a route.
func (o Options) changing() map[string]handler {
	routes := map[string]handler{}
	for _, v := range verbs.All() {
		if v.Route != "" {
			routes[v.Route] = o.act(v)
		}
	}
	return routes
}

// act carries out a verb with the body of a request and the names in its path.
func (o Options) act(v *verbs.Verb) handler {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		data, err := body(w, r)
		if err != nil {
			return nil, err
		}
		path := map[string]string{}
		for _, f := range v.Fields(verbs.HTTP) {
			if id := r.PathValue(f.Name); id != "" {
				path[f.Name] = id
			}
		}
		in, err := v.Decode(verbs.HTTP, data, path)
		if err != nil {
			return nil, badInput("the body must be a JSON object: " + strings.TrimPrefix(err.Error(), "json: "))
		}
		if err := o.there(r.Context(), path); err != nil {
			return nil, err
		}
		return v.Run(r.Context(), o.Service, in)
	}
}

// there refuses a path with a task or a question that is not on the board.
func (o Options) there(ctx context.Context, path map[string]string) error {
	if path["task"] == "" && path["question"] == "" {
		return nil
	}
	s, err := o.Service.Board.View(ctx)
	if err != nil {
		return err
	}
	if id := path["task"]; id != "" && s.Task(id) == nil {
		return notFound("task", id)
	}
	if id := path["question"]; id != "" && !slices.ContainsFunc(s.Questions, func(q *blackboard.Question) bool { return q.ID == id }) {
		return notFound("question", id)
	}
	return nil
}
