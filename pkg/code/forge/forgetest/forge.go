// Package forgetest is a forge for tests: an HTTP server on loopback with the shapes of GitHub's, GitLab's and Gitea's APIs, as their
// documentation has them, over a bare git repository, so that what is pushed and merged is real. It fails when it is asked to.
//
// All three APIs show the same requests, issues and checks: a test runs against each of them and expects the same.
package forgetest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Token is what the server takes.
const Token = "forge-token-0123456789abcdef"

// Owner and Name are the repository.
const (
	Owner = "team"
	Name  = "greeter"
)

// Forge is the server with all that it knows.
type Forge struct {
	URL string
	Git string // the bare repository

	// Fail may answer a call in the place of the server; it reports whether it did.
	Fail func(w http.ResponseWriter, r *http.Request) bool
	// CI is run for each commit of a request that is looked at, in a checkout of it: its exit code is the state of the
	// check "ci", and its output is the log. Empty: checks are what SetCheck says.
	CI string
	// PageSize is how many values a page has; 0: as many as are asked for.
	PageSize int
	// Stale is how often a new request is left out of the lists before they have it.
	Stale int
	// Blocked is why nothing is merged; "" for nothing.
	Blocked string

	mu       sync.Mutex
	server   *httptest.Server
	logs     *httptest.Server
	now      time.Time
	next     int
	requests []*Request
	issues   []*Issue
	checks   map[string][]*Check // by commit
	Calls    []string            // method and path of each call
	Leaks    []string            // calls that brought the token to another host
}

// Request is a pull or merge request of the server.
type Request struct {
	Number                    int
	Title, Body, Branch, Base string
	State                     string // open, merged or closed
	Draft, Queued             bool
	Merge                     string // commit
	Head                      string // commit, of one that is not open any more
	Comments                  []*Comment
	stale                     int
}

// Issue is an issue of the server.
type Issue struct {
	Number      int
	Title, Body string
	State       string // open or closed
	Labels      []string
	Author      string
	Comments    []*Comment
	At, Changed time.Time
}

// Comment is what somebody said. Authors whose name begins with "stranger" are not members, those with "bot" are programs.
type Comment struct {
	ID           int
	Author, Text string
	Path         string
	Line         int
	Commit       string
	Changes      bool
	At           time.Time
}

// Check is a result of CI.
type Check struct {
	ID          int
	Name, State string // pending, passed or failed
	Log         string
}

// API is the address of the API of a kind of forge.
func (f *Forge) API(kind string) string {
	return f.URL + map[string]string{"github": "/github", "gitlab": "/gitlab/api/v4", "gitea": "/gitea/api/v1"}[kind]
}

func (f *Forge) number() int { f.next++; return f.next }

func (f *Forge) tick() time.Time { f.now = f.now.Add(time.Second); return f.now }

// run runs git in the bare repository.
func (f *Forge) run(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-C", f.Git, "-c", "user.name=Forge", "-c", "user.email=forge@example.com"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %v: %s", strings.Join(args, " "), err, &errs)
	}
	return strings.TrimSpace(string(out)), nil
}

// Tip is the commit of a branch, "" when it does not exist.
func (f *Forge) Tip(branch string) string {
	out, err := f.run("rev-parse", "--verify", "-q", "refs/heads/"+branch)
	if err != nil {
		return ""
	}
	return out
}

func (r *Request) head(f *Forge) string {
	if r.State == "open" {
		return f.Tip(r.Branch)
	}
	return r.Head
}

// Requests are copies of all requests.
func (f *Forge) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Request
	for _, r := range f.requests {
		c := *r
		c.Head = r.head(f)
		out = append(out, c)
	}
	return out
}

// Issues are copies of all issues.
func (f *Forge) Issues() []Issue {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Issue
	for _, i := range f.issues {
		out = append(out, *i)
	}
	return out
}

// AddIssue makes an issue and gives its number.
func (f *Forge) AddIssue(title, body string, labels ...string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.tick()
	f.issues = append(f.issues, &Issue{Number: f.number(), Title: title, Body: body, State: "open", Labels: labels, Author: "ada", At: at, Changed: at})
	return f.next
}

// EditIssue changes an issue, as a person does in the browser.
func (f *Forge) EditIssue(number int, change func(*Issue)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.issues {
		if i.Number == number {
			change(i)
			i.Changed = f.tick()
		}
	}
}

// Say adds a comment to a request or an issue.
func (f *Forge) Say(number int, c Comment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.ID, c.At = f.number(), f.tick()
	if r := f.request(number); r != nil {
		if c.Commit == "" {
			c.Commit = r.head(f)
		}
		r.Comments = append(r.Comments, &c)
	}
	if i := f.issue(number); i != nil {
		i.Comments, i.Changed = append(i.Comments, &c), c.At
	}
}

// SetCheck sets the result of a check for a commit.
func (f *Forge) SetCheck(commit, name, state, log string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.setCheck(commit, name, state, log)
}

func (f *Forge) setCheck(commit, name, state, log string) {
	for _, c := range f.checks[commit] {
		if c.Name == name {
			c.State, c.Log = state, log
			return
		}
	}
	f.checks[commit] = append(f.checks[commit], &Check{ID: f.number(), Name: name, State: state, Log: log})
}

// checksOf are the checks of a commit; with CI it is run the first time.
func (f *Forge) checksOf(commit string) []*Check {
	if f.CI != "" && len(f.checks[commit]) == 0 {
		state, log := f.runCI(commit)
		f.setCheck(commit, "ci", state, log)
	}
	return f.checks[commit]
}

func (f *Forge) runCI(commit string) (state, log string) {
	dir, err := os.MkdirTemp(filepath.Dir(f.Git), "ci")
	if err != nil {
		return "failed", err.Error()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := f.run("--work-tree="+dir, "checkout", "-q", "-f", commit, "--", "."); err != nil {
		return "failed", err.Error()
	}
	cmd := exec.Command("sh", "-c", f.CI)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "failed", string(out) + err.Error() + "\n"
	}
	return "passed", string(out)
}

func (f *Forge) request(number int) *Request {
	for _, r := range f.requests {
		if r.Number == number {
			return r
		}
	}
	return nil
}

func (f *Forge) issue(number int) *Issue {
	for _, i := range f.issues {
		if i.Number == number {
			return i
		}
	}
	return nil
}

// MergeOutside merges a request, as a person does in the browser; squash makes one commit of it.
func (f *Forge) MergeOutside(number int, squash bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.merge(f.request(number), squash)
}

// CloseOutside closes a request without merging it.
func (f *Forge) CloseOutside(number int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.request(number)
	r.Head = f.Tip(r.Branch)
	r.State = "closed"
}

// merge merges a request for real.
func (f *Forge) merge(r *Request, squash bool) error {
	head, base := f.Tip(r.Branch), f.Tip(r.Base)
	tree, err := f.run("merge-tree", "--write-tree", base, head)
	if err != nil {
		return fmt.Errorf("merge conflict: %v", err)
	}
	args := []string{"commit-tree", tree, "-p", base, "-m", fmt.Sprintf("Merge request %d: %s", r.Number, r.Title)}
	if !squash {
		args = append(args, "-p", head)
	}
	commit, err := f.run(args...)
	if err != nil {
		return err
	}
	if _, err := f.run("update-ref", "refs/heads/"+r.Base, commit, base); err != nil {
		return err
	}
	r.Head, r.Merge, r.State = head, commit, "merged"
	return nil
}

// green reports whether all checks of a request have passed.
func (f *Forge) green(r *Request) bool {
	for _, c := range f.checksOf(r.head(f)) {
		if c.State != "passed" {
			return false
		}
	}
	return true
}

// MergeQueued merges what waits in the queue of the forge, and is green.
func (f *Forge) MergeQueued() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.requests {
		if r.State == "open" && r.Queued && f.green(r) {
			_ = f.merge(r, false)
		}
	}
}

// Hook is the call of a webhook about an issue, or, when issue is 0, about a request: its headers, with the secret as that kind of forge
// proves it, and its body. at is when it happened.
func (f *Forge) Hook(kind, secret, id string, issue int, at time.Time) (http.Header, []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	repo := Owner + "/" + Name
	about := map[string]any{"updated_at": at.UTC().Format(time.RFC3339), "created_at": f.now}
	body := map[string]any{"repository": map[string]any{"full_name": repo}, "pull_request": about}
	events := map[string]string{"github": "pull_request", "gitea": "pull_request", "gitlab": "Merge Request Hook"}
	if i := f.issue(issue); i != nil {
		events = map[string]string{"github": "issues", "gitea": "issues", "gitlab": "Issue Hook"}
		var names, titles []any
		for _, l := range i.Labels {
			names, titles = append(names, map[string]any{"name": l}), append(titles, map[string]any{"title": l})
		}
		about["number"], about["iid"], about["title"], about["state"], about["labels"] = issue, issue, i.Title, i.State, names
		body["issue"] = about
		if delete(body, "pull_request"); kind == "gitlab" {
			about["labels"] = titles
		}
	}
	if kind == "gitlab" {
		about["updated_at"] = at.UTC().Format("2006-01-02 15:04:05 UTC")
		body = map[string]any{"project": map[string]any{"path_with_namespace": repo}, "object_attributes": about}
	}
	data, _ := json.Marshal(body)
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write(data)
	signature := hex.EncodeToString(sum.Sum(nil))
	h := http.Header{}
	for _, pair := range map[string][][2]string{
		"github": {{"X-GitHub-Event", events[kind]}, {"X-GitHub-Delivery", id}, {"X-Hub-Signature-256", "sha256=" + signature}},
		"gitea":  {{"X-Gitea-Event", events[kind]}, {"X-Gitea-Delivery", id}, {"X-Gitea-Signature", signature}},
		"gitlab": {{"X-Gitlab-Event", events[kind]}, {"X-Gitlab-Event-UUID", id}, {"X-Gitlab-Token", secret}},
	}[kind] {
		h.Set(pair[0], pair[1])
	}
	return h, data
}
