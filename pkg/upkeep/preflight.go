package upkeep

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/project"
	"liza/pkg/verb"
)

// What is said where git does not know who commits.
const (
	NoIdentity   = "git does not know who commits here; agents sign with their id (coder-1 <coder-1@localhost>), merges are by Liza <liza@localhost>"
	TellIdentity = "git config user.name 'YOUR NAME' && git config user.email YOU@EXAMPLE.COM"
)

// identity looks whether git knows whose commits are made.
func (x *Doctor) identity(ctx context.Context, _ *project.Project) {
	if x.Service == nil || x.Service.Repo == nil {
		return
	}
	switch known, err := x.Service.Repo.KnowsIdentity(ctx); {
	case err != nil:
		x.Add("identity", SeverityWarning, "git", "git config --list", "", "%v", err)
	case !known:
		x.Add("identity", SeverityWarning, "git", TellIdentity, "", "%s", NoIdentity)
	default:
		x.Add("identity", SeverityOK, "git", "", "", "git knows who commits here")
	}
}

// Unlike says where Liza's commits differ from those that the person makes here: signatures and hooks. sign is git.sign.
func Unlike(ctx context.Context, repo *git.Repo, sign bool) (found []Finding, err error) {
	h, err := repo.Habits(ctx)
	if err != nil {
		return nil, err
	}
	x := Doctor{}
	if sign {
		if err := repo.TrySign(ctx); err != nil {
			x.Add("signing", SeverityWarning, "git", "git config --global user.signingkey KEY, or liza config set git.sign false", "", "nothing can be merged: git.sign is true, and your key cannot be used here: %v", err)
		}
	} else if h.Signs {
		x.Add("signing", SeverityInfo, "git", "liza config set git.sign true", "commit.gpgsign", "your commits are signed, Liza's merges are not")
	}
	if len(h.Hooks) > 0 {
		x.Add("hooks", SeverityInfo, "git", "write what has to run into integration.checks of .liza/config.yaml", "", "your hooks do not run for commits of agents and for merges: %s", strings.Join(h.Hooks, ", "))
	}
	return x.Found, nil
}

// habits looks at signatures and hooks, and whether the settings would survive a git clean.
func (x *Doctor) habits(ctx context.Context, p *project.Project) {
	if x.Service == nil || x.Service.Repo == nil {
		return
	}
	found, err := Unlike(ctx, x.Service.Repo, x.Service.Config().Git.Sign)
	if err != nil {
		x.Add("signing", SeverityWarning, "git", "git config --list", "", "%v", err)
	}
	x.Found = append(x.Found, found...)
	if kept, err := verb.SettingsKept(ctx, p, x.Service.Repo); err == nil && !kept {
		x.Add("config", SeverityInfo, ".liza", verb.KeepSettings, "", "your settings are not committed: git clean -fdx takes them away")
	}
}

// spec looks whether agents see the spec of the goal as the person does.
func (x *Doctor) spec(ctx context.Context, p *project.Project) {
	if x.Service == nil || x.Service.Repo == nil || x.State == nil || x.State.Goal == nil || x.State.Goal.Status != blackboard.InProgress || x.State.Goal.SpecRef == "" {
		return
	}
	spec := x.State.Goal.SpecRef
	if _, err := verb.SpecFile(p.Root, spec); err != nil {
		return // the rules of the board name it
	}
	if err := verb.SpecCommitted(ctx, p, x.Service.Repo, spec); err != nil {
		message, next := x.Explain(err)
		x.Add("spec", SeverityWarning, spec, next, "", "%s", message)
		return
	}
	x.Add("spec", SeverityOK, spec, "", "", "committed as it stands")
}

// behind is for the short form; the long one has it among what it says of the branch.
func (x *Doctor) behind(ctx context.Context, _ *project.Project) {
	if lag, err := x.Service.Behind(ctx, x.State); err == nil && lag.Behind > 0 {
		x.Add("integration", SeverityWarning, lag.Branch, "liza sync", "", "%s", lag)
	}
}

// inWorktrees looks at the project's own agent programs as a coder would find them: from a
// worktree, which has the files of the integration branch and no others.
func (x *Doctor) inWorktrees(ctx context.Context, p *project.Project) {
	if x.Service == nil || x.Service.Repo == nil || x.State == nil {
		return
	}
	tip, err := x.Service.TipOf(ctx, x.State)
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
					x.Add("agent", SeverityError, name, "ls -l "+a, "", "the program %s of agents.%s is not an executable file of the project", a, name)
				}
			case i == 0 || agent.Relative(a) && here || !agent.Relative(a) && !here:
			default:
				if has, _, err := x.Service.Repo.SameIn(ctx, tip, tip, filepath.ToSlash(filepath.Clean(a))); err != nil || has {
					continue
				}
				if here {
					x.Add("agent", SeverityWarning, name, fmt.Sprintf("write ./%s in agents.%s.command", a, name), "",
						"%s is a file of the project, but not of the worktrees in which coders and reviewers run: ./%s is taken from the project", a, a)
				} else {
					x.Add("agent", SeverityWarning, name, "edit agents."+name+".command in .liza/config.yaml", "", "the file %s of its command is neither in the project nor committed", a)
				}
			}
		}
		if len(command) > 0 && len(x.Found) == before {
			x.Add("agent", SeverityOK, name, "", "", "its command is found from a worktree too")
		}
	}
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
