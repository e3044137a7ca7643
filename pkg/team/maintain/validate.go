package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/code/merge"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/run/role"
	"liza/pkg/team/findings"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// RuleCheckout is the rule about what git cannot read of the main checkout and the integration branch.
const RuleCheckout = "V70"

// BoardName is the state file of a project, as people know it.
const BoardName = ".liza/state.yaml"

// BoardOf returns the board of d, nil when its store keeps no files.
func BoardOf(d *verb.Service) *Board {
	kept, ok := d.Board.Store.(store.Project)
	if !ok {
		return nil
	}
	return &Board{Name: BoardName, Root: d.Board.Project.Root, Store: kept, Project: d.Board.Project, Repo: d.Board.Repo, Remote: d.Board.Remote(), Now: d.Board.Now, SkipSpecFiles: d.Board.NoSpecFiles,
		Archive: d.Board.Histories().Archives(), Processes: blackboard.ProcessFacts{Host: d.Board.Proc.Host, BootID: d.Board.Proc.BootID, Running: d.Board.Proc.Running}}
}

// Validated is the result of `liza validate`.
type Validated struct {
	File       string                 `json:"file"`
	Valid      bool                   `json:"valid"`
	Errors     int                    `json:"errors"`
	Warnings   int                    `json:"warnings"`
	Violations []blackboard.Violation `json:"violations"`
	Fixed      []string               `json:"fixed,omitempty"`

	unreadable bool // its rules could not be looked at
	restore    bool // an older state helps: this one cannot be read, or lacks what was there
}

// Validate checks the file against every rule.
func (p *Board) Validate(ctx context.Context) (Validated, error) {
	i, err := p.Store.Inspect(ctx)
	if err != nil {
		return p.unreadable(err)
	}
	facts, err := p.facts(ctx, i)
	if err != nil {
		return Validated{}, err
	}
	p.lookAtTip(ctx, i.State, &facts)
	return p.result(i.Locate(audit.Validate(i.State, i.Previous, facts))), nil
}

// lookAtTip adds why git cannot read the newest commit of the integration branch. Only who asks for it waits for that, not each look of a team.
func (p *Board) lookAtTip(ctx context.Context, s *blackboard.State, f *audit.Evidence) {
	if p.Repo == nil || slices.ContainsFunc(f.Decode, func(x blackboard.Violation) bool { return x.Rule == RuleCheckout }) {
		return
	}
	if why, next := p.Repo.UnreadableTip(ctx, s.IntegrationBranch()); why != "" {
		f.Decode = append(slices.Clip(f.Decode), blackboard.Violation{Rule: RuleCheckout, Subjects: []string{"integration"}, Message: why, Next: next})
	}
}

// Repair mends what is provably safe, in one write, and checks again.
func (p *Board) Repair(ctx context.Context, before Validated) (Validated, error) {
	i, err := p.Store.Inspect(ctx)
	if err != nil {
		return before, nil // what does not parse cannot be repaired; it was reported
	}
	facts, err := p.facts(ctx, i)
	if err != nil {
		return before, err
	}
	var done []string
	err = p.Store.Update(ctx, store.Op{Name: "validate --fix", Agent: blackboard.Human}, func(s *blackboard.State) error {
		done = audit.Repair(s, facts)
		for _, line := range done {
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(p.Now()), Agent: blackboard.Human, Action: blackboard.ActionEditedByHand, Detail: "validate --fix: " + line})
		}
		return nil
	})
	if err != nil {
		return before, err
	}
	after, err := p.Validate(ctx)
	if after.Fixed = done; before.has("V57") && !after.has("V57") {
		after.Fixed = append(after.Fixed, "log.yaml: the end that no state belongs to was cut (V57)")
	}
	return after, err
}

// Next returns the command that helps with an invalid file.
func (v Validated) Next() string {
	all := func(helps func(blackboard.Violation) bool) bool {
		return v.File == BoardName && !slices.ContainsFunc(v.Violations, func(x blackboard.Violation) bool { return isError(x) && !helps(x) })
	}
	switch at := slices.IndexFunc(v.Violations, func(x blackboard.Violation) bool { return x.Rule == RuleCheckout }); {
	case at >= 0:
		return v.Violations[at].Next
	case v.restore && v.File == BoardName:
		return "liza restore"
	case all(func(x blackboard.Violation) bool { return x.Rule == RuleJournal }):
		return NextSeal
	case all(func(x blackboard.Violation) bool { return x.Fixable }):
		return "liza validate --fix"
	}
	return "edit " + v.File
}

// facts is what the rules need and the state cannot say.
func (p *Board) facts(ctx context.Context, i *store.Inspection) (audit.Evidence, error) {
	f := audit.Evidence{Now: p.Now(), Decode: i.Decode, MissingSections: i.Missing,
		SkipSpecFiles: p.SkipSpecFiles,
		Line:          func(path string) int { line, _ := i.Line(path); return line }}
	if p.Root != "" {
		f.SpecExists = func(ref string) bool { _, err := board.SpecFile(p.Root, ref); return err == nil }
		f.WorktreeExists = func(path string) bool {
			info, err := os.Stat(filepath.Join(p.Root, path))
			return err == nil && info.IsDir()
		}
	}
	if p.Project == nil {
		return f, nil
	}
	f.Archive = cmp.Or(p.Archive, &history.Archive{Dir: p.Project.ArchiveDir()})
	f.Processes = p.Processes
	var err error
	if f.JournalProblems, err = p.journalProblems(ctx, i.State.Revision); err != nil {
		return f, err
	}
	if p.Repo == nil {
		return f, nil
	}
	err = gitFacts(ctx, p.Repo, i.State, p.Remote, p.Store.View, &f)
	if why, next := p.Repo.UnreadableCheckout(ctx); why != "" {
		f.Decode = append(slices.Clip(f.Decode), blackboard.Violation{Rule: RuleCheckout, Subjects: []string{"checkout"}, Message: "git cannot read the main checkout: " + why, Next: next})
		err = nil
	}
	return f, err
}

func (v Validated) has(rule string) bool {
	return slices.ContainsFunc(v.Violations, func(x blackboard.Violation) bool { return x.Rule == rule })
}

// result counts what was found in the place's file.
func (p *Board) result(found []blackboard.Violation) Validated {
	v := Validated{File: p.Name, Violations: found}
	if v.Violations == nil {
		v.Violations = []blackboard.Violation{}
	}
	for _, x := range found {
		if x.Severity == blackboard.SeverityWarning {
			v.Warnings++
		} else {
			v.Errors++
		}
	}
	v.Valid = v.Errors == 0
	return v
}

// unreadable makes violations of what keeps the file from being read (V01, V02).
func (p *Board) unreadable(err error) (Validated, error) {
	if x, ok := errors.AsType[*store.InvalidError](err); ok {
		v := p.result(x.Violations)
		v.restore, v.unreadable = true, true
		return v, nil
	}
	if x, ok := errors.AsType[*store.VersionError](err); ok {
		message := "version is " + x.Version + "; this program reads 1"
		if x.Version == "" {
			message = "version is missing; this program reads 1"
		}
		v := p.result([]blackboard.Violation{{Rule: "V02", Severity: blackboard.SeverityError, Path: "version", Subjects: []string{"version"}, Message: message}})
		v.restore, v.unreadable = x.Version == "", true
		return v, nil
	}
	return Validated{}, fmt.Errorf("cannot read %s: %w", filepath.Base(p.Name), err)
}

// ViolationLine is "ERROR V08 task-3 (line 41): CLAIMED without assigned_to".
func ViolationLine(v blackboard.Violation) string {
	word, message, place := "ERROR", v.Text(), ""
	if v.Severity == blackboard.SeverityWarning {
		word = "WARNING"
	}
	if len(v.Subjects) > 0 {
		place = " " + v.Subjects[0]
		for _, prefix := range []string{"task ", "agent ", ""} {
			if rest, ok := strings.CutPrefix(message, prefix+v.Subjects[0]+": "); ok {
				message = rest
				break
			}
		}
	}
	if v.Line > 0 {
		place += fmt.Sprintf(" (line %d)", v.Line)
	}
	return fmt.Sprintf("%s %s%s: %s\n", word, v.Rule, place, message)
}

func isError(v blackboard.Violation) bool { return v.Severity == blackboard.SeverityError }

// quorum looks whether the team can meet the rules of review.quorum. Without rules it costs nothing.
func (x *Doctor) quorum(context.Context, *project.Project) {
	if x.Service == nil || len(x.Service.Board.Config().Review.Quorum) == 0 {
		return
	}
	registered, programs := 0, x.reviewerPrograms()
	if x.State != nil {
		for _, a := range x.State.Agents {
			if a.Role != blackboard.RoleReviewer {
				continue
			}
			if registered++; a.CLI != "" && !slices.Contains(programs, a.CLI) {
				programs = append(programs, a.CLI)
			}
		}
	}
	reviewers := max(registered, x.Reviewers)
	if x.Reviewers == 0 && registered == 0 {
		reviewers = 1 // what liza run starts
	}
	disabled := x.Service.Board.Config().Review.Disabled()
	for _, r := range x.Service.Board.Config().Review.Quorum {
		what := (&blackboard.Quorum{Reviewers: r.Reviewers, Programs: r.Programs, Paths: r.Paths}).Describe()
		subject := strings.Join(r.Paths, ", ")
		switch {
		case r.Reviewers < 2:
		case disabled:
			x.Add("quorum", findings.Warning, subject, "liza config review.mode normal", "", "review.quorum asks for %s, and in review.mode disabled nobody but you approves", what)
		case reviewers < r.Reviewers:
			x.Add("quorum", findings.Warning, subject, fmt.Sprintf("liza run --reviewers %d", r.Reviewers), "",
				"review.quorum asks for %s, and this team has %d: such a change waits for another one, or for you (liza approve)", what, reviewers)
		case r.Programs == blackboard.ProgramsDifferent && len(programs) < r.Reviewers:
			x.Add("quorum", findings.Warning, subject, "edit agents.fallback in .liza/config.yaml", "",
				"review.quorum asks for %s, and reviewers run %s: such a change waits for another one, or for you (liza approve)", what, strings.Join(programs, " and "))
		}
	}
}

// train looks whether the checks of a train can run side by side.
func (x *Doctor) train(context.Context, *project.Project) {
	if x.Service == nil {
		return
	}
	if m := x.Service.Board.Config().Merge; m.Train > 1 && merge.CheckSlots(m.Slots) == 1 {
		x.Add("train", findings.Warning, "merge.slots", fmt.Sprintf("liza config merge.slots %d", min(m.Train, 4)), "",
			"merge.train is %d, but its checks run one at a time (merge.slots), so it merges no faster than without", m.Train)
	}
}

// roles looks at the role files of the project, and at the settings that name roles.
func (x *Doctor) roles(context.Context, *project.Project) {
	if x.Service == nil {
		return
	}
	roles := x.Service.Board.Roles()
	l := roles.Library()
	files := 0
	found := slices.Concat(l.Findings(), l.Contradictions(roles.Settings()))
	for _, e := range l.Entries() {
		if e.File != "" {
			files++
		}
		if e.Role != nil && e.Role.CLI != "" && !x.known(e.Role.CLI) {
			at := e.Role.Origins["cli"]
			found = append(found, role.Diagnostic{Level: role.Warning, File: at.File, Line: at.Line, Role: e.Name, Key: "cli",
				Reason: fmt.Sprintf("there is no agent program %s: neither a built-in one, nor one of agents in .liza/config.yaml", e.Role.CLI)})
		}
	}
	severities := map[role.Level]string{role.Error: findings.Error, role.Warning: findings.Warning, role.Info: findings.Info}
	for _, f := range found {
		x.Add("roles", severities[f.Level], cmp.Or(f.Role, f.Key, filepath.Base(f.File)), "edit "+cmp.Or(f.File, ".liza/config.yaml"), "", "%s", f)
	}
	if files > 0 && len(found) == 0 {
		x.Add("roles", findings.OK, ".liza/roles", "", "", "%s of the project can be used", prose.Count(files, "role"))
	}
}

// known reports whether there is an agent program of that name.
func (x *Doctor) known(name string) bool {
	_, err := agent.Lookup(name, agent.Options{Custom: x.Programs, Root: x.Service.Board.Project.Root})
	return err == nil
}

// reviewerPrograms are the programs that a reviewer may run.
func (x *Doctor) reviewerPrograms() []string {
	d := x.Service
	r, err := d.Board.Roles().Library().Resolve(role.Reviewer, nil, d.Board.Roles().Settings())
	if err != nil {
		return nil // told otherwise
	}
	program, _ := d.Board.Roles().Library().Program(r.Role, nil, d.Board.Roles().Settings(), x.CLI, "", x.known)
	programs := []string{program}
	fallback := d.Board.Config().Agents.Fallback
	names := fallback.For(r.Role.Name)
	if names == nil {
		names = fallback.For(string(role.Reviewer))
	}
	for _, name := range names {
		if x.known(name) && !slices.Contains(programs, name) {
			programs = append(programs, name)
		}
	}
	return programs
}
