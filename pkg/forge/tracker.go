package forge

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Tracker is where a team keeps its issues. An issue has a key: a number on a forge, TEAM-12 elsewhere.
type Tracker interface {
	// Labelled gives the open issues that have all the labels.
	Labelled(ctx context.Context, labels []string) ([]Ticket, error)
	Ticket(ctx context.Context, key string) (Ticket, error)
	// Said reports whether a text is in a comment of the issue.
	Said(ctx context.Context, key, text string) (bool, error)
	Say(ctx context.Context, key, text string) error
	// Finish closes the issue.
	Finish(ctx context.Context, key string) error
}

// TrackerKinds are the kinds of trackers.
var TrackerKinds = []string{GitHub, GitLab, Gitea, Jira, Linear}

// NewTracker gives the client for a tracker; Repo counts for forges only.
func NewTracker(o Options) (Tracker, error) {
	switch o.Kind {
	case Jira, Linear:
		t, err := newTransport(o)
		if err != nil {
			return nil, err
		}
		if o.Kind == Jira {
			return &jira{t}, nil
		}
		return &linear{t}, nil
	}
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
