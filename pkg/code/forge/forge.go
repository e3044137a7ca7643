// Package forge talks to the places where teams keep their repositories: GitHub, GitLab and Gitea (and Forgejo, whose API is Gitea's).
//
// A Client knows pull or merge requests ("requests" here), the checks of a commit with their logs, comments, and issues. It speaks plain
// HTTP: of the APIs some twenty calls each are used, and the clients that the forges offer bring thousands, with a
// library and a way of paging, waiting and failing of their own for each.
//
// The rules that hold for every call: answers and pages are bounded; a rate limit is waited for when that is short, else it is a *LimitError;
// reads are repeated after a failure of the server, writes never, because nobody knows whether they were carried out (callers
// look for what they wrote by branch and marker); the token goes to the host that it is for and never to another one.
package forge

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client is one repository on a forge.
type Client interface {
	// Request is one pull or merge request.
	Request(ctx context.Context, number int) (Request, error)
	// Find returns the requests from a branch of this repository, in any state, the newest first.
	Find(ctx context.Context, branch string) ([]Request, error)
	Open(ctx context.Context, r NewRequest) (Request, error)
	// Edit changes title and text.
	Edit(ctx context.Context, number int, title, body string) error
	// Ready ends the draft.
	Ready(ctx context.Context, r Request) error
	// Merge merges the request if its head is still the commit. A *RefusedError is the forge's reason not to.
	Merge(ctx context.Context, r Request, how Merging) error
	// Comment adds a comment to a request.
	Comment(ctx context.Context, number int, text string) error
	// Comments returns the comments on a request and its lines, the oldest first.
	Comments(ctx context.Context, number int) ([]Comment, error)
	// Checks returns the results of CI for a commit, each name once.
	Checks(ctx context.Context, commit string) ([]Check, error)
	// Log returns the end of the output of a check, or the forge's text about it if there is no log.
	Log(ctx context.Context, c Check) (string, error)

	// Issues returns the issues, not requests, that have all the labels. State is open, closed or all.
	Issues(ctx context.Context, labels []string, state string) ([]Issue, error)
	Issue(ctx context.Context, number int) (Issue, error)
	IssueComments(ctx context.Context, number int) ([]Comment, error)
	CommentOnIssue(ctx context.Context, number int, text string) error
	CloseIssue(ctx context.Context, number int) error
}

// The states of requests and issues.
const (
	Open   = "open"
	Merged = "merged"
	Closed = "closed"
)

// Request is a pull or merge request.
type Request struct {
	Number int
	Node   string // GitHub's id for its other API
	URL    string
	Title  string
	Body   string
	Branch string // branch of this repository to merge
	Fork   bool   // the branch is in another repository
	Base   string
	Head   string // commit
	State  string // open, merged or closed
	Draft  bool
	Merge  string // of a merged one: the commit on the base branch
}

// NewRequest is a request to open.
type NewRequest struct {
	Title, Body, Branch, Base string
	Draft                     bool
}

// Merging has the method of a merge.
type Merging struct {
	Method string // merge, squash or rebase
	Queue  bool   // the forge merges when its conditions are met
}

// Check is one result of CI.
type Check struct {
	ID    string // id of the job, or ""
	Name  string
	State string // pending, passed or failed
	URL   string
	Text  string // description by the forge
}

// The states of checks.
const (
	Pending = "pending"
	Passed  = "passed"
	Failed  = "failed"
)

// Comment is a comment of a person or program.
type Comment struct {
	ID      string // id on this forge, unique among the comments of one request or issue
	Author  string
	Member  bool // the author may write to the repository; others are strangers
	Bot     bool
	Text    string
	Path    string // file of a comment on a line
	Line    int    // line of that file in the branch; 0 for none
	Commit  string
	Changes bool // a review that asks for changes
	URL     string
	Created time.Time
}

// Issue is an issue of the repository's tracker.
type Issue struct {
	Number  int
	URL     string
	Title   string
	Body    string
	State   string // open or closed
	Labels  []string
	Author  string
	Created time.Time
	Updated time.Time
}

// The kinds of forges.
const (
	GitHub = "github"
	GitLab = "gitlab"
	Gitea  = "gitea"
)

// newest puts results that came twice under one name together: the one that was seen first counts.
func newest(list []Check) []Check {
	var out []Check
	seen := map[string]bool{}
	for _, c := range list {
		if !seen[c.Name] {
			seen[c.Name] = true
			out = append(out, c)
		}
	}
	return out
}

// Ticket is an issue of any tracker.
type Ticket struct {
	Key, URL, Title, Body, Author string
	Closed                        bool
}

func byTime(a, b Comment) int {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// Locate parses the address of a git remote: the host's web address, the repository's path, and the kind of forge for
// well-known hosts. It omits names and passwords in the address.
func Locate(remote string) (host, repo, kind string, err error) {
	given := remote
	if !strings.Contains(remote, "://") { // git@host:owner/name.git
		before, path, ok := strings.Cut(remote, ":")
		if !ok || strings.Contains(before, "/") {
			return "", "", "", fmt.Errorf("the remote %s is not on a forge", given)
		}
		remote = "ssh://" + before + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(remote)
	if err != nil || u.Hostname() == "" {
		return "", "", "", fmt.Errorf("the address of the remote is not understood")
	}
	repo = strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	if !strings.Contains(repo, "/") {
		return "", "", "", fmt.Errorf("the remote at %s names no owner and repository", u.Hostname())
	}
	scheme, at := "https", u.Hostname()
	if u.Scheme == "http" || u.Scheme == "https" {
		scheme, at = u.Scheme, u.Host
	}
	switch name := strings.ToLower(u.Hostname()); {
	case name == "github.com":
		kind = GitHub
	case name == "gitlab.com" || strings.HasPrefix(name, "gitlab."):
		kind = GitLab
	case name == "codeberg.org" || name == "gitea.com" || strings.HasPrefix(name, "gitea."):
		kind = Gitea
	}
	return scheme + "://" + at, repo, kind, nil
}

// API returns the address of the API of a forge, from its web address.
func API(kind, host string) string {
	host = strings.TrimSuffix(host, "/")
	switch {
	case kind == GitHub && host == "https://github.com":
		return "https://api.github.com"
	case kind == GitHub:
		return host + "/api/v3"
	case kind == GitLab:
		return host + "/api/v4"
	}
	return host + "/api/v1"
}

// TokenVariables returns the environment variables for the token of a kind of forge, in the order of preference.
func TokenVariables(kind string) []string {
	switch kind {
	case GitHub:
		return []string{"GITHUB_TOKEN", "GH_TOKEN"}
	case GitLab:
		return []string{"GITLAB_TOKEN"}
	}
	return []string{"GITEA_TOKEN"}
}

// TokenCommand returns the forge's own command line that prints the token for a host, or nil.
func TokenCommand(kind, host string) []string {
	u, err := url.Parse(host)
	switch {
	case err != nil:
		return nil
	case kind == GitHub:
		return []string{"gh", "auth", "token", "--hostname", u.Hostname()}
	case kind == GitLab:
		return []string{"glab", "config", "get", "token", "--host", u.Hostname()}
	}
	return nil
}

// New returns the client for a repository.
func New(o Options) (Client, error) {
	if o.Repo == "" {
		return nil, fmt.Errorf("cannot use the forge: the repository is not known")
	}
	h, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	switch o.Kind {
	case GitHub:
		return &github{hub{h, "/repos/" + o.Repo, true}}, nil
	case Gitea:
		return &gitea{hub: hub{h, "/repos/" + o.Repo, false}, members: map[string]bool{}}, nil
	case GitLab:
		return &gitlab{transport: h, project: "/projects/" + strings.ReplaceAll(o.Repo, "/", "%2F"), members: map[int]bool{}}, nil
	}
	return nil, fmt.Errorf("cannot use the forge %q: it is none of github, gitlab and gitea", o.Kind)
}

// LimitError is returned when the forge takes no more calls for now.
type LimitError struct {
	Host  string
	Until time.Time
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s takes no more calls until %s", e.Host, e.Until.UTC().Format(time.RFC3339))
}

// StatusError is an unexpected answer of the forge.
type StatusError struct {
	What   string // method and path
	Status int
	Text   string // text of the answer
}

func (e *StatusError) Error() string {
	text := ""
	if e.Text != "" {
		text = ": " + e.Text
	}
	return fmt.Sprintf("%s answered %d%s", e.What, e.Status, text)
}

// RefusedError is the reason why the forge does not merge a request now.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "the forge does not merge it: " + e.Reason }

// Tracker is the issue tracker of a team. An issue has a key: a number on a forge, TEAM-12 elsewhere.
type Tracker interface {
	// Labelled returns the open issues that have all the labels.
	Labelled(ctx context.Context, labels []string) ([]Ticket, error)
	Ticket(ctx context.Context, key string) (Ticket, error)
	// Said reports whether a text is in a comment of the issue.
	Said(ctx context.Context, key, text string) (bool, error)
	Say(ctx context.Context, key, text string) error
	// Finish closes the issue.
	Finish(ctx context.Context, key string) error
}

// TrackerKinds are the kinds of trackers.
var TrackerKinds = []string{GitHub, GitLab, Gitea}

// NewTracker returns the client for a tracker; Repo is for forges only.
func NewTracker(o Options) (Tracker, error) {
	c, err := New(o)
	return issues{c}, err
}

// issues is the tracker of a forge.
type issues struct{ Client }

func (i Issue) ticket() Ticket {
	return Ticket{Key: strconv.Itoa(i.Number), URL: i.URL, Title: i.Title, Body: i.Body, Author: i.Author, Closed: i.State != Open}
}

func (f issues) Labelled(ctx context.Context, labels []string) ([]Ticket, error) {
	found, err := f.Issues(ctx, labels, Open)
	var out []Ticket
	for _, i := range found {
		out = append(out, i.ticket())
	}
	return out, err
}

func (f issues) Ticket(ctx context.Context, key string) (Ticket, error) {
	n, err := strconv.Atoi(key)
	if err != nil {
		return Ticket{}, fmt.Errorf("%q is not the number of an issue", key)
	}
	i, err := f.Issue(ctx, n)
	return i.ticket(), err
}

func (f issues) Said(ctx context.Context, key, text string) (bool, error) {
	n, err := strconv.Atoi(key)
	if err != nil {
		return false, err
	}
	all, err := f.IssueComments(ctx, n)
	for _, c := range all {
		if strings.Contains(c.Text, text) {
			return true, nil
		}
	}
	return false, err
}

func (f issues) Say(ctx context.Context, key, text string) error {
	n, err := strconv.Atoi(key)
	if err != nil {
		return err
	}
	return f.CommentOnIssue(ctx, n, text)
}

func (f issues) Finish(ctx context.Context, key string) error {
	n, err := strconv.Atoi(key)
	if err != nil {
		return err
	}
	return f.CloseIssue(ctx, n)
}
