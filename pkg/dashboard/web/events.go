package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"liza/pkg/history"
)

// events is a stream of server-sent events: first a snapshot of the board, then at every
// change what the journal says of it and the board, and a heartbeat when nothing happens.
func (o Options) events(w http.ResponseWriter, r *http.Request) (any, error) {
	ctx := r.Context()
	changed := o.Service.Store.Watch(ctx)
	v, err := o.view(ctx)
	if err != nil {
		return nil, err
	}
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, revision int, data any) error {
		var text bytes.Buffer
		if err := json.NewEncoder(&text).Encode(data); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "event: %s\nid: %d\ndata: %s\n", event, revision, text.Bytes()); err != nil {
			return err
		}
		return out.Flush()
	}
	if send("snapshot", v.Revision, v) != nil {
		return nil, nil
	}
	o.follow(ctx, changed, v.Revision, send)
	return nil, nil
}

// follow sends until the caller goes away.
func (o Options) follow(ctx context.Context, changed <-chan struct{}, revision int, send func(event string, revision int, data any) error) {
	beat := time.NewTicker(o.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if send("heartbeat", revision, map[string]int{"revision": revision}) != nil {
				return
			}
		case _, open := <-changed:
			if !open {
				return
			}
			v, err := o.view(ctx)
			if err != nil { // a person may be about to save; the next change tells
				if ctx.Err() != nil || send("problem", revision, map[string]any{"error": o.Explain(err)}) != nil {
					return
				}
				continue
			}
			if v.Revision == revision {
				continue
			}
			entries, _ := history.Journal{Path: o.Service.Project.Journal()}.Read(history.Filter{AfterRev: revision}) // what cannot be read is not an entry
			revision = v.Revision
			if send("change", revision, map[string]any{"revision": revision, "entries": plain(entries), "state": v}) != nil {
				return
			}
		}
	}
}
