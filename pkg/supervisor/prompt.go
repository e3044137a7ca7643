package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/prompt"
	"liza/pkg/review"
	"liza/pkg/role"
	"liza/pkg/safefile"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// prompt is what the agent of this supervisor is given. t is nil for a planner, due are the
// triggers that woke it. Nothing is written but warnings to the journal.
func (s *Supervisor) prompt(ctx context.Context, st *blackboard.State, t *blackboard.Task, u *unit, due []transition.Trigger) (briefing, error) {
	return s.told(ctx, t)(s.brief(ctx, role.Kind(s.Role), st, t, u, due))
}

// promptOf is the prompt of a helper kind (messenger).
func (s *Supervisor) promptOf(ctx context.Context, kind role.Kind, st *blackboard.State, t *blackboard.Task) (briefing, error) {
	return s.told(ctx, t)(s.brief(ctx, kind, st, t, nil, nil))
}

// told writes into the journal what is to be said about a prompt.
func (s *Supervisor) told(ctx context.Context, t *blackboard.Task) func(briefing, error) (briefing, error) {
	return func(b briefing, err error) (briefing, error) {
		id := ""
		if t != nil {
			id = t.ID
		}
		for _, w := range b.warnings {
			s.Service.Warn(ctx, id, blackboard.ActionConfigWarning, w)
		}
		if b.Over {
			s.Service.Warn(ctx, id, blackboard.ActionPromptOverBudget, fmt.Sprintf("the prompt has %d bytes, context.max_chars is %d", len(b.Text), s.Service.Config().Context.MaxChars))
		}
		s.Service.TellUnusable(ctx, err)
		return b, verb.RoleRefusal(t, err)
	}
}

// brief makes a prompt and writes nothing at all: `liza preview` shows what it gives.
func (s *Supervisor) brief(ctx context.Context, kind role.Kind, st *blackboard.State, t *blackboard.Task, u *unit, due []transition.Trigger) (b briefing, err error) {
	if b.role, err = s.roleFor(kind, t); err != nil {
		return b, err
	}
	c := s.choose(st, kind, b.role.Role, t)
	b.program, b.model = c.name, c.model
	if u != nil {
		b.restarts, b.resumed = u.restarts, s.conversation(u, t, b.program)
	}
	cfg := s.Service.Config()
	in := prompt.Input{Kind: kind, Role: b.role.Role, State: st, Task: t, Agent: s.ID, Root: s.Service.Project.Root, Worktree: s.Service.Project.Root, Model: b.model,
		Triggers: due, Action: "run", Interactive: s.Interactive != nil && kind == role.Kind(s.Role), MaxChars: cfg.Context.MaxChars, PriorAttempts: orNone(cfg.Context.PriorAttempts), Messages: orNone(cfg.Context.Messages),
		Instructions: strings.TrimSpace(cfg.Context.CustomInstructions + "\n" + s.instructions())}
	switch {
	case kind == role.Coder || kind == role.Reviewer:
		in.Worktree, in.Iteration = s.folder(t), t.Iteration
		in.SpecText = s.specText(t.SpecRef)
		if kind == role.Coder {
			if w, err := s.Service.Repo.Inspect(ctx, in.Worktree); err == nil { // what cannot be looked at is not told
				in.Uncommitted = w.Dirty
			}
		}
	case kind == role.Planner && st.Goal != nil:
		in.SpecText = s.specText(st.Goal.SpecRef)
	}
	if kind == role.Planner {
		installed := s.Service.Skills()
		in.Skills = installed.Text()
		for _, broken := range installed.Broken {
			b.warnings = append(b.warnings, broken.Error())
		}
	}
	if kind == role.Coder || kind == role.Planner || kind == role.Reviewer {
		s.failing(ctx, t, &in)
	}
	if err := s.submission(ctx, st, t, &in); err != nil {
		return b, err
	}
	if u != nil {
		in.Shorten = u.shorten
	}
	if u != nil && u.reask != nil {
		b.reask = u.reasks
		in.Reask = &prompt.Reask{Broken: u.reask.broken, Errors: u.reask.problem, Attempt: u.reasks, Max: cfg.Limits.MaxParseRetries,
			Resumed: u.talk != nil && b.resumed == u.talk}
	}
	b.warnings = append(b.warnings, s.gather(ctx, &in)...)
	b.Prompt, err = prompt.Build(in)
	b.Text = s.Service.Mask(b.Text)
	return b, err
}

// submission adds what a reviewer has to judge.
func (s *Supervisor) submission(ctx context.Context, st *blackboard.State, t *blackboard.Task, in *prompt.Input) (err error) {
	if in.Kind != role.Reviewer || !t.ChangesFiles() {
		return nil
	}
	in.IntentLate = s.intentLate(ctx, st, t)
	if in.From, in.To, err = s.Service.Proposal(ctx, st, t, t.ReviewCommit); err != nil {
		return err
	}
	if in.DiffStat, err = s.Service.Repo.DiffStat(ctx, in.From, in.To); err == nil {
		in.Diff, err = s.Service.Repo.Diff(ctx, in.From, in.To)
		if len(in.Diff) >= git.MostDiff {
			in.Diff = strings.ToValidUTF8(in.Diff, "") + "\n(the change goes on: this is its beginning)\n"
		}
		in.Diff = s.Service.Secrets.Mask(review.Redact(in.Diff))
	}
	if err != nil {
		return fmt.Errorf("cannot show the diff of %s: %w", t.ID, err)
	}
	return nil
}

// failing adds which checks fail without any change, and why approved work could not be merged.
func (s *Supervisor) failing(ctx context.Context, t *blackboard.Task, in *prompt.Input) {
	for _, r := range s.Service.RedBaseline(ctx) {
		in.Red = append(in.Red, prompt.Red{Check: r.Check, Command: r.Command, Tail: r.Tail})
	}
	if t == nil || !t.IntegrationFix || in.Kind == prompt.Reviewer {
		return
	}
	for _, h := range slices.Backward(t.History) {
		if h != nil && h.Event == blackboard.HistoryIntegrationFailed && h.Log != "" {
			in.FailedMerge = review.TailOf(filepath.Join(s.Service.Project.Root, h.Log))
			return
		}
	}
}

// orNone turns a configured 0 into what the prompt package calls none.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

func (s *Supervisor) instructions() string {
	data, err := safefile.Read(s.Service.Project.Instructions())
	if err != nil { // there is none, as a rule
		if !errors.Is(err, fs.ErrNotExist) {
			s.warn("", "the project's instructions are left out: %v", err)
		}
		return ""
	}
	return string(data)
}

// specText is the spec file; the prompt cuts out what the anchor names.
func (s *Supervisor) specText(ref string) string {
	text, err := s.Service.SpecText(ref)
	if err != nil {
		return ""
	}
	return text
}
