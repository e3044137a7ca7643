package supervisor

import (
	"context"
	"fmt"
	"os"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/prompt"
)

// prompt gathers what the agent of this role is given, and builds its prompt. t is nil for
// a planner, due are the triggers that woke it.
func (s *Supervisor) prompt(ctx context.Context, st *blackboard.State, t *blackboard.Task, u *unit, due []blackboard.Trigger) (string, error) {
	in := prompt.Input{Kind: prompt.Kind(s.Role), State: st, Task: t, Agent: s.ID, Root: s.Desk.Project.Root, Worktree: s.Desk.Project.Root, Triggers: due, Action: "run"}
	if t != nil {
		in.Worktree, in.Iteration = s.Desk.Repo.WorktreePath(t.ID), t.Iteration
		in.SpecText = s.specText(t.SpecRef)
	} else if st.Goal != nil {
		in.SpecText = s.specText(st.Goal.SpecRef)
	}
	if t != nil && s.Role == blackboard.RoleReviewer && t.ChangesFiles() {
		var err error
		if in.DiffStat, err = s.Desk.Repo.DiffStat(ctx, t.BaseCommit, t.ReviewCommit); err == nil {
			in.Diff, err = s.Desk.Repo.Diff(ctx, t.BaseCommit, t.ReviewCommit)
		}
		if err != nil {
			return "", fmt.Errorf("cannot show the diff of %s: %w", t.ID, err)
		}
	}
	if u != nil && u.reask != nil {
		in.Reask = &prompt.Reask{Broken: u.reask.broken, Errors: u.reask.problem, Attempt: u.reasks, Max: s.Desk.Config().Limits.MaxParseRetries}
	}
	return s.build(in, t)
}

// promptOf is the prompt of a helper kind (messenger).
func (s *Supervisor) promptOf(kind string, st *blackboard.State, t *blackboard.Task, _ *unit, _ []blackboard.Trigger) (string, error) {
	return s.build(prompt.Input{Kind: prompt.Kind(kind), State: st, Task: t, Root: s.Desk.Project.Root, Action: "run"}, t)
}

func (s *Supervisor) build(in prompt.Input, t *blackboard.Task) (string, error) {
	cfg := s.Desk.Config()
	_, in.Model = s.programIn(nil, t)
	in.MaxChars = cfg.Context.MaxChars
	in.Instructions = strings.TrimSpace(cfg.Context.CustomInstructions + "\n" + s.instructions())
	p, err := prompt.Build(in)
	return p.Text, err
}

func (s *Supervisor) instructions() string {
	data, err := os.ReadFile(s.Desk.Project.Instructions())
	if err != nil {
		return "" // there is none, as a rule
	}
	return string(data)
}

// specText is the spec file; the prompt cuts out what the anchor names.
func (s *Supervisor) specText(ref string) string {
	text, err := s.Desk.SpecText(ref)
	if err != nil {
		return ""
	}
	return text
}
