package cli

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
	"liza/pkg/project"
	"liza/pkg/prose"
	"liza/pkg/supervisor"
	"liza/pkg/upkeep"
	"liza/pkg/verb"
)

// What is said where git does not know who commits.
const (
	noIdentity   = "git does not know who commits here; agents sign with their id (coder-1 <coder-1@localhost>), merges are by Liza <liza@localhost>"
	tellIdentity = "git config user.name 'YOUR NAME' && git config user.email YOU@EXAMPLE.COM"
)

// preflight is the short form of `liza doctor` at the start of a team: what would spoil the sprint
// and can be seen without starting anything, in some tens of milliseconds. Only what is wrong is
// said; nothing here keeps the team from its work.
func (e *Env) preflight(ctx context.Context, c *crew, s *blackboard.State) {
	x := &doctor{env: e, desk: c.desk, state: s}
	for _, look := range []func(context.Context, *project.Project){x.identity, x.spec, x.behind, x.redChecks, x.inWorktrees, x.disk} {
		look(ctx, c.desk.Project)
	}
	for _, f := range x.found {
		if f.Severity == upkeep.SeverityWarning || f.Severity == upkeep.SeverityError {
			c.screen.line(supervisor.Line{Time: e.Now(), Agent: "preflight", Warning: true, Text: fmt.Sprintf("%s: %s%s", f.Check, prose.OneLine(f.Message, listWidth), nextText(f.Next))})
		}
	}
}

// identity looks whether git knows whose commits are made.
func (x *doctor) identity(ctx context.Context, _ *project.Project) {
	if x.desk == nil || x.desk.Repo == nil {
		return
	}
	switch known, err := x.desk.Repo.KnowsIdentity(ctx); {
	case err != nil:
		x.add("identity", upkeep.SeverityWarning, "git", "git config --list", "", "%v", err)
	case !known:
		x.add("identity", upkeep.SeverityWarning, "git", tellIdentity, "", "%s", noIdentity)
	default:
		x.add("identity", upkeep.SeverityOK, "git", "", "", "git knows who commits here")
	}
}

// spec looks whether agents see the spec of the goal as the person does.
func (x *doctor) spec(ctx context.Context, p *project.Project) {
	if x.desk == nil || x.desk.Repo == nil || x.state == nil || x.state.Goal == nil || x.state.Goal.Status != blackboard.InProgress || x.state.Goal.SpecRef == "" {
		return
	}
	spec := x.state.Goal.SpecRef
	if _, err := verb.SpecFile(p.Root, spec); err != nil {
		return // the rules of the board name it
	}
	if err := verb.SpecCommitted(ctx, p, x.desk.Repo, spec); err != nil {
		r := explain(err)
		x.add("spec", upkeep.SeverityWarning, spec, r.next, "", "%s", r.message)
		return
	}
	x.add("spec", upkeep.SeverityOK, spec, "", "", "committed as it stands")
}

// behind is for the short form; the long one has it among what it says of the branch.
func (x *doctor) behind(ctx context.Context, _ *project.Project) {
	if base, n, err := x.desk.Behind(ctx, x.state); err == nil && n > 0 {
		x.add("integration", upkeep.SeverityWarning, x.state.IntegrationBranch(), "liza sync", "", "%s", upkeep.BehindText(x.state.IntegrationBranch(), base, n))
	}
}

// inWorktrees looks at the project's own agent programs as a coder would find them: from a
// worktree, which has the files of the integration branch and no others.
func (x *doctor) inWorktrees(ctx context.Context, p *project.Project) {
	if x.desk == nil || x.desk.Repo == nil || x.state == nil {
		return
	}
	tip, err := x.desk.Repo.BranchTip(ctx, x.state.IntegrationBranch())
	if err != nil {
		return // told with the branch
	}
	custom := programs(x.desk.Config())
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		before := len(x.found)
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
					x.add("agent", upkeep.SeverityError, name, "ls -l "+a, "", "the program %s of agents.%s is not an executable file of the project", a, name)
				}
			case i == 0 || agent.Relative(a) && here || !agent.Relative(a) && !here:
			default:
				if has, _, err := x.desk.Repo.SameIn(ctx, tip, tip, filepath.ToSlash(filepath.Clean(a))); err != nil || has {
					continue
				}
				if here {
					x.add("agent", upkeep.SeverityWarning, name, fmt.Sprintf("write ./%s in agents.%s.command", a, name), "",
						"%s is a file of the project, but not of the worktrees in which coders and reviewers run: ./%s is taken from the project", a, a)
				} else {
					x.add("agent", upkeep.SeverityWarning, name, "edit agents."+name+".command in .liza/config.yaml", "", "the file %s of its command is neither in the project nor committed", a)
				}
			}
		}
		if len(command) > 0 && len(x.found) == before {
			x.add("agent", upkeep.SeverityOK, name, "", "", "its command is found from a worktree too")
		}
	}
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
