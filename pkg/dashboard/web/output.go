package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"liza/pkg/activity"
)

// output is what the program of an agent says, from a place of its events on: all that there is,
// or with Accept: text/event-stream also what it says from now on.
func (o Options) output(w http.ResponseWriter, r *http.Request) (any, error) {
	id, since := r.PathValue("id"), r.URL.Query().Get("since")
	s, err := o.Source.State(r.Context())
	if err != nil {
		return nil, err
	}
	if s.Agents[id] == nil && s.Task(id) == nil {
		return nil, notFound("agent", id)
	}
	live := strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	if last := r.Header.Get("Last-Event-ID"); live && last != "" {
		since = last
	}
	after := int64(0)
	if since != "" {
		if after, err = strconv.ParseInt(since, 10, 64); err != nil || after < 0 {
			return nil, badInput("since must be what 'next' of an earlier answer was, not '" + since + "'")
		}
	}
	if live {
		o.followOutput(r.Context(), o.stream(w), id, after)
		return nil, nil
	}
	events, next, err := o.Source.Output(id, after)
	return map[string]any{"events": append([]activity.Event{}, events...), "next": next}, err
}

// said is an event of a run, and where the next one begins.
type said struct {
	event activity.Event
	next  int64
}

func (o Options) followOutput(ctx context.Context, out stream, id string, after int64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan said)
	go func() {
		defer close(events)
		for e, next := range o.Source.FollowOutput(ctx, id, after) {
			select {
			case events <- said{e, next}:
			case <-ctx.Done():
				return
			}
		}
	}()
	beat := time.NewTicker(o.Heartbeat)
	defer beat.Stop()
	for there := out.send("heartbeat", after, map[string]int64{"next": after}); there; {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			there = out.send("heartbeat", after, map[string]int64{"next": after})
		case s, open := <-events:
			if !open {
				return
			}
			after = s.next
			there = out.send("activity", after, s.event)
		}
	}
}
