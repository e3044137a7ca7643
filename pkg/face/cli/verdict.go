package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/verb"
)

type verdictOptions struct {
	env                     *Env
	in                      verb.VerdictInput
	reasonFile              string
	findings, inject, prior []string
}

func newVerdict(env *Env) *urfave.Command {
	o := &verdictOptions{env: env}
	return &urfave.Command{
		Name: "verdict", Aliases: []string{"submit-verdict"}, Category: "agents", ArgsUsage: "ID " + strings.Join(verb.Verdicts, "|"),
		Usage: "judge what was submitted (code_reviewer)",
		Description: "approve: APPROVED, or REJECTED by the gate when a check found an error, which is said. reject: REJECTED, back to the coder. replan: BLOCKED, the\n" +
			"planner takes over. stuck: the review is given back and people are told. The verdict is about the exact commit that was submitted." +
			examples("liza verdict task-3 approve --suggest 'name the constant'",
				"liza verdict task-3 reject --reason 'cli.py:12 prints a traceback' --finding 'error|code_quality|cli.py:12|traceback|catch ValueError'") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("reason", "`T`: file and place, defect, fix; required but for approve", &o.in.Reason),
			text("reason-file", "`F`: file with the reason; - is stdin", &o.reasonFile),
			texts("finding", "`F`: 'severity|check|file:line|message|fix'; severity is error, warning or info", &o.findings),
			texts("inject", "`JSON`: step that the coder has to do, {\"detail\": …, \"expect\": …}; with reject", &o.inject),
			texts("prior", "`N=STATE`: what became of point N of the last rejection: RESOLVED, PARTIAL, STILL_PRESENT", &o.prior),
			texts("suggest", "`T`: suggestion that blocks nothing", &o.in.Suggestions),
			texts("learn", "`T`: lasting fact about the project, 15 to 500 characters", &o.in.Learn),
		},
		Action: env.do(o.run),
	}
}

func (o *verdictOptions) run(ctx context.Context, args []string) error {
	o.in.Task, o.in.Verdict = args[0], verb.Verdict(args[1])
	if err := o.fill(); err != nil {
		return err
	}
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	done, err := d.Verdict(ctx, o.in)
	if err == nil && done.OverruledBy != "" {
		return o.env.showResult(done, done.Done, nil, "%s is %s: the %s overruled the approval: %s", done.Task, done.Status, done.OverruledBy, done.OverruledWhy)
	}
	if o.in.Verdict == verb.StuckReview {
		return o.env.showResult(done, done.Done, err, "the review of %s is given back, and the task is on hold (%s)", done.Task, done.Status)
	}
	return o.env.showResult(done, done.Done, err, "%s is %s", done.Task, done.Status)
}

func (o *verdictOptions) fill() error {
	if !slices.Contains(verb.Verdicts, string(o.in.Verdict)) {
		return usagef("liza help verdict", "verdict '%s' is unknown; it must be %s", o.in.Verdict, strings.Join(verb.Verdicts, ", "))
	}
	if o.reasonFile != "" {
		if o.in.Reason != "" {
			return usagef("liza help verdict", "--reason and --reason-file exclude each other")
		}
		data, err := o.env.readText(o.reasonFile)
		if err != nil {
			return err
		}
		o.in.Reason = strings.TrimSpace(string(data))
	}
	for _, f := range o.findings {
		finding, err := verb.ParseFinding(f)
		if err != nil {
			return err
		}
		o.in.Findings = append(o.in.Findings, finding)
	}
	for _, text := range o.inject {
		fix, err := parseInject(text)
		if err != nil {
			return err
		}
		o.in.Inject = append(o.in.Inject, fix)
	}
	for _, text := range o.prior {
		prior, err := parsePrior(text)
		if err != nil {
			return err
		}
		o.in.Prior = append(o.in.Prior, prior)
	}
	return nil
}

// parseInject reads a corrective step; description and done_when are aliases as in plans.
func parseInject(text string) (*blackboard.Fix, error) {
	var item exitcmd.PlanTask
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&item); err != nil {
		return nil, usagef("liza help verdict", "--inject must be a JSON object such as {\"detail\": \"…\", \"expect\": \"…\"}: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if problem := item.FixProblem(); problem != "" {
		return nil, usagef("liza help verdict", "--inject: %s", problem)
	}
	return item.Fix(), nil
}

func parsePrior(text string) (*blackboard.Prior, error) {
	n, state, ok := strings.Cut(text, "=")
	number, err := strconv.Atoi(strings.TrimSpace(n))
	state = strings.ToUpper(strings.TrimSpace(state))
	if !ok || err != nil || number < 1 || !exitcmd.LimitOf("Prior.state").Has(state) {
		return nil, usagef("liza help verdict", "--prior '%s' must have the form N=RESOLVED, N=PARTIAL or N=STILL_PRESENT", text)
	}
	return &blackboard.Prior{N: number, State: blackboard.PriorState(state)}, nil
}

func newComment(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "comment", Category: "people", ArgsUsage: "ID [PLACE] TEXT", Usage: "say something about the change of a task, at a line",
		Description: "The coder gets it with its next prompt, as a finding when the work is rejected. PLACE is FILE:LINE of the file as the task leaves it, or FILE; without\n" +
			"it the comment is about the whole change. Work that is approved then waits for you: `liza reject-merge TASK` sends it back with all comments, and needs no other reason." +
			examples("liza comment task-3 hello.py:12 'the flag must stay'", "liza comment task-3 'too much in one change'") + exitsText(0, 1, 2, 3, 4, 5),
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			in := verb.Comment{Task: args[0], Text: args[len(args)-1]}
			place := "the change"
			if len(args) == 3 {
				in.Path, place = args[1], args[1]
				if path, line, ok := cutLine(args[1]); ok {
					in.Path, in.Line = path, line
				}
			}
			done, err := d.Comment(ctx, in)
			return env.showDone(done, err, "%s (%s) has your comment on %s", done.Task, done.Status, place)
		}),
	}
}

// cutLine splits PATH:LINE. A name may end in a colon and a number: then the line has to be given as well, be it 0.
func cutLine(place string) (path string, line int, ok bool) {
	i := strings.LastIndexByte(place, ':')
	if i < 0 {
		return place, 0, false
	}
	line, err := strconv.Atoi(place[i+1:])
	return place[:i], line, err == nil
}
