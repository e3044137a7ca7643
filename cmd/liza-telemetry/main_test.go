package main_test

import (
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"liza/pkg/base/norace"
	"liza/pkg/verb/verb/verbtest"
)

// receiver takes what a collector would.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	spans   map[string]*otlp.Span // by name, and the task for the names of attempts and checks
	twice   []string
	metrics map[string]bool
	raw     []byte
	header  string
	service string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{spans: map[string]*otlp.Span{}, metrics: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.raw, r.header = append(r.raw, body...), req.Header.Get("Authorization")
		switch req.URL.Path {
		case "/v1/traces":
			var in collectortrace.ExportTraceServiceRequest
			err = errors.Join(err, proto.Unmarshal(body, &in))
			r.take(&in)
		case "/v1/metrics":
			var in collectormetrics.ExportMetricsServiceRequest
			err = errors.Join(err, proto.Unmarshal(body, &in))
			for _, m := range in.GetResourceMetrics() {
				for _, s := range m.GetScopeMetrics() {
					for _, x := range s.GetMetrics() {
						r.metrics[x.GetName()] = true
					}
				}
			}
		}
		if err != nil {
			t.Errorf("%s: %v", req.URL.Path, err)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(in *collectortrace.ExportTraceServiceRequest) {
	for _, of := range in.GetResourceSpans() {
		r.service = text(of.GetResource().GetAttributes(), "service.name")
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				name := s.GetName()
				if task := text(s.GetAttributes(), "liza.task.id"); task != "" && !strings.HasPrefix(name, "task ") {
					name = task + ": " + name
				}
				if old := r.spans[name]; old != nil && string(old.GetSpanId()) == string(s.GetSpanId()) {
					r.twice = append(r.twice, name)
				}
				r.spans[name] = s
			}
		}
	}
}

func text(attributes []*common.KeyValue, key string) string {
	for _, a := range attributes {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

func number(attributes []*common.KeyValue, key string) int64 {
	for _, a := range attributes {
		if a.GetKey() == key {
			return a.GetValue().GetIntValue()
		}
	}
	return -1
}

// sprint is a repository with a goal, and the programs.
type sprint struct {
	t         *testing.T
	bin, root string
	env       []string
}

func newSprint(t *testing.T, env ...string) *sprint {
	t.Helper()
	s := &sprint{t: t, bin: t.TempDir(), root: t.TempDir()}
	if err := norace.Build(s.bin, "liza/cmd/liza", "liza/cmd/liza-telemetry"); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	s.env = append([]string{"PATH=" + s.bin + ":" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "LIZA_SANDBOX=open", "USER=ada", "LIZA_SECRET_DEPLOY=open-sesame-42",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com"}, env...)
	verbtest.Write(t, filepath.Join(s.root, "specs", "vision.md"), "# Vision\nThe word of this spec is abracadabra.\n")
	verbtest.Write(t, filepath.Join(s.root, "scenario.yaml"), `
planner:
  - plan:
      goal: "Say hello"
      tasks:
        - {id: hello, type: docs, description: "Write abracadabra", done_when: "hello.txt says hello", spec_ref: specs/vision.md, scope: hello.txt}
coder:
  hello:
    - {run: "echo hullo > hello.txt", commit: "Say hullo", exit: {action: COMPLETED, evidence_files: [hello.txt], summary_for_supervisor: "abracadabra open-sesame-42"}}
    - {run: "echo hello > hello.txt", commit: "Say hello"}
code_reviewer:
  hello:
    - review: {status: needs_fix, reason: "hello.txt:1 says hullo"}
    - review: {status: ok}
`)
	for _, args := range [][]string{{"git", "init", "--quiet", "--initial-branch=main"}, {"git", "add", "--all"}, {"git", "commit", "--quiet", "--message", "Start"}, {"liza", "init", "Say hello"}} {
		s.command(args...)
	}
	return s
}

func (s *sprint) command(args ...string) string {
	s.t.Helper()
	path := args[0]
	if args[0] == "liza" {
		path = filepath.Join(s.bin, "liza")
	}
	cmd := exec.CommandContext(s.t.Context(), path, args[1:]...)
	cmd.Dir, cmd.Env = s.root, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestACollectorGetsTheSpansOfASprint(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	s := newSprint(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+r.URL, "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20mellon-mellon", "OTEL_RESOURCE_ATTRIBUTES=team=elves")
	out := s.command("liza", "run", "--scenario", "scenario.yaml", "--coders", "1")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.service != "liza" || r.header != "Bearer mellon-mellon" {
		t.Errorf("service %q, header %q; liza run said\n%s", r.service, r.header, out)
	}
	for name, parent := range map[string]string{"goal": "", "invoke_agent planner-1": "goal", "task hello": "", "hello: attempt 1": "task hello", "hello: attempt 2": "task hello",
		"hello: merge": "hello: attempt 2", "hello: check security": "hello: attempt 2", "hello: invoke_agent coder-1": "hello: attempt 2", "hello: invoke_agent code-reviewer-1": "hello: attempt 2"} {
		x := r.spans[name]
		if x == nil {
			t.Errorf("there is no span %s", name)
			continue
		}
		var want []byte
		if parent != "" {
			want = r.spans[parent].GetSpanId()
			if string(x.GetTraceId()) != string(r.spans[parent].GetTraceId()) {
				t.Errorf("%s is in another trace than %s", name, parent)
			}
		}
		if string(x.GetParentSpanId()) != string(want) {
			t.Errorf("the parent of %s is %s, want %s, %s", name, hex.EncodeToString(x.GetParentSpanId()), hex.EncodeToString(want), parent)
		}
		if x.GetStartTimeUnixNano() > x.GetEndTimeUnixNano() || time.Since(time.Unix(0, int64(x.GetEndTimeUnixNano()))) > time.Hour {
			t.Errorf("%s is from %d to %d", name, x.GetStartTimeUnixNano(), x.GetEndTimeUnixNano())
		}
		if number(x.GetAttributes(), "liza.revision") < 1 {
			t.Errorf("%s has no revision: %v", name, x.GetAttributes())
		}
	}
	if links := r.spans["task hello"].GetLinks(); len(links) != 1 || string(links[0].GetSpanId()) != string(r.spans["goal"].GetSpanId()) {
		t.Errorf("the task is not linked to the goal: %v", links)
	}
	run := r.spans["hello: invoke_agent coder-1"].GetAttributes()
	for key, want := range map[string]string{"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "scripted", "gen_ai.agent.name": "coder-1", "liza.outcome": "finished", "liza.sandbox": "open"} {
		if got := text(run, key); got != want {
			t.Errorf("%s of a run is %q, want %q", key, got, want)
		}
	}
	if number(run, "gen_ai.usage.input_tokens") < 0 || text(r.spans["hello: attempt 1"].GetAttributes(), "liza.outcome") != "rejected" || text(r.spans["task hello"].GetAttributes(), "liza.outcome") != "MERGED" {
		t.Errorf("tokens or outcomes are missing: %v, %v", run, r.spans["hello: attempt 1"].GetAttributes())
	}
	for _, name := range []string{"liza.tasks", "liza.runs", "liza.cost", "gen_ai.client.token.usage", "gen_ai.client.operation.duration", "liza.task.duration"} {
		if !r.metrics[name] {
			t.Errorf("there is no metric %s", name)
		}
	}
	for _, secret := range []string{"abracadabra", "sesame", "mellon", "hullo"} {
		if strings.Contains(string(r.raw), secret) {
			t.Errorf("%q left the machine", secret)
		}
	}
	if slices.Sort(r.twice); len(r.twice) > 0 {
		t.Errorf("sent twice: %v", r.twice)
	}
}

func TestARunDoesNotWaitForACollectorThatIsAway(t *testing.T) {
	t.Parallel()
	away := newReceiver(t)
	away.Close()
	s := newSprint(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+away.URL)
	out := s.command("liza", "run", "--scenario", "scenario.yaml", "--coders", "1")
	if !strings.Contains(out, "cannot export telemetry") {
		t.Errorf("nobody was told:\n%s", out)
	}
	s.env = append(s.env, "OTEL_SDK_DISABLED=true")
	if out := s.command("liza", "goal", "--abandon-open", "--reason", "next", "Say bye"); strings.Contains(out, "telemetry") {
		t.Errorf("a short command looks at telemetry:\n%s", out)
	}
}
