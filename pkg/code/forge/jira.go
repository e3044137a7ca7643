package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// jira is Jira's API in its second version, whose texts are plain: Cloud's (where the token belongs to an email address) and Data Center's.
type jira struct{ *transport }

const jiraFields = "summary,description,status,reporter"

type jiraIssue struct {
	Key    string `json:"key"`
	Fields struct {
		Summary     string `json:"summary"`
		Description string `json:"description"`
		Status      struct {
			Category jiraCategory `json:"statusCategory"`
		} `json:"status"`
		Reporter struct {
			Name string `json:"displayName"`
		} `json:"reporter"`
	} `json:"fields"`
}

type jiraCategory struct {
	Key string `json:"key"` // new, indeterminate or done
}

func (j *jira) ticket(i jiraIssue) Ticket {
	return Ticket{Key: i.Key, URL: fmt.Sprintf("%s://%s/browse/%s", j.base.Scheme, j.base.Host, i.Key), Title: i.Fields.Summary, Body: i.Fields.Description,
		Author: i.Fields.Reporter.Name, Closed: i.Fields.Status.Category.Key == "done"}
}

func (j *jira) issue(key string) string { return "/rest/api/2/issue/" + url.PathEscape(key) }

func (j *jira) Labelled(ctx context.Context, labels []string) ([]Ticket, error) {
	query := "statusCategory != Done"
	for _, l := range labels {
		query += " AND labels = " + strconv.Quote(l)
	}
	ask := url.Values{"jql": {query + " ORDER BY created ASC"}, "fields": {jiraFields}, "maxResults": {"100"}}
	path := "/rest/api/2/search/jql"
	var out []Ticket
	for range maxPages {
		var page struct {
			Issues []jiraIssue `json:"issues"`
			Next   string      `json:"nextPageToken"`
			Total  int         `json:"total"` // Data Center's way of paging
		}
		err := j.get(ctx, path+"?"+ask.Encode(), &page)
		if NotFound(err) && len(out) == 0 && strings.HasSuffix(path, "/jql") {
			path = "/rest/api/2/search"
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, i := range page.Issues {
			out = append(out, j.ticket(i))
		}
		switch {
		case page.Next != "":
			ask.Set("nextPageToken", page.Next)
		case len(page.Issues) > 0 && len(out) < page.Total:
			ask.Set("startAt", strconv.Itoa(len(out)))
		default:
			return out, nil
		}
	}
	return nil, fmt.Errorf("cannot read the issues of %s: there are more than %d pages", j.base.Host, maxPages)
}

func (j *jira) Ticket(ctx context.Context, key string) (Ticket, error) {
	var i jiraIssue
	err := j.get(ctx, j.issue(key)+"?fields="+jiraFields, &i)
	return j.ticket(i), err
}

func (j *jira) Said(ctx context.Context, key, text string) (bool, error) {
	for at := 0; at < maxPages*100; {
		var page struct {
			Comments []struct {
				Body string `json:"body"`
			} `json:"comments"`
			Total int `json:"total"`
		}
		if err := j.get(ctx, fmt.Sprintf("%s/comment?startAt=%d&maxResults=100", j.issue(key), at), &page); err != nil {
			return false, err
		}
		for _, c := range page.Comments {
			if strings.Contains(c.Body, text) {
				return true, nil
			}
		}
		if at += len(page.Comments); len(page.Comments) == 0 || at >= page.Total {
			return false, nil
		}
	}
	return false, fmt.Errorf("cannot read the comments of %s: there are too many", key)
}

func (j *jira) Say(ctx context.Context, key, text string) error {
	return j.write(ctx, http.MethodPost, j.issue(key)+"/comment", map[string]any{"body": text}, nil)
}

// Finish uses the first transition of the workflow that leads to a status of the category done.
func (j *jira) Finish(ctx context.Context, key string) error {
	var ways struct {
		Transitions []struct {
			ID string `json:"id"`
			To struct {
				Category jiraCategory `json:"statusCategory"`
			} `json:"to"`
		} `json:"transitions"`
	}
	if err := j.get(ctx, j.issue(key)+"/transitions", &ways); err != nil {
		return err
	}
	for _, w := range ways.Transitions {
		if w.To.Category.Key == "done" {
			return j.write(ctx, http.MethodPost, j.issue(key)+"/transitions", map[string]any{"transition": map[string]any{"id": w.ID}}, nil)
		}
	}
	return fmt.Errorf("cannot close %s: its workflow has no transition from here to a status that is done", key)
}
