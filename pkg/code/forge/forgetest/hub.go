package forgetest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// hub serves GitHub's and Gitea's API.
func (f *Forge) hub(w http.ResponseWriter, i in) {
	a := failed(http.StatusNotFound, "not found")
	switch {
	case i.is("GET", "actions", "jobs", "*", "logs"):
		if i.kind == "github" {
			http.Redirect(w, i.Request, fmt.Sprintf("%s/%d", f.logs.URL, i.int(2)), http.StatusFound)
			return
		}
		if c := f.check(i.int(2)); c != nil {
			_, _ = w.Write([]byte(c.Log))
			return
		}
	case i.path[0] == "pulls":
		a = f.hubPulls(i)
	case i.path[0] == "issues":
		a = f.hubIssues(i)
	case i.is("GET", "commits", "*", "check-runs") && i.kind == "github":
		runs := []any{}
		for _, c := range f.checksOf(i.path[1]) {
			runs = append(runs, githubRun(c))
		}
		a = ok(map[string]any{"total_count": len(runs), "check_runs": f.page(w, i.Request, runs)})
	case i.is("GET", "commits", "*", "status"):
		a = ok(map[string]any{"state": "pending", "statuses": f.statuses(i)})
	case i.is("GET", "actions", "runs") && i.kind == "gitea":
		a = ok(map[string]any{"workflow_runs": []any{map[string]any{"id": 7}}})
	case i.is("GET", "actions", "runs", "7", "jobs"):
		jobs := []any{}
		for _, list := range f.checks {
			for _, c := range list {
				jobs = append(jobs, map[string]any{"id": c.ID, "name": c.Name, "status": "completed", "conclusion": conclusion(c.State)})
			}
		}
		a = ok(map[string]any{"jobs": jobs})
	case i.is("GET", "collaborators", "*", "permission"):
		permission := "write"
		if strings.HasPrefix(i.path[1], "stranger") {
			permission = "read"
		}
		a = ok(map[string]any{"permission": permission})
	}
	f.write(w, i.Request, a)
}

func conclusion(state string) any {
	return map[string]any{"passed": "success", "failed": "failure"}[state]
}

func githubRun(c *Check) map[string]any {
	run := map[string]any{"id": c.ID, "name": c.Name, "status": "completed", "conclusion": conclusion(c.State), "html_url": "", "app": map[string]any{"slug": "github-actions"}}
	if c.State == "pending" {
		run["status"] = "in_progress"
	}
	return run
}

func (f *Forge) statuses(i in) []any {
	list := []any{}
	if i.kind == "gitea" {
		for _, c := range f.checksOf(i.path[1]) {
			state := map[string]string{"passed": "success", "failed": "failure", "pending": "pending"}[c.State]
			list = append(list, map[string]any{"id": c.ID, "context": "test / " + c.Name + " (pull_request)", "status": state, "description": ""})
		}
	}
	return list
}

func (f *Forge) hubPulls(i in) answer {
	if i.is("GET", "pulls") {
		branch := strings.TrimPrefix(i.URL.Query().Get("head"), Owner+":")
		list := []any{}
		for _, r := range f.listed(branch) {
			list = append(list, f.hubPull(r, i.kind))
		}
		return ok(list)
	}
	if i.is("POST", "pulls") {
		title, draft := i.text("title"), i.body["draft"] == true
		if i.kind == "gitea" {
			title, draft = strings.CutPrefix(title, "WIP: ")
		}
		again := map[string]int{"github": http.StatusUnprocessableEntity, "gitea": http.StatusConflict}[i.kind]
		r, wrong := f.open(title, i.text("body"), i.text("head"), i.text("base"), draft, again)
		if wrong != nil {
			return *wrong
		}
		return answer{http.StatusCreated, f.hubPull(r, i.kind)}
	}
	r := f.request(i.int(1))
	if r == nil {
		return failed(http.StatusNotFound, "not found")
	}
	switch {
	case i.is("GET", "pulls", "*"):
		return ok(f.hubPull(r, i.kind))
	case i.is("PATCH", "pulls", "*"):
		r.Title, r.Body = i.text("title"), i.text("body")
		if i.kind == "gitea" {
			r.Title, r.Draft = strings.CutPrefix(r.Title, "WIP: ")
		}
		return ok(f.hubPull(r, i.kind))
	case i.is("PUT", "pulls", "*", "merge") && i.kind == "github":
		return f.mayMerge(r, i.text("sha"), i.text("merge_method") == "squash", false, http.StatusMethodNotAllowed)
	case i.is("POST", "pulls", "*", "merge") && i.kind == "gitea":
		return f.mayMerge(r, i.text("head_commit_id"), i.text("Do") == "squash", i.body["merge_when_checks_succeed"] == true, http.StatusMethodNotAllowed)
	case i.is("GET", "pulls", "*", "comments") && i.kind == "github":
		return ok(hubComments(r.Comments, i.kind, func(c *Comment) bool { return c.Path != "" }))
	case i.is("GET", "pulls", "*", "reviews"):
		reviews := hubComments(r.Comments, i.kind, func(c *Comment) bool { return c.Changes })
		if i.kind == "gitea" { // its comments at lines belong to reviews
			reviews = append(reviews, map[string]any{"id": 1, "user": map[string]any{"login": "ada"}, "state": "COMMENT", "submitted_at": f.now.Format(time.RFC3339)})
		}
		return ok(reviews)
	case i.is("GET", "pulls", "*", "reviews", "1", "comments"):
		return ok(hubComments(r.Comments, i.kind, func(c *Comment) bool { return c.Path != "" }))
	case i.is("GET", "pulls", "*", "reviews", "*", "comments"):
		return ok([]any{})
	}
	return failed(http.StatusNotFound, "not found")
}

func (f *Forge) hubPull(r *Request, kind string) map[string]any {
	repo := map[string]any{"full_name": Owner + "/" + Name}
	state, title := r.State, r.Title
	if state == "merged" {
		state = "closed"
	}
	if kind == "gitea" && r.Draft {
		title = "WIP: " + title
	}
	v := map[string]any{"number": r.Number, "node_id": fmt.Sprintf("PR_%d", r.Number), "html_url": fmt.Sprintf("%s/%s/%s/pull/%d", f.URL, Owner, Name, r.Number), "title": title, "body": r.Body,
		"state": state, "draft": r.Draft, "merged_at": nil, "merge_commit_sha": nil, "head": map[string]any{"ref": r.Branch, "sha": r.head(f), "repo": repo}, "base": map[string]any{"ref": r.Base, "sha": f.Tip(r.Base), "repo": repo}}
	if r.State == "merged" {
		v["merged_at"], v["merge_commit_sha"] = f.now.Format(time.RFC3339), r.Merge
	}
	return v
}

func hubComments(list []*Comment, kind string, which func(*Comment) bool) []any {
	out := []any{}
	for _, c := range list {
		if !which(c) {
			continue
		}
		v := map[string]any{"id": c.ID, "body": c.Text, "created_at": c.At.Format(time.RFC3339), "user": map[string]any{"login": c.Author}}
		if kind == "github" {
			if strings.HasPrefix(c.Author, "bot") {
				v["user"] = map[string]any{"login": c.Author, "type": "Bot"}
			}
			v["author_association"] = "COLLABORATOR"
			if strings.HasPrefix(c.Author, "stranger") {
				v["author_association"] = "NONE"
			}
		}
		switch {
		case c.Changes && kind == "github":
			v["state"], v["submitted_at"] = "CHANGES_REQUESTED", v["created_at"]
		case c.Changes:
			v["state"], v["submitted_at"] = "REQUEST_CHANGES", v["created_at"]
		case c.Path != "" && kind == "github":
			v["path"], v["line"], v["commit_id"] = c.Path, c.Line, c.Commit
		case c.Path != "":
			v["path"], v["position"], v["commit_id"] = c.Path, c.Line, c.Commit
		}
		out = append(out, v)
	}
	return out
}

func (f *Forge) hubIssues(i in) answer {
	if i.is("GET", "issues") {
		list := []any{}
		for _, x := range f.issues {
			if f.wanted(x, i.URL.Query().Get("state"), i.URL.Query().Get("labels")) {
				list = append(list, f.hubIssue(x))
			}
		}
		if i.kind == "github" { // which counts requests among the issues
			for _, r := range f.requests {
				list = append(list, map[string]any{"number": r.Number, "title": r.Title, "state": r.State, "pull_request": map[string]any{}})
			}
		}
		return ok(list)
	}
	x, r := f.issue(i.int(1)), f.request(i.int(1))
	if x == nil && r == nil {
		return failed(http.StatusNotFound, "not found")
	}
	switch {
	case i.is("GET", "issues", "*", "comments"):
		said := append([]*Comment{}, comments(x, r)...)
		return ok(hubComments(said, i.kind, func(c *Comment) bool { return c.Path == "" && !c.Changes }))
	case i.is("POST", "issues", "*", "comments"):
		f.say(x, r, i.text("body"))
		return answer{http.StatusCreated, map[string]any{"id": f.next}}
	case x == nil:
		return ok(map[string]any{"number": r.Number, "title": r.Title, "pull_request": map[string]any{}})
	case i.is("PATCH", "issues", "*"):
		x.State, x.Changed = i.text("state"), f.tick()
		return ok(f.hubIssue(x))
	case i.is("GET", "issues", "*"):
		return ok(f.hubIssue(x))
	}
	return failed(http.StatusNotFound, "not found")
}

func comments(x *Issue, r *Request) []*Comment {
	if x != nil {
		return x.Comments
	}
	return r.Comments
}

// say adds a comment by the owner of the token.
func (f *Forge) say(x *Issue, r *Request, text string) {
	c := &Comment{ID: f.number(), Author: "liza", Text: text, At: f.tick()}
	if x != nil {
		x.Comments, x.Changed = append(x.Comments, c), c.At
	} else {
		r.Comments = append(r.Comments, c)
	}
}

func (f *Forge) wanted(x *Issue, state, labels string) bool {
	if state != "" && state != "all" && strings.TrimSuffix(state, "ed") != strings.TrimSuffix(x.State, "ed") {
		return false
	}
	for want := range strings.SplitSeq(labels, ",") {
		if want != "" && !strings.Contains(","+strings.Join(x.Labels, ",")+",", ","+want+",") {
			return false
		}
	}
	return true
}

func (f *Forge) hubIssue(x *Issue) map[string]any {
	labels := []any{}
	for _, l := range x.Labels {
		labels = append(labels, map[string]any{"name": l})
	}
	return map[string]any{"number": x.Number, "html_url": fmt.Sprintf("%s/%s/%s/issues/%d", f.URL, Owner, Name, x.Number), "title": x.Title, "body": x.Body, "state": x.State, "labels": labels,
		"user": map[string]any{"login": x.Author, "type": "User"}, "created_at": x.At.Format(time.RFC3339), "updated_at": x.Changed.Format(time.RFC3339)}
}

// graphql serves the two mutations that are used.
func (f *Forge) graphql(i in) answer {
	vars, _ := i.body["variables"].(map[string]any)
	id, _ := vars["id"].(string)
	var number int
	_, _ = fmt.Sscanf(id, "PR_%d", &number)
	r := f.request(number)
	if r == nil {
		return ok(map[string]any{"errors": []any{map[string]any{"message": "could not resolve to a node"}}})
	}
	if strings.Contains(i.text("query"), "markPullRequestReadyForReview") {
		r.Draft = false
		return ok(map[string]any{"data": map[string]any{}})
	}
	head, _ := vars["head"].(string)
	if a := f.mayMerge(r, head, false, true, http.StatusOK); a.status != http.StatusOK || !r.Queued {
		return ok(map[string]any{"errors": []any{a.value}})
	}
	return ok(map[string]any{"data": map[string]any{}})
}
