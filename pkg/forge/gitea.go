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

type gitea struct {
	hub
	members map[string]bool // who was asked for already
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

// member reports whether somebody may write to the repository. Whom the forge does not tell about is a stranger.
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

// Log is the log of the failed job whose name is in that of the check: "WORKFLOW / JOB (EVENT)".
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
