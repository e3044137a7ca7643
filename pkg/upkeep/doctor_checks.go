package upkeep

import (
	"context"
	"fmt"
	"strings"

	"liza/pkg/project"
	"liza/pkg/prose"
	"liza/pkg/verb"
)

// runsChecks is the command that runs the checks before any work begins.
const runsChecks = "liza doctor --checks"

// baseChecks looks whether the checks are green before any work begins: what is red there counts
// against no change, and hides what a change breaks.
func (x *Doctor) baseChecks(run bool) func(context.Context, *project.Project) {
	return func(ctx context.Context, _ *project.Project) {
		if x.Service == nil || x.Service.Repo == nil || x.State == nil {
			return
		}
		x.Service.Progress = x.Say
		checks, head, err := x.Service.BaseChecks(ctx, x.State, run)
		open := 0
		for _, c := range checks {
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
			x.Add("checks", SeverityError, branch, "liza doctor", "", "cannot run the checks on %.9s: %v", head, err)
		case len(checks) == 0:
			x.Add("checks", SeverityInfo, branch, "edit review.checks in .liza/config.yaml", "", "no command of a check is configured, and none was detected")
		case open > 0:
			x.Add("checks", SeverityInfo, branch, runsChecks, "", "%s of checks not run on its head yet: whether they pass before any work is not known", prose.Count(open, "command"))
		}
	}
}

// baseCheck says what a command gave on a commit.
func (x *Doctor) baseCheck(check string, r verb.BaseResult, commit string) {
	log := "less " + strings.TrimPrefix(r.End.Log, x.Service.Project.Root+"/")
	switch {
	case r.End.Setup != "":
		x.Add("checks", SeverityWarning, check, log, lastOf(r.Tail), "worktree.setup fails on %.9s, so no check can be run there: %q", commit, r.End.Setup)
	case r.End.Failed:
		how := fmt.Sprintf("exit code %d", r.End.ExitCode)
		if r.End.TimedOut {
			how = "no end within its time limit"
		}
		x.Add("checks", SeverityWarning, check, log, lastOf(r.Tail), "%q fails on %.9s without any change of an agent (%s)", r.Command, commit, how)
	case r.End.ExitCode != 0:
		x.Add("checks", SeverityInfo, check, log, "", "%q was not found on %.9s, so nothing was checked", r.Command, commit)
	default:
		x.Add("checks", SeverityOK, check, "", "", "%q passes on %.9s", r.Command, commit)
	}
}

// lastOf is the last line of a text.
func lastOf(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// redChecks is for the short form: what is known to be red.
func (x *Doctor) redChecks(ctx context.Context, _ *project.Project) {
	for _, r := range x.Service.RedBaseline(ctx) {
		x.baseCheck(r.Check, r, r.Commit)
	}
}
