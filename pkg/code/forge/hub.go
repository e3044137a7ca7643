package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hub has the common part of GitHub and Gitea.
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
	Commit2 string  `json:"merged_commit_id"` // of older Gitea
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

// find returns the requests of a branch among the results of a query.
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

type github struct{ hub }

func (g *github) Find(ctx context.Context, branch string) ([]Request, error) {
	owner, _, _ := strings.Cut(g.Options.Repo, "/")
	return g.find(ctx, "&sort=created&direction=desc&head="+url.QueryEscape(owner+":"+branch), branch)
}

func (g *github) Open(ctx context.Context, r NewRequest) (Request, error) {
	return g.open(ctx, map[string]any{"title": r.Title, "body": r.Body, "head": r.Branch, "base": r.Base, "draft": r.Draft})
}

func (g *github) Ready(ctx context.Context, r Request) error {
	return g.mutate(ctx, `mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }`, map[string]any{"id": r.Node})
}

func (g *github) Merge(ctx context.Context, r Request, how Merging) error {
	if how.Queue {
		return g.mutate(ctx, `mutation($id: ID!, $method: PullRequestMergeMethod, $head: GitObjectID) { enablePullRequestAutoMerge(input: {pullRequestId: $id, mergeMethod: $method, expectedHeadOid: $head}) { clientMutationId } }`,
			map[string]any{"id": r.Node, "method": strings.ToUpper(how.Method), "head": r.Head})
	}
	return refusal(g.write(ctx, http.MethodPut, fmt.Sprintf("%s/pulls/%d/merge", g.repo, r.Number), map[string]any{"sha": r.Head, "merge_method": how.Method}, nil))
}

// mutate calls GitHub's other API, for the two things that the first one does not have.
func (g *github) mutate(ctx context.Context, query string, variables map[string]any) error {
	address := g.API + "/graphql"
	if api, ok := strings.CutSuffix(g.API, "/api/v3"); ok { // of a server of one's own
		address = api + "/api/graphql"
	}
	var answer struct {
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if _, err := g.call(ctx, http.MethodPost, address, map[string]any{"query": query, "variables": variables}, &answer); err != nil {
		return refusal(err)
	}
	if len(answer.Errors) > 0 {
		return &RefusedError{Reason: answer.Errors[0].Message}
	}
	return nil
}

func (g *github) Comments(ctx context.Context, number int) ([]Comment, error) {
	out, err := g.IssueComments(ctx, number)
	if err != nil {
		return nil, err
	}
	for kind, path := range map[string]string{"line": "comments", "review": "reviews"} {
		found, err := list[hubComment](ctx, g.transport, fmt.Sprintf("%s/pulls/%d/%s", g.repo, number, path))
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			if made := g.comment(kind, c); strings.TrimSpace(made.Text) != "" || made.Changes {
				out = append(out, made)
			}
		}
	}
	slices.SortStableFunc(out, byTime)
	return out, nil
}

type githubRun struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	URL        string `json:"html_url"`
	App        struct {
		Slug string `json:"slug"`
	} `json:"app"`
	Output struct {
		Title, Summary, Text string
	} `json:"output"`
}

func (g *github) Checks(ctx context.Context, commit string) ([]Check, error) {
	var out []Check
	err := pages(ctx, g.transport, g.repo+"/commits/"+commit+"/check-runs?filter=latest", func(page struct {
		Runs []githubRun `json:"check_runs"`
	}) {
		for _, r := range page.Runs {
			c := Check{Name: r.Name, State: Pending, URL: r.URL, Text: strings.TrimSpace(r.Output.Title + "\n" + r.Output.Summary + "\n" + r.Output.Text)}
			if r.Status == "completed" {
				c.State = stateOf(r.Conclusion)
			}
			if r.App.Slug == "github-actions" { // a check of Actions has the id of its job
				c.ID = strconv.FormatInt(r.ID, 10)
			}
			out = append(out, c)
		}
	})
	if err != nil {
		return nil, err
	}
	statuses, err := g.statuses(ctx, commit)
	return newest(append(out, statuses...)), err
}

func (g *github) Log(ctx context.Context, c Check) (string, error) {
	if c.ID == "" {
		return Tail(c.Text), nil
	}
	log, err := g.tail(ctx, g.repo+"/actions/jobs/"+c.ID+"/logs")
	if NotFound(err) {
		return Tail(c.Text), nil
	}
	return log, err
}

type gitea struct {
	hub
	members map[string]bool // users that were looked up
}

// draftPrefix marks a draft by its title.
const draftPrefix = "WIP: "

func (g *gitea) Find(ctx context.Context, branch string) ([]Request, error) {
	return g.find(ctx, "&sort=recentupdate", branch)
}

func (g *gitea) Open(ctx context.Context, r NewRequest) (Request, error) {
	title := r.Title
	if r.Draft {
		title = draftPrefix + title
	}
	return g.open(ctx, map[string]any{"title": title, "body": r.Body, "head": r.Branch, "base": r.Base})
}

func (g *gitea) Ready(ctx context.Context, r Request) error {
	return g.Edit(ctx, r.Number, strings.TrimPrefix(r.Title, draftPrefix), r.Body)
}

func (g *gitea) Merge(ctx context.Context, r Request, how Merging) error {
	return refusal(g.write(ctx, http.MethodPost, fmt.Sprintf("%s/pulls/%d/merge", g.repo, r.Number),
		map[string]any{"Do": how.Method, "head_commit_id": r.Head, "merge_when_checks_succeed": how.Queue}, nil))
}

func (g *gitea) Comments(ctx context.Context, number int) ([]Comment, error) {
	out, err := g.IssueComments(ctx, number)
	if err != nil {
		return nil, err
	}
	path := fmt.Sprintf("%s/pulls/%d/reviews", g.repo, number)
	reviews, err := list[hubComment](ctx, g.transport, path)
	if err != nil {
		return nil, err
	}
	for _, r := range reviews {
		made := g.comment("review", r)
		if strings.TrimSpace(made.Text) != "" || made.Changes {
			out = append(out, made)
		}
		lines, err := list[hubComment](ctx, g.transport, fmt.Sprintf("%s/%d/comments", path, r.ID))
		if err != nil {
			return nil, err
		}
		for _, c := range lines {
			if c.Line == 0 {
				c.Line = c.Position
			}
			out = append(out, g.comment("line", c))
		}
	}
	for i := range out {
		if out[i].Member, err = g.member(ctx, out[i].Author); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out, byTime)
	return out, nil
}

// member reports whether a user may write to the repository. If the forge does not say, the user is a stranger.
func (g *gitea) member(ctx context.Context, login string) (bool, error) {
	if owner, _, _ := strings.Cut(g.Options.Repo, "/"); strings.EqualFold(owner, login) {
		return true, nil
	}
	if known, ok := g.members[login]; ok {
		return known, nil
	}
	var p struct {
		Permission string `json:"permission"`
	}
	err := g.get(ctx, g.repo+"/collaborators/"+url.PathEscape(login)+"/permission", &p)
	if s := status(err); s != 0 && s < 500 {
		err = nil
	}
	if err != nil {
		return false, err
	}
	g.members[login] = p.Permission == "write" || p.Permission == "admin" || p.Permission == "owner"
	return g.members[login], nil
}

func (g *gitea) Checks(ctx context.Context, commit string) ([]Check, error) {
	list, err := g.statuses(ctx, commit)
	for i := range list {
		list[i].ID = commit // its job is looked for by the commit, once it failed
	}
	return newest(list), err
}

// Log returns the log of the failed job whose name is in that of the check: "WORKFLOW / JOB (EVENT)".
func (g *gitea) Log(ctx context.Context, c Check) (string, error) {
	var runs struct {
		Runs []struct {
			ID int64 `json:"id"`
		} `json:"workflow_runs"`
	}
	err := g.get(ctx, g.repo+"/actions/runs?head_sha="+c.ID, &runs)
	for _, run := range runs.Runs {
		var jobs struct {
			Jobs []struct {
				ID         int64  `json:"id"`
				Name       string `json:"name"`
				Conclusion string `json:"conclusion"`
			} `json:"jobs"`
		}
		if err = g.get(ctx, fmt.Sprintf("%s/actions/runs/%d/jobs", g.repo, run.ID), &jobs); err != nil {
			break
		}
		for _, j := range jobs.Jobs {
			if stateOf(j.Conclusion) == Failed && strings.Contains(c.Name, j.Name) {
				var log string
				if log, err = g.tail(ctx, g.repo+"/actions/jobs/"+strconv.FormatInt(j.ID, 10)+"/logs"); err == nil {
					return log, nil
				}
			}
		}
	}
	if s := status(err); err == nil || s != 0 && s < http.StatusInternalServerError {
		return Tail(c.Text), nil // without Actions, or of another CI
	}
	return "", err
}
