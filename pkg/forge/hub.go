package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// hub is what GitHub and Gitea have in common.
type hub struct {
	*transport
	repo   string // path of the repository in the API
	github bool
}

type hubUser struct {
	Login string `json:"login"`
	Type  string `json:"type"`
}

type hubSide struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo *struct {
		FullName string `json:"full_name"`
	} `json:"repo"`
}

type hubRequest struct {
	Number  int     `json:"number"`
	Node    string  `json:"node_id"`
	URL     string  `json:"html_url"`
	Title   string  `json:"title"`
	Body    string  `json:"body"`
	State   string  `json:"state"`
	Draft   bool    `json:"draft"`
	Merged  bool    `json:"merged"`
	At      *string `json:"merged_at"`
	Commit  string  `json:"merge_commit_sha"`
	Commit2 string  `json:"merged_commit_id"` // older Gitea
	Head    hubSide `json:"head"`
	Base    hubSide `json:"base"`
}

func (h *hub) request(r hubRequest) Request {
	out := Request{Number: r.Number, Node: r.Node, URL: r.URL, Title: r.Title, Body: r.Body, State: r.State, Draft: r.Draft,
		Branch: r.Head.Ref, Head: r.Head.SHA, Base: r.Base.Ref}
	out.Fork = r.Head.Repo == nil || !strings.EqualFold(r.Head.Repo.FullName, h.Repo)
	if r.Merged || r.At != nil {
		out.State = Merged
		if out.Merge = r.Commit; out.Merge == "" {
			out.Merge = r.Commit2
		}
	}
	return out
}

func (h *hub) Request(ctx context.Context, number int) (Request, error) {
	var r hubRequest
	err := h.get(ctx, fmt.Sprintf("%s/pulls/%d", h.repo, number), &r)
	return h.request(r), err
}

// find gives the requests of a branch among those that a query lists.
func (h *hub) find(ctx context.Context, query, branch string) ([]Request, error) {
	list, err := list[hubRequest](ctx, h.transport, h.repo+"/pulls?state=all"+query)
	var out []Request
	for _, r := range list {
		if found := h.request(r); found.Branch == branch && !found.Fork {
			out = append(out, found)
		}
	}
	return out, err
}

func (h *hub) open(ctx context.Context, body map[string]any) (Request, error) {
	var r hubRequest
	err := h.write(ctx, http.MethodPost, h.repo+"/pulls", body, &r)
	return h.request(r), err
}

func (h *hub) Edit(ctx context.Context, number int, title, body string) error {
	return h.write(ctx, http.MethodPatch, fmt.Sprintf("%s/pulls/%d", h.repo, number), map[string]any{"title": title, "body": body}, nil)
}

func (h *hub) Comment(ctx context.Context, number int, text string) error {
	return h.CommentOnIssue(ctx, number, text)
}

type hubComment struct {
	ID          int64     `json:"id"`
	User        hubUser   `json:"user"`
	Association string    `json:"author_association"`
	Body        string    `json:"body"`
	Path        string    `json:"path"`
	Line        int       `json:"line"`
	Position    int       `json:"position"` // Gitea: the line in the new file
	Commit      string    `json:"commit_id"`
	State       string    `json:"state"`
	URL         string    `json:"html_url"`
	Created     time.Time `json:"created_at"`
	Submitted   time.Time `json:"submitted_at"`
}

func (h *hub) comment(kind string, c hubComment) Comment {
	out := Comment{ID: fmt.Sprintf("%s-%d", kind, c.ID), Author: c.User.Login, Text: c.Body, Path: c.Path, Line: c.Line, Commit: c.Commit, URL: c.URL, Created: c.Created,
		Bot: c.User.Type == "Bot"}
	switch c.Association {
	case "OWNER", "MEMBER", "COLLABORATOR":
		out.Member = true
	}
	if out.Created.IsZero() {
		out.Created = c.Submitted
	}
	out.Changes = c.State == "CHANGES_REQUESTED" || c.State == "REQUEST_CHANGES"
	return out
}

func (h *hub) IssueComments(ctx context.Context, number int) ([]Comment, error) {
	found, err := list[hubComment](ctx, h.transport, fmt.Sprintf("%s/issues/%d/comments", h.repo, number))
	out := make([]Comment, 0, len(found))
	for _, c := range found {
		out = append(out, h.comment("comment", c))
	}
	return out, err
}

func (h *hub) CommentOnIssue(ctx context.Context, number int, text string) error {
	return h.write(ctx, http.MethodPost, fmt.Sprintf("%s/issues/%d/comments", h.repo, number), map[string]any{"body": text}, nil)
}

func (h *hub) CloseIssue(ctx context.Context, number int) error {
	return h.write(ctx, http.MethodPatch, fmt.Sprintf("%s/issues/%d", h.repo, number), map[string]any{"state": Closed}, nil)
}

type hubIssue struct {
	Number  int       `json:"number"`
	URL     string    `json:"html_url"`
	Title   string    `json:"title"`
	Body    string    `json:"body"`
	State   string    `json:"state"`
	User    hubUser   `json:"user"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
	Request *struct{} `json:"pull_request"`
	Labels  []struct {
		Name string `json:"name"`
	} `json:"labels"`
}

func (i hubIssue) issue() Issue {
	out := Issue{Number: i.Number, URL: i.URL, Title: i.Title, Body: i.Body, State: i.State, Author: i.User.Login, Created: i.Created, Updated: i.Updated}
	for _, l := range i.Labels {
		out.Labels = append(out.Labels, l.Name)
	}
	return out
}

func (h *hub) Issues(ctx context.Context, labels []string, state string) ([]Issue, error) {
	query := url.Values{"state": {state}}
	if !h.github {
		query.Set("type", "issues")
	}
	if len(labels) > 0 {
		query.Set("labels", strings.Join(labels, ","))
	}
	found, err := list[hubIssue](ctx, h.transport, h.repo+"/issues?"+query.Encode())
	var out []Issue
	for _, i := range found {
		if i.Request == nil && hasLabels(i.issue(), labels) {
			out = append(out, i.issue())
		}
	}
	return out, err
}

// hasLabels is looked at again here: forges differ in whether all labels or one of them are asked for.
func hasLabels(i Issue, labels []string) bool {
	for _, want := range labels {
		found := false
		for _, l := range i.Labels {
			found = found || strings.EqualFold(l, want)
		}
		if !found {
			return false
		}
	}
	return true
}

func (h *hub) Issue(ctx context.Context, number int) (Issue, error) {
	var i hubIssue
	err := h.get(ctx, fmt.Sprintf("%s/issues/%d", h.repo, number), &i)
	if err == nil && i.Request != nil {
		err = &StatusError{What: fmt.Sprintf("issue %d", number), Status: http.StatusNotFound, Text: "it is a pull request"}
	}
	return i.issue(), err
}

type hubStatus struct {
	Context string `json:"context"`
	State   string `json:"state"`
	Status  string `json:"status"` // Gitea's name for it
	URL     string `json:"target_url"`
	Text    string `json:"description"`
}

// statuses are the commit statuses, the newest of each name first.
func (h *hub) statuses(ctx context.Context, commit string) ([]Check, error) {
	var out []Check
	err := pages(ctx, h.transport, h.repo+"/commits/"+commit+"/status", func(page struct {
		Statuses []hubStatus `json:"statuses"`
	}) {
		for _, s := range page.Statuses {
			state := s.State
			if !h.github {
				state = s.Status
			}
			out = append(out, Check{Name: s.Context, State: stateOf(state), URL: s.URL, Text: s.Text})
		}
	})
	return out, err
}

// stateOf is a state or conclusion of any of the forges.
func stateOf(s string) string {
	switch s {
	case "success", "neutral", "skipped", "warning", "manual":
		return Passed
	case "failure", "error", "failed", "cancelled", "canceled", "timed_out", "action_required", "startup_failure", "stale":
		return Failed
	}
	return Pending
}

// refusal turns the refusals of a merge into a *RefusedError.
func refusal(err error) error {
	switch status(err) {
	case http.StatusMethodNotAllowed, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusNotAcceptable, http.StatusForbidden, http.StatusUnauthorized:
		reason := err.Error()
		if s, ok := err.(*StatusError); ok && s.Text != "" { //nolint:errorlint // made by transport.failure, never wrapped
			reason = s.Text
		}
		return &RefusedError{Reason: reason}
	}
	return err
}
