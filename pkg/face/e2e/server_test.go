package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A failure is how the provider lets a program down.
type failure struct {
	name       string
	status     int    // of a refusal; 0 = the stream goes wrong instead
	retryAfter string // header, seconds
	skip       int    // so many calls are answered well before
	once       bool   // only one call; then all is well
	after      int    // so many events of the stream come before it breaks
}

// A call is one question to the model, as the server saw it.
type call struct {
	dialect string
	ask     ask
	ok      bool // a prompt of Liza was in it
	shell   bool // the program offered a tool that runs commands
	tool    bool // answered by a call of one of Liza's tools
	failed  bool
	size    int // bytes of the request
}

// A server is the scripted provider of models, on loopback. It ends with the test.
type server struct {
	url    string
	script func(a ask) answerOrCommand
	fail   *failure

	mu    sync.Mutex
	calls []call
	hosts []string      // outside hosts that a program wanted to reach by us as its proxy
	err   error         // what a real provider would have refused
	stop  chan struct{} // ends what hangs
}

// answerOrCommand is one thing that the model does: a command in the program's shell, finding a
// tool of Liza's MCP server, calling it with arguments that are JSON, or a text.
type answerOrCommand struct{ command, find, tool, args, text string }

func newServer(t testing.TB, script func(a ask) answerOrCommand) *server {
	t.Helper()
	s := &server{script: script, stop: make(chan struct{})}
	h := httptest.NewServer(s) // 127.0.0.1
	s.url = h.URL
	t.Cleanup(func() {
		close(s.stop)
		h.CloseClientConnections()
		h.Close()
	})
	return s
}

// seen is a copy of all calls so far.
func (s *server) seen() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// resumed counts the calls that came in an older conversation.
func (s *server) resumed() int {
	n := 0
	for _, c := range s.seen() {
		if c.ask.resumed {
			n++
		}
	}
	return n
}

// outsiders are the hosts elsewhere that programs wanted to reach.
func (s *server) outsiders() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(s.hosts)))
}

func (s *server) forgetHosts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts = nil
}

// problem is the first request that was not understood.
func (s *server) problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect || r.URL.IsAbs() {
		s.mu.Lock()
		s.hosts = append(s.hosts, r.Host)
		s.mu.Unlock()
		http.Error(w, "nothing outside can be reached", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the program went away
	}
	d, ok := dialectOf(r.URL.Path)
	switch {
	case r.Method != http.MethodPost || !ok:
		s.aside(w, r)
		return
	case strings.HasSuffix(r.URL.Path, "count_tokens"), strings.HasSuffix(r.URL.Path, ":countTokens"):
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": tokensIn, "totalTokens": tokensIn})
		return
	}
	req, err := d.read(r, body)
	if err != nil {
		s.mu.Lock()
		s.err = fmt.Errorf("%s %s: %w", d.name, r.URL.Path, err)
		s.mu.Unlock()
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": err.Error()}})
		return
	}
	req.size = len(body)
	a, failed := s.answer(d, req)
	switch {
	case !failed:
		s.send(w, d, req, a, -1)
	case s.fail.status != 0:
		if s.fail.retryAfter != "" {
			w.Header().Set("Retry-After", s.fail.retryAfter)
		}
		writeJSON(w, s.fail.status, d.refuse(*s.fail))
	default:
		s.breakOff(r.Context(), w, d, req, a)
	}
}

// dialectOf knows the provider by the path alone, whatever is before it.
func dialectOf(path string) (dialect, bool) {
	switch {
	case strings.Contains(path, "/messages"):
		return anthropic, true
	case strings.HasSuffix(path, "/chat/completions"):
		return openAIChat, true
	case strings.HasSuffix(path, "/responses"):
		return openAIResponses, true
	case strings.Contains(path, "/models/") && strings.Contains(path, ":"):
		return gemini, true
	}
	return dialect{}, false
}

// aside answers what is not a question to a model.
func (s *server) aside(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": "fake-model", "object": "model", "type": "model"}}})
		return
	}
	writeJSON(w, http.StatusNotFound, map[string]any{"error": map[string]any{"message": "there is nothing at " + r.URL.Path}})
}

// answer asks the script, and keeps the call.
func (s *server) answer(d dialect, req request) (a answer, failed bool) {
	var missing error
	c := call{dialect: d.name, size: req.size}
	c.ask, c.ok = req.ask()
	a = answer{text: "A task of the project"} // for a title or the like
	if _, shell := req.shell(""); c.ok && shell {
		c.shell = true
		does := s.script(c.ask)
		a = answer{text: does.text}
		switch {
		case does.command != "":
			a, _ = req.shell(does.command)
		case does.find != "":
			a = req.find(does.find)
		case does.tool != "":
			if a, c.tool = req.liza(does.tool, does.args); !c.tool {
				missing = fmt.Errorf("%s is not told of liza's tool %s, only of %s", c.ask.role, does.tool, req.toolNames())
				a = answer{text: missing.Error()}
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = missing
	}
	a.id = strconv.Itoa(len(s.calls) + 1)
	c.failed = s.fails(c)
	s.calls = append(s.calls, c)
	if c.failed && s.fail.name == "cut" {
		return answer{id: a.id, text: "The work is nearly", cut: true}, false
	}
	return a, c.failed
}

// fails reports whether the call is let down. The lock is held.
func (s *server) fails(c call) bool {
	if s.fail == nil {
		return false
	}
	answered, failed := 0, false
	for _, before := range s.calls {
		failed = failed || before.failed
		if before.shell && !before.failed {
			answered++
		}
	}
	if answered < s.fail.skip {
		return false
	}
	return !s.fail.once || c.shell && !failed
}

// send writes the answer; with limit >= 0 only so many events of it.
func (s *server) send(w http.ResponseWriter, d dialect, r request, a answer, limit int) {
	if !r.stream {
		writeJSON(w, http.StatusOK, d.whole(r, a))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	events := d.stream(r, a)
	if limit >= 0 {
		events = events[:min(limit, len(events)-1)] // never whole
	}
	for _, e := range events {
		if e.name != "" {
			fmt.Fprintf(w, "event: %s\n", e.name)
		}
		if text, ok := e.data.(string); ok {
			fmt.Fprintf(w, "data: %s\n\n", text)
		} else {
			fmt.Fprintf(w, "data: %s\n\n", mustJSON(e.data))
		}
	}
	flush(w)
}

// breakOff begins an answer well, and lets it go wrong. What is not streamed goes wrong at once.
func (s *server) breakOff(ctx context.Context, w http.ResponseWriter, d dialect, r request, a answer) {
	begin := func() {
		if r.stream {
			s.send(w, d, r, a, s.fail.after)
		}
	}
	switch s.fail.name {
	case "hang":
		begin()
		select {
		case <-s.stop:
		case <-ctx.Done():
		}
	case "malformed":
		begin()
		io.WriteString(w, "data: {\"this is\": no JSON}\n\n")
		flush(w)
	case "reset":
		begin()
		reset(w)
	}
}

// reset ends the connection so that the other side gets an error, and no end.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

func flush(w http.ResponseWriter) { http.NewResponseController(w).Flush() }

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(mustJSON(v))
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // everything here is made of maps and strings
	}
	return data
}
