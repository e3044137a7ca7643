// Package web shows the board in a browser and serves it as JSON (specs/cli.md#7): what there is to
// see, a stream of changes, and buttons that call verbs, under the same guards as the
// commands of those names.
package web

import (
	"context"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/dashboard/source"
	"liza/pkg/face/verbs"
	"liza/pkg/run/activity"
	"liza/pkg/verb/verb"
)

// Handler serves page and API.
func Handler(o Options) http.Handler {
	if o.Heartbeat == 0 {
		o.Heartbeat = heartbeat
	}
	mux := http.NewServeMux()
	for path, h := range o.reading() {
		mux.Handle(path, o.only(http.MethodGet, h))
	}
	for path, h := range o.changing() {
		mux.Handle(path, o.only(http.MethodPost, h))
	}
	mux.Handle("/api/tasks/{task}/open", o.only(http.MethodPost, o.openServer))
	mux.Handle("/api/events", o.only(http.MethodGet, o.events))
	mux.Handle("/metrics", o.only(http.MethodGet, o.prometheus))
	mux.Handle("/{$}", o.only(http.MethodGet, o.page))
	mux.Handle("/page/", o.only(http.MethodGet, o.page))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		o.fail(w, Problem{Status: http.StatusNotFound, Code: "usage", Message: "there is nothing at " + r.URL.Path, Next: "liza help serve"})
	})
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.fail(w, Problem{Status: http.StatusForbidden, Code: "refused", Message: "the request comes from another page, which may change nothing here", Next: "liza help serve"})
	}))
	return o.guard(origin.Handler(mux))
}

// guard lets nobody in who does not know the token, and without one nobody who calls this
// machine by another name than that of the machine itself: a page that a browser shows could
// have given its own name to 127.0.0.1.
func (o Options) guard(next http.Handler) http.Handler {
	wrong := make(guesses, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'")
		switch {
		case o.Token == "" && !loopback(r.Host):
			o.fail(w, Problem{Status: http.StatusForbidden, Code: "refused", Message: "this server is for its own machine; '" + r.Host + "' is not a name of that", Next: "liza serve --addr ADDR --token-env NAME"})
		case o.Token != "" && r.URL.Path == "/" && o.knows(r.URL.Query().Get("token")):
			http.SetCookie(w, &http.Cookie{Name: cookieOf(r), Value: o.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			if r.Header.Get("Sec-Fetch-Site") == "cross-site" { // a browser keeps the cookie back for what another page leads to, the file of liza serve --open
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = io.WriteString(w, "<!doctype html><meta http-equiv=refresh content=\"0;url=/\">\n")
				return
			}
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case o.Token != "" && !o.given(r):
			wrong.wait(r)
			w.Header().Set("WWW-Authenticate", "Bearer")
			o.fail(w, Problem{Status: http.StatusUnauthorized, Code: "refused", Message: "the token is missing or wrong", Next: "send it as Authorization: Bearer TOKEN, or open /?token=TOKEN"})
		case foreign(r):
			o.fail(w, Problem{Status: http.StatusForbidden, Code: "refused", Message: "the request comes from another page, which reaches nothing here", Next: "liza help serve"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// guesses lets wrong tokens be answered one after the other, a second each.
type guesses chan struct{}

const perGuess = time.Second

func (g guesses) wait(r *http.Request) {
	if len(r.Cookies()) == 0 && r.Header.Get("Authorization") == "" && r.URL.Query().Get("token") == "" { // asked without any
		return
	}
	select {
	case g <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	defer func() { <-g }()
	select {
	case <-time.After(perGuess):
	case <-r.Context().Done():
	}
}

// A browser sends the cookies of a host to all its ports, so each has a name of its own: several
// projects can be open at one time.
const cookie = "liza_token"

func cookieOf(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return cookie + "_" + port
	}
	return cookie
}

// given reports whether a request has the token.
func (o Options) given(r *http.Request) bool {
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return o.knows(t)
	}
	return hasCookie(r, cookieOf(r), o.Token) || hasCookie(r, cookie, o.Token)
}

// hasCookie reports whether one of the cookies of a name has the token: a page of another port can set further ones of that name.
func hasCookie(r *http.Request, name, token string) bool {
	return slices.ContainsFunc(r.CookiesNamed(name), func(c *http.Cookie) bool { return same(c.Value, token) })
}

func same(given, token string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
}

func (o Options) knows(token string) bool { return same(token, o.Token) }

// foreign reports whether a page of another origin asks, another port of this machine among them. It may lead a person here, no more.
func foreign(r *http.Request) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return from != "" && from != "same-origin" && from != "none" && (r.Header.Get("Sec-Fetch-Dest") != "document" || r.Method != http.MethodGet)
}

// loopback reports whether a host, with or without a port, is this machine itself.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// Options says what is served, and to whom.
type Options struct {
	Version string
	Source  *source.Source // what there is to see
	Service *verb.Service  // of a person
	Token   string         // that a caller has to know; "" for none, which is for loopback only

	// Explain is what a failed command would say of an error.
	Explain func(error) Problem
	// Open begins to forward the server at a port of a task's run, 0 for its only one, and returns its address on this machine.
	Open func(ctx context.Context, task string, port int) (address string, err error)
	// Metrics are the figures of the sprint.
	Metrics func(*blackboard.State) (dashboard.Metrics, error)

	Mask func(string) string // without a Service: takes secrets out of what is shown

	Heartbeat time.Duration // of a stream in which nothing happens; 0 is 15 s
}

// Problem is an error as callers read it. Status is that of HTTP; 0 follows from Code.
type Problem struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next"`
	First   *int   `json:"first,omitempty"` // the oldest revision that is kept, when another one was asked for
	Last    *int   `json:"last,omitempty"`  // and the newest
}

func (p Problem) Error() string { return p.Message }

func (p Problem) status() int {
	if p.Status != 0 {
		return p.Status
	}
	switch p.Code {
	case "usage":
		return http.StatusBadRequest
	case "refused", "invalid", "locked", "lease_lost", "nothing":
		return http.StatusConflict
	case "unreachable":
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// handler answers with a result, which is shown as JSON, or an error. When it has written by
// itself the result is nil.
type handler func(w http.ResponseWriter, r *http.Request) (any, error)

// only lets one method through.
func (o Options) only(method string, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
			w.Header().Set("Allow", method)
			o.fail(w, Problem{Status: http.StatusMethodNotAllowed, Code: "usage", Message: r.URL.Path + " takes " + method + ", not " + r.Method, Next: "liza help serve"})
			return
		}
		result, err := h(w, r)
		switch {
		case err != nil:
			o.fail(w, err)
		case result != nil:
			o.show(w, http.StatusOK, result)
		}
	})
}

func (o Options) show(w http.ResponseWriter, status int, result any) {
	text, err := json.Marshal(result)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":{"code":"failure","message":"the result cannot be shown","next":"liza status"}}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	mask := o.Mask
	if mask == nil {
		mask = o.Service.Board.Mask
	}
	_, _ = io.WriteString(w, mask(string(text))+"\n")
}

func (o Options) fail(w http.ResponseWriter, err error) {
	var p Problem
	if !errors.As(err, &p) {
		p = o.Explain(err)
	}
	o.show(w, p.status(), map[string]any{"error": p})
}

// body reads the body of a request. No body is an empty object.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, badInput("the body is larger than 1 MiB, or was cut off")
	}
	return data, nil
}

func badInput(message string) error {
	return Problem{Status: http.StatusBadRequest, Code: "usage", Message: message, Next: "liza help serve"}
}

func notFound(what, id string) error {
	return Problem{Status: http.StatusNotFound, Code: "refused", Message: fmt.Sprintf("there is no %s '%s'", what, id), Next: "liza status"}
}

func plain(entries []blackboard.Entry) []any {
	list := []any{}
	for _, e := range entries {
		list = append(list, dashboard.Plain(e))
	}
	return list
}

const (
	maxBody   = 1 << 20
	heartbeat = 15 * time.Second
)

//go:embed page
var files embed.FS

// statuses returns how each status is shown, as a module of the page.
func statuses() ([]byte, error) {
	lanes, err := json.Marshal(blackboard.Lanes)
	if err != nil {
		return nil, err
	}
	table, err := json.Marshal(blackboard.StatusTable)
	return fmt.Appendf(nil, "export const lanes = %s;\nexport const statuses = %s;\n", lanes, table), err
}

// page serves the few files of the page itself.
func (o Options) page(w http.ResponseWriter, r *http.Request) (any, error) {
	name := "page/index.html"
	if r.URL.Path != "/" {
		name = "page/" + path.Base(r.URL.Path)
	}
	data, err := files.ReadFile(name)
	if r.URL.Path == "/page/statuses.js" {
		data, err = statuses()
	}
	if err != nil {
		return nil, notFound("file", r.URL.Path)
	}
	kinds := map[string]string{".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
	w.Header().Set("Content-Type", kinds[path.Ext(name)]+"; charset=utf-8")
	_, _ = w.Write(data)
	return nil, nil
}

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
