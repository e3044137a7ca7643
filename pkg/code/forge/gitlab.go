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

type gitlab struct {
	*transport
	project string       // path of the project in the API
	members map[int]bool // users that were looked up
}

type gitlabRequest struct {
	Number  int    `json:"iid"`
	URL     string `json:"web_url"`
	Title   string `json:"title"`
	Body    string `json:"description"`
	State   string `json:"state"`
	Draft   bool   `json:"draft"`
	Branch  string `json:"source_branch"`
	Base    string `json:"target_branch"`
	SHA     string `json:"sha"`
	Merge   string `json:"merge_commit_sha"`
	Squash  string `json:"squash_commit_sha"`
	From    int    `json:"source_project_id"`
	Project int    `json:"target_project_id"`
}

func (r gitlabRequest) request() Request {
	out := Request{Number: r.Number, URL: r.URL, Title: r.Title, Body: r.Body, State: r.State, Draft: r.Draft, Branch: r.Branch, Base: r.Base, Head: r.SHA, Fork: r.From != r.Project}
	switch r.State {
	case "opened", "locked":
		out.State = Open
	case "merged":
		for _, c := range []string{r.Merge, r.Squash, r.SHA} {
			if out.Merge = c; c != "" {
				break
			}
		}
	}
	return out
}

func (g *gitlab) at(number int) string { return fmt.Sprintf("%s/merge_requests/%d", g.project, number) }

func (g *gitlab) Request(ctx context.Context, number int) (Request, error) {
	var r gitlabRequest
	err := g.get(ctx, g.at(number), &r)
	return r.request(), err
}

func (g *gitlab) Find(ctx context.Context, branch string) ([]Request, error) {
	found, err := list[gitlabRequest](ctx, g.transport, g.project+"/merge_requests?state=all&order_by=created_at&source_branch="+url.QueryEscape(branch))
	var out []Request
	for _, r := range found {
		if made := r.request(); made.Branch == branch && !made.Fork {
			out = append(out, made)
		}
	}
	return out, err
}

// gitlabDraft marks a draft by its title.
const gitlabDraft = "Draft: "

func (g *gitlab) Open(ctx context.Context, r NewRequest) (Request, error) {
	title := r.Title
	if r.Draft {
		title = gitlabDraft + title
	}
	var made gitlabRequest
	err := g.write(ctx, http.MethodPost, g.project+"/merge_requests",
		map[string]any{"title": title, "description": r.Body, "source_branch": r.Branch, "target_branch": r.Base}, &made)
	return made.request(), err
}

func (g *gitlab) Edit(ctx context.Context, number int, title, body string) error {
	return g.write(ctx, http.MethodPut, g.at(number), map[string]any{"title": title, "description": body}, nil)
}

func (g *gitlab) Ready(ctx context.Context, r Request) error {
	return g.Edit(ctx, r.Number, strings.TrimPrefix(r.Title, gitlabDraft), r.Body)
}

// Merge merges the request; apart from squashing the project's setting determines the method.
func (g *gitlab) Merge(ctx context.Context, r Request, how Merging) error {
	return refusal(g.write(ctx, http.MethodPut, g.at(r.Number)+"/merge",
		map[string]any{"sha": r.Head, "squash": how.Method == "squash", "auto_merge": how.Queue, "merge_when_pipeline_succeeds": how.Queue}, nil))
}

func (g *gitlab) Comment(ctx context.Context, number int, text string) error {
	return g.write(ctx, http.MethodPost, g.at(number)+"/notes", map[string]any{"body": text}, nil)
}

type gitlabNote struct {
	ID      int64     `json:"id"`
	Body    string    `json:"body"`
	System  bool      `json:"system"`
	Created time.Time `json:"created_at"`
	Author  struct {
		ID       int    `json:"id"`
		Username string `json:"username"`
		Bot      bool   `json:"bot"`
	} `json:"author"`
	Position *struct {
		Path string `json:"new_path"`
		Line int    `json:"new_line"`
		Head string `json:"head_sha"`
	} `json:"position"`
}

// notes returns the comments of people, without the entries of the forge itself.
func (g *gitlab) notes(ctx context.Context, path string) ([]Comment, error) {
	found, err := list[gitlabNote](ctx, g.transport, path+"/notes?sort=asc&order_by=created_at")
	if err != nil {
		return nil, err
	}
	var out []Comment
	for _, n := range found {
		if n.System {
			continue
		}
		c := Comment{ID: fmt.Sprintf("note-%d", n.ID), Author: n.Author.Username, Bot: n.Author.Bot, Text: n.Body, Created: n.Created}
		if c.Member, err = g.member(ctx, n.Author.ID); err != nil {
			return nil, err
		}
		if n.Position != nil {
			c.Path, c.Line, c.Commit = n.Position.Path, n.Position.Line, n.Position.Head
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, byTime)
	return out, nil
}

// member reports whether a user may write to the project: as a developer or more.
func (g *gitlab) member(ctx context.Context, id int) (bool, error) {
	if known, ok := g.members[id]; ok {
		return known, nil
	}
	var m struct {
		Level int `json:"access_level"`
	}
	err := g.get(ctx, fmt.Sprintf("%s/members/all/%d", g.project, id), &m)
	if s := status(err); s != 0 && s < 500 {
		err = nil
	}
	if err != nil {
		return false, err
	}
	const developer = 30
	g.members[id] = m.Level >= developer
	return g.members[id], nil
}

func (g *gitlab) Comments(ctx context.Context, number int) ([]Comment, error) {
	return g.notes(ctx, g.at(number))
}

type gitlabStatus struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	URL    string `json:"target_url"`
	Text   string `json:"description"`
	May    bool   `json:"allow_failure"`
}

// Checks returns the jobs of pipelines and the results of other systems, which GitLab keeps in one list.
func (g *gitlab) Checks(ctx context.Context, commit string) ([]Check, error) {
	found, err := list[gitlabStatus](ctx, g.transport, g.project+"/repository/commits/"+commit+"/statuses")
	slices.SortStableFunc(found, func(a, b gitlabStatus) int { return int(b.ID - a.ID) })
	var out []Check
	for _, s := range found {
		c := Check{ID: strconv.FormatInt(s.ID, 10), Name: s.Name, State: stateOf(s.Status), URL: s.URL, Text: s.Text}
		if s.May && c.State == Failed {
			c.State = Passed
		}
		out = append(out, c)
	}
	return newest(out), err
}

func (g *gitlab) Log(ctx context.Context, c Check) (string, error) {
	log, err := g.tail(ctx, g.project+"/jobs/"+c.ID+"/trace")
	if NotFound(err) { // it is not a job of a pipeline
		return Tail(c.Text), nil
	}
	return log, err
}

type gitlabIssue struct {
	Number  int       `json:"iid"`
	URL     string    `json:"web_url"`
	Title   string    `json:"title"`
	Body    string    `json:"description"`
	State   string    `json:"state"`
	Labels  []string  `json:"labels"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
	Author  struct {
		Username string `json:"username"`
	} `json:"author"`
}

func (i gitlabIssue) issue() Issue {
	out := Issue{Number: i.Number, URL: i.URL, Title: i.Title, Body: i.Body, State: i.State, Labels: i.Labels, Author: i.Author.Username, Created: i.Created, Updated: i.Updated}
	if i.State == "opened" {
		out.State = Open
	}
	return out
}

func (g *gitlab) Issues(ctx context.Context, labels []string, state string) ([]Issue, error) {
	query := url.Values{"state": {state}}
	if state == Open {
		query.Set("state", "opened")
	}
	if len(labels) > 0 {
		query.Set("labels", strings.Join(labels, ","))
	}
	found, err := list[gitlabIssue](ctx, g.transport, g.project+"/issues?"+query.Encode())
	var out []Issue
	for _, i := range found {
		if hasLabels(i.issue(), labels) {
			out = append(out, i.issue())
		}
	}
	return out, err
}

func (g *gitlab) issuePath(number int) string { return fmt.Sprintf("%s/issues/%d", g.project, number) }

func (g *gitlab) Issue(ctx context.Context, number int) (Issue, error) {
	var i gitlabIssue
	err := g.get(ctx, g.issuePath(number), &i)
	return i.issue(), err
}

func (g *gitlab) IssueComments(ctx context.Context, number int) ([]Comment, error) {
	return g.notes(ctx, g.issuePath(number))
}

func (g *gitlab) CommentOnIssue(ctx context.Context, number int, text string) error {
	return g.write(ctx, http.MethodPost, g.issuePath(number)+"/notes", map[string]any{"body": text}, nil)
}

func (g *gitlab) CloseIssue(ctx context.Context, number int) error {
	return g.write(ctx, http.MethodPut, g.issuePath(number), map[string]any{"state_event": "close"}, nil)
}
