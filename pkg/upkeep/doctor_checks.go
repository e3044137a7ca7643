package upkeep

import (
	"context"
	"strings"

	"liza/pkg/blackboard"
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
		checks, head, err := x.look(ctx, run)
		open := 0
		for _, c := range checks {
			if c.Cut {
				x.Add("checks", SeverityInfo, c.Check, runsChecks, "", "%q did not end within %s on %.9s: whether it is green here is not known", c.Command, verb.TryTime, head)
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
			x.Add("checks", SeverityError, branch, "liza doctor", "", "cannot run the checks on %.9s: %v", head, err)
		case len(checks) == 0:
			x.Add("checks", SeverityInfo, branch, "edit review.checks in .liza/config.yaml", "", "no command of a check is configured, and none was detected")
		case open > 0:
			x.Add("checks", SeverityInfo, branch, runsChecks, "", "%s of checks not run on its head yet: whether they pass before any work is not known", prose.Count(open, "command"))
		}
	}
}

// unverified shows what a person has to decide, or has decided, about checks that have never passed here.
func (x *Doctor) unverified(context.Context, *project.Project) {
	if x.State == nil {
		return
	}
	for _, q := range x.State.Questions {
		if q == nil || q.Kind != blackboard.QuestionUnverified {
			continue
		}
		switch next := "liza answer " + q.ID + " '" + blackboard.AnswerGoOn + "'"; {
		case q.Status == blackboard.QuestionOpen:
			x.Add("checks", SeverityWarning, q.ID, next, "", "merges wait: %q has never passed here, and verifies nothing; go on without it, or stop?", q.Check)
		case q.Status == blackboard.QuestionAnswered && q.Answer == blackboard.AnswerStop:
			x.Add("checks", SeverityWarning, q.ID, next, "", "merges wait until %q passes: %s said %s", q.Check, q.By, q.Answer)
		case q.Status == blackboard.QuestionAnswered:
			x.Add("checks", SeverityWarning, q.ID, "liza check", "", "work is merged unchecked: %q has never passed here, and %s said %s", q.Check, q.By, q.Answer)
		}
	}
}

// look runs the checks on the head of the integration branch, or tries those once of which nothing is known.
func (x *Doctor) look(ctx context.Context, run bool) ([]verb.BaseCheck, string, error) {
	if x.Try && !run {
		return x.Service.TryChecks(ctx, x.State)
	}
	return x.Service.BaseChecks(ctx, x.State, run)
}

// baseCheck says what a command gave on a commit.
func (x *Doctor) baseCheck(check string, r verb.BaseResult, commit string) {
	log := "less " + strings.TrimPrefix(r.End.Log, x.Service.Project.Root+"/")
	severity := SeverityOK
	switch {
	case r.End.Setup != "" || r.End.Failed:
		severity = SeverityWarning
	case r.End.ExitCode != 0:
		severity = SeverityInfo
	default:
		log = ""
	}
	x.Add("checks", severity, check, log, lastOf(r.Tail), "%q on %.9s without any change of an agent: %s", r.Command, commit, verb.CheckEnd{End: r.End}.Text())
}

// lastOf is the last line of a text.
func lastOf(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// redChecks is for the short form: what is known to be red.
func (x *Doctor) redChecks(ctx context.Context, _ *project.Project) {
	if _, _, err := x.look(ctx, false); err != nil && ctx.Err() == nil {
		x.Add("checks", SeverityWarning, x.State.IntegrationBranch(), "liza doctor --checks", "", "cannot try the checks: %v", err)
	}
	for _, r := range x.Service.RedBaseline(ctx) {
		x.baseCheck(r.Check, r, r.Commit)
	}
}
