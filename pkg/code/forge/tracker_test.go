package forge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"liza/pkg/code/forge"
	"liza/pkg/code/forge/forgetest"
)

// scripted is a tracker with the shapes of Jira's and Linear's documentation: three issues in pages of two, and comments.
type scripted struct {
	kind     string
	old      bool // Jira Data Center
	said     []string
	closed   bool
	failures int
	auth     map[string]bool
	asked    string
}

func (s *scripted) issue(n int) map[string]any {
	key, state := fmt.Sprintf("ENG-%d", n), "new"
	if s.closed && n == 1 {
		state = "done"
	}
	if s.kind == forge.Linear {
		return map[string]any{"id": "id-" + key, "identifier": key, "url": "https://linear.app/team/issue/" + key, "title": "Title " + key, "description": nil,
			"state": map[string]any{"type": map[string]string{"new": "unstarted", "done": "completed"}[state]}, "creator": map[string]any{"name": "ada"}}
	}
	return map[string]any{"key": key, "fields": map[string]any{"summary": "Title " + key, "description": nil, "reporter": nil, "status": map[string]any{"statusCategory": map[string]any{"key": state}}}}
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.auth[r.Header.Get("Authorization")] = true
	if s.failures > 0 {
		s.failures--
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	data, _ := io.ReadAll(r.Body)
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	path, body := r.URL.Path, string(data)
	switch {
	case path == "/graphql" && strings.Contains(body, "commentCreate"):
		s.say(body)
		answer(map[string]any{"data": map[string]any{"commentCreate": map[string]any{"success": true}}})
	case path == "/graphql" && strings.Contains(body, "issueUpdate"):
		s.closed = strings.Contains(body, `"state":"done-1"`)
		answer(map[string]any{"data": map[string]any{"issueUpdate": map[string]any{"success": true}}})
	case path == "/graphql" && strings.Contains(body, "states("):
		answer(map[string]any{"data": map[string]any{"issue": map[string]any{"id": "id-ENG-1", "team": map[string]any{"states": map[string]any{"nodes": []any{
			map[string]any{"id": "done-2", "type": "completed", "position": 4}, map[string]any{"id": "done-1", "type": "completed", "position": 3}, map[string]any{"id": "new", "type": "unstarted", "position": 1}}}}}}})
	case path == "/graphql" && strings.Contains(body, "comments("):
		nodes := []any{}
		for _, c := range s.said {
			nodes = append(nodes, map[string]any{"body": c})
		}
		answer(map[string]any{"data": map[string]any{"issue": map[string]any{"comments": map[string]any{"nodes": nodes, "pageInfo": map[string]any{"hasNextPage": false}}}}})
	case path == "/graphql" && strings.Contains(body, "issues("):
		s.asked = body
		list, more := []any{s.issue(1), s.issue(2)}, true
		if strings.Contains(body, `"after":"c"`) {
			list, more = []any{s.issue(3)}, false
		}
		answer(map[string]any{"data": map[string]any{"issues": map[string]any{"nodes": list, "pageInfo": map[string]any{"hasNextPage": more, "endCursor": "c"}}}})
	case path == "/graphql" && strings.Contains(body, "ENG-404"):
		answer(map[string]any{"data": nil, "errors": []any{map[string]any{"message": "Entity not found: Issue"}}})
	case path == "/graphql":
		answer(map[string]any{"data": map[string]any{"issue": s.issue(1)}})
	case path == "/rest/api/2/search/jql" && !s.old:
		s.asked = r.URL.Query().Get("jql")
		if r.URL.Query().Get("nextPageToken") == "t" {
			answer(map[string]any{"issues": []any{s.issue(3)}, "isLast": true})
			return
		}
		answer(map[string]any{"issues": []any{s.issue(1), s.issue(2)}, "nextPageToken": "t"})
	case path == "/rest/api/2/search" && s.old:
		s.asked = r.URL.Query().Get("jql")
		list := []any{s.issue(1), s.issue(2)}
		if r.URL.Query().Get("startAt") == "2" {
			list = []any{s.issue(3)}
		}
		answer(map[string]any{"issues": list, "total": 3})
	case path == "/rest/api/2/issue/ENG-1":
		answer(s.issue(1))
	case path == "/rest/api/2/issue/ENG-1/comment" && r.Method == http.MethodPost:
		s.say(body)
		w.WriteHeader(http.StatusCreated)
		answer(map[string]any{})
	case path == "/rest/api/2/issue/ENG-1/comment":
		list := []any{}
		for _, c := range s.said {
			list = append(list, map[string]any{"body": c})
		}
		answer(map[string]any{"comments": list, "total": len(list)})
	case path == "/rest/api/2/issue/ENG-1/transitions" && r.Method == http.MethodPost:
		s.closed = strings.Contains(body, `{"id":"31"}`)
		w.WriteHeader(http.StatusNoContent)
	case path == "/rest/api/2/issue/ENG-1/transitions":
		answer(map[string]any{"transitions": []any{map[string]any{"id": "21", "to": map[string]any{"statusCategory": map[string]any{"key": "indeterminate"}}}, map[string]any{"id": "31", "to": map[string]any{"statusCategory": map[string]any{"key": "done"}}}}})
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(map[string]any{"errorMessages": []string{"not found"}})
	}
}

func (s *scripted) say(body string) { s.said = append(s.said, body) }

func TestJiraAndLinearGiveIssuesTakeOneCommentAndAreClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server scripted
		token  string
		email  string
		auth   string
		asked  string
	}{
		"jira cloud":       {scripted{kind: forge.Jira, failures: 1}, "secret", "ada@example.com", "Basic YWRhQGV4YW1wbGUuY29tOnNlY3JldA==", `labels = "a \"b\""`},
		"jira data center": {scripted{kind: forge.Jira, old: true}, "secret", "", "Bearer secret", `labels = "a \"b\""`},
		"linear key":       {scripted{kind: forge.Linear, failures: 1}, "lin_api_secret", "", "lin_api_secret", `{"eqIgnoreCase":"a \"b\""}`},
		"linear oauth":     {scripted{kind: forge.Linear}, "secret", "", "Bearer secret", `"nin":["completed","canceled"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := t.Context(), c.server
			s.auth = map[string]bool{}
			server := httptest.NewServer(&s)
			t.Cleanup(server.Close)
			tr, err := forge.NewTracker(forge.Options{Kind: s.kind, API: server.URL, Token: c.token, Email: c.email, Now: func() time.Time { return start }, Wait: func(context.Context, time.Duration) error { return nil }})
			check(t, err)
			found := must[[]forge.Ticket](t)(tr.Labelled(ctx, []string{`a "b"`}))
			if len(found) != 3 || found[2].Key != "ENG-3" || found[0].Title != "Title ENG-1" || found[0].Closed || found[0].URL == "" || !strings.Contains(s.asked, c.asked) {
				t.Fatalf("found %+v, asked %s", found, s.asked)
			}
			if said := must[bool](t)(tr.Said(ctx, "ENG-1", "mark-1")); said {
				t.Error("something was said already")
			}
			check(t, tr.Say(ctx, "ENG-1", "done (mark-1)"))
			if said := must[bool](t)(tr.Said(ctx, "ENG-1", "mark-1")); !said || len(s.said) != 1 {
				t.Errorf("said %v", s.said)
			}
			check(t, tr.Finish(ctx, "ENG-1"))
			if now := must[forge.Ticket](t)(tr.Ticket(ctx, "ENG-1")); !now.Closed || now.Key != "ENG-1" {
				t.Errorf("closed, it is %+v", now)
			}
			if _, err := tr.Ticket(ctx, "ENG-404"); err == nil {
				t.Error("an issue that does not exist was found")
			}
			if len(s.auth) != 1 || !s.auth[c.auth] {
				t.Errorf("the token came as %v", s.auth)
			}
		})
	}
}

func TestThirtyIssuesOfALabelComeInPages(t *testing.T) {
	each(t, func(t *testing.T, f *forgetest.Forge, _ forge.Client) {
		f.PageSize = 7
		for n := range 60 {
			f.AddIssue(fmt.Sprintf("Issue %d", n), "text", []string{"agents", "other"}[n%2])
		}
		f.EditIssue(1, func(i *forgetest.Issue) { i.State = "closed" })
		for _, kind := range kinds {
			tr, err := forge.NewTracker(options(f, kind, nil))
			check(t, err)
			found := must[[]forge.Ticket](t)(tr.Labelled(t.Context(), []string{"agents"}))
			seen := map[string]bool{}
			for _, i := range found {
				seen[i.Key] = true
			}
			if len(found) != 29 || len(seen) != 29 || seen["1"] {
				t.Errorf("%s: %d issues, %d different", kind, len(found), len(seen))
			}
			if one := must[forge.Ticket](t)(tr.Ticket(t.Context(), "1")); !one.Closed {
				t.Errorf("%s: the closed one is %+v", kind, one)
			}
		}
	})
}
