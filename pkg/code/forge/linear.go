package forge

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// linear is Linear's GraphQL API.
type linear struct{ *transport }

type linearIssue struct {
	ID         string `json:"id"`
	Identifier string `json:"identifier"`
	URL        string `json:"url"`
	Title      string `json:"title"`
	Body       string `json:"description"`
	State      struct {
		Type string `json:"type"` // triage, backlog, unstarted, started, completed or canceled
	} `json:"state"`
	Creator struct {
		Name string `json:"name"`
	} `json:"creator"`
}

func (i linearIssue) ticket() Ticket {
	return Ticket{Key: i.Identifier, URL: i.URL, Title: i.Title, Body: i.Body, Author: i.Creator.Name, Closed: i.State.Type == "completed" || i.State.Type == "canceled"}
}

const linearFields = "id identifier url title description state { type } creator { name }"

type linearPage struct {
	More bool   `json:"hasNextPage"`
	End  string `json:"endCursor"`
}

// ask sends a query or a mutation. Linear answers 200 with a list of errors when it refuses.
func (l *linear) ask(ctx context.Context, query string, vars map[string]any, into any) error {
	answer := struct {
		Data   any `json:"data"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}{Data: into}
	if err := l.write(ctx, http.MethodPost, "/graphql", map[string]any{"query": query, "variables": vars}, &answer); err != nil {
		return err
	}
	if len(answer.Errors) > 0 {
		return &StatusError{What: "POST " + l.base.Host + "/graphql", Status: http.StatusUnprocessableEntity, Text: answer.Errors[0].Message}
	}
	return nil
}

// read asks again after a failure of the server, which a mutation must not.
func (l *linear) read(ctx context.Context, query string, vars map[string]any, into any) error {
	for n := 1; ; n++ {
		err := l.ask(ctx, query, vars, into)
		if err == nil || n == maxTries || !passing(err) {
			return err
		}
		if err := l.Wait(ctx, time.Duration(1<<n)*time.Second); err != nil {
			return err
		}
	}
}

func (l *linear) Labelled(ctx context.Context, labels []string) ([]Ticket, error) {
	filter := []any{map[string]any{"state": map[string]any{"type": map[string]any{"nin": []string{"completed", "canceled"}}}}}
	for _, name := range labels {
		filter = append(filter, map[string]any{"labels": map[string]any{"name": map[string]any{"eqIgnoreCase": name}}})
	}
	vars := map[string]any{"filter": map[string]any{"and": filter}}
	var out []Ticket
	for range maxPages {
		var page struct {
			Issues struct {
				Nodes []linearIssue `json:"nodes"`
				Page  linearPage    `json:"pageInfo"`
			} `json:"issues"`
		}
		err := l.read(ctx, "query($filter: IssueFilter, $after: String) { issues(filter: $filter, first: 100, after: $after) { nodes { "+linearFields+" } pageInfo { hasNextPage endCursor } } }", vars, &page)
		if err != nil {
			return nil, err
		}
		for _, i := range page.Issues.Nodes {
			out = append(out, i.ticket())
		}
		if !page.Issues.Page.More {
			return out, nil
		}
		vars["after"] = page.Issues.Page.End
	}
	return nil, fmt.Errorf("cannot read the issues of %s: there are more than %d pages", l.base.Host, maxPages)
}

func (l *linear) issue(ctx context.Context, key string) (linearIssue, error) {
	var found struct {
		Issue linearIssue `json:"issue"`
	}
	err := l.read(ctx, "query($id: String!) { issue(id: $id) { "+linearFields+" } }", map[string]any{"id": key}, &found)
	return found.Issue, err
}

func (l *linear) Ticket(ctx context.Context, key string) (Ticket, error) {
	i, err := l.issue(ctx, key)
	return i.ticket(), err
}

func (l *linear) Said(ctx context.Context, key, text string) (bool, error) {
	vars := map[string]any{"id": key}
	for range maxPages {
		var found struct {
			Issue struct {
				Comments struct {
					Nodes []struct {
						Body string `json:"body"`
					} `json:"nodes"`
					Page linearPage `json:"pageInfo"`
				} `json:"comments"`
			} `json:"issue"`
		}
		if err := l.read(ctx, "query($id: String!, $after: String) { issue(id: $id) { comments(first: 100, after: $after) { nodes { body } pageInfo { hasNextPage endCursor } } } }", vars, &found); err != nil {
			return false, err
		}
		for _, c := range found.Issue.Comments.Nodes {
			if strings.Contains(c.Body, text) {
				return true, nil
			}
		}
		if !found.Issue.Comments.Page.More {
			return false, nil
		}
		vars["after"] = found.Issue.Comments.Page.End
	}
	return false, fmt.Errorf("cannot read the comments of %s: there are too many", key)
}

func (l *linear) Say(ctx context.Context, key, text string) error {
	i, err := l.issue(ctx, key)
	if err != nil {
		return err
	}
	var made struct {
		Comment struct{ Success bool } `json:"commentCreate"`
	}
	err = l.ask(ctx, "mutation($id: String!, $body: String!) { commentCreate(input: {issueId: $id, body: $body}) { success } }", map[string]any{"id": i.ID, "body": text}, &made)
	return l.done(err, made.Comment.Success, "comment on "+key)
}

// Finish moves the issue to the first completed state of its team's workflow.
func (l *linear) Finish(ctx context.Context, key string) error {
	var found struct {
		Issue struct {
			ID   string `json:"id"`
			Team struct {
				States struct {
					Nodes []struct {
						ID       string  `json:"id"`
						Type     string  `json:"type"`
						Position float64 `json:"position"`
					} `json:"nodes"`
				} `json:"states"`
			} `json:"team"`
		} `json:"issue"`
	}
	if err := l.read(ctx, "query($id: String!) { issue(id: $id) { id team { states(first: 100) { nodes { id type position } } } } }", map[string]any{"id": key}, &found); err != nil {
		return err
	}
	state, least := "", 0.0
	for _, s := range found.Issue.Team.States.Nodes {
		if s.Type == "completed" && (state == "" || s.Position < least) {
			state, least = s.ID, s.Position
		}
	}
	if state == "" {
		return fmt.Errorf("cannot close %s: its team's workflow has no completed state", key)
	}
	var made struct {
		Update struct{ Success bool } `json:"issueUpdate"`
	}
	err := l.ask(ctx, "mutation($id: String!, $state: String!) { issueUpdate(id: $id, input: {stateId: $state}) { success } }", map[string]any{"id": found.Issue.ID, "state": state}, &made)
	return l.done(err, made.Update.Success, "close "+key)
}

func (l *linear) done(err error, success bool, what string) error {
	if err == nil && !success {
		err = fmt.Errorf("%s did not %s, and does not say why", l.base.Host, what)
	}
	return err
}
