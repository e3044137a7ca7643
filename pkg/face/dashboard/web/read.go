package web

import (
	"errors"
	"mime"
	"net/http"
	"path"
	"strconv"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/dashboard/source"
	"liza/pkg/team/watch"
)

// newest is how many entries of the journal are shown when nobody says since when.
const newest = 100

func (o Options) reading() map[string]handler {
	return map[string]handler{
		"/api/state":               o.state,
		"/api/tasks/{id}":          o.task,
		"/api/tasks/{id}/page":     o.taskPage,
		"/api/tasks/{id}/diff":     o.diff,
		"/api/tasks/{id}/evidence": o.evidence,
		"/api/tasks/{id}/attempts": o.attempts,
		"/api/agents/{id}/output":  o.output,
		"/api/log":                 o.log,
		"/api/alerts":              o.alerts,
		"/api/timeline":            o.timeline,
		"/api/graph":               o.graph,
		"/api/usage":               o.usage,
		"/api/at":                  o.at,
	}
}

func (o Options) state(_ http.ResponseWriter, r *http.Request) (any, error) {
	v, err := o.Source.View(r.Context())
	return v, err
}

func (o Options) task(_ http.ResponseWriter, r *http.Request) (any, error) {
	fields, err := o.Source.Fields(r.Context(), r.PathValue("id"))
	if err == nil && fields == nil {
		err = notFound("task", r.PathValue("id"))
	}
	return fields, err
}

func (o Options) taskPage(_ http.ResponseWriter, r *http.Request) (any, error) {
	page, err := o.Source.Task(r.Context(), r.PathValue("id"))
	if err == nil && page == nil {
		err = notFound("task", r.PathValue("id"))
	}
	return page, err
}

func (o Options) diff(_ http.ResponseWriter, r *http.Request) (any, error) {
	diff, err := o.Source.Diff(r.Context(), r.PathValue("id"))
	if err == nil && diff == nil {
		err = notFound("task", r.PathValue("id"))
	}
	return diff, err
}

// evidence is what commands of review.evidence made of the work of a task, or with file one of these files. They are made by a program of
// agents: a browser shows those that are pictures and videos by their content, runs none, and saves all others.
func (o Options) evidence(w http.ResponseWriter, r *http.Request) (any, error) {
	page, err := o.Source.Task(r.Context(), r.PathValue("id"))
	if err == nil && page == nil {
		err = notFound("task", r.PathValue("id"))
	}
	if err != nil {
		return nil, err
	}
	q, checks := r.URL.Query(), o.Service.Checks
	name := q.Get("file")
	if name == "" {
		e, err := checks.EvidenceOf(r.Context(), r.PathValue("id"), page.Commit)
		return map[string]any{"evidence": e}, err
	}
	data, err := checks.EvidenceFile(r.Context(), r.PathValue("id"), q.Get("commit"), q.Get("side"), name)
	if errors.Is(err, git.ErrNotFound) {
		err = notFound("file", name)
	}
	if err != nil {
		return nil, err
	}
	kind, how := review.MediaType(data), "inline"
	if kind == "" {
		kind, how = "application/octet-stream", "attachment"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": path.Base(name)}))
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
	_, _ = w.Write(data)
	return nil, nil
}

func (o Options) attempts(_ http.ResponseWriter, r *http.Request) (any, error) {
	if _, err := o.taskPage(nil, r); err != nil {
		return nil, err
	}
	full := r.URL.Query().Get("full")
	list, err := o.Source.Attempts(r.Context(), r.PathValue("id"), full == "1" || full == "true")
	return map[string]any{"attempts": append([]dashboard.Attempt{}, list...)}, err
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
	entries, err := o.Source.Entries(f)
	if err != nil {
		return nil, err
	}
	return map[string]any{"entries": plain(entries)}, nil
}

func (o Options) alerts(http.ResponseWriter, *http.Request) (any, error) {
	open, err := o.Source.Alerts()
	return map[string]any{"alerts": append([]watch.Alert{}, open...)}, err
}

func (o Options) timeline(_ http.ResponseWriter, r *http.Request) (any, error) {
	return o.Source.Timeline(r.Context())
}

func (o Options) graph(_ http.ResponseWriter, r *http.Request) (any, error) {
	return o.Source.Graph(r.Context())
}

func (o Options) usage(_ http.ResponseWriter, r *http.Request) (any, error) {
	return o.Source.Figures(r.Context())
}

// at is the board at a revision; without one, the revisions that are kept.
func (o Options) at(_ http.ResponseWriter, r *http.Request) (any, error) {
	text := r.URL.Query().Get("rev")
	rev, err := strconv.Atoi(text)
	if text == "" {
		rev, err = -1, nil
	}
	if err != nil || rev < 0 && text != "" {
		return nil, badInput("rev must be a revision, such as 12, not '" + text + "'")
	}
	v, err := o.Source.At(r.Context(), rev)
	var beyond *source.NotKeptError
	switch {
	case errors.As(err, &beyond) && text == "":
		return map[string]int{"first": beyond.First, "last": beyond.Last}, nil
	case errors.As(err, &beyond):
		return nil, Problem{Status: http.StatusNotFound, Code: "refused", Message: err.Error(), Next: "liza log", First: &beyond.First, Last: &beyond.Last}
	}
	return v, err
}
