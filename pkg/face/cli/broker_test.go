package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/face/verbs"
	"liza/pkg/run/broker"
	"liza/pkg/run/exitcmd"
	"liza/pkg/team/assembly"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// aRun is a run of an agent with its broker; its Env is that of a command inside it.
type aRun struct {
	Env
	run     supervisor.InRun
	outside *factory
}

func inRun(t testing.TB, p *verbtest.Place, d *verb.Service) *aRun {
	t.Helper()
	id := d.Board.Caller.AgentID
	token, hash, err := d.Agents.NewToken()
	if err != nil {
		t.Fatal(err)
	}
	err = d.Board.Update(context.Background(), "spawn", func(s *blackboard.State, a transition.Actor) error {
		return transition.Spawned(s, a, blackboard.Child{PID: os.Getpid(), PIDStart: s.Agents[id].PIDStart, Run: 1, RunID: board.RunMark(s.Agents[id].Generation, 1), TokenHash: hash}, d.Board.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	outside := &factory{env: &Env{System: assembly.Environment{Environ: []string{"PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + p.StateHome(), "USER=ada"}, Now: time.Now, Executable: os.Executable}, tree: lizaCommand}}
	outside.env.System.Dir, outside.env.System.Stderr = p.Dir, io.Discard
	if outside.service, err = outside.env.System.Service(t.Context()); err != nil {
		t.Fatal(err)
	}
	folder, err := broker.MakeFolder("/tmp", p.Dir, id)
	if err != nil {
		t.Fatal(err)
	}
	run := supervisor.InRun{Agent: id, Token: token, Mark: "g-1", Root: p.Project.Root}
	server := broker.Serve(folder.Listener, outside.commands(run), nil)
	t.Cleanup(func() {
		if !server.Close() {
			t.Error("a command of the run goes on")
		}
		if err := folder.Remove(); err != nil {
			t.Error(err)
		}
	})
	env := Env{System: assembly.Environment{Dir: p.Dir, Now: time.Now, Environ: []string{"LIZA_BROKER=" + filepath.Join(folder.Path, broker.Socket)}}}
	return &aRun{env, run, outside}
}

// call calls liza in the place of e.
func (e Env) call(stdin string, args ...string) (code int, out string) {
	var buffer bytes.Buffer
	e.System.Stdin, e.System.Stdout, e.System.Stderr = strings.NewReader(stdin), &buffer, &buffer
	return Liza(args, &e), buffer.String()
}

// Who calls says the socket alone, so no option and no variable makes a person of an agent; nothing is
// opened for what is refused.
func TestWhatIsForPeopleIsRefusedInARun(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	e := inRun(t, p, p.Supervised("coder-1"))
	before := p.State()
	e.System.Environ = append(e.System.Environ, "LIZA_AGENT_ID=", "LIZA_AGENT_TOKEN=x", "LIZA_ROOT=/does/not/exist", "EDITOR=true")
	for path, who := range callers {
		if who != verbs.People && who != verbs.Gated && who != verbs.Outside || path == "demo" {
			continue
		}
		line := slices.Concat(strings.Fields(path), words[path])
		for _, before := range [][]string{nil, {"--as", "planner-1"}, {"-C", "/tmp"}, {"--json"}} {
			if code, out := e.call("", slices.Concat(before, line)...); code != 4 || !strings.Contains(out, "coder-1 may not") && !strings.Contains(out, "inside a run") {
				t.Errorf("liza %q ends with %d: %s", slices.Concat(before, line), code, out)
			}
		}
	}
	for _, line := range []string{"--as coder-2 status", "-C /tmp status", "-C .. show task-1", "doctor --checks", "validate --fix", "validate /etc/passwd",
		"report -o /tmp/report.md", "status --all"} {
		if code, out := e.call("", strings.Fields(line)...); code != 4 {
			t.Errorf("liza %s ends with %d: %s", line, code, out)
		}
	}
	if after := p.State(); after.Revision != before.Revision {
		t.Error("a refused command has changed the board")
	}
}

func TestACommandInARunIsThatOfItsAgent(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	d := p.Supervised("coder-1")
	if _, err := d.Claim(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	e := inRun(t, p, d)
	e.System.Environ = append(e.System.Environ, "LIZA_AGENT_ID=planner-9", "LIZA_REVIEW_CHECKS_TEST_COVERAGE_ENABLED=maybe")
	for _, tt := range []struct {
		line string
		code int
		want string
	}{
		{"status", 0, "task-1"},
		{"show task-1 --json", 0, `{"ok":true,`},
		{"show task-9", 4, "nothing on the board has the id 'task-9'"},
		{"config", 0, "protocol"},
		{"facts", 0, "no facts"},
		{"-C . status", 0, "task-1"},
		{"claim task-1", 4, "a coder may not claim; the supervisor of a coder may"},
		{"intent task-1 --intent Write --validation Read", 0, "recorded"},
		{"add-task --id x --desc X --spec specs/vision.md --done y --scope z", 4, "a coder may not create"},
		{"--json pause", 4, `"code":"refused"`},
		{"intent", 2, "intent needs"},
		{"statsu", 2, "did you mean 'status'"},
		{"help status", 0, "Usage: liza status"},
		{"version", 0, "liza"},
	} {
		if code, out := e.call("", strings.Fields(tt.line)...); code != tt.code || !strings.Contains(out, tt.want) {
			t.Errorf("liza %s ends with %d: %s", tt.line, code, out)
		}
	}
}

// The supervisor opens no file because an agent names it: the one who calls does, with its own rights.
func TestAFileThatACommandNamesIsOpenedInTheRun(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	planner := p.Supervised("planner-1")
	e := inRun(t, p, planner)
	hidden := filepath.Join(t.TempDir(), "hidden.yaml")
	verbtest.Write(t, hidden, "only the supervisor: [may, read, this\n")
	link := filepath.Join(p.Dir, "plan.yaml")
	if err := os.Symlink(hidden, link); err != nil {
		t.Fatal(err)
	}
	opened := []string{}
	sees := func(text string, err error) func(string) (io.ReadCloser, error) {
		return func(name string) (io.ReadCloser, error) {
			opened = append(opened, name)
			return io.NopCloser(strings.NewReader(text)), err
		}
	}
	for name, tt := range map[string]struct {
		open func(string) (io.ReadCloser, error)
		code int
		want string
	}{
		"what the run cannot read": {sees("", errors.New("permission denied")), 2, "cannot read plan.yaml: permission denied"},
		"what the run sees":        {sees("oddness-of-the-run: 1", nil), 2, "oddness-of-the-run"},
	} {
		var out bytes.Buffer
		client := broker.Client{Socket: e.System.Get(brokerVariable), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Open: tt.open}
		code, err := client.Do(t.Context(), broker.Request{Args: []string{"plan", "apply", "plan.yaml"}, Dir: p.Dir})
		if err != nil || code != tt.code || !strings.Contains(out.String(), tt.want) || strings.Contains(out.String(), "only the supervisor") {
			t.Errorf("%s: %d, %v, %s", name, code, err, &out)
		}
	}
	if !slices.Equal(opened, []string{"plan.yaml", "plan.yaml"}) {
		t.Errorf("the run was asked for %q", opened)
	}
	plan := `{"goal": "Say it", "tasks": [{"id": "task-7", "type": "docs", "description": "Write it down", "done_when": "test -f docs.md exits 0", "spec_ref": "specs/vision.md", "scope": "IN: docs.md"}, {"id": "tell", "kind": "msg", "detail": "It is there", "notify": true}]}`
	verbtest.Write(t, hidden, plan)
	if code, out := e.call("", "plan", "apply", "plan.yaml"); code != 0 {
		t.Errorf("a file of its own: %d, %s", code, out)
	}
	recorded := func(want string) {
		t.Helper()
		if said := p.State().Agents["planner-1"].Said; len(said) != 1 || !strings.Contains(said[0].Input, want) {
			t.Errorf("the run has said %+v, want the plan with %s", said, want)
		}
	}
	recorded("task-7")
	other := strings.ReplaceAll(plan, "task-7", "task-8") // in the place of the first: nothing is on the board before the run has ended
	if code, out := e.call(other, "plan", "apply", "-"); code != 0 {
		t.Errorf("stdin: %d, %s", code, out)
	}
	recorded("task-8")
	parsed, err := exitcmd.ParsePlan([]byte(other))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := planner.ApplyPlan(t.Context(), parsed); err != nil { // as the end of the run does
		t.Fatal(err)
	}
	if code, out := e.call(other, "plan", "apply", "-"); code != 7 {
		t.Errorf("what is on the board already: %d, %s", code, out)
	}
}

// A program of a run can speak to the socket without liza: what liza itself carries out inside is refused there, or it would
// be carried out with the rights of the supervisor.
func TestWhatIsCarriedOutInsideIsRefusedBehindTheSocket(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	e := inRun(t, p, p.Supervised("coder-1"))
	ran, secret := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "secret")
	verbtest.Write(t, secret, "CANARY of the person\n")
	scenario := filepath.Join(p.Dir, "scenario.yaml")
	verbtest.Write(t, scenario, "coder:\n  \"*\":\n    - run: touch "+ran+"\n      exit: {action: STUCK, evidence_files: [], summary_for_supervisor: x}\n")
	for _, args := range [][]string{
		{"scripted-agent", "--scenario", scenario}, {"--json", "scripted-agent", "--scenario=" + scenario}, {"__man", ran},
		{"replay", secret}, {"--as=", "replay", "--keep", secret}, {"demo", "--dir", ran}, {"completion", "bash"}, {"version"}, {"help", "submit"}, {"help"},
	} {
		var out bytes.Buffer
		client := broker.Client{Socket: e.System.Get(brokerVariable), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
		code, err := client.Do(t.Context(), broker.Request{Args: args, Dir: p.Dir})
		if err != nil || code != 4 || strings.Contains(out.String(), "CANARY") {
			t.Errorf("%q: %d, %v, %s", args, code, err, &out)
		}
		if _, err := os.Lstat(ran); err == nil {
			t.Errorf("%q has written a file", args)
			_ = os.RemoveAll(ran)
		}
	}
}

func TestWithoutItsSupervisorACommandInARunEndsWithSix(t *testing.T) {
	t.Parallel()
	e := Env{System: assembly.Environment{Dir: t.TempDir(), Environ: []string{"LIZA_BROKER=" + filepath.Join(t.TempDir(), "broker.sock")}}}
	if code, out := e.call("", "status"); code != 6 || !strings.Contains(out, "cannot reach the supervisor of this run") || !strings.Contains(out, "next: ") {
		t.Errorf("%d, %s", code, out)
	}
	if code, out := e.call("", "status", "--json"); code != 6 || !strings.HasPrefix(out, `{"error":{"code":"lease_lost"`) {
		t.Errorf("%d, %s", code, out)
	}
	if code, out := e.call("", "version"); code != 0 {
		t.Errorf("%d, %s", code, out)
	}
}

// Commands of a run are carried out beside each other and beside the supervisor.
func TestCommandsOfARunGoOnBesideEachOther(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	e := inRun(t, p, p.Supervised("coder-1"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for _, line := range [][]string{{"discover", fmt.Sprint("Something that is odd, number ", i), "--task", "task-1"}, {"status", "--json"}, {"log"}, {"doctor"}, {"show", "task-1", "--prompt"}} {
				if code, out := e.call("", line...); code > 1 {
					t.Errorf("liza %q ends with %d: %s", line, code, out)
				}
			}
		})
	}
	d := p.Service("")
	for i := range 8 {
		if _, err := d.Tell(t.Context(), verb.TellInput{To: verb.ThePlanner, Text: fmt.Sprint("note ", i)}); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	if s := p.State(); len(s.Discovered) != 8 || len(s.HumanNotes) != 8 {
		t.Errorf("%d discoveries, %d notes", len(s.Discovered), len(s.HumanNotes))
	}
}

// One that waits ends when the one who called it goes away, and when the run does.
func TestACommandThatFollowsEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	e := inRun(t, p, p.Supervised("coder-1"))
	for _, line := range [][]string{{"log", "-f"}, {"watch"}, {"mcp"}} {
		in, _ := io.Pipe()
		said, out := io.Pipe()
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error)
		client := broker.Client{Socket: e.System.Get(brokerVariable), Stdin: in, Stdout: out, Stderr: out}
		go func() {
			_, err := client.Do(ctx, broker.Request{Args: line, Dir: p.Dir})
			ended <- err
		}()
		if line[0] == "log" {
			if _, err := said.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
		}
		go func() { _, _ = io.Copy(io.Discard, said) }()
		leave()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("liza %q ends with %v", line, err)
		}
	} // that all have ended is seen when the broker closes
}
