package forge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/code/forge"
	"liza/pkg/code/forge/forgetest"
)

var kinds = []string{forge.GitHub, forge.GitLab, forge.Gitea}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// options are those for a scripted forge. Waits are noted and take no time.
func options(f *forgetest.Forge, kind string, waits *[]time.Duration) forge.Options {
	return forge.Options{Kind: kind, API: f.API(kind), Repo: forgetest.Owner + "/" + forgetest.Name, Token: forgetest.Token, Now: func() time.Time { return start },
		Wait: func(_ context.Context, d time.Duration) error {
			if waits != nil {
				*waits = append(*waits, d)
			}
			return nil
		}}
}

func client(t *testing.T, o forge.Options) forge.Client {
	t.Helper()
	c, err := forge.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// each runs a test against the three forges.
func each(t *testing.T, test func(t *testing.T, f *forgetest.Forge, c forge.Client)) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := forgetest.New(t)
			test(t, f, client(t, options(f, kind, nil)))
		})
	}
}

// push makes a commit with one file on a branch of the forge.
func push(t *testing.T, f *forgetest.Forge, branch, from, file, text string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	script := `git clone -q "$1" "$2" 2>/dev/null && cd "$2" && if [ -n "$4" ]; then git checkout -q -b "$3" "origin/$4"; else git checkout -q -b "$3" 2>/dev/null || true; fi &&
		printf '%s' "$6" > "$5" && git add . && git -c user.name=a -c user.email=a@example.com commit -qm "$5" && git push -q origin "HEAD:refs/heads/$3"`
	if out, err := exec.Command("sh", "-c", script, "sh", f.Git, dir, branch, from, file, text).CombinedOutput(); err != nil {
		t.Fatalf("push: %v\n%s", err, out)
	}
	return f.Tip(branch)
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestARequestIsOpenedFoundEditedAndMerged(t *testing.T) {
	each(t, func(t *testing.T, f *forgetest.Forge, c forge.Client) {
		ctx := t.Context()
		push(t, f, "main", "", "a", "a")
		head := push(t, f, "liza/goal", "main", "b", "b")
		made := must[forge.Request](t)(c.Open(ctx, forge.NewRequest{Title: "A goal", Body: "text", Branch: "liza/goal", Base: "main", Draft: true}))
		if made.State != forge.Open || made.Head != head || !made.Draft || made.Branch != "liza/goal" || made.Base != "main" || made.URL == "" || made.Fork {
			t.Fatalf("opened %+v", made)
		}
		if _, err := c.Open(ctx, forge.NewRequest{Title: "Again", Branch: "liza/goal", Base: "main"}); err == nil {
			t.Error("a second request of one branch was opened")
		}
		check(t, c.Edit(ctx, made.Number, made.Title, "other text"))
		found := must[[]forge.Request](t)(c.Find(ctx, "liza/goal"))
		if len(found) != 1 || found[0].Number != made.Number || found[0].Body != "other text" || !found[0].Draft {
			t.Fatalf("found %+v", found)
		}
		if other := must[[]forge.Request](t)(c.Find(ctx, "liza/other")); len(other) != 0 {
			t.Errorf("found %+v for another branch", other)
		}
		var refused *forge.RefusedError
		if err := c.Merge(ctx, found[0], forge.Merging{Method: "merge"}); !errors.As(err, &refused) {
			t.Errorf("the merge of a draft ended with %v, want a refusal", err)
		}
		check(t, c.Ready(ctx, found[0]))
		stale := found[0]
		stale.Head = f.Tip("main")
		if err := c.Merge(ctx, stale, forge.Merging{Method: "merge"}); !errors.As(err, &refused) {
			t.Errorf("the merge of an old head ended with %v, want a refusal", err)
		}
		check(t, c.Merge(ctx, found[0], forge.Merging{Method: "merge"}))
		merged := must[forge.Request](t)(c.Request(ctx, made.Number))
		if merged.State != forge.Merged || merged.Merge != f.Tip("main") || merged.Head != head {
			t.Errorf("merged %+v; main is at %s", merged, f.Tip("main"))
		}
	})
}

func TestTheQueueOfTheForgeMergesWhenChecksPassed(t *testing.T) {
	each(t, func(t *testing.T, f *forgetest.Forge, c forge.Client) {
		ctx := t.Context()
		push(t, f, "main", "", "a", "a")
		head := push(t, f, "work", "main", "b", "b")
		f.SetCheck(head, "build", "pending", "")
		r := must[forge.Request](t)(c.Open(ctx, forge.NewRequest{Title: "Work", Branch: "work", Base: "main"}))
		check(t, c.Merge(ctx, r, forge.Merging{Method: "squash", Queue: true}))
		f.MergeQueued()
		if now := must[forge.Request](t)(c.Request(ctx, r.Number)); now.State != forge.Open {
			t.Fatalf("it is %s before its checks have passed", now.State)
		}
		f.SetCheck(head, "build", "passed", "")
		f.MergeQueued()
		if now := must[forge.Request](t)(c.Request(ctx, r.Number)); now.State != forge.Merged {
			t.Errorf("it is %s", now.State)
		}
	})
}

func TestChecksSayHowTheyEndedAndFailedOnesHaveTheEndOfTheirLog(t *testing.T) {
	each(t, func(t *testing.T, f *forgetest.Forge, c forge.Client) {
		ctx := t.Context()
		head := push(t, f, "main", "", "a", "a")
		long := strings.Repeat("a line of the build\n", 20_000) + "FAIL: two is not three\n"
		f.SetCheck(head, "build", "passed", "fine")
		f.SetCheck(head, "unit", "failed", long)
		f.SetCheck(head, "lint", "pending", "")
		states := map[string]string{}
		for _, k := range must[[]forge.Check](t)(c.Checks(ctx, head)) {
			name := strings.TrimSuffix(strings.TrimPrefix(k.Name, "test / "), " (pull_request)")
			states[name] = k.State
			if k.State != forge.Failed {
				continue
			}
			log := must[string](t)(c.Log(ctx, k))
			if !strings.HasSuffix(log, "FAIL: two is not three\n") || len(log) > forge.LogTail || !strings.HasPrefix(log, "a line of the build\n") {
				t.Errorf("the log has %d bytes and ends with %q", len(log), log[max(0, len(log)-40):])
			}
		}
		if want := map[string]string{"build": forge.Passed, "unit": forge.Failed, "lint": forge.Pending}; fmt.Sprint(states) != fmt.Sprint(want) {
			t.Errorf("checks %v, want %v", states, want)
		}
		if len(f.Leaks) > 0 {
			t.Errorf("the token went to another host: %v", f.Leaks)
		}
	})
}

func TestCommentsTellMembersFromStrangersAndPrograms(t *testing.T) {
	each(t, func(t *testing.T, f *forgetest.Forge, c forge.Client) {
		ctx := t.Context()
		push(t, f, "main", "", "a", "a")
		head := push(t, f, "work", "main", "b", "b")
		r := must[forge.Request](t)(c.Open(ctx, forge.NewRequest{Title: "Work", Branch: "work", Base: "main"}))
		f.Say(r.Number, forgetest.Comment{Author: "ada", Text: "at a line", Path: "b", Line: 1})
		f.Say(r.Number, forgetest.Comment{Author: "stranger", Text: "do as I say"})
		f.Say(r.Number, forgetest.Comment{Author: "bot-x", Text: "coverage"})
		check(t, c.Comment(ctx, r.Number, "from Liza"))
		got := map[string]forge.Comment{}
		for _, k := range must[[]forge.Comment](t)(c.Comments(ctx, r.Number)) {
			if k.ID == "" || got[k.Text].ID != "" {
				t.Errorf("comment %+v has no id, or came twice", k)
			}
			got[k.Text] = k
		}
		if l := got["at a line"]; l.Path != "b" || l.Line != 1 || l.Commit != head || !l.Member || l.Author != "ada" {
			t.Errorf("the comment at a line is %+v", l)
		}
		if got["do as I say"].Member || got["do as I say"].Author != "stranger" {
			t.Errorf("the stranger's comment is %+v", got["do as I say"])
		}
		if gitea := strings.HasSuffix(t.Name(), forge.Gitea); got["coverage"].Bot == gitea { // Gitea does not say it
			t.Errorf("the program's comment is %+v", got["coverage"])
		}
		if len(got) != 4 {
			t.Errorf("%d comments: %v", len(got), got)
		}
	})
}

func TestIssuesAreListedByLabelAnsweredAndClosed(t *testing.T) {
	each(t, func(t *testing.T, f *forgetest.Forge, c forge.Client) {
		ctx := t.Context()
		f.PageSize = 4
		for n := range 10 {
			f.AddIssue(fmt.Sprintf("Issue %d", n), "body", "liza")
		}
		both := f.AddIssue("Both", "the body", "liza", "bug")
		f.AddIssue("Other", "", "bug")
		if all := must[[]forge.Issue](t)(c.Issues(ctx, nil, "open")); len(all) != 12 {
			t.Errorf("%d issues, want 12", len(all))
		}
		if some := must[[]forge.Issue](t)(c.Issues(ctx, []string{"liza", "bug"}, "open")); len(some) != 1 || some[0].Number != both {
			t.Errorf("issues with both labels: %+v", some)
		}
		i := must[forge.Issue](t)(c.Issue(ctx, both))
		if i.Title != "Both" || i.Body != "the body" || i.State != forge.Open || !slices.Equal(i.Labels, []string{"liza", "bug"}) || i.Author != "ada" || i.URL == "" || i.Updated.IsZero() {
			t.Errorf("issue %+v", i)
		}
		check(t, c.CommentOnIssue(ctx, both, "done"))
		check(t, c.CloseIssue(ctx, both))
		if said := must[[]forge.Comment](t)(c.IssueComments(ctx, both)); len(said) != 1 || said[0].Text != "done" {
			t.Errorf("comments %+v", said)
		}
		if i := must[forge.Issue](t)(c.Issue(ctx, both)); i.State != forge.Closed {
			t.Errorf("it is %s", i.State)
		}
		if open := must[[]forge.Issue](t)(c.Issues(ctx, nil, "open")); len(open) != 11 {
			t.Errorf("%d open issues, want 11", len(open))
		}
		if _, err := c.Issue(ctx, 4711); !forge.NotFound(err) {
			t.Errorf("an issue that does not exist: %v", err)
		}
	})
}

func TestRateLimitsAreWaitedForWhenTheyAreShort(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		header map[string]string
		waits  time.Duration
	}{
		{"seconds", 429, map[string]string{"Retry-After": "7"}, 7 * time.Second},
		{"a date", 429, map[string]string{"Retry-After": start.Add(20 * time.Second).Format(http.TimeFormat)}, 20 * time.Second},
		{"GitHub's reset", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(start.Add(30 * time.Second).Unix())}, 31 * time.Second},
		{"GitLab's reset", 429, map[string]string{"RateLimit-Reset": fmt.Sprint(start.Add(4 * time.Second).Unix())}, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := forgetest.New(t)
			number := f.AddIssue("One", "")
			left := 1
			f.Fail = func(w http.ResponseWriter, _ *http.Request) bool {
				if left--; left < 0 {
					return false
				}
				for k, v := range tt.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(tt.status)
				return true
			}
			var waits []time.Duration
			// A comment is repeated too: what was limited was not carried out.
			check(t, client(t, options(f, forge.GitHub, &waits)).CommentOnIssue(t.Context(), number, "hello"))
			if !slices.Equal(waits, []time.Duration{tt.waits}) || len(f.Issues()[0].Comments) != 1 {
				t.Errorf("waited %v, want %s; %d comments", waits, tt.waits, len(f.Issues()[0].Comments))
			}
		})
	}
}

func TestALongRateLimitIsTheCallers(t *testing.T) {
	t.Parallel()
	f := forgetest.New(t)
	f.Fail = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "3000")
		w.WriteHeader(429)
		return true
	}
	var waits []time.Duration
	_, err := client(t, options(f, forge.GitLab, &waits)).Issue(t.Context(), 1)
	limit, ok := errors.AsType[*forge.LimitError](err)
	if !ok || !limit.Until.Equal(start.Add(3000*time.Second)) || len(waits) > 0 {
		t.Errorf("got %v after waiting %v", err, waits)
	}
}

func TestReadsAreRepeatedAfterFailuresOfTheServerAndWritesAreNot(t *testing.T) {
	t.Parallel()
	f := forgetest.New(t)
	number := f.AddIssue("One", "")
	calls, broken := 0, 2
	f.Fail = func(w http.ResponseWriter, _ *http.Request) bool {
		if calls++; calls <= broken {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		return false
	}
	c := client(t, options(f, forge.Gitea, nil))
	if _, err := c.Issue(t.Context(), number); err != nil || calls != 3 {
		t.Errorf("the read ended with %v after %d calls", err, calls)
	}
	calls = 0
	if err := c.CommentOnIssue(t.Context(), number, "hello"); err == nil || calls != 1 {
		t.Errorf("the write ended with %v after %d calls, want an error after one", err, calls)
	}
	calls, broken = 0, 100
	if _, err := c.Issue(t.Context(), number); err == nil || calls != 4 {
		t.Errorf("the read ended with %v after %d calls, want an error after 4", err, calls)
	}
}

// The token goes to the host of the API alone, whatever that answers.
func TestTheTokenGoesToNoOtherHost(t *testing.T) {
	t.Parallel()
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, v := range r.Header {
			seen = append(seen, v...)
		}
		_, _ = w.Write([]byte(`{"number": 1}`))
	}))
	defer other.Close()
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"a next page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "<"+other.URL+`>; rel="next"`)
			_, _ = w.Write([]byte("[]"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := forgetest.New(t)
			f.Fail = func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true }
			c := client(t, options(f, forge.GitHub, nil))
			_, _ = c.Issue(t.Context(), 1)
			_, _ = c.Issues(t.Context(), nil, "open")
			if err := c.CommentOnIssue(t.Context(), 1, "what is written"); name == "a redirect" && err == nil {
				t.Error("a comment followed a redirect to another host")
			}
			for _, v := range seen {
				if strings.Contains(v, forgetest.Token) {
					t.Fatalf("the token went to another host: %q", v)
				}
			}
		})
	}
	if len(seen) == 0 {
		t.Error("no call came to the other host; the test looks at nothing")
	}
}

// A repository that was renamed is found again for reading, on the same host.
func TestRedirectsOnTheSameHostAreFollowed(t *testing.T) {
	t.Parallel()
	f := forgetest.New(t)
	number := f.AddIssue("One", "")
	f.Fail = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/old/") {
			return false
		}
		http.Redirect(w, r, strings.Replace(r.URL.Path, "/old/", "/"+forgetest.Owner+"/", 1), http.StatusPermanentRedirect)
		return true
	}
	o := options(f, forge.GitHub, nil)
	o.Repo = "old/" + forgetest.Name
	c := client(t, o)
	if i := must[forge.Issue](t)(c.Issue(t.Context(), number)); i.Title != "One" {
		t.Errorf("issue %+v", i)
	}
	check(t, c.CommentOnIssue(t.Context(), number, "hello"))
}

func TestAnswersAndPagesAreBounded(t *testing.T) {
	t.Parallel()
	f := forgetest.New(t)
	huge := false
	f.Fail = func(w http.ResponseWriter, r *http.Request) bool {
		if huge {
			_, _ = w.Write([]byte(`{"title": "` + strings.Repeat("x", 9<<20) + `"}`))
			return true
		}
		w.Header().Set("Link", "<"+f.URL+r.URL.Path+`>; rel="next"`)
		_, _ = w.Write([]byte("[]"))
		return true
	}
	c := client(t, options(f, forge.GitHub, nil))
	if _, err := c.Issues(t.Context(), nil, "open"); err == nil || !strings.Contains(err.Error(), "pages") {
		t.Errorf("a list without an end: %v", err)
	}
	huge = true
	if _, err := c.Issue(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "MB") {
		t.Errorf("an answer without an end: %v", err)
	}
}

func TestTheTokenIsInNoError(t *testing.T) {
	t.Parallel()
	f := forgetest.New(t)
	o := options(f, forge.GitHub, nil)
	o.Token = "wrong-token-0123456789"
	_, err := client(t, o).Issue(t.Context(), 1)
	if err == nil || strings.Contains(err.Error(), o.Token) {
		t.Errorf("the error is %v", err)
	}
}

func TestOnlyEncryptedAddressesAreUsed(t *testing.T) {
	t.Parallel()
	for address, fine := range map[string]bool{"https://git.example.com/api/v1": true, "http://127.0.0.1:3000/api/v1": true, "http://git.example.com/api/v1": false, "git.example.com": false} {
		_, err := forge.New(forge.Options{Kind: forge.Gitea, API: address, Repo: "a/b"})
		if (err == nil) != fine {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestARemoteTellsTheForge(t *testing.T) {
	t.Parallel()
	tests := []struct{ remote, host, repo, kind string }{
		{"git@github.com:team/greeter.git", "https://github.com", "team/greeter", forge.GitHub},
		{"https://user:secret@gitlab.com/a/b/c.git", "https://gitlab.com", "a/b/c", forge.GitLab},
		{"ssh://git@codeberg.org/a/b", "https://codeberg.org", "a/b", forge.Gitea},
		{"ssh://git@git.example.com:2222/a/b.git", "https://git.example.com", "a/b", ""},
		{"http://127.0.0.1:3000/a/b.git", "http://127.0.0.1:3000", "a/b", ""},
		{"/srv/git/b.git", "", "", ""}, {"file:///srv/git/b.git", "", "", ""}, {"git@host:b", "", "", ""},
	}
	for _, tt := range tests {
		host, repo, kind, err := forge.Locate(tt.remote)
		if host != tt.host || repo != tt.repo || kind != tt.kind || (err == nil) != (tt.host != "") {
			t.Errorf("%s: %q %q %q %v", tt.remote, host, repo, kind, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error says the password: %v", err)
		}
	}
}
