package web_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/dashboard/source"
	"liza/pkg/face/dashboard/web"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// serve starts a server over a project. change alters its options.
func serve(t *testing.T, p *verbtest.Place, change func(*web.Options)) *httptest.Server {
	t.Helper()
	d := p.Service("")
	o := web.Options{Version: "test", Service: d,
		Explain: func(err error) web.Problem {
			var r *transition.Refusal
			if errors.As(err, &r) {
				return web.Problem{Code: map[transition.Exit]string{2: "usage", 3: "invalid", 4: "refused", 7: "nothing"}[r.Exit], Message: r.Message, Next: r.Next}
			}
			return web.Problem{Code: "failure", Message: err.Error(), Next: "liza status"}
		},
		Source: &source.Source{Service: d, Facts: func(*blackboard.State) dashboard.Input {
			return dashboard.Input{Now: d.Board.Now(), Process: d.Board.Facts()}
		}},
		Metrics: func(s *blackboard.State) (dashboard.Metrics, error) {
			return dashboard.MetricsOf(s, s.SprintTasks(nil), nil, d.Board.Now()), nil
		}}
	if change != nil {
		change(&o)
	}
	server := httptest.NewServer(web.Handler(o))
	t.Cleanup(server.Close)
	return server
}

// answer is what a request got.
type answer struct {
	status int
	header http.Header
	text   string
	json   map[string]any
}

func (a answer) problem() (code, message string) {
	e, _ := a.json["error"].(map[string]any)
	code, _ = e["code"].(string)
	message, _ = e["message"].(string)
	return code, message
}

func ask(t *testing.T, s *httptest.Server, method, path, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ": ")
		if !ok {
			continue
		}
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: r.StatusCode, header: r.Header, text: string(data)}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(data, &a.json); err != nil {
			t.Errorf("%s %s is not JSON object: %s", method, path, data)
		}
	}
	return a
}

func TestEverythingThatThereIsToSeeIsServed(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	if _, err := p.Service("").Tell(t.Context(), verb.TellInput{To: verb.ThePlanner, Text: "look"}); err != nil {
		t.Fatal(err)
	}
	s := serve(t, p, nil)
	for path, want := range map[string]string{
		"/api/state":                          `"waits_for_person":`,
		"/api/tasks/task-1":                   `"history":[`,
		"/api/tasks/task-1/page":              `"done_when":"task-1.md contains a word"`,
		"/api/tasks/task-1/attempts":          `{"attempts":[]}`,
		"/api/tasks/task-1/attempts?full=1":   `{"attempts":[]}`,
		"/api/agents/task-1/output":           `{"events":[],"next":0}`,
		"/api/timeline":                       `"lanes":[`,
		"/api/graph":                          `"nodes":[{"id":"task-1"`,
		"/api/usage":                          `"by_task":[`,
		"/api/alerts":                         `{"alerts":[]}`,
		"/api/at":                             `{"first":1,"last":3}`,
		"/api/at?rev=1":                       `"tasks":[]`,
		"/api/at?rev=3":                       `"revision":3`,
		"/api/log":                            `"action":"task_added"`,
		"/api/log?since=0":                    `"action":"initialized"`,
		"/api/log?since=2026-01-01T00:00:00Z": `"action":"note"`,
		"/api/log?since=100000":               `{"entries":[]}`,
		"/metrics":                            `liza_tasks{status="UNCLAIMED"} 1`,
		"/":                                   `<script src="/page/main.js"`,
		"/page/live.js":                       `EventSource`,
		"/page/statuses.js":                   `"status":"BLOCKED","title":"Blocked"`,
		"/page/page.css":                      `color-scheme`,
		"/page/liza.svg":                      `<svg`,
	} {
		if a := ask(t, s, "GET", path, ""); a.status != 200 || !strings.Contains(a.text, want) {
			t.Errorf("GET %s: %d, no %s in %.300s", path, a.status, want, a.text)
		}
	}
	page := ask(t, s, "GET", "/", "")
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'self'") || page.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the page's headers are %v", page.header)
	}
}

func TestWhatCannotBeDoneIsAnErrorWithItsStatus(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	s := serve(t, p, nil)
	before := p.State().Revision
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/api/nothing", "", 404, "usage"},
		{"GET", "/api/tasks/task-9", "", 404, "refused"},
		{"GET", "/page/none.js", "", 404, "refused"},
		{"GET", "/api/tasks/task-9/page", "", 404, "refused"},
		{"GET", "/api/tasks/task-9/diff", "", 404, "refused"},
		{"GET", "/api/tasks/task-9/attempts", "", 404, "refused"},
		{"GET", "/api/agents/coder-9/output", "", 404, "refused"},
		{"GET", "/api/agents/task-1/output?since=then", "", 400, "usage"},
		{"GET", "/api/at?rev=99", "", 404, "refused"},
		{"GET", "/api/at?rev=now", "", 400, "usage"},
		{"GET", "/api/at?rev=-1", "", 400, "usage"},
		{"POST", "/api/state", "", 405, "usage"},
		{"GET", "/api/pause", "", 405, "usage"},
		{"DELETE", "/api/tasks/task-1", "", 405, "usage"},
		{"GET", "/api/log?since=soon", "", 400, "usage"},
		{"POST", "/api/tell", "{", 400, "usage"},
		{"POST", "/api/tell", `{"text":"a"} {}`, 400, "usage"},
		{"POST", "/api/tell", `{"words":"a"}`, 400, "usage"},
		{"POST", "/api/tell", `{"text":1}`, 400, "usage"},
		{"POST", "/api/tell", `{"text":"` + strings.Repeat("a", 1<<20) + `"}`, 400, "usage"},
		{"POST", "/api/tell", `{}`, 400, "usage"},
		{"POST", "/api/tasks/task-1/hold", `{}`, 400, "usage"},
		{"POST", "/api/tasks/task-9/hold", `{"reason":"why"}`, 404, "refused"},
		{"POST", "/api/tasks/task-1/approve-merge", "", 409, "refused"},
		{"POST", "/api/tasks/task-1/reject-merge", `{"reason":"a.go:1 is wrong"}`, 409, "refused"},
		{"POST", "/api/tasks/task-1/unhold", "", 409, "refused"},
		{"POST", "/api/tasks/task-1/release", `{"reason":"why"}`, 409, "refused"},
		{"POST", "/api/tasks/task-1/release", `{"reason":"why","coder":true,"reviewer":true}`, 400, "usage"},
		{"POST", "/api/tasks/task-1/unblock", `{"reason":"why"}`, 409, "refused"},
		{"POST", "/api/tasks/task-1/resubmit", `{"limits":{"max_agent_runs":9}}`, 409, "refused"},
		{"POST", "/api/finalize", `{"tasks":["task-1"]}`, 409, "refused"},
		{"POST", "/api/integration/accept", "", 409, "nothing"},
		{"POST", "/api/integration/restore", "", 409, "nothing"},
		{"POST", "/api/questions/q-9/answer", `{"answer":"yes"}`, 404, "refused"},
		{"POST", "/api/resume", "", 409, "nothing"},
	} {
		a := ask(t, s, c.method, c.path, c.body)
		code, message := a.problem()
		if a.status != c.status || code != c.code || message == "" {
			t.Errorf("%s %s %.40s: %d %s, want %d %s", c.method, c.path, c.body, a.status, a.text, c.status, c.code)
		}
	}
	if after := p.State().Revision; after != before {
		t.Errorf("refused requests changed the board: revision %d, was %d", after, before)
	}
}

// C-21: what changes over HTTP goes through the same guards as the commands; what is not
// possible in the status that a task has, or a second time, is a conflict.
func TestTheServerActsByTheSameRules(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Review.Mode = "strict"
	p.Approved("task-1")
	s := serve(t, p, nil)
	if a := ask(t, s, "POST", "/api/tasks/task-1/approve-merge", ""); a.status != 200 || a.json["status"] != "APPROVED" {
		t.Errorf("approve-merge: %d %s", a.status, a.text)
	}
	if a := p.State().Task("task-1").MergeApproval; a == nil || a.Decision != "approved" || a.By == "" {
		t.Errorf("the board has the approval %+v", a)
	}
	if a := ask(t, s, "POST", "/api/tasks/task-1/reject-merge", `{"reason":"a.go:1 is wrong"}`); a.status != 409 {
		t.Errorf("a decision after the decision: %d %s", a.status, a.text)
	}

	p.AddTask("task-2")
	if _, err := p.Service("coder-1").Claim(t.Context(), "task-2"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Service("coder-1").Block(t.Context(), verb.BlockInput{Task: "task-2", Reason: "the spec is silent", Questions: []string{"Which one?"}}); err != nil {
		t.Fatal(err)
	}
	id := p.State().Questions[0].ID
	if a := ask(t, s, "POST", "/api/questions/"+id+"/answer", `{"answer":"the first"}`); a.status != 200 || a.json["unblocked"] != true {
		t.Errorf("answer: %d %s", a.status, a.text)
	}
	if a := ask(t, s, "POST", "/api/questions/"+id+"/answer", `{"answer":"the second"}`); a.status != 409 {
		t.Errorf("a second answer: %d %s", a.status, a.text)
	}
	if task := p.State().Task("task-2"); task.Status != blackboard.Unclaimed {
		t.Errorf("task-2 is %s", task.Status)
	}

	for _, c := range []struct{ path, body string }{
		{"/api/tasks/task-2/hold", `{"reason":"wait"}`}, {"/api/tasks/task-2/unhold", ""},
		{"/api/pause", `{"reason":"lunch"}`}, {"/api/resume", ""},
	} {
		if a := ask(t, s, "POST", c.path, c.body); a.status != 200 {
			t.Errorf("POST %s: %d %s", c.path, a.status, a.text)
		}
	}
}

func TestNobodyElseGetsIn(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	own := serve(t, p, nil)
	for _, c := range []struct {
		method, path string
		headers      []string
		status       int
	}{
		{"GET", "/api/state", []string{"Host: evil.example"}, 403},
		{"GET", "/api/state", []string{"Host: localhost:7717"}, 200},
		{"GET", "/api/state", []string{"Host: [::1]:7717"}, 200},
		{"GET", "/api/state", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: script"}, 403},
		{"GET", "/api/state", []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: image"}, 403},
		{"GET", "/", []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: iframe"}, 403},
		{"GET", "/", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document"}, 200},
		{"GET", "/api/state", []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: empty"}, 200},
		{"POST", "/api/pause", []string{"Origin: https://evil.example"}, 403},
		{"POST", "/api/pause", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"POST", "/api/pause", []string{"Origin: " + own.URL}, 200},
	} {
		if a := ask(t, own, c.method, c.path, "", c.headers...); a.status != c.status {
			t.Errorf("%s %s with %v: %d %s, want %d", c.method, c.path, c.headers, a.status, a.text, c.status)
		}
	}
	shared := serve(t, p, func(o *web.Options) { o.Token = "hunter2" })
	for _, c := range []struct {
		path, header string
		status       int
	}{
		{"/api/state", "", 401}, {"/", "", 401}, {"/metrics", "", 401}, {"/?token=wrong", "", 401},
		{"/api/state", "Authorization: Bearer hunter", 401}, {"/api/state?token=hunter2", "", 401},
		{"/api/state", "Authorization: Bearer hunter2", 200}, {"/api/state", "Cookie: liza_token=hunter2", 200},
		{"/api/state", "Cookie: liza_token=evil; liza_token=hunter2", 200}, {"/?token=hunter2", "Host: board.example", 303},
	} {
		begun := time.Now()
		a := ask(t, shared, "GET", c.path, "", c.header)
		if wrong := c.status == 401 && c.path+c.header != c.path || strings.Contains(c.path, "token=wrong"); wrong && time.Since(begun) < time.Second {
			t.Errorf("GET %s with %q: a guess was answered at once", c.path, c.header)
		}
		if a.status != c.status {
			t.Errorf("GET %s with %q: %d %s, want %d", c.path, c.header, a.status, a.text, c.status)
		}
		if c.status == 303 && (!strings.Contains(a.header.Get("Set-Cookie"), "HttpOnly; SameSite=Strict") || a.header.Get("Location") != "/") {
			t.Errorf("the token leads to %v", a.header)
		}
	}
	if a := ask(t, own, "GET", "/api/state", ""); a.header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("another page may have it: %v", a.header)
	}
	if a := ask(t, shared, "GET", "/?token=hunter2", "", "Sec-Fetch-Site: cross-site"); a.status != 200 || a.header.Get("Set-Cookie") == "" || !strings.Contains(a.text, "content=\"0;url=/\"") {
		t.Errorf("another page leads to %d %s", a.status, a.text)
	}
}

// events reads a stream of server-sent events; the function that it returns skips heartbeats unless they are wanted.
func events(t *testing.T, s *httptest.Server, path string) (next func(want string) map[string]any, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 4<<20)
	return func(want string) map[string]any {
		t.Helper()
		event := ""
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				event = name
			}
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok || event == "heartbeat" && want != "heartbeat" {
				continue
			}
			var out map[string]any
			if err := json.Unmarshal([]byte(data), &out); err != nil || event != want {
				t.Fatalf("event %s with %s, want %s", event, data, want)
			}
			return out
		}
		t.Fatalf("the stream ended before %s: %v", want, lines.Err())
		return nil
	}, r.Header
}

// C-21: a stream begins with the whole board; then come changes, and heartbeats between.
func TestTheStreamOfEventsBeginsWithTheBoard(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	s := serve(t, p, func(o *web.Options) { o.Heartbeat = 20 * time.Millisecond })
	next, header := events(t, s, "/api/events")
	if v := next("snapshot"); v["tasks"].([]any)[0].(map[string]any)["id"] != "task-1" || header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the snapshot is %v", v)
	}
	next("heartbeat")
	if _, err := p.Service("").Hold(t.Context(), "task-1", "wait"); err != nil {
		t.Fatal(err)
	}
	c := next("change")
	if text := fmt.Sprint(c["entries"]); !strings.Contains(text, "action:held") || c["revision"] != float64(p.State().Revision) || c["state"] == nil {
		t.Errorf("the change is %v", c)
	}
}

// What others have written can become part of the page as text only: nothing that parses markup, or runs a text, is used,
// and the policy of the page lets no script in but its own files.
func TestThePageHasNoWayForMarkup(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("page", "*"))
	if err != nil || len(files) < 10 {
		t.Fatalf("the page has the files %v, %v", files, err)
	}
	s := serve(t, verbtest.New(t), nil)
	for _, file := range files {
		a := ask(t, s, "GET", "/page/"+filepath.Base(file), "")
		if policy := a.header.Get("Content-Security-Policy"); a.status != 200 || !strings.Contains(policy, "default-src 'self'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d with the policy %s", file, a.status, policy)
		}
		for _, way := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "createContextualFragment", "srcdoc", "eval(", "new Function", "style=", "https://"} {
			if strings.Contains(a.text, way) {
				t.Errorf("%s has %s", file, way)
			}
		}
	}
}

// What an agent says is read from a place on, and followed; a stream that was cut goes on where it was.
func TestTheOutputOfAnAgentIsFollowed(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	if _, err := p.Service("coder-1").Claim(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	write := func(name, lines string) {
		t.Helper()
		f, err := os.OpenFile(p.Project.Activity(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(lines)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run := `{"at":"2026-01-19T14:00:00Z","kind":"run","agent":"coder-1","task":"task-1","run":1,"id":"r-1"}` + "\n"
	verbtest.Write(t, p.Project.Activity("coder-1"), run)
	write("task-1", run+`{"at":"2026-01-19T14:00:01Z","kind":"tool","tool":"Bash","text":"go test"}`+"\n")
	s := serve(t, p, nil)
	a := ask(t, s, "GET", "/api/agents/coder-1/output", "")
	if list, _ := a.json["events"].([]any); len(list) != 2 || !strings.Contains(a.text, `"tool":"Bash"`) {
		t.Errorf("the output is %s", a.text)
	}
	place := fmt.Sprintf("%.0f", a.json["next"])
	if a := ask(t, s, "GET", "/api/agents/coder-1/output?since="+place, ""); !strings.Contains(a.text, `"events":[]`) {
		t.Errorf("after %s comes %s", place, a.text)
	}
	next, header := events(t, s, "/api/agents/coder-1/output?since="+place)
	write("task-1", `{"at":"2026-01-19T14:00:02Z","kind":"text","text":"all pass"}`+"\n")
	if e := next("activity"); e["text"] != "all pass" || header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the stream goes on with %v", e)
	}
	// The board says what the agent does, in its row alone.
	rows, _ := events(t, s, "/api/events?rows=changed")
	rows("snapshot")
	write("task-1", `{"at":"2026-01-19T14:00:03Z","kind":"tool","tool":"Edit","text":"a.go"}`+"\n")
	c := rows("change")
	if text := fmt.Sprint(c["agents"]); !strings.Contains(text, "tool:Edit") || len(c["tasks"].([]any)) != 0 || len(c["entries"].([]any)) != 0 {
		t.Errorf("the change is %v", c)
	}
}

// An update costs what has changed: of two hundred tasks, the one that is held.
func TestAStreamOfChangedRowsHasOnlyThose(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Merges(200)
	p.AddTask("task-1")
	p.AddTask("task-2")
	s := serve(t, p, nil)
	began := time.Now()
	next, _ := events(t, s, "/api/events?rows=changed")
	if v := next("snapshot"); len(v["tasks"].([]any)) != 202 {
		t.Errorf("the snapshot has %d tasks", len(v["tasks"].([]any)))
	}
	t.Logf("a snapshot of 202 tasks came after %s", time.Since(began).Round(time.Millisecond))
	if _, err := p.Service("").Hold(t.Context(), "task-2", "wait"); err != nil {
		t.Fatal(err)
	}
	c := next("change")
	text, _ := json.Marshal(c)
	rows := c["tasks"].([]any)
	if len(rows) != 1 || rows[0].(map[string]any)["hold"] != "on hold by ada: wait" || len(text) > 10_000 {
		t.Errorf("the change has %d bytes and the rows %v", len(text), rows)
	}
	if board := c["board"].(map[string]any); board["tasks"] != nil || len(board["waits_for_person"].([]any)) != 1 || len(c["gone"].([]any)) != 0 {
		t.Errorf("the board of the change is %v", board)
	}
	if _, err := sprint.Archive(t.Context(), p.Service(""), 0); err != nil {
		t.Fatal(err)
	}
	if c := next("change"); len(c["gone"].([]any)) != 200 || len(c["tasks"].([]any)) != 0 {
		t.Errorf("the merged tasks have left: gone %v, rows %v", c["gone"], c["tasks"])
	}
}

// What is known as a secret is shown nowhere, wherever it has got in.
func TestNoAnswerHasASecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-and-\"quotes\"-and-more"
	p := verbtest.New(t)
	p.Approved("task-1")
	_, err := p.Service("").AddTask(t.Context(), verb.NewTask{Task: blackboard.Task{ID: "task-2", Description: "call it with " + secret, SpecRef: "specs/vision.md",
		DoneWhen: "it answers to " + secret, Scope: "IN: a.md", Type: "docs"}})
	if err != nil {
		t.Fatal(err)
	}
	p.Secrets.Add("API_KEY", secret) // it becomes known after it was written
	s := serve(t, p, nil)
	plain := strings.NewReplacer(`\"`, `"`, `&#34;`, `"`)
	found := 0
	for _, path := range []string{"/api/state", "/api/tasks/task-1", "/api/tasks/task-2", "/api/tasks/task-2/page", "/api/tasks/task-1/diff", "/api/tasks/task-1/attempts?full=1",
		"/api/log?since=0", "/api/alerts", "/api/timeline", "/api/graph", "/api/usage", "/api/at?rev=1", "/metrics"} {
		a := ask(t, s, "GET", path, "")
		if a.status != 200 || strings.Contains(plain.Replace(a.text), "hunter2") {
			t.Errorf("GET %s: %d %s", path, a.status, a.text)
		}
		found += strings.Count(a.text, "[REDACTED:API_KEY]")
	}
	if found == 0 {
		t.Error("the secret was nowhere, so that nothing was tested")
	}
	next, _ := events(t, s, "/api/events")
	if text := fmt.Sprint(next("snapshot")); strings.Contains(text, "hunter2") {
		t.Errorf("the snapshot has the secret: %s", text)
	}
}
