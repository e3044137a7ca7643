package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

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
