package prompt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"liza/pkg/blackboard"
	"path/filepath"
	"strings"
)

// request is the request object in the form of the Logist protocol.
type request struct {
	Request struct {
		Action    string `json:"action"`
		JobID     string `json:"job_id"`
		Role      string `json:"role"`
		Iteration int    `json:"iteration"`
		Options   struct {
			Model string `json:"model"`
		} `json:"options"`
	} `json:"request"`
}

// requestObject is one line of JSON.
func (in *Input) requestObject() string {
	var r request
	r.Request.Action = cmp.Or(in.Action, "run")
	r.Request.JobID = "_planner"
	if in.Task != nil {
		r.Request.JobID = in.Task.ID
	}
	r.Request.Role = string(in.Kind)
	r.Request.Iteration = in.iteration()
	r.Request.Options.Model = cmp.Or(in.Model, "default")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		panic("prompt: " + err.Error()) // strings and a number always encode
	}
	return b.String()
}

func (in *Input) iteration() int {
	switch {
	case in.Iteration > 0:
		return in.Iteration
	case in.Task != nil && in.Task.Iteration > 0:
		return in.Task.Iteration
	}
	return 1
}

// run is the run block: who the agent is, where it works, and on which commits.
func (in *Input) run() string {
	var l lines
	switch in.Kind {
	case Planner:
		l.add("You are %s. Your folder is the project root %s; you may read all of it.", in.Agent, in.Root)
		l.add("Approved work is merged into the branch `%s`.", in.State.IntegrationBranch())
		in.redLines(&l)
	case Coder:
		in.coderRun(&l)
	case Reviewer:
		in.reviewerRun(&l)
	}
	if !in.Interactive {
		l.add("%s", in.requestObject())
	}
	return l.String()
}

func (in *Input) coderRun(l *lines) {
	t := in.Task
	l.add("You are %s. Your task is %s: write %s where the commands above say task-3.", in.Agent, t.ID, t.ID)
	l.add("Your folder is the worktree %s, on branch `task/%s`; the project root is %s.", in.Worktree, t.ID, in.Root)
	l.add("Base commit: %s. This is iteration %d%s.", cmp.Or(t.BaseCommit, "unknown"), in.iteration(), in.ofIterations())
	if in.iteration() > 1 || t.ClaimSeq > 1 || t.HandoffPending {
		l.add("Earlier work may be in the worktree: look at `git log %.12s..HEAD` and `git status` first, and build on it.", cmp.Or(t.BaseCommit, "HEAD~5"))
		l.named("Not committed there", oneLine(strings.Join(in.Uncommitted, ", "), 500))
	}
	in.redLines(l)
	if t.IntegrationFix {
		in.integrationFix(l)
	}
}

func (in *Input) ofIterations() string {
	limit := in.Task.MaxIterations
	if limit == 0 {
		limit = in.State.Int("max_coder_iterations")
	}
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf(" of at most %d", limit)
}

// integrationFix tells why approved work could not be merged, and what to do.
func (in *Input) integrationFix(l *lines) {
	t := in.Task
	branch := in.State.IntegrationBranch()
	l.add("This is an integration fix: the work was approved, but could not be merged into `%s`.", branch)
	if h := t.LastEntry(blackboard.HistoryIntegrationFailed); h != nil {
		l.named("Reason", oneLine(h.Reason, 500))
		l.named("Files in conflict", oneLine(strings.Join(h.Files, ", "), 1000))
		if h.Log != "" {
			l.add("Log: %s%s", filepath.Join(in.Root, h.Log), output(in.FailedMerge))
		}
	}
	l.add("Merge the head of `%s`%s into your branch (`git merge %s`), resolve it so that both sides keep what they were made for, run the tests, commit, and submit.",
		branch, after(" ", short(t.FixOnto)), cmp.Or(t.FixOnto, branch))
}

func short(commit string) string { return fmt.Sprintf("%.12s", commit) }

func (in *Input) reviewerRun(l *lines) {
	t := in.Task
	l.add("You are %s. You review %s by %s: write %s where the commands above say task-3.", in.Agent, t.ID, cmp.Or(t.AssignedTo, "a coder"), t.ID)
	if t.KindOf() == blackboard.MessageTask {
		l.add("Your folder is the project root %s, to read. There is no commit: the text below is what you judge.", in.Root)
		return
	}
	if in.Worktree != "" {
		l.add("Your folder is the worktree %s, to read; the project root is %s.", in.Worktree, in.Root)
	}
	l.add("Review commit: %s. Base commit: %s. The change: `%s`.", cmp.Or(t.ReviewCommit, "unknown"), cmp.Or(t.BaseCommit, "unknown"), in.diffCommand())
	if t.IntegrationFix && t.ApprovedCommit != "" {
		l.add("This is an integration fix: commit %s was approved before, so judge what came after it and that both sides of the merge still hold.", short(t.ApprovedCommit))
	}
	in.redLines(l)
}
