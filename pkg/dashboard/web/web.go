// Package web shows the board in a browser and serves it as JSON (specs/cli.md#7): what there is to
// see, a stream of changes, and buttons that call verbs, under the same guards as the
// commands of those names.
package web

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/dashboard/source"
	"liza/pkg/verb"
)

// Options says what is served, and to whom.
type Options struct {
	Version string
	Source  *source.Source // what there is to see
	Service *verb.Service  // of a person
	Token   string         // that a caller has to know; "" for none, which is for loopback only

	// Explain is what a failed command would say of an error.
	Explain func(error) Problem
	// Metrics are the figures of the sprint.
	Metrics func(*blackboard.State) (dashboard.Metrics, error)

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

const (
	maxBody   = 1 << 20
	heartbeat = 15 * time.Second
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'")
		switch {
		case o.Token == "" && !loopback(r.Host):
			o.fail(w, Problem{Status: http.StatusForbidden, Code: "refused", Message: "this server is for its own machine; '" + r.Host + "' is not a name of that", Next: "liza serve --addr ADDR --token-env NAME"})
		case o.Token != "" && r.URL.Path == "/" && o.knows(r.URL.Query().Get("token")):
			http.SetCookie(w, &http.Cookie{Name: cookieOf(r), Value: o.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case o.Token != "" && !o.given(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			o.fail(w, Problem{Status: http.StatusUnauthorized, Code: "refused", Message: "the token is missing or wrong", Next: "send it as Authorization: Bearer TOKEN, or open /?token=TOKEN"})
		default:
			next.ServeHTTP(w, r)
		}
	})
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
	for _, name := range []string{cookieOf(r), cookie} {
		if c, err := r.Cookie(name); err == nil && o.knows(c.Value) {
			return true
		}
	}
	return false
}

func (o Options) knows(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(o.Token)) == 1
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
	_, _ = io.WriteString(w, o.Service.Mask(string(text))+"\n")
}

func (o Options) fail(w http.ResponseWriter, err error) {
	var p Problem
	if !errors.As(err, &p) {
		p = o.Explain(err)
	}
	o.show(w, p.status(), map[string]any{"error": p})
}

// body reads the JSON object of a request into in. No body is an empty object.
func body(w http.ResponseWriter, r *http.Request, in any) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return badInput("the body is larger than 1 MiB, or was cut off")
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(in); err != nil {
		return badInput("the body must be a JSON object: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return badInput("the body must be one JSON object")
	}
	return nil
}

func badInput(message string) error {
	return Problem{Status: http.StatusBadRequest, Code: "usage", Message: message, Next: "liza help serve"}
}

func notFound(what, id string) error {
	return Problem{Status: http.StatusNotFound, Code: "refused", Message: fmt.Sprintf("there is no %s '%s'", what, id), Next: "liza status"}
}
