package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/forge"
	"liza/pkg/code/forge/forgetest"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// deadly is in front of a forge and kills the process that lands with SIGKILL: once before and once after each call that it sees. What
// the board notes lies between two of them.
type deadly struct {
	*sprint
	forge   http.Handler
	short   bool // it kills at calls that change something alone
	token   string
	env     []string
	pidFile string // for hooks that kill as well; "": there are none

	mu     sync.Mutex
	pid    int
	killed map[string]bool // the steps at which it killed
	writes int             // that were carried out
}

var numbers = regexp.MustCompile(`[0-9a-f]{40}|[0-9]+`)

func (k *deadly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	changes := r.Method != http.MethodGet
	step := r.Method + " " + numbers.ReplaceAllString(r.URL.EscapedPath(), "N")
	answer := httptest.NewRecorder()
	if k.kills(r, "before "+step, changes) {
		answer.Code = http.StatusServiceUnavailable
	} else {
		k.forge.ServeHTTP(answer, r)
		if changes && answer.Code < 300 {
			k.mu.Lock()
			k.writes++
			k.mu.Unlock()
		}
		k.kills(r, "after "+step, changes)
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// kills reports whether it killed. It returns when the process is gone.
func (k *deadly) kills(r *http.Request, step string, changes bool) bool {
	k.mu.Lock()
	due := k.pid != 0 && !k.killed[step] && (changes || !k.short)
	if due {
		k.killed[step] = true
		due = syscall.Kill(k.pid, syscall.SIGKILL) == nil
	}
	k.mu.Unlock()
	if due && !strings.HasPrefix(r.UserAgent(), "git/") { // git is a process of its own, which goes on
		<-r.Context().Done() // the end of a process ends its connections
	}
	return due
}

// untilItEnds runs a command of liza again and again until it is not killed any more, and returns how often it was.
func (k *deadly) untilItEnds(t *testing.T, args ...string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for kills := 0; ; kills++ {
		var out bytes.Buffer
		cmd := k.command(ctx, &out, args...)
		cmd.Env = append(append(cmd.Env, k.env...), "GITHUB_TOKEN="+k.token, "GITLAB_TOKEN="+k.token, "GITEA_TOKEN="+k.token)
		cmd.WaitDelay = 30 * time.Second
		k.mu.Lock()
		err := cmd.Start()
		if err == nil {
			k.aim(t, cmd.Process.Pid)
		}
		k.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		k.mu.Lock()
		k.aim(t, 0)
		k.mu.Unlock()
		if strings.Contains(out.String(), k.token) {
			t.Errorf("it says the token: %s", out.String())
		}
		if err == nil {
			return kills
		}
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || ctx.Err() != nil {
			t.Fatalf("after %d kills %v ended with %v\n%s", kills, args, err, out.String())
		}
	}
}

// aim says which process is to be killed; 0 is none.
func (k *deadly) aim(t *testing.T, pid int) {
	t.Helper()
	k.pid = pid
	if k.pidFile != "" {
		verbtest.Write(t, k.pidFile, map[bool]string{true: fmt.Sprintln(pid)}[pid != 0])
	}
}

// finish lets a coder and a reviewer do a task.
func (k *deadly) finish(t *testing.T, id string) {
	t.Helper()
	ctx := t.Context()
	coder, reviewer := k.Service("coder-9"), k.Service("code-reviewer-9")
	for _, step := range []func() error{
		func() error { _, err := coder.Claim(ctx, id); return err },
		func() error { k.Commit(id); return nil },
		func() error { _, err := coder.Submit(ctx, verb.SubmitInput{Task: id}); return err },
		func() error { _, err := reviewer.Reviews.ClaimReview(ctx, id); return err },
		func() error {
			_, err := reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: verb.Approve})
			return err
		},
		func() error { _, err := k.Service("").Merges.Merge(ctx, id); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// A deadlyForge is a scripted forge that is deadly; pushes kill in hooks.
type deadlyForge struct {
	deadly
	scripted *forgetest.Forge
}

var deadlyHooks = []string{"pre-receive", "post-receive"}

func newDeadlyForge(t *testing.T, kind string) *deadlyForge {
	t.Helper()
	f := forgetest.New(t)
	k := &deadlyForge{deadly{sprint: &sprint{Place: verbtest.New(t), liza: lizaProgram(t)}, forge: f, token: forgetest.Token, pidFile: filepath.Join(f.Git, "pid"), killed: map[string]bool{}}, f}
	f.CI = "test -f fix-*-1.md || { echo FAIL: it has no fix; exit 1; }"
	f.Stale = 1
	f.Fail = func(w http.ResponseWriter, r *http.Request) bool { k.ServeHTTP(w, r); return true }
	k.Git(k.Dir, "remote", "add", "origin", f.Git)
	k.Git(k.Dir, "push", "-q", "origin", "main")
	verbtest.Write(t, filepath.Join(k.Dir, ".liza", "config.yaml"), fmt.Sprintf("review: {baseline: false}\nland: {forge: %s, url: 'https://forge.example.com', api: '%s', repo: %s/%s, merge: liza, draft: true, auto: true}\n",
		kind, f.API(kind), forgetest.Owner, forgetest.Name))
	verbtest.Write(t, k.scenario(), "default:\n  coder: {run: 'echo word > $LIZA_TASK_ID.md', commit: Work}\n  code_reviewer: {review: {status: ok}}\n")
	for _, name := range deadlyHooks {
		path := filepath.Join(f.Git, "hooks", name)
		verbtest.Write(t, path, fmt.Sprintf("#!/bin/sh\n[ -s pid ] && ! [ -e killed-%[1]s ] || exit 0\ntouch killed-%[1]s\nkill -9 $(cat pid)\nexit 1\n", name))
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// again forgets the steps at which it killed, the pushes among them.
func (k *deadlyForge) again(t *testing.T) {
	t.Helper()
	clear(k.killed)
	for _, name := range deadlyHooks {
		if err := os.Remove(filepath.Join(k.scripted.Git, "killed-"+name)); err != nil {
			t.Errorf("nothing was killed in %s", name)
		}
	}
}

// once checks that the board and the forge have everything once.
func (k *deadlyForge) once(t *testing.T, status string, pushes int) {
	t.Helper()
	s, requests := k.State(), k.scripted.Requests()
	if len(requests) != 1 || len(s.Requests) != 1 || s.Requests[0].Status != status || s.Requests[0].Number != requests[0].Number || s.Requests[0].Pushed != requests[0].Head {
		t.Fatalf("the board has %+v, the forge %+v", s.Requests, requests)
	}
	if !strings.Contains(requests[0].Body, "### fix-1-1") && status == blackboard.RequestMerged {
		t.Errorf("the text of the request lacks the fix: %s", requests[0].Body)
	}
	k.logged(t, status, pushes)
	k.nowhere(t, k.token)
}

// logged checks that the board has each task and each step once, and is valid.
func (k *deadly) logged(t *testing.T, status string, pushes int) {
	t.Helper()
	tasks := map[string]int{}
	for task := range k.State().Tasks() {
		tasks[task.ID]++
	}
	if want := map[string]int{"task-1": 1, "fix-1-1": 1}; fmt.Sprint(tasks) != fmt.Sprint(want) {
		t.Errorf("the tasks are %v", tasks)
	}
	log, err := os.ReadFile(k.Project.Journal())
	if err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]int{"request_pushed": pushes, "request_opened": 1, "request_merged": map[bool]int{true: 1}[status == blackboard.RequestMerged]} {
		if n := strings.Count(string(log), "action: "+action+","); n != want {
			t.Errorf("the log has %s %d times, want %d:\n%s", action, n, want, log)
		}
	}
	if out := new(bytes.Buffer); k.command(t.Context(), out, "validate").Run() != nil {
		t.Errorf("the board is not valid: %s", out)
	}
}

// nowhere checks that no file of the repository, of Liza and of the person's keys has the token, in whatever form.
func (k *deadly) nowhere(t *testing.T, token string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(k.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		for form, shown := range shownForms(token) {
			if bytes.Contains(data, []byte(shown)) {
				t.Errorf("%s has the %s form of the token", path, form)
			}
		}
		return err
	})
	if err != nil || files < 30 {
		t.Errorf("looked at %d files: %v", files, err)
	}
}

// P-8.8: `liza land`, killed with SIGKILL before and after each call to the forge and each push, goes on where it was: there is one
// request, one task for its red CI, one push of each commit, one merge.
func TestALandingThatIsKilledAtEachStepHappensOnce(t *testing.T) {
	t.Parallel()
	kinds := []string{forge.GitHub, forge.GitLab, forge.Gitea}
	for _, kind := range kinds[:long(1, 3)] {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			k := newDeadlyForge(t, kind)
			k.AddTask("task-1")
			k.finish(t, "task-1")
			kills := k.untilItEnds(t, "land")
			k.once(t, blackboard.RequestOpen, 1)
			k.again(t)
			k.finish(t, "fix-1-1")
			kills += k.untilItEnds(t, "land")
			k.once(t, blackboard.RequestMerged, 2)
			k.again(t)
			writes := k.writes
			kills += k.untilItEnds(t, "land")
			if k.once(t, blackboard.RequestMerged, 2); k.writes != writes {
				t.Errorf("a landing that is over wrote to the forge again")
			}
			t.Logf("killed %d times, %d writes", kills, writes)
			// A forge that needs fewer requests has fewer steps.
			if least := map[string]int{forge.GitHub: 40, forge.GitLab: 25, forge.Gitea: 36}[kind]; kills < least {
				t.Errorf("it was killed %d times, want at least %d", kills, least)
			}
		})
	}
}

// The same of a team that lands by itself: killed while it does, and started again.
func TestATeamWhoseLandingIsKilledLandsOnce(t *testing.T) {
	t.Parallel()
	k := newDeadlyForge(t, forge.GitHub)
	k.short = long(1, 0) == 1
	k.AddTask("task-1")
	kills := k.untilItEnds(t, "run", "--plain", "--scenario", k.scenario(), "--coders", "1", "--reviewers", "1")
	k.once(t, blackboard.RequestMerged, 2)
	if n := entriesOf(k.State().Task("fix-1-1"), "merged"); n != 1 {
		t.Errorf("the fix was merged %d times", n)
	}
	k.again(t)
	if least := long(8, 25); kills < least {
		t.Errorf("it was killed %d times, want at least %d", kills, least)
	}
	t.Logf("killed %d times", kills)
}

func entriesOf(task *blackboard.Task, event blackboard.HistoryEvent) (n int) {
	for _, h := range task.History {
		if h.Event == event {
			n++
		}
	}
	return n
}
