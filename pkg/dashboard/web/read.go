package web

import (
	"net/http"
	"strconv"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/history"
)

// newest is how many entries of the journal are shown when nobody says since when.
const newest = 100

func (o Options) reading() map[string]handler {
	return map[string]handler{
		"/api/health":     o.health,
		"/api/state":      o.state,
		"/api/tasks":      o.tasks,
		"/api/tasks/{id}": o.task,
		"/api/agents":     o.agents,
		"/api/log":        o.log,
		"/api/questions":  o.questions,
		"/api/metrics":    o.metrics,
	}
}

func (o Options) health(_ http.ResponseWriter, r *http.Request) (any, error) {
	s, err := o.Service.View(r.Context())
	if err != nil {
		return nil, err
	}
	return map[string]any{"ok": true, "version": o.Version, "revision": s.Revision}, nil
}

func (o Options) state(_ http.ResponseWriter, r *http.Request) (any, error) {
	return o.view(r.Context())
}

func (o Options) tasks(_ http.ResponseWriter, r *http.Request) (any, error) {
	v, err := o.view(r.Context())
	return map[string]any{"tasks": v.Tasks}, err
}

func (o Options) agents(_ http.ResponseWriter, r *http.Request) (any, error) {
	v, err := o.view(r.Context())
	return map[string]any{"agents": v.Agents}, err
}

func (o Options) task(_ http.ResponseWriter, r *http.Request) (any, error) {
	id := r.PathValue("id")
	s, err := o.Service.View(r.Context())
	if err != nil {
		return nil, err
	}
	if t := s.Task(id); t != nil {
		return dashboard.Plain(t), nil
	}
	t, _, err := o.Service.ArchivedTask(id)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, notFound("task", id)
	}
	return dashboard.Plain(t), nil
}

// log shows the journal. since is a revision: entries of later ones are wanted; or a time.
func (o Options) log(_ http.ResponseWriter, r *http.Request) (any, error) {
	f := history.Filter{Last: newest, Task: r.URL.Query().Get("task")}
	if since := r.URL.Query().Get("since"); since != "" {
		f.Last = 0
		if rev, err := strconv.Atoi(since); err == nil && rev >= 0 {
			f.AfterRev = rev
		} else if at, ok := blackboard.Time(since).At(); ok {
			f.Since = at
		} else {
			return nil, badInput("since must be a revision or a time such as 2026-01-19T14:00:00Z, not '" + since + "'")
		}
	}
	entries, err := history.Journal{Path: o.Service.Project.Journal()}.Read(f)
	if err != nil {
		return nil, err
	}
	return map[string]any{"entries": plain(entries)}, nil
}

func plain(entries []blackboard.Entry) []any {
	list := []any{}
	for _, e := range entries {
		list = append(list, dashboard.Plain(e))
	}
	return list
}

func (o Options) questions(_ http.ResponseWriter, r *http.Request) (any, error) {
	s, err := o.Service.View(r.Context())
	if err != nil {
		return nil, err
	}
	open := []any{}
	for _, q := range s.Questions {
		if q.Status == "open" || r.URL.Query().Get("all") == "true" {
			open = append(open, dashboard.Plain(q))
		}
	}
	return map[string]any{"questions": open}, nil
}

func (o Options) metrics(_ http.ResponseWriter, r *http.Request) (any, error) {
	s, err := o.Service.View(r.Context())
	if err != nil {
		return nil, err
	}
	return o.Metrics(s)
}
