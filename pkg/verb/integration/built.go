package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
)

// Built is what the present goal brought onto the integration branch, and how to take it over.
type Built struct {
	Lag
	Tasks    []string  `json:"tasks"` // merged
	Work     []Brought `json:"work"`  // what they brought, as far as the base branch lacks it
	Tip      string    `json:"tip"`
	Commits  int       `json:"commits"`            // that the base branch lacks; merges are left out where there are fewer than maxLogged
	Stat     string    `json:"diffstat,omitempty"` // against the base branch
	Look     string    `json:"look,omitempty"`     // the command that shows it
	TakeOver string    `json:"take_over,omitempty"`
}

// Brought are the commits of one merged task, oldest first; merges are left out.
type Brought struct {
	Task    string       `json:"task"`
	Commits []git.Logged `json:"commits"`
}

// Built looks at what was merged. What cannot be found out is left out.
func (i *Branch) Built(ctx context.Context, s *blackboard.State) Built {
	b := Built{Tasks: []string{}, Work: []Brought{}, Lag: Lag{Branch: s.IntegrationBranch()}}
	all, err := i.board.Histories().SprintTasks(s)
	if err != nil {
		all = s.TaskList()
	}
	mergedAs := map[string]string{}
	for _, t := range all {
		if t.Status == blackboard.Merged && t.ChangesFiles() {
			b.Tasks = append(b.Tasks, t.ID)
			mergedAs[t.MergeCommit] = t.ID
		}
	}
	if i.board.Repo == nil || len(b.Tasks) == 0 {
		return b
	}
	if b.Tip, err = i.TipOf(ctx, s); err != nil || b.Tip == "" {
		return b
	}
	if b.Lag, err = i.BehindTip(ctx, s, b.Tip); err != nil || b.Base == "" {
		return b
	}
	base, err := i.board.Repo.Resolve(ctx, b.Base)
	if err != nil {
		b.Base = ""
		return b
	}
	b.Commits, _ = i.board.Repo.CountBetween(ctx, base, b.Tip)
	if log, err := i.board.Repo.LogBetween(ctx, base, b.Tip, maxLogged); err == nil {
		for n := range log { // an agent wrote it
			log[n].Subject = i.board.Mask(log[n].Subject)
		}
		b.Work = broughtBy(log, b.Tip, mergedAs)
		if len(log) < maxLogged {
			b.Commits = len(slices.DeleteFunc(log, func(c git.Logged) bool { return len(c.Parents) > 1 }))
		}
	}
	from := base
	if common, err := i.board.Repo.MergeBase(ctx, base, b.Tip); err == nil {
		from = common
	}
	if stat, err := i.board.Repo.DiffStat(ctx, from, b.Tip); err == nil {
		lines := strings.Split(strings.TrimSpace(stat), "\n")
		b.Stat = strings.TrimSpace(lines[len(lines)-1])
	}
	b.Look = fmt.Sprintf("git diff %s...%s", b.Base, b.Branch)
	b.TakeOver = "git merge " + b.Branch
	if _, err := i.board.Repo.BranchTip(ctx, b.Base); err == nil {
		b.TakeOver = fmt.Sprintf("git switch %s && git merge %s", b.Base, b.Branch)
	}
	return b
}

// broughtBy finds the commits that each merge brought onto the branch: those that what was on it before has not.
func broughtBy(log []git.Logged, tip string, mergedAs map[string]string) []Brought {
	known := map[string]git.Logged{}
	for _, c := range log {
		known[c.Hash] = c
	}
	var line []git.Logged // the branch itself, oldest first
	for c, ok := known[tip]; ok; c, ok = known[c.Parents[0]] {
		if line = append(line, c); len(c.Parents) == 0 {
			break
		}
	}
	slices.Reverse(line)
	list, seen := []Brought{}, map[string]bool{}
	for _, merge := range line {
		var commits []git.Logged
		for left := []string{merge.Hash}; len(left) > 0; left = left[1:] {
			c, ok := known[left[0]]
			if !ok || seen[c.Hash] {
				continue
			}
			seen[c.Hash] = true
			left = append(left, c.Parents...)
			if len(c.Parents) < 2 {
				commits = append(commits, c)
			}
		}
		if task := mergedAs[merge.Hash]; task != "" && len(commits) > 0 {
			slices.Reverse(commits)
			list = append(list, Brought{Task: task, Commits: commits})
		}
	}
	return list
}
