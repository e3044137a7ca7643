package assembly

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store/postgres"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/team/supervisor"
	"liza/pkg/team/watch"
	"liza/pkg/verb/verb/verbtest"
)

var noon = time.Date(2026, 1, 19, 12, 0, 0, 0, time.UTC)

// What a variable says, and who calls by them: the last of the same name counts, as for every program.
func TestTheEnvironmentOfACaller(t *testing.T) {
	t.Parallel()
	e := &Environment{Environ: []string{"LIZA_AGENT_ID=coder-1", "USER=ada", "LIZA_AGENT_ID=coder-2", "LIZA_AGENT_TOKEN=t", "EMPTY=", "LIZA_AGENT=x"}, As: "coder-3"}
	for name, want := range map[string]string{"LIZA_AGENT_ID": "coder-2", "USER": "ada", "EMPTY": "", "LIZA": "", "NOPE": ""} {
		if got := e.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if c := e.Caller(); c.AgentID != "coder-2" || c.Token != "t" || c.As != "coder-3" || c.Person != "ada" || c.Inside != "" {
		t.Errorf("the caller is %+v", c)
	}
	e.Within = &Within{Run: supervisor.InRun{Agent: "coder-9"}}
	if c := e.Caller(); c.Inside != "coder-9" {
		t.Errorf("a call out of the run of coder-9 is inside %q", c.Inside)
	}
}

// A command out of a run has the identity of the run, whatever it says itself, and a folder of its own.
func TestACommandOutOfARunHasTheIdentityOfTheRun(t *testing.T) {
	t.Parallel()
	e := &Environment{Environ: []string{"LIZA_AGENT_ID=coder-1", "HOME=/home/ada"}, Dir: "/elsewhere", Version: "1.2.3", As: "coder-7", Root: "/other"}
	in := e.ForRun(&Within{Run: supervisor.InRun{Agent: "coder-2", Token: "t", Mark: "g-1-1", Task: "a", Root: "/p"}}, &broker.Call{Request: broker.Request{Dir: "/p/.worktrees/a"}})
	for name, want := range map[string]string{"LIZA_AGENT_ID": "coder-2", "LIZA_AGENT_TOKEN": "t", "LIZA_RUN": "g-1-1", "LIZA_TASK_ID": "a", "LIZA_ROOT": "/p", "HOME": "/home/ada"} {
		if got := in.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if in.Dir != "/p/.worktrees/a" || in.As != "" || in.Root != "" || in.Version != "1.2.3" || in.Within == nil {
		t.Errorf("the command has folder %q, acts for %q at %q; want the run's own, and nothing of its options", in.Dir, in.As, in.Root)
	}
	if e.Get("LIZA_AGENT_ID") != "coder-1" {
		t.Error("the environment of the supervisor was changed")
	}
}

func TestWhichProjectACommandIsAbout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ root, variable, want string }{
		{"", "", ""}, {"/p", "", "/p"}, {"p", "", "/here/p"}, {"", "/q", "/q"}, {"", "q", "/here/q"}, {"/p", "/q", "/p"}, {"../p", "", "/p"},
	} {
		e := &Environment{Dir: "/here", Root: c.root, Environ: []string{"LIZA_ROOT=" + c.variable}}
		if got := e.Named(); got != c.want {
			t.Errorf("-C %q and LIZA_ROOT=%q name %q, want %q", c.root, c.variable, got, c.want)
		}
	}
}

// The person's keys are outside of every repository, or nowhere: a relative path would put them into the project.
func TestWhereThePersonsKeysAre(t *testing.T) {
	t.Parallel()
	system := func() string { return "/home/system" }
	for _, c := range []struct {
		environ []string
		home    func() string
		want    string
	}{
		{[]string{"XDG_STATE_HOME=/state", "HOME=/home/ada"}, system, "/state/liza"},
		{[]string{"XDG_STATE_HOME=state", "HOME=/home/ada"}, system, "/home/ada/.local/state/liza"},
		{[]string{"HOME=/home/ada"}, nil, "/home/ada/.local/state/liza"},
		{[]string{"HOME=ada"}, system, "/home/system/.local/state/liza"},
		{nil, system, "/home/system/.local/state/liza"},
		{nil, func() string { return "" }, ""},
		{[]string{"HOME=ada"}, nil, ""},
	} {
		e := &Environment{Environ: c.environ, home: c.home}
		if got := e.Keys(); got != c.want {
			t.Errorf("with %v the keys are in %q, want %q", c.environ, got, c.want)
		}
	}
	for value, want := range map[string]bool{"": false, "1": true, "true": true, "0": false, "no": false, "yes": false} {
		if got := (&Environment{Environ: []string{"SKIP_SPEC_FILE_CHECK=" + value}}).SkipsSpecFiles(); got != want {
			t.Errorf("SKIP_SPEC_FILE_CHECK=%q: %t, want %t", value, got, want)
		}
	}
}

// The secrets of the environment are masked in what is written, and given to skills under their own names.
func TestTheSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	e := &Environment{Environ: []string{"LIZA_SECRET_TOKEN=tok-12345678", "OTHER=plain-text-value"}}
	if got := e.Secrets().Mask("tok-12345678 plain-text-value"); got != "[REDACTED:token] plain-text-value" {
		t.Errorf("masked: %q", got)
	}
	if first, second := e.Secrets(), e.Secrets(); first != second {
		t.Error("there are two sets: what one learns the other writes")
	}
}

// What a job of a project starts is marked as its own, so that it cannot act as a person.
func TestTheMarkOfAnAncestor(t *testing.T) {
	t.Parallel()
	a := ancestorOf(agent.Process{Pid: 7, Start: 9}, []string{"LIZA_ROOT=/p", "LIZA_RUN=g-1-1", "LIZA_AGENT_ID=coder-1", "LIZA_WORKTREE=/p/.worktrees/a", "PWD=/x", "TMPDIR=/t"})
	if a.PID != 7 || a.Start != 9 || a.Root != "/p" || a.Run != "g-1-1" || a.Name != "coder-1" || strings.Join(a.Folders, " ") != "/p/.worktrees/a /x /t" {
		t.Errorf("an ancestor in a run is %+v", a)
	}
	if plain := ancestorOf(agent.Process{Pid: 7}, nil); plain.Run != "" || plain.Root != "" || plain.Folders[2] != "/tmp" {
		t.Errorf("an ancestor without marks is %+v", plain)
	}
}

// Diagnostics are one line for each message, with the command that helps; what an agent wrote cannot move the cursor.
func TestDiagnosticsForPeopleAndForPrograms(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := &Environment{Stderr: &out}
	e.Log().Info("done")
	e.Log().Warn("a\x1b[31mb\nc", "next", "liza status")
	e.Log().Error("broken")
	if got := out.String(); !strings.HasPrefix(got, "done\nwarn: a") || strings.Contains(got, "\x1b") || !strings.Contains(got, "\nnext: liza status\nerror: broken\n") {
		t.Errorf("diagnostics are %q", got)
	}
	out.Reset()
	e.LogFormat = "json"
	e.Log().Warn("a\nb")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"level":"WARN","msg":"a\nb"`) {
		t.Errorf("as JSON: %q", got)
	}
	out.Reset()
	gone := func() bool { return true }
	e.Away = new(atomic.Pointer[func() bool])
	e.Away.Store(&gone)
	if e.Log().Error("nobody is there"); out.Len() != 0 {
		t.Errorf("a team whose project is gone says %q", out.String())
	}
}

// The place of the board is written into the settings that are there, whichever of the two files that is, and nothing else changes.
func TestTheSettingsSayWhereTheBoardIs(t *testing.T) {
	t.Parallel()
	at := postgres.Address{URL: "postgres://h/liza", Board: "words"}
	for _, c := range []struct {
		name, file, text string
		want             []string
	}{
		{"no settings", "", "", []string{"url: postgres://h/liza", "board: words"}},
		{"YAML with a comment", "config.yaml", "# mine\nreview: {mode: strict}\n", []string{"# mine\n", "review: {mode: strict}", "postgres://h/liza", "words"}},
		{"JSON", "config.json", `{"review": {"mode": "strict"}}`, []string{`"strict"`, "postgres://h/liza", "words"}},
	} {
		dir := filepath.Join(t.TempDir(), ".liza")
		file := c.file
		if file == "" {
			file = "config.yaml"
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if c.file != "" {
			verbtest.Write(t, filepath.Join(dir, c.file), c.text)
		}
		p, err := (&Environment{}).Pinned(&project.Project{Liza: dir}, dir, at)
		if err != nil || p.File.Path != file {
			t.Errorf("%s: %+v, %v; want %s", c.name, p.File, err, file)
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, file)); c.file == "" && err == nil {
			t.Errorf("%s: the file was written before it is time", c.name)
		}
		if err := p.Write(); err != nil {
			t.Fatal(err)
		}
		text := verbtest.Read(t, filepath.Join(dir, file))
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s lacks %q", c.name, text, want)
			}
		}
		// Another host's settings keep how this host reaches the board.
		own, err := SettingsOf(&project.Project{Liza: dir}, postgres.Address{URL: "postgres://other/liza", Board: "x"}).Own(p.File)
		if err != nil || !strings.Contains(own, "postgres://h/liza") || strings.Contains(own, "postgres://other") {
			t.Errorf("%s: as settings of this host: %q, %v", c.name, own, err)
		}
	}
}

// What no change of the board tells is written down once: an alert of work that could not be let go, and of nothing else.
func TestWorkThatCouldNotBeLetGoIsAnAlert(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	e := &Environment{Stderr: new(bytes.Buffer), Dir: p.Dir, Now: func() time.Time { return noon }}
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("something else"), ""},
		{&transition.Refusal{Message: "refused"}, ""},
		{&git.UnsavedError{ID: "a"}, "WORK_NOT_SAVED a"},
		{&transition.Refusal{Message: "b cannot be saved", Unsaved: "b"}, "WORK_NOT_SAVED b"},
	} {
		before := alerts(t, p)
		e.Unsaved(c.err)
		got := strings.TrimPrefix(alerts(t, p), before)
		if (got == "") != (c.want == "") || c.want != "" && !strings.Contains(strings.ReplaceAll(got, "  ", " "), strings.Fields(c.want)[0]) {
			t.Errorf("%v: the log of alerts gets %q, want %q", c.err, got, c.want)
		}
	}
}

func alerts(t *testing.T, p *verbtest.Place) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Project.Liza, "alerts.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// An alert is a notification when it is raised, unless an event of its own tells people of the same.
func TestWhichAlertsAreNotifications(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".liza")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	at := &project.Project{Liza: dir}
	var said bytes.Buffer
	e := &Environment{Stderr: &said, Now: func() time.Time { return noon }}
	sink := AlertMail(e, at)
	change := func(kind blackboard.AlertKind, cleared bool) watch.Change {
		c := watch.Change{Cleared: cleared}
		c.Kind, c.Subject, c.Severity = kind, "s", "warning"
		return c
	}
	count := func() int {
		text, err := os.ReadFile(at.Notifications())
		if err != nil {
			return 0
		}
		return bytes.Count(text, []byte("\n"))
	}
	for _, c := range []struct {
		kind    blackboard.AlertKind
		cleared bool
		told    bool
		event   string
	}{
		{blackboard.AlertStalled, false, true, `"event":"alert"`},
		{blackboard.AlertStalled, true, false, ""},
		{blackboard.AlertBlocked, false, false, ""}, {blackboard.AlertQuestionOpen, false, false, ""}, {blackboard.AlertMergeApproval, false, false, ""}, {blackboard.AlertBreaker, false, false, ""},
		{blackboard.AlertCheckpointOpen, false, false, ""},
		{blackboard.AlertCheckpointStale, false, true, `"event":"checkpoint"`}, {blackboard.AlertCheckpointStuck, false, true, `"event":"checkpoint"`}, {blackboard.AlertCheckpointAbandoned, false, true, `"event":"checkpoint"`},
	} {
		before := count()
		sink.Tell(change(c.kind, c.cleared))
		if got := count() - before; (got == 1) != c.told || got > 1 {
			t.Errorf("%s, cleared %t: %d notifications, want one: %t", c.kind, c.cleared, got, c.told)
		}
		if c.told && !strings.Contains(verbtest.Read(t, at.Notifications()), c.event) {
			t.Errorf("%s: no notification has %s", c.kind, c.event)
		}
	}
	if said.Len() != 0 {
		t.Errorf("diagnostics: %s", &said)
	}
}

// That a host cannot be reached is an anomaly once an hour, so that a webhook that is down fills no board.
func TestAHostThatCannotBeReachedIsRecordedOnceAnHour(t *testing.T) {
	t.Parallel()
	d, kept := verbtest.OnMemory(t, verbtest.Board())
	now := verbtest.Noon
	d.Board.Now = func() time.Time { return now }
	for _, c := range []struct {
		after time.Duration
		host  string
		want  int
	}{{0, "a", 1}, {time.Hour - time.Second, "a", 1}, {0, "b", 2}, {time.Second, "a", 3}, {0, "a", 3}} {
		now = now.Add(c.after)
		notifyFailed(context.Background(), d, c.host, errors.New("refused"))
		s, err := kept.View(context.Background())
		if err != nil || len(s.Anomalies) != c.want {
			t.Errorf("%s of host %s: %d anomalies, %v; want %d", now.Format(time.TimeOnly), c.host, len(s.Anomalies), err, c.want)
		}
	}
}

func TestWhereMessagesGo(t *testing.T) {
	t.Parallel()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	e := &Environment{Environ: []string{"HOOK_KEY=hook-key-value"}}
	if w, events := e.webhook(d); w != nil || events != nil {
		t.Errorf("without an address: %+v", w)
	}
	d.Board.Config().Notify.SecretEnv = "HOOK_KEY"
	if err := d.Board.AsSystem(context.Background(), func(s *blackboard.State) {
		s.Config = blackboard.Settings{"escalation_webhook": "https://example.org/hook"}
	}); err != nil {
		t.Fatal(err)
	}
	w, _ := e.webhook(d)
	if w == nil || w.URL != "https://example.org/hook" || w.Key != "hook-key-value" || w.Session != filepath.Base(d.Board.Project.Root) {
		t.Errorf("with an address: %+v", w)
	}
	if got := e.Secrets().Mask("hook-key-value"); strings.Contains(got, "hook-key-value") {
		t.Errorf("the key of the webhook is written as %q", got)
	}
}
