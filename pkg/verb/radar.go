package verb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/git"
)

// A Clash is an open task whose work does not merge with the integration branch as it is now.
type Clash struct {
	Task  string   `json:"task"`
	Files []string `json:"files"`
}

func (c Clash) String() string {
	const shown = 5
	files := strings.Join(c.Files[:min(shown, len(c.Files))], ", ")
	if more := len(c.Files) - shown; more > 0 {
		files += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s does not merge with the integration branch as it is now: %s", c.Task, files)
}

// Radar merges what open tasks have committed so far with the integration branch, on the
// side, and tells of those that do not merge, in the order of their merge. It ends with ctx:
// what could not be looked at until then is left out, and it changes nothing. For the id "" it
// looks at all tasks.
func (d *Service) Radar(ctx context.Context, s *blackboard.State, id string) []Clash {
	if d.Repo == nil || s == nil {
		return nil
	}
	list := open(s, id)
	if len(list) == 0 {
		return nil
	}
	head, err := d.IntegrationHead(ctx, s)
	if err != nil {
		return nil
	}
	var clashes []Clash
	for _, t := range list {
		commit := t.ReviewCommit
		if t.Status == blackboard.Claimed || t.Status == blackboard.Rejected {
			if commit, err = d.Repo.BranchTip(ctx, git.TaskBranch(t.ID)); err != nil {
				continue
			}
		}
		if commit == "" || t.BaseCommit == head || commit == t.BaseCommit {
			continue // nothing came from others, or nothing from the task
		}
		var conflict *git.ConflictError
		if err := d.Repo.TryMerge(ctx, head, commit); errors.As(err, &conflict) {
			clashes = append(clashes, Clash{t.ID, conflict.Files})
		} else if ctx.Err() != nil {
			break
		}
	}
	return clashes
}

// open are the tasks with work that is to be merged, those that come first first.
func open(s *blackboard.State, id string) []*blackboard.Task {
	order := []blackboard.Status{blackboard.Approved, blackboard.ReadyForReview, blackboard.Claimed, blackboard.Rejected}
	var list []*blackboard.Task
	for t := range s.Tasks() {
		if (id == "" || t.ID == id) && t.ChangesFiles() && slices.Contains(order, t.Status) {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b *blackboard.Task) int { return slices.Index(order, a.Status) - slices.Index(order, b.Status) })
	return list
}
