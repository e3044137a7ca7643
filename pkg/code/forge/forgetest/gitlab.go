package forgetest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// gitlab serves GitLab's API.
func (f *Forge) gitlab(w http.ResponseWriter, i in) {
	a := failed(http.StatusNotFound, "404 not found")
	switch {
	case i.is("GET", "jobs", "*", "trace"):
		if c := f.check(i.int(1)); c != nil {
			_, _ = w.Write([]byte(c.Log))
			return
		}
	case i.path[0] == "merge_requests":
		a = f.gitlabRequests(i)
	case i.path[0] == "issues":
		a = f.gitlabIssues(i)
	case i.is("GET", "repository", "commits", "*", "statuses"):
		list := []any{}
		for _, c := range f.checksOf(i.path[2]) {
			state := map[string]string{"passed": "success", "failed": "failed", "pending": "running"}[c.State]
			list = append(list, map[string]any{"id": c.ID, "name": c.Name, "status": state, "sha": i.path[2], "allow_failure": false})
		}
		a = ok(list)
	case i.is("GET", "members", "all", "*"):
		if i.path[2] != "66" {
			a = ok(map[string]any{"id": i.int(2), "access_level": 30})
		}
	}
	f.write(w, i.Request, a)
}

func (f *Forge) gitlabRequests(i in) answer {
	if i.is("GET", "merge_requests") {
		list := []any{}
		for _, r := range f.listed(i.URL.Query().Get("source_branch")) {
			list = append(list, f.gitlabRequest(r))
		}
		return ok(list)
	}
	if i.is("POST", "merge_requests") {
		title, draft := strings.CutPrefix(i.text("title"), "Draft: ")
		r, wrong := f.open(title, i.text("description"), i.text("source_branch"), i.text("target_branch"), draft, http.StatusConflict)
		if wrong != nil {
			return *wrong
		}
		return answer{http.StatusCreated, f.gitlabRequest(r)}
	}
	r := f.request(i.int(1))
	if r == nil {
		return failed(http.StatusNotFound, "404 not found")
	}
	switch {
	case i.is("GET", "merge_requests", "*"):
		return ok(f.gitlabRequest(r))
	case i.is("PUT", "merge_requests", "*"):
		r.Title, r.Draft = strings.CutPrefix(i.text("title"), "Draft: ")
		r.Body = i.text("description")
		return ok(f.gitlabRequest(r))
	case i.is("PUT", "merge_requests", "*", "merge"):
		return f.mayMerge(r, i.text("sha"), i.body["squash"] == true, i.body["auto_merge"] == true, http.StatusMethodNotAllowed)
	case i.is("GET", "merge_requests", "*", "notes"):
		return ok(notes(r.Comments))
	case i.is("POST", "merge_requests", "*", "notes"):
		f.say(nil, r, i.text("body"))
		return answer{http.StatusCreated, map[string]any{"id": f.next}}
	}
	return failed(http.StatusNotFound, "404 not found")
}

func (f *Forge) gitlabRequest(r *Request) map[string]any {
	title, state := r.Title, map[string]string{"open": "opened"}[r.State]
	if r.Draft {
		title = "Draft: " + title
	}
	if state == "" {
		state = r.State
	}
	v := map[string]any{"id": 1000 + r.Number, "iid": r.Number, "web_url": fmt.Sprintf("%s/%s/%s/-/merge_requests/%d", f.URL, Owner, Name, r.Number), "title": title, "description": r.Body, "state": state,
		"draft": r.Draft, "source_branch": r.Branch, "target_branch": r.Base, "sha": r.head(f), "source_project_id": 1, "target_project_id": 1, "merge_commit_sha": nil}
	if r.Merge != "" {
		v["merge_commit_sha"] = r.Merge
	}
	return v
}

func notes(list []*Comment) []any {
	out := []any{}
	for _, c := range list {
		author := map[string]any{"id": 5, "username": c.Author, "bot": strings.HasPrefix(c.Author, "bot")}
		if strings.HasPrefix(c.Author, "stranger") {
			author["id"] = 66
		}
		v := map[string]any{"id": c.ID, "body": c.Text, "system": false, "author": author, "created_at": c.At.Format(time.RFC3339)}
		if c.Path != "" {
			v["position"] = map[string]any{"new_path": c.Path, "new_line": c.Line, "head_sha": c.Commit}
		}
		out = append(out, v)
	}
	return out
}

func (f *Forge) gitlabIssues(i in) answer {
	if i.is("GET", "issues") {
		list := []any{}
		for _, x := range f.issues {
			if f.wanted(x, i.URL.Query().Get("state"), i.URL.Query().Get("labels")) {
				list = append(list, f.gitlabIssue(x))
			}
		}
		return ok(list)
	}
	x := f.issue(i.int(1))
	if x == nil {
		return failed(http.StatusNotFound, "404 not found")
	}
	switch {
	case i.is("GET", "issues", "*"):
		return ok(f.gitlabIssue(x))
	case i.is("PUT", "issues", "*"):
		if i.text("state_event") == "close" {
			x.State, x.Changed = "closed", f.tick()
		}
		return ok(f.gitlabIssue(x))
	case i.is("GET", "issues", "*", "notes"):
		return ok(notes(x.Comments))
	case i.is("POST", "issues", "*", "notes"):
		f.say(x, nil, i.text("body"))
		return answer{http.StatusCreated, map[string]any{"id": f.next}}
	}
	return failed(http.StatusNotFound, "404 not found")
}

func (f *Forge) gitlabIssue(x *Issue) map[string]any {
	state := x.State
	if state == "open" {
		state = "opened"
	}
	return map[string]any{"id": 1000 + x.Number, "iid": x.Number, "web_url": fmt.Sprintf("%s/%s/%s/-/issues/%d", f.URL, Owner, Name, x.Number), "title": x.Title, "description": x.Body, "state": state,
		"labels": append([]string{}, x.Labels...), "author": map[string]any{"username": x.Author}, "created_at": x.At.Format(time.RFC3339), "updated_at": x.Changed.Format(time.RFC3339)}
}
