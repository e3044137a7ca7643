package forge

import (
	"context"
	"strings"
	"time"
)

// Client is one repository on a forge.
type Client interface {
	// Request is one pull or merge request.
	Request(ctx context.Context, number int) (Request, error)
	// Find gives the requests from a branch of this repository, in whatever state, the newest first.
	Find(ctx context.Context, branch string) ([]Request, error)
	Open(ctx context.Context, r NewRequest) (Request, error)
	// Edit changes title and text.
	Edit(ctx context.Context, number int, title, body string) error
	// Ready ends the draft.
	Ready(ctx context.Context, r Request) error
	// Merge merges the request if its head is still the commit. A *RefusedError says why the forge does not.
	Merge(ctx context.Context, r Request, how Merging) error
	// Comment says something at a request.
	Comment(ctx context.Context, number int, text string) error
	// Comments are what was said at a request and at its lines, the oldest first.
	Comments(ctx context.Context, number int) ([]Comment, error)
	// Checks are the results of CI for a commit, each name once.
	Checks(ctx context.Context, commit string) ([]Check, error)
	// Log is the end of what a check printed, or what the forge says of it when there is no log.
	Log(ctx context.Context, c Check) (string, error)

	// Issues gives the issues that have all the labels; requests are none. State is open, closed or all.
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
	Branch string // what is to be merged, of this repository
	Fork   bool   // the branch is another repository's
	Base   string
	Head   string // commit
	State  string // open, merged or closed
	Draft  bool
	Merge  string // the commit on the base branch, of a merged one
}

// NewRequest is a request to open.
type NewRequest struct {
	Title, Body, Branch, Base string
	Draft                     bool
}

// Merging says how a request is merged.
type Merging struct {
	Method string // merge, squash or rebase
	Queue  bool   // the forge merges when all that it asks for is there
}

// Check is one result of CI.
type Check struct {
	ID    string // of the job, "" when there is none
	Name  string
	State string // pending, passed or failed
	URL   string
	Text  string // what the forge says of it
}

// The states of checks.
const (
	Pending = "pending"
	Passed  = "passed"
	Failed  = "failed"
)

// Comment is what somebody said.
type Comment struct {
	ID      string // of this forge, unique among the comments of one request or issue
	Author  string
	Member  bool // may write to the repository; others are strangers
	Bot     bool
	Text    string
	Path    string // of a comment at a file
	Line    int    // of that file in the branch, 0 for none
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

// The kinds of trackers beside the forges.
const (
	Jira   = "jira"
	Linear = "linear"
)
