package maintain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/team/findings"
	"liza/pkg/verb/board"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/verb"
)

// Examine looks at everything that a team needs, and for traces of crashes, and changes nothing. With checks it runs the checks of
// reviews and merges on the head of the integration branch, unless their result is known.
func (x *Doctor) Examine(ctx context.Context, checks bool) error {
	return x.all(ctx, x.git, x.identity, x.habits, x.spec, x.board, x.said(false), x.left, x.refusedCommits, x.journal, x.locks, x.snapshots, x.disk, x.seeds, x.services, x.clock, x.control, x.programs, x.roles, x.inWorktrees, x.quorum, x.train, x.processes, x.baseChecks(checks))
}

// Machine looks at what a team needs of the machine, where folder has no project yet.
func (x *Doctor) Machine(ctx context.Context, folder string) error {
	return x.all(ctx, func(ctx context.Context, _ *project.Project) { x.git(ctx, &project.Project{Root: folder}) }, x.programs)
}

// Preflight is the short form at the start of a team, which starts nothing but the checks and takes some tens of milliseconds. It
// returns warnings and errors only.
func (x *Doctor) Preflight(ctx context.Context) []findings.Finding {
	_ = x.all(ctx, x.identity, x.spec, x.behind, x.redChecks, x.said(true), x.inWorktrees, x.quorum, x.train, x.disk, x.services) // an interrupted start ends by itself
	return slices.DeleteFunc(x.Found, func(f findings.Finding) bool { return f.Severity != findings.Warning && f.Severity != findings.Error })
}

func (x *Doctor) all(ctx context.Context, looks ...func(context.Context, *project.Project)) error {
	for _, look := range looks {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		look(ctx, x.Project)
	}
	return nil
}

// board sums up what `liza validate` would say.
func (x *Doctor) board(ctx context.Context, p *project.Project) {
	if x.State == nil {
		return
	}
	if in := BoardOf(x.Service); in != nil {
		v, err := in.Validate(ctx)
		if err == nil && !v.unreadable {
			x.violations(v)
		} else if err != nil && ctx.Err() == nil {
			x.Add("state", findings.Error, "state.yaml", "liza validate", "", "cannot validate: %v", err)
		}
	}
}

func (x *Doctor) violations(v Validated) {
	say := func(severity string, n int, what string) {
		i := slices.IndexFunc(v.Violations, func(x blackboard.Violation) bool {
			return (x.Severity == blackboard.SeverityWarning) == (severity == findings.Warning)
		})
		first := strings.TrimSpace(ViolationLine(v.Violations[i]))
		x.Add("state", severity, "state.yaml", "liza validate", first, "the board breaks %s", prose.Count(n, what))
	}
	if v.Errors > 0 {
		say(findings.Error, v.Errors, "rule")
	}
	if v.Warnings > 0 {
		say(findings.Warning, v.Warnings, "recommendation")
	}
	if v.Errors+v.Warnings == 0 {
		x.Add("state", findings.OK, "state.yaml", "", "", "revision %d is valid", x.State.Revision)
	}
}

// runsChecks is the command that runs the checks before any work begins.
const runsChecks = "liza doctor --checks"

// baseChecks looks whether the checks are green before any work begins: what is red there counts
// against no change, and hides what a change breaks.
func (x *Doctor) baseChecks(run bool) func(context.Context, *project.Project) {
	return func(ctx context.Context, _ *project.Project) {
		if x.Service == nil || x.Service.Board.Repo == nil || x.State == nil {
			return
		}
		x.Service.Board.Progress = x.Say
		list, head, err := x.look(ctx, run)
		open := 0
		for _, c := range list {
			if c.Cut {
				x.Add("checks", findings.Info, c.Check, runsChecks, "", "%q did not end within %s on %.9s: whether it is green here is not known", c.Command, checks.TryTime, head)
				continue
			}
			if c.Late {
				x.Add("checks", findings.Info, c.Check, runsChecks, "", "%q was not begun on %.9s: those before it took the %s", c.Command, head, checks.TryTime)
				continue
			}
			if c.Result == nil {
				open++
				continue
			}
			x.baseCheck(c.Check, *c.Result, head)
		}
		branch := x.State.IntegrationBranch()
		switch {
		case err != nil && head == "": // told with the branch
		case err != nil:
			x.Add("checks", findings.Error, branch, "liza validate", "", "cannot run the checks on %.9s: %v", head, err)
		case len(list) == 0:
			x.Add("checks", findings.Info, branch, "edit review.checks in .liza/config.yaml", "", "no command of a check is configured, and none was detected")
		case open > 0:
			x.Add("checks", findings.Info, branch, runsChecks, "", "%s of checks not run on its head yet: whether they pass before any work is not known", prose.Count(open, "command"))
		}
	}
}

// atStart are the checks of the doctor of which the start of a team says what the board says.
var atStart = []string{"checks", "settings", "filters"}

// said adds what the board says by itself; short leaves out all but what people decide before a team works.
func (x *Doctor) said(short bool) func(context.Context, *project.Project) {
	return func(ctx context.Context, _ *project.Project) {
		if x.State == nil {
			return
		}
		f := findings.Observation{State: x.State, Now: x.Now(), Process: x.Service.Board.Facts(), SettingsHeld: x.Service.Board.Config().Held()}
		if repo, tip := x.Service.Board.Repo, x.State.Tip(); repo != nil && tip != "" {
			f.FiltersOff, _ = repo.FiltersOff(ctx, tip) // what cannot be found out is not said
		}
		if x.Service.Board.Repo != nil && !short {
			if tip, err := x.Service.Integration.TipOf(ctx, x.State); err == nil {
				f.Tip = &tip
			}
		}
		for _, one := range findings.Examined(f) {
			if !short || slices.Contains(atStart, one.Check) {
				x.Found = append(x.Found, one)
			}
		}
	}
}

// look runs the checks on the head of the integration branch, or tries those once of which nothing is known.
func (x *Doctor) look(ctx context.Context, run bool) ([]checks.BaseCheck, string, error) {
	if x.Try && !run {
		return x.Service.Checks.TryChecks(ctx, x.State)
	}
	return x.Service.Checks.BaseChecks(ctx, x.State, run)
}

// baseCheck says what a command gave on a commit.
func (x *Doctor) baseCheck(check string, r checks.BaseResult, commit string) {
	next := cmp.Or(r.End.Next, "less "+strings.TrimPrefix(r.End.Log, x.Service.Board.Project.Root+"/"))
	severity := findings.OK
	switch {
	case r.End.Failed || !r.End.Ran():
		severity = findings.Warning
	default:
		next = ""
	}
	x.Add("checks", severity, check, next, prose.LastLine(r.Tail), "%q on %.9s without any change of an agent: %s", r.Command, commit, checks.CheckEnd{End: r.End}.Text())
}

// redChecks is for the short form: what is known to be red.
func (x *Doctor) redChecks(ctx context.Context, _ *project.Project) {
	list, head, err := x.look(ctx, false)
	for _, c := range list {
		if c.Result != nil && !c.Result.End.Ran() {
			x.baseCheck(c.Check, *c.Result, head)
		}
	}
	if err != nil && ctx.Err() == nil {
		x.Add("checks", findings.Warning, x.State.IntegrationBranch(), "liza doctor --checks", "", "cannot try the checks: %v", err)
	}
	for _, r := range x.Service.Checks.RedBaseline(ctx) {
		x.baseCheck(r.Check, r, r.Commit)
	}
}

// A Doctor is one examination of a project. The caller opens what can be opened, and adds what it finds then.
type Doctor struct {
	Project   *project.Project
	Service   *verb.Service          // nil when the project cannot be opened
	State     *blackboard.State      // the last valid one; nil when there is none
	Config    *config.Config         // without a Service
	Programs  map[string]agent.Entry // of the project's own settings
	Reviewers int                    // of the team that starts; 0: none does
	CLI       string                 // the program that was named for it, "" for none
	Now       func() time.Time
	Explain   func(error) (message, next string)
	Say       func(text string) // what takes long
	Try       bool              // the checks of which nothing is known are tried, within checks.TryTime

	Found []findings.Finding
}

// Add adds a finding.
func (x *Doctor) Add(check, severity, subject, next, evidence, format string, args ...any) {
	x.Found = append(x.Found, findings.Finding{Check: check, Severity: severity, Subject: subject, Next: next, Evidence: evidence, Text: fmt.Sprintf(format, args...)})
}

// What is said where git does not know who commits.
const (
	NoIdentity   = "git does not know who commits here; agents sign with their id (coder-1 <coder-1@localhost>), merges are by Liza <liza@localhost>"
	TellIdentity = "git config user.name 'YOUR NAME' && git config user.email YOU@EXAMPLE.COM"
)

// identity looks whether git knows whose commits are made.
func (x *Doctor) identity(ctx context.Context, _ *project.Project) {
	if x.Service == nil || x.Service.Board.Repo == nil {
		return
	}
	switch known, err := x.Service.Board.Repo.KnowsIdentity(ctx); {
	case err != nil:
		x.Add("identity", findings.Warning, "git", "git config --list", "", "%v", err)
	case !known:
		x.Add("identity", findings.Warning, "git", TellIdentity, "", "%s", NoIdentity)
	default:
		x.Add("identity", findings.OK, "git", "", "", "git knows who commits here")
	}
}

// Unlike returns how Liza's commits differ from the person's: signatures and hooks. sign is the setting git.sign.
func Unlike(ctx context.Context, repo *git.Repo, sign bool) (found []findings.Finding, err error) {
	h, err := repo.Habits(ctx)
	if err != nil {
		return nil, err
	}
	x := Doctor{}
	if sign {
		if err := repo.TrySign(ctx); err != nil {
			x.Add("signing", findings.Warning, "git", "git config --global user.signingkey KEY, or liza config git.sign false", "", "nothing can be merged: git.sign is true, and your key cannot be used here: %v", err)
		}
	} else if h.Signs {
		x.Add("signing", findings.Info, "git", "liza config git.sign true", "commit.gpgsign", "your commits are signed, Liza's merges are not")
	}
	if len(h.Hooks) > 0 {
		x.Add("hooks", findings.Info, "git", "write what has to run into integration.checks of .liza/config.yaml", "", "your hooks do not run for commits of agents and for merges: %s", strings.Join(h.Hooks, ", "))
	}
	return x.Found, nil
}

// habits looks at signatures and hooks, and whether the settings would survive a git clean.
func (x *Doctor) habits(ctx context.Context, p *project.Project) {
	if x.Service == nil || x.Service.Board.Repo == nil {
		return
	}
	found, err := Unlike(ctx, x.Service.Board.Repo, x.Service.Board.Config().Git.Sign)
	if err != nil {
		x.Add("signing", findings.Warning, "git", "git config --list", "", "%v", err)
	}
	x.Found = append(x.Found, found...)
	if kept, err := verb.SettingsKept(ctx, p, x.Service.Board.Repo); err == nil && !kept {
		x.Add("config", findings.Info, ".liza", verb.KeepSettings, "", "your settings are not committed: git clean -fdx takes them away")
	}
}

// spec looks whether agents see the spec of the goal as the person does.
func (x *Doctor) spec(ctx context.Context, p *project.Project) {
	if x.Service == nil || x.Service.Board.Repo == nil || x.State == nil || x.State.Goal == nil || x.State.Goal.Status != blackboard.InProgress || x.State.Goal.SpecRef == "" {
		return
	}
	spec := x.State.Goal.SpecRef
	if _, err := board.SpecFile(p.Root, spec); err != nil {
		return // the rules of the board name it
	}
	if err := verb.SpecCommitted(ctx, p, x.Service.Board.Repo, spec); err != nil {
		message, next := x.Explain(err)
		x.Add("spec", findings.Warning, spec, next, "", "%s", message)
		return
	}
	x.Add("spec", findings.OK, spec, "", "", "committed as it stands")
}

// behind is for the short form; the long one has it among what it says of the branch.
func (x *Doctor) behind(ctx context.Context, _ *project.Project) {
	if lag, err := x.Service.Integration.Behind(ctx, x.State); err == nil && lag.Behind > 0 {
		x.Add("integration", findings.Warning, lag.Branch, "liza sync", "", "%s", lag)
	}
}

// inWorktrees looks at the project's own agent programs as a coder would find them: from a
// worktree, which has the files of the integration branch and no others.
func (x *Doctor) inWorktrees(ctx context.Context, p *project.Project) {
	if x.Service == nil || x.Service.Board.Repo == nil || x.State == nil {
		return
	}
	tip, err := x.Service.Integration.TipOf(ctx, x.State)
	if err != nil || tip == "" {
		return // told with the branch
	}
	custom := x.Programs
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		before := len(x.Found)
		command := custom[name].Command
		for i, a := range command {
			if filepath.IsAbs(a) || strings.Contains(a, "{{") || strings.HasPrefix(a, "-") || !filepath.IsLocal(strings.TrimPrefix(a, "./")) {
				continue
			}
			path := filepath.Join(p.Root, a)
			here := isRegular(path)
			switch {
			case i == 0 && strings.Contains(a, "/"):
				if _, err := exec.LookPath(path); err != nil {
					x.Add("agent", findings.Error, name, "ls -l "+a, "", "the program %s of agents.%s is not an executable file of the project", a, name)
				}
			case i == 0 || agent.Relative(a) && here || !agent.Relative(a) && !here:
			default:
				if has, _, err := x.Service.Board.Repo.SameIn(ctx, tip, tip, filepath.ToSlash(filepath.Clean(a))); err != nil || has {
					continue
				}
				if here {
					x.Add("agent", findings.Warning, name, fmt.Sprintf("write ./%s in agents.%s.command", a, name), "",
						"%s is a file of the project, but not of the worktrees in which coders and reviewers run: ./%s is taken from the project", a, a)
				} else {
					x.Add("agent", findings.Warning, name, "edit agents."+name+".command in .liza/config.yaml", "", "the file %s of its command is neither in the project nor committed", a)
				}
			}
		}
		if len(command) > 0 && len(x.Found) == before {
			x.Add("agent", findings.OK, name, "", "", "its command is found from a worktree too")
		}
	}
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
