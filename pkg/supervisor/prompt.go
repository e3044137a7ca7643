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
		base := t.BaseCommit
		if t.FixOnto != "" { // what others merged meanwhile is not this task's (protocol 8.5)
			base = t.FixOnto
		}
		var err error
		if in.DiffStat, err = s.Desk.Repo.DiffStat(ctx, base, t.ReviewCommit); err == nil {
			in.Diff, err = s.Desk.Repo.Diff(ctx, base, t.ReviewCommit)
		}
		if err != nil {
			return "", fmt.Errorf("cannot show the diff of %s: %w", t.ID, err)
		}
	}
	if u != nil && u.reask != nil {
		in.Reask = &prompt.Reask{Broken: u.reask.broken, Errors: u.reask.problem, Attempt: u.reasks, Max: s.Desk.Config().Limits.MaxParseRetries}
	}
	return s.build(ctx, in, t)
}

// promptOf is the prompt of a helper kind (messenger).
func (s *Supervisor) promptOf(ctx context.Context, kind string, st *blackboard.State, t *blackboard.Task) (string, error) {
	return s.build(ctx, prompt.Input{Kind: prompt.Kind(kind), State: st, Task: t, Root: s.Desk.Project.Root, Action: "run"}, t)
}

func (s *Supervisor) build(ctx context.Context, in prompt.Input, t *blackboard.Task) (string, error) {
	cfg := s.Desk.Config()
	_, in.Model = s.programIn(nil, t)
	in.MaxChars, in.PriorAttempts, in.Messages = cfg.Context.MaxChars, orNone(cfg.Context.PriorAttempts), orNone(cfg.Context.Messages)
	in.Instructions = strings.TrimSpace(cfg.Context.CustomInstructions + "\n" + s.instructions())
	p, err := prompt.Build(in)
	if p.Over && t != nil {
		s.Desk.Warn(ctx, t.ID, "prompt_over_budget", fmt.Sprintf("the prompt has %d bytes, context.max_chars is %d", len(p.Text), in.MaxChars))
	}
	return p.Text, err
}

// orNone turns a configured 0 into what the prompt package calls none.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
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
