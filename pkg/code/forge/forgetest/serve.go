package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// answer is what a handler gives: a status and a value.
type answer struct {
	status int
	value  any
}

func ok(v any) answer { return answer{http.StatusOK, v} }

func failed(status int, format string, args ...any) answer {
	return answer{status, map[string]any{"message": fmt.Sprintf(format, args...)}}
}

// in is one call.
type in struct {
	*http.Request
	kind string
	path []string // below the repository
	body map[string]any
}

func (i in) is(method string, path ...string) bool {
	if i.Method != method || len(path) != len(i.path) {
		return false
	}
	for n, p := range path {
		if p != "*" && p != i.path[n] {
			return false
		}
	}
	return true
}

func (i in) int(n int) int { v, _ := strconv.Atoi(i.path[n]); return v }

func (i in) text(key string) string { s, _ := i.body[key].(string); return s }

// write sends an answer; a list in pages, each with the address of the next one.
func (f *Forge) write(w http.ResponseWriter, r *http.Request, a answer) {
	w.Header().Set("Content-Type", "application/json")
	if list, isList := a.value.([]any); isList {
		a.value = f.page(w, r, list)
	}
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a.value)
}

func (f *Forge) page(w http.ResponseWriter, r *http.Request, list []any) []any {
	q := r.URL.Query()
	size, _ := strconv.Atoi(q.Get("per_page"))
	if f.PageSize > 0 {
		size = f.PageSize
	}
	page, _ := strconv.Atoi(q.Get("page"))
	page = max(page, 1)
	from, to := min((page-1)*size, len(list)), min(page*size, len(list))
	if size == 0 {
		from, to = 0, len(list)
	}
	if to < len(list) {
		q.Set("page", strconv.Itoa(page+1))
		next := f.URL + r.URL.EscapedPath() + "?" + q.Encode()
		w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next", <%s>; rel="last"`, next, next))
	}
	return append([]any{}, list[from:to]...)
}

// serveLog is the other host to which GitHub leads for logs.
func (f *Forge) serveLog(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, values := range r.Header {
		if strings.Contains(strings.Join(values, " "), Token) {
			f.Leaks = append(f.Leaks, name+" of "+r.URL.Path)
		}
	}
	id, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if c := f.check(id); c != nil {
		_, _ = w.Write([]byte(c.Log))
	}
}

func (f *Forge) check(id int) *Check {
	for _, list := range f.checks {
		for _, c := range list {
			if c.ID == id {
				return c
			}
		}
	}
	return nil
}

// open makes a request; one branch has at most one that is open.
func (f *Forge) open(title, body, branch, base string, draft bool, again int) (*Request, *answer) {
	refused := func(status int, text string) (*Request, *answer) { a := failed(status, "%s", text); return nil, &a }
	if f.Tip(branch) == "" || f.Tip(base) == "" {
		return refused(http.StatusUnprocessableEntity, "head or base does not exist")
	}
	for _, r := range f.requests {
		if r.State == "open" && r.Branch == branch && r.Base == base {
			return refused(again, "a request already exists for "+branch)
		}
	}
	r := &Request{Number: f.number(), Title: title, Body: body, Branch: branch, Base: base, Draft: draft, State: "open", stale: f.Stale}
	f.requests = append(f.requests, r)
	return r, nil
}

// listed are the requests of a branch, the newest first, without those that the lists do not have yet.
func (f *Forge) listed(branch string) []*Request {
	var out []*Request
	for n := len(f.requests) - 1; n >= 0; n-- {
		r := f.requests[n]
		if branch != "" && r.Branch != branch {
			continue
		}
		if r.stale > 0 {
			r.stale--
			continue
		}
		out = append(out, r)
	}
	return out
}

// mayMerge merges unless something is in the way.
func (f *Forge) mayMerge(r *Request, head string, squash, queue bool, status int) answer {
	switch {
	case r.State != "open":
		return failed(status, "the request is %s", r.State)
	case f.Blocked != "":
		return failed(status, "%s", f.Blocked)
	case r.Draft:
		return failed(status, "the request is a draft")
	case head != "" && head != f.Tip(r.Branch):
		return failed(http.StatusConflict, "head was modified")
	case queue:
		r.Queued = true
		return ok(map[string]any{})
	case !f.green(r):
		return failed(status, "required checks have not passed")
	}
	if err := f.merge(r, squash); err != nil {
		return failed(status, "%v", err)
	}
	return ok(map[string]any{"merged": true, "sha": r.Merge})
}

// New starts a server with an empty repository, or with a copy of one.
func New(t testing.TB) *Forge {
	t.Helper()
	f, stop, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return f
}

// Start is New without a test: the repository is made in dir.
func Start(dir string) (*Forge, func(), error) {
	f := &Forge{Git: filepath.Join(dir, Name+".git"), checks: map[string][]*Check{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if out, err := exec.Command("git", "init", "-q", "--bare", "-b", "main", f.Git).CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("cannot make the repository: %v: %s", err, out)
	}
	f.logs = httptest.NewServer(http.HandlerFunc(f.serveLog))
	f.server = httptest.NewServer(http.HandlerFunc(f.serve))
	f.URL = f.server.URL
	return f, func() { f.server.Close(); f.logs.Close() }, nil
}

func (f *Forge) serve(w http.ResponseWriter, r *http.Request) {
	if f.Fail == nil || !f.Fail(w, r) {
		f.ServeHTTP(w, r)
	}
}

// ServeHTTP answers a call without Fail, for a Fail that wants it carried out and its answer lost.
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Calls = append(f.Calls, r.Method+" "+r.URL.EscapedPath())
	if r.Header.Get("Authorization") != "Bearer "+Token {
		f.write(w, r, failed(http.StatusUnauthorized, "bad credentials"))
		return
	}
	i := in{Request: r}
	if err := json.NewDecoder(r.Body).Decode(&i.body); err != nil {
		i.body = map[string]any{}
	}
	for kind, prefix := range map[string]string{
		"github": "/github/repos/" + Owner + "/" + Name, "gitlab": "/gitlab/api/v4/projects/" + Owner + "%2F" + Name, "gitea": "/gitea/api/v1/repos/" + Owner + "/" + Name,
	} {
		if rest, found := strings.CutPrefix(r.URL.EscapedPath(), prefix+"/"); found {
			i.kind = kind
			for part := range strings.SplitSeq(rest, "/") {
				plain, _ := url.PathUnescape(part)
				i.path = append(i.path, plain)
			}
		}
	}
	switch {
	case r.URL.Path == "/github/graphql":
		f.write(w, r, f.graphql(i))
	case i.kind == "gitlab":
		f.gitlab(w, i)
	case i.kind != "":
		f.hub(w, i)
	default:
		f.write(w, r, failed(http.StatusNotFound, "not found"))
	}
}
