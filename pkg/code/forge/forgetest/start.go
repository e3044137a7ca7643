package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
