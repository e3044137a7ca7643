package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"liza/pkg/board/history"
	"liza/pkg/face/dashboard"
)

// stream is an answer of server-sent events.
type stream struct {
	w    http.ResponseWriter
	mask func(string) string
}

func (o Options) stream(w http.ResponseWriter) stream {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream")
	return stream{w, o.Service.Board.Mask}
}

// send reports whether somebody is still there.
func (s stream) send(event string, id int64, data any) bool {
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(data); err != nil {
		return false
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\nid: %d\ndata: %s\n", event, id, s.mask(text.String())); err != nil {
		return false
	}
	return http.NewResponseController(s.w).Flush() == nil
}

// events is a stream of server-sent events: first a snapshot of the board, then at every
// change what the journal says of it and the board, and a heartbeat when nothing happens.
// With ?rows=changed a change has the rows that are new instead of the whole board.
func (o Options) events(w http.ResponseWriter, r *http.Request) (any, error) {
	ctx := r.Context()
	changed := o.Source.Watch(ctx)
	v, err := o.Source.View(ctx)
	if err != nil {
		return nil, err
	}
	f := follower{Options: o, stream: o.stream(w), last: v}
	if !f.send("snapshot", int64(v.Revision), v) {
		return nil, nil
	}
	if r.URL.Query().Get("rows") == "changed" {
		f.follow(ctx, changed, f.rows)
	} else {
		f.follow(ctx, changed, f.whole)
	}
	return nil, nil
}

// follower tells one caller what changes.
type follower struct {
	Options
	stream
	last dashboard.View // what the caller has
}

// Between two changes of the board, agents go on working, and some stop.
const (
	lookAtAgents = time.Second
	lookAtBoard  = 10 * time.Second
)

// follow sends until the caller goes away. tell reports whether it is still there.
func (f *follower) follow(ctx context.Context, changed <-chan struct{}, tell func(context.Context, dashboard.View) bool) {
	beat := time.NewTicker(f.Heartbeat)
	defer beat.Stop()
	agents := time.NewTicker(lookAtAgents)
	defer agents.Stop()
	board := time.NewTicker(lookAtBoard)
	defer board.Stop()
	doing := map[string]dashboard.Doing{}
	for there := true; there; {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			there = f.send("heartbeat", int64(f.last.Revision), map[string]int{"revision": f.last.Revision})
			continue
		case <-agents.C:
			now := f.Source.Doing(ctx)
			if reflect.DeepEqual(timeless(now), timeless(doing)) {
				continue
			}
			doing = now
		case <-board.C:
		case _, open := <-changed:
			if !open {
				return
			}
		}
		v, err := f.Source.View(ctx)
		if err != nil { // a person may be about to save; the next change tells
			there = ctx.Err() == nil && f.send("problem", int64(f.last.Revision), map[string]any{"error": f.Explain(err)})
			continue
		}
		there = tell(ctx, v)
	}
}

// whole sends the board when it has changed.
func (f *follower) whole(_ context.Context, v dashboard.View) bool {
	if v.Revision == f.last.Revision && (v.Offline == nil) == (f.last.Offline == nil) {
		return true
	}
	entries := f.entries()
	f.last = v
	return f.send("change", int64(v.Revision), map[string]any{"revision": v.Revision, "entries": entries, "state": v})
}

// changes is a change in rows.
type changes struct {
	Revision int               `json:"revision"`
	Entries  []any             `json:"entries"`
	Board    dashboard.View    `json:"board"` // without rows
	Tasks    []dashboard.Task  `json:"tasks"`
	Agents   []dashboard.Agent `json:"agents"`
	Gone     []string          `json:"gone"` // tasks and agents that have left the board
}

// rows sends what differs from what the caller has.
func (f *follower) rows(_ context.Context, v dashboard.View) bool {
	c := changes{Revision: v.Revision, Entries: []any{}, Board: head(v), Gone: []string{}}
	var goneTasks, goneAgents []string
	c.Tasks, goneTasks = differing(f.last.Tasks, v.Tasks, func(t dashboard.Task) (string, dashboard.Task) {
		id := t.ID
		t.AgeSeconds = 0
		return id, t
	})
	c.Agents, goneAgents = differing(f.last.Agents, v.Agents, func(a dashboard.Agent) (string, dashboard.Agent) {
		a.LeaseLeftSeconds, a.Doing = 0, timelessOf(a.Doing)
		return a.ID, a
	})
	c.Gone = append(append(c.Gone, goneTasks...), goneAgents...)
	if v.Revision != f.last.Revision {
		c.Entries = f.entries()
	} else if len(c.Tasks)+len(c.Agents)+len(c.Gone) == 0 && reflect.DeepEqual(ageless(c.Board), ageless(head(f.last))) {
		return true
	}
	f.last = v
	return f.send("change", int64(v.Revision), c)
}

// entries are those of the journal that the caller does not have yet. What cannot be read is not an entry.
func (f *follower) entries() []any {
	entries, _ := f.Source.Entries(history.Filter{AfterRev: f.last.Revision})
	return plain(entries)
}

// head is a view without its rows.
func head(v dashboard.View) dashboard.View {
	v.Tasks, v.Agents = nil, nil
	return v
}

func ageless(v dashboard.View) dashboard.View {
	v.At, v.Sprint.AgeSeconds = "", 0
	v.Hosts = slices.Clone(v.Hosts)
	for i := range v.Hosts {
		v.Hosts[i].SeenSeconds = 0
	}
	if v.Offline != nil {
		v.Offline = &dashboard.Offline{Since: v.Offline.Since}
	}
	return v
}

func timeless(m map[string]dashboard.Doing) map[string]dashboard.Doing {
	out := make(map[string]dashboard.Doing, len(m))
	for id, d := range m {
		out[id] = *timelessOf(&d)
	}
	return out
}

// timelessOf is what an agent does, without how long it has been at it.
func timelessOf(d *dashboard.Doing) *dashboard.Doing {
	if d == nil {
		return nil
	}
	now := *d
	now.Seconds = 0
	return &now
}

// differing gives the rows of now that are not among those of before, and the ids that are gone.
// plain is a row's id, and the row without what only tells the time.
func differing[Row any](before, now []Row, plain func(Row) (string, Row)) (rows []Row, gone []string) {
	had := make(map[string]Row, len(before))
	for _, row := range before {
		id, row := plain(row)
		had[id] = row
	}
	rows = []Row{}
	for _, row := range now {
		id, bare := plain(row)
		if was, ok := had[id]; !ok || !reflect.DeepEqual(was, bare) {
			rows = append(rows, row)
		}
		delete(had, id)
	}
	for _, row := range before { // in their order
		if id, _ := plain(row); hasKey(had, id) {
			gone = append(gone, id)
		}
	}
	return rows, gone
}

func hasKey[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}
