package verb

import (
	"unicode/utf8"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
)

// SubmitInput is what a submission says (specs/cli.md#3).
type SubmitInput struct {
	Task     string
	Commit   string // "" is the worktree's HEAD
	Summary  string
	NoTests  string
	Evidence []string
}

// BlockInput is what a block says.
type BlockInput struct {
	Task, Reason         string
	Questions, Attempted []string
	ByVerb               bool               // the reason is the caller's own and has to say something
	Synthetic            bool               // the question was made up by the supervisor
	Prompted             *Prompted          // the program asked it on its terminal
	Output               *blackboard.Output // what the command gave that failed
}

// Verdict is what a reviewer decides.
type Verdict string

// VerdictInput is what a reviewer says.
type VerdictInput struct {
	Task, Reason       string
	Verdict            Verdict
	Findings           []*blackboard.Finding
	Inject             []*blackboard.Fix
	Prior              []*blackboard.Prior
	Suggestions, Learn []string
	What               string // of a supervisor's release: failed, retry
	Supervisor         bool   // the verdict comes through the reviewer's supervisor
	Checks             bool   // it was made of what the checks found, not by a reviewer
}

// sizes refuses a person's or an agent's verdict that is bigger than one by exit command may
// be (specs/roles-and-knowledge.md#5.3). What a supervisor says is made of such texts, and no verdict
// is refused because of what was learned (6.2).
func (in *VerdictInput) sizes() error {
	const help = "liza help verdict"
	if len(in.Inject) > 0 && in.Verdict != Reject {
		return WrongUsage(help, "--inject goes with reject only")
	}
	if in.Supervisor {
		return nil
	}
	if n, most := utf8.RuneCountInString(in.Reason), exitcmd.LimitOf("ReviewExit.reason").Most; n > most {
		return WrongUsage(help, "--reason has %d characters; %d is the limit", n, most)
	}
	for _, list := range []struct {
		option, key string
		n           int
	}{{"--inject", "inject", len(in.Inject)}, {"--finding", "findings", len(in.Findings)}, {"--suggest", "suggestions", len(in.Suggestions)}} {
		if most := exitcmd.LimitOf("ReviewExit." + list.key).Items; list.n > most {
			return WrongUsage(help, "%s was given %d times; %d is the limit", list.option, list.n, most)
		}
	}
	return nil
}

// Prompted is a question that a program asked on its terminal, where nobody is
// (specs/roles-and-knowledge.md#9.2).
type Prompted struct {
	Type    string // confirmation, permission, choice, input
	Text    string
	Options []string
}

// The verdicts. StuckReview gives the review claim back.
const (
	Approve     Verdict = "approve"
	Reject      Verdict = "reject"
	Replan      Verdict = "replan"
	StuckReview Verdict = "stuck"
)

// Verdicts are the words for them.
var Verdicts = []string{string(Approve), string(Reject), string(Replan), string(StuckReview)}
