package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"liza/pkg/board/transition"
	"liza/pkg/code/forge"
	"liza/pkg/code/forge/forgetest"
	"liza/pkg/verb/landing"
	"liza/pkg/verb/verb/verbtest"
)

// at calls the scripted forge without a connection: what waits for one would hold up the clock of a bubble.
type at struct{ *forgetest.Forge }

func (f at) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(f.URL, "http://"+r.URL.Host) { // logs are on another host
		return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	}
	w := httptest.NewRecorder()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	f.ServeHTTP(w, r)
	answer := w.Result()
	answer.Request = r
	return answer, nil
}

// newTimedLanding has a task on the integration branch, and a landing with the intervals of a real team.
func newTimedLanding(t *testing.T, f *forgetest.Forge, per string) (*verbtest.Place, *teamLanding) {
	t.Helper()
	p := verbtest.New(t)
	p.Secrets.Add("forge_token", forgetest.Token)
	p.Config.Land.Forge, p.Config.Land.Per, p.Config.Land.Auto = forge.GitHub, per, true
	p.Git(p.Dir, "remote", "add", "origin", f.Git)
	p.Git(p.Dir, "push", "-q", "origin", "main")
	p.Approved("task-1")
	if _, err := p.Service("").Merges.Merge(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	client, err := forge.New(forge.Options{Kind: forge.GitHub, API: f.API(forge.GitHub), Repo: forgetest.Owner + "/" + forgetest.Name, Token: forgetest.Token,
		HTTP: &http.Client{Transport: at{f}}, Now: time.Now, Wait: pause})
	if err != nil {
		t.Fatal(err)
	}
	return p, &teamLanding{lander: &landing.Lander{Service: p.Service(""), Forge: client, Pause: pause}, screen: &screen{out: io.Discard}, now: time.Now, said: map[string]bool{}}
}

// Red CI is a task for the coder whose work it is, with the end of the log, within a minute of the forge saying so: while the team
// works, and when it waits for the forge.
func TestRedChecksAreATaskOfTheSameCoderWithinAMinute(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		per  string
		land func(ctx context.Context, l *teamLanding)
	}{
		"beside a team": {"task", func(ctx context.Context, l *teamLanding) { stop := l.beside(ctx); <-ctx.Done(); stop() }},
		"after a team":  {"goal", func(ctx context.Context, l *teamLanding) { _, _ = l.finish(ctx) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forgetest.New(t)
			synctest.Test(t, func(t *testing.T) {
				p, l := newTimedLanding(t, f, c.per)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { defer close(ended); c.land(ctx, l) }()
				for len(f.Requests()) == 0 {
					time.Sleep(time.Second)
				}
				head := f.Requests()[0].Head
				f.SetCheck(head, "unit", "pending", "")
				time.Sleep(10*time.Minute + 7*time.Second)
				f.SetCheck(head, "unit", "failed", strings.Repeat("line\n", 100_000)+"FAIL: "+forgetest.Token)
				red := time.Now()
				for p.State().Find("fix-1-1") == nil {
					if time.Sleep(time.Second); time.Since(red) > time.Minute {
						t.Fatal("after a minute the board has no task for red checks")
					}
				}
				t.Logf("%v after the checks turned red", time.Since(red))
				fix := p.State().Find("fix-1-1")
				if fix.Prefer != "coder-9" || !strings.Contains(fix.Description, "FAIL: ") || strings.Contains(fix.Description, forgetest.Token) || len(fix.Description) > 10_000 {
					t.Errorf("it prefers %q, and its text has %d bytes: %.200s", fix.Prefer, len(fix.Description), fix.Description)
				}
				cancel()
				<-ended
			})
		})
	}
}

// What cannot land because the base branch has moved on is not the end of a run that went well.
func TestARunWhoseRequestIsInConflictDoesNotEndWell(t *testing.T) {
	t.Parallel()
	f := forgetest.New(t)
	synctest.Test(t, func(t *testing.T) {
		p, l := newTimedLanding(t, f, "task")
		if _, err := l.round(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		p.Shell(dir, "git clone -q "+f.Git+" . && echo another word > task-1.md && git add . && git -c user.name=Ada -c user.email=a@localhost commit -qm outside && git push -q origin HEAD:main")
		again, err := l.finish(t.Context())
		no, refused := errors.AsType[*transition.Refusal](err)
		if again || !refused || no.Exit != transition.ExitFailure || no.Next != "liza land" || !strings.Contains(no.Message, "conflicts with main in task-1.md") {
			t.Errorf("again %v, %v", again, err)
		}
	})
}
