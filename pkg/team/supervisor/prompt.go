package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
	"liza/pkg/run/agent"
	"liza/pkg/run/prompt"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/replay"
	"liza/pkg/verb/verb"
)

// Prompts makes the prompts of a member's runs.
type prompts struct {
	*member
	programs    *programs
	Running     *Running        // nil: nobody shares what it sees of other worktrees
	Interactive *agent.Terminal // nil: no person works with the program
}

// prompt is what the agent of this supervisor is given. t is nil for a planner, due are the
// triggers that woke it. Nothing is written but warnings to the journal.
func (p *prompts) prompt(ctx context.Context, st *blackboard.State, t *blackboard.Task, u *unit, due []transition.Trigger) (briefing, error) {
	return p.told(ctx, t)(p.brief(ctx, role.Kind(p.Role), st, t, u, due))
}

// promptOf is the prompt of a helper kind (messenger).
func (p *prompts) promptOf(ctx context.Context, kind role.Kind, st *blackboard.State, t *blackboard.Task) (briefing, error) {
	return p.told(ctx, t)(p.brief(ctx, kind, st, t, nil, nil))
}

// told writes into the journal what is to be said about a prompt.
func (p *prompts) told(ctx context.Context, t *blackboard.Task) func(briefing, error) (briefing, error) {
	return func(b briefing, err error) (briefing, error) {
		id := ""
		if t != nil {
			id = t.ID
		}
		for _, w := range b.warnings {
			p.Service.Board.Warn(ctx, id, blackboard.ActionConfigWarning, w)
		}
		if b.Over {
			p.Service.Board.Warn(ctx, id, blackboard.ActionPromptOverBudget, fmt.Sprintf("the prompt has %d bytes, context.max_chars is %d", len(b.Text), p.Service.Board.Config().Context.MaxChars))
		}
		p.Service.Board.Roles().TellUnusable(ctx, err)
		return b, board.RoleRefusal(t, err)
	}
}

// brief makes a prompt and writes nothing at all: `liza show TASK --prompt` shows what it gives.
func (p *prompts) brief(ctx context.Context, kind role.Kind, st *blackboard.State, t *blackboard.Task, u *unit, due []transition.Trigger) (b briefing, err error) {
	if b.role, err = p.programs.roleFor(kind, t); err != nil {
		return b, err
	}
	c := p.programs.choose(st, kind, b.role.Role, t)
	b.program, b.model, b.place = c.name, c.model, c.place
	if u != nil {
		b.restarts = u.restarts
	}
	if u != nil && c.why == "" {
		b.resumed = p.conversation(u, t, b.program)
	}
	cfg := p.Service.Board.Config()
	in := prompt.Input{Kind: kind, Role: b.role.Role, State: st, Task: t, Agent: p.ID, Root: p.Service.Board.Project.Root, Worktree: p.Service.Board.Project.Root, Model: b.model,
		Triggers: due, Interactive: p.Interactive != nil && kind == role.Kind(p.Role), MaxChars: cfg.Context.MaxChars, PriorAttempts: orNone(cfg.Context.PriorAttempts), Messages: orNone(cfg.Context.Messages),
		Instructions: strings.TrimSpace(cfg.Context.CustomInstructions + "\n" + p.instructions())}
	if a, err := p.programs.Adapter(b.program); err == nil && a != nil && !in.Interactive && p.enforced(a.Info(), string(kind)) {
		in.AnswerTool = a.Info().AnswerTool
	}
	if b.resumed != nil && u.reask == nil && t != nil {
		in.Told = p.said(t.ID, b.resumed)
	}
	switch {
	case kind == role.Coder || kind == role.Reviewer:
		in.Worktree, in.Iteration = p.folder(t), t.Iteration
		in.SpecText = p.specText(t.SpecRef)
		if kind == role.Coder {
			if w, err := p.Service.Board.Repo.Inspect(ctx, in.Worktree); err == nil { // what cannot be looked at is not told
				in.Uncommitted = w.Dirty
			}
		}
	case kind == role.Planner && st.Goal != nil:
		in.SpecText = p.specText(st.Goal.SpecRef)
	}
	if kind == role.Planner {
		installed := p.Service.Board.Skills()
		in.Skills = installed.Text()
		for _, broken := range installed.Broken {
			b.warnings = append(b.warnings, broken.Error())
		}
	}
	if kind == role.Coder || kind == role.Planner || kind == role.Reviewer {
		p.failing(ctx, t, &in)
	}
	if err := p.submission(ctx, st, t, &in); err != nil {
		return b, err
	}
	if err := p.attempts(ctx, st, t, &in); err != nil {
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
	for _, n := range st.HumanNotes {
		if t != nil && n.For == t.ID && !n.Liza() {
			b.notes = append(b.notes, n.ID)
		}
	}
	b.warnings = append(b.warnings, p.gather(ctx, &in)...)
	if b.Prompt, err = prompt.Build(in); u != nil && u.attached && b.resumed != nil {
		b.Text = attachedText
	}
	b.Text = p.Service.Board.Mask(b.Text)
	return b, err
}

// submission adds what a reviewer has to judge.
func (p *prompts) submission(ctx context.Context, st *blackboard.State, t *blackboard.Task, in *prompt.Input) (err error) {
	if in.Kind != role.Reviewer || !t.ChangesFiles() {
		return nil
	}
	in.IntentLate = p.intentLate(ctx, st, t)
	if in.From, in.To, err = p.Service.Integration.Proposal(ctx, st, t, t.ReviewCommit); err != nil {
		return err
	}
	if in.DiffStat, err = p.Service.Board.Repo.DiffStat(ctx, in.From, in.To); err == nil {
		in.Diff, err = p.Service.Board.Repo.Diff(ctx, in.From, in.To)
		if len(in.Diff) >= git.MostDiff {
			in.Diff = strings.ToValidUTF8(in.Diff, "") + "\n(the change goes on: this is its beginning)\n"
		}
		in.Diff = p.Service.Board.Secrets.Mask(review.Redact(in.Diff))
	}
	if err != nil {
		return fmt.Errorf("cannot show the diff of %s: %w", t.ID, err)
	}
	return nil
}

// attempts lets a reviewer compare the open attempts at the same work. Who made them with which program is not in the prompt, and their order
// is that of their commits' hashes, which is none.
func (p *prompts) attempts(ctx context.Context, st *blackboard.State, t *blackboard.Task, in *prompt.Input) error {
	if in.Kind != role.Reviewer || len(transition.Rivals(st, t)) == 0 {
		return nil
	}
	for _, o := range append(transition.Rivals(st, t), t) {
		if !transition.Pickable(o) {
			continue
		}
		shown := prompt.Input{Kind: in.Kind}
		if err := p.submission(ctx, st, o, &shown); err != nil {
			return err
		}
		in.Attempts = append(in.Attempts, prompt.Attempt{Commit: o.ReviewCommit, Stat: shown.DiffStat, Diff: shown.Diff})
	}
	slices.SortFunc(in.Attempts, func(a, b prompt.Attempt) int { return strings.Compare(a.Commit, b.Commit) })
	nameless := *t
	nameless.ID, nameless.AssignedTo, nameless.CLI, nameless.LastOutcome, nameless.NoTests, nameless.Review, nameless.RejectionReason = t.AttemptOf, "", "", nil, nil, nil, nil
	nameless.History, nameless.Attempts = nil, nil
	in.Task, in.DiffStat, in.Diff, in.From, in.To = &nameless, "", "", "", ""
	return nil
}

// failing adds which checks fail without any change, and why approved work could not be merged.
func (p *prompts) failing(ctx context.Context, t *blackboard.Task, in *prompt.Input) {
	for _, r := range p.Service.Checks.RedBaseline(ctx) {
		in.Red = append(in.Red, prompt.Red{Check: r.Check, Command: r.Command, Tail: r.Tail})
	}
	if t == nil || !t.IntegrationFix || in.Kind == prompt.Reviewer {
		return
	}
	for _, h := range slices.Backward(t.History) {
		if h != nil && h.Event == blackboard.HistoryIntegrationFailed && h.Log != "" {
			in.FailedMerge = review.TailOf(filepath.Join(p.Service.Board.Project.Root, h.Log))
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

func (p *prompts) instructions() string {
	data, err := safefile.Read(p.Service.Board.Project.Instructions())
	if err != nil { // there is none, as a rule
		if !errors.Is(err, fs.ErrNotExist) {
			p.warn("", "the project's instructions are left out: %v", err)
		}
		return ""
	}
	return string(data)
}

// specText is the spec file; the prompt cuts out what the anchor names.
func (p *prompts) specText(ref string) string {
	text, err := p.Service.Board.SpecText(ref)
	if err != nil {
		return ""
	}
	return text
}

const (
	gatherTime  = 2 * time.Second // for each gatherer
	changedLook = 10              // tasks in work whose worktrees are looked at
)

// gather fills in what comes from the repository (specs/roles-and-knowledge.md#2.5): what the role
// wants and the kind may have. What takes too long or fails is left out, and told.
func (p *prompts) gather(ctx context.Context, in *prompt.Input) (warnings []string) {
	step := func(piece role.Piece, fill func(context.Context) error) {
		if access := piece.For(in.Kind); access == role.Never || access == role.Optional && !in.Role.Wants(piece) {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, gatherTime)
		defer cancel()
		if err := fill(ctx); err != nil {
			warnings = append(warnings, fmt.Sprintf("the prompt goes without %s: %v", piece, err))
		}
	}
	var files *listing
	tracked := func(ctx context.Context) (err error) {
		if files == nil {
			files, err = p.tracked(ctx, in)
		}
		return err
	}
	step("repo_structure", func(ctx context.Context) error {
		if err := tracked(ctx); err != nil {
			return err
		}
		readme, _ := files.read(ctx)(prompt.Readme(files.paths))
		in.RepoTree = prompt.Tree(files.paths, readme)
		return ctx.Err()
	})
	step("relevant_files", func(ctx context.Context) error {
		if err := tracked(ctx); err != nil {
			return err
		}
		found := prompt.RelevantFiles(in.Task, files.paths, p.Service.Board.Config().Context.RelevantFilesLimit)
		if ctx.Err() == nil {
			in.Relevant = found
		}
		return ctx.Err()
	})
	step("session_context", func(ctx context.Context) error {
		in.Changed = p.changed(ctx, in)
		return nil
	})
	return warnings
}

// listing is what git tracks where the agent works, without what is excluded.
type listing struct {
	repo  *git.Repo
	dir   string // "" when the files are those of a commit
	files map[string]git.Listed
	paths []string

	contents map[string]string // of a commit, by object
}

// tracked lists the files of the agent's folder; before there is one, those of the commit
// that it will begin with.
func (p *prompts) tracked(ctx context.Context, in *prompt.Input) (*listing, error) {
	l := &listing{repo: p.Service.Board.Repo, dir: in.Worktree, files: map[string]git.Listed{}}
	var list []git.Listed
	var err error
	if _, gone := os.Stat(in.Worktree); gone == nil {
		list, err = l.repo.ListWorktree(ctx, in.Worktree)
	} else {
		l.dir = ""
		commit := in.Task.BaseCommit
		if p.judges(in.Task) {
			commit = in.Task.ReviewCommit
		}
		list, err = l.repo.ListCommit(ctx, commit)
	}
	if err != nil {
		return nil, err
	}
	excluded := prompt.Excluded(p.Service.Board.Config().Context.ExcludedPaths)
	for _, f := range list {
		if !excluded(f.Path) {
			l.files[f.Path] = f
			l.paths = append(l.paths, f.Path)
		}
	}
	return l, nil
}

const (
	largestFile = 256 << 10
	readAtOnce  = 32 << 20
)

// read gives the content of regular files of moderate size.
func (l *listing) read(ctx context.Context) func(path string) (string, bool) {
	return func(path string) (string, bool) {
		f, ok := l.files[path]
		switch {
		case !ok || !f.Regular || ctx.Err() != nil:
			return "", false
		case l.dir == "":
			return l.readCommitted(ctx, f)
		}
		data, err := safefile.ReadWithin(l.dir, path, largestFile)
		return string(data), err == nil
	}
}

// readCommitted reads all files of the commit at the first call: one process for all.
func (l *listing) readCommitted(ctx context.Context, f git.Listed) (string, bool) {
	if l.contents == nil {
		var objects []string
		room := int64(readAtOnce)
		for _, p := range l.paths {
			if x := l.files[p]; x.Regular && x.Size <= largestFile && x.Size <= room {
				objects = append(objects, x.Object)
				room -= x.Size
			}
		}
		contents, err := l.repo.ReadObjects(ctx, objects)
		if err != nil {
			return "", false
		}
		l.contents = contents
	}
	text, ok := l.contents[f.Object]
	return text, ok
}

// changed are the files that other tasks in work have changed so far, where the plan does
// not say which ones they are about.
func (p *prompts) changed(ctx context.Context, in *prompt.Input) map[string][]string {
	files := map[string][]string{}
	for t := range in.State.Tasks() {
		if len(files) == changedLook {
			break
		}
		if t == nil || t == in.Task || t.ID == in.Task.ID || len(t.Files) > 0 || t.BaseCommit == "" || t.KindOf() == blackboard.MessageTask {
			continue
		}
		switch t.Status {
		case blackboard.Claimed, blackboard.ReadyForReview, blackboard.Approved:
			list, err := p.Running.sawChanged(t.ID, p.Service.Board.Now(), func() ([]string, error) {
				return p.Service.Board.Repo.ChangedIn(ctx, p.Service.Board.Repo.WorktreePath(t.ID), t.BaseCommit)
			})
			if err == nil {
				files[t.ID] = list
			}
		}
	}
	return files
}

// Previewed is the prompt of a run that has not begun.
type Previewed struct {
	prompt.Prompt
	Kind     role.Kind
	Agent    string
	Role     role.Resolved
	Program  string
	Model    string
	Warnings []string
}

// Preview is what the next run on a task would be given, byte for byte; _planner is for the planner. Nothing is written
// (specs/roles-and-knowledge.md#2.8).
func Preview(ctx context.Context, service *verb.Service, adapter func(name string) (agent.Adapter, error), task string) (Previewed, error) {
	st, err := service.Board.View(ctx)
	if err != nil {
		return Previewed{}, err
	}
	r, err := replay.Rehearse(ctx, service, task, triggerFacts(service, st))
	if err != nil {
		return Previewed{}, err
	}
	var open []string
	if r.Kind == role.Reviewer {
		if open, err = service.Checks.ForeseeChecks(ctx, r.State, r.Task); err != nil {
			return Previewed{}, err
		}
	}
	m := &member{Service: service, Role: blackboard.Role(r.Kind), ID: r.Agent}
	own := &prompts{member: m, programs: &programs{member: m, Adapter: adapter}}
	b, err := own.brief(ctx, r.Kind, r.State, r.Task, &unit{task: task}, r.Due)
	if err != nil {
		return Previewed{}, board.RoleRefusal(r.Task, err)
	}
	p := Previewed{Prompt: b.Prompt, Kind: r.Kind, Agent: r.Agent, Role: b.role, Program: b.program, Model: b.model, Warnings: b.warnings}
	if len(open) > 0 {
		p.Warnings = append(p.Warnings, "the run will be told what these checks find, which have not been run yet: "+strings.Join(open, ", "))
	}
	if r.Warning != "" {
		p.Warnings = append(p.Warnings, "the run could not begin now: "+r.Warning)
	}
	return p, nil
}

// intentLate reports whether the coder committed in this attempt before it said what it would
// do (13.11). What cannot be found out is not late.
func (p *prompts) intentLate(ctx context.Context, st *blackboard.State, t *blackboard.Task) bool {
	said, given := t.FirstIntent()
	at, known := said.At()
	if !given || !known {
		return false
	}
	others := t.EarlierCommits()
	if t.BaseCommit != "" {
		others = append(others, t.BaseCommit)
	}
	if head, err := p.Service.Integration.TipOf(ctx, st); err == nil && head != "" { // what came in from there is others' work
		others = append(others, head)
	}
	first, found, err := p.Service.Board.Repo.FirstCommitTime(ctx, t.ReviewCommit, others...)
	return err == nil && found && first.Before(at)
}

// conversation is the one that a run resumes: that of the answer which is asked for again, or
// the coder's own from before a rejection. Another program, or another coder, begins a new one.
func (p *prompts) conversation(u *unit, t *blackboard.Task, program string) *blackboard.Conversation {
	switch {
	case u.talk != nil && u.with == program:
		return u.talk
	case u.fresh || u.talk != nil || p.Role != blackboard.RoleCoder || t == nil:
		return nil
	}
	if i := lastClaim(t); i < 0 || t.History[i].Event != blackboard.HistoryReclaimed {
		return nil
	}
	return transition.Conversation(t, p.ID, program)
}

// said are the prompts that the conversation of a coder has had; what cannot be read is told again.
func (p *prompts) said(task string, c *blackboard.Conversation) (all []string) {
	past, err := p.Service.Board.Histories().Interactions(task).Read()
	if err != nil {
		return nil
	}
	for _, in := range past {
		if in.Liza.Session == c.ID && in.Request.Metadata.Agent == p.ID {
			all = append(all, in.Request.Prompt)
		}
	}
	return all
}
