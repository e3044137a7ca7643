package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
