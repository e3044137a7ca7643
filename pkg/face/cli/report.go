package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/face/dashboard"
	"liza/pkg/verb/verb"
)

type reportOptions struct {
	env    *Env
	file   string
	sprint string
}

func newReport(env *Env) *urfave.Command {
	o := &reportOptions{env: env}
	return &urfave.Command{
		Name: "report", Category: "look", Usage: "tell what the sprint did",
		Description: "What was delivered, what to look at first, what is open, who worked when, what waited for what, costs, and why reviews sent work back; to be read by somebody\n" +
			"who does not know Liza. Markdown is for a forge, JSON has all figures. Commits are links when they\n" +
			"were pushed to a known forge (remote origin). Archived tasks of the sprint are in it. Changes nothing but the file." +
			examples("liza report", "liza report -o report.md") + exitsText(0, 1, 2, 3),
		Flags: []urfave.Flag{
			text("sprint", "`ID` of a sprint in the archive, also of a goal that is over (liza goal --list)", &o.sprint),
			text("o", "`FILE` to write to instead of printing; JSON when its name ends in .json", &o.file),
		},
		Action: env.do(env.slow("writing the report", o.run)),
	}
}

func (o *reportOptions) run(ctx context.Context, _ []string) error {
	d, s, stale, err := o.env.lookAt(ctx)
	if err != nil {
		return err
	}
	var f dashboard.ReportFacts
	if o.sprint != "" && (s.Sprint == nil || o.sprint != s.Sprint.ID) {
		s, f, err = archivedReport(d, s, o.sprint)
	} else {
		f, err = reportFacts(o.env.System.Log(), d, s)
	}
	if err != nil {
		return err
	}
	if f.Runs, err = history.ReadUsage(d.Board.Project.Usage()); err != nil {
		return err
	}
	f.Link = commitLinks(ctx, d, f.Tasks)
	r := dashboard.BuildReport(s, f)
	body, err := o.body(r)
	if err != nil {
		return err
	}
	if o.file == "" {
		return o.env.showStale(stale, r, body)
	}
	if err := o.env.writeFile(o.file, []byte(body)); err != nil {
		return err
	}
	return o.env.showStale(stale, map[string]string{"file": o.file}, "the report is in "+o.file+"\n")
}

func (o *reportOptions) body(r dashboard.Report) (string, error) {
	if strings.HasSuffix(o.file, ".json") {
		data, err := json.MarshalIndent(r, "", "  ")
		return string(data) + "\n", err
	}
	return r.Markdown(), nil
}

// commitLinks finds the pages of merge commits on a known forge; those that were not pushed have none.
func commitLinks(ctx context.Context, d *verb.Service, tasks []*blackboard.Task) func(string) string {
	if d.Board.Repo == nil {
		return nil
	}
	const remote = "origin"
	url, err := d.Board.Repo.RemoteURL(ctx, remote)
	pages := dashboard.CommitPages(url)
	if err != nil || pages == "" {
		return nil
	}
	var commits []string
	for _, t := range tasks {
		if t.MergeCommit != "" {
			commits = append(commits, t.MergeCommit)
		}
	}
	pushed, err := d.Board.Repo.Pushed(ctx, remote, commits)
	if err != nil {
		return nil // a report without links is whole
	}
	return func(commit string) string {
		if !pushed[commit] {
			return ""
		}
		return pages + commit
	}
}

// reportFacts are the facts of reports and figures: all tasks of the sprint, and its journal.
func reportFacts(log *slog.Logger, d *verb.Service, s *blackboard.State) (dashboard.ReportFacts, error) {
	f := dashboard.ReportFacts{Input: viewFacts(d, s)}
	var err error
	if f.Tasks, err = d.Board.Histories().SprintTasks(s); err != nil {
		log.Warn(err.Error())
		f.Tasks = s.SprintTasks(nil)
	}
	f.Journal, err = d.Board.Histories().SprintJournal(blackboard.ActionRunFailed)
	return f, err
}

// archivedReport is the board as it was when a sprint of the archive ended, as far as that is kept.
func archivedReport(d *verb.Service, s *blackboard.State, sprint string) (*blackboard.State, dashboard.ReportFacts, error) {
	f := dashboard.ReportFacts{Input: viewFacts(d, s)}
	x, err := d.Board.Histories().ArchivedSprint(sprint)
	if err != nil {
		return s, f, err
	}
	was := s.Clone()
	was.Sprint, was.Usage, was.Agents = x.Sprint, x.Usage, nil
	was.SetTasks(x.Tasks, nil)
	if x.Goal != nil {
		was.Goal = x.Goal
	} else if x.Sprint != nil && (s.Goal == nil || s.Goal.ID != x.Sprint.GoalRef) {
		was.Goal = &blackboard.Goal{ID: x.Sprint.GoalRef}
	}
	f.Tasks = x.Tasks
	return was, f, nil
}

// writeFile writes what a command was asked to put into a file.
func (e *Env) writeFile(name string, data []byte) error {
	if err := e.ownFile(name); err != nil {
		return err
	}
	path := e.path(name)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return usagef("liza help", "%s is not a file", name)
	}
	return safefile.Replace(path, []byte(e.System.Secrets().Mask(string(data))), 0o644)
}

// usageResult is the result of `liza usage`.
type usageResult struct {
	By     string             `json:"by"`
	Groups []history.UsageSum `json:"groups"`
	Total  history.UsageSum   `json:"total"`
}

func newUsage(env *Env) *urfave.Command {
	var by string
	return &urfave.Command{
		Name: "usage", Category: "look", Usage: "what the agents' runs cost, in money, tokens and time",
		Description: "Sums .liza/usage.jsonl, one line per run. A run whose program tells no cost counts as unknown (shown as '?'), never as zero.\n" +
			"Changes nothing." + examples("liza usage", "liza usage --by cli") + exitsText(0, 1, 2, 3),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "by", Value: "task", Usage: "`GROUP`: " + strings.Join(history.UsageGroups, ", "), Destination: &by},
		},
		Action: env.do(func(ctx context.Context, _ []string) error {
			if !slices.Contains(history.UsageGroups, by) {
				return usagef("liza help usage", "--by '%s' must be one of %s", by, strings.Join(history.UsageGroups, ", "))
			}
			d, _, stale, err := env.lookAt(ctx)
			if err != nil {
				return err
			}
			lines, err := history.ReadUsage(d.Board.Project.Usage())
			if err != nil {
				return err
			}
			r := usageResult{By: by, Groups: append([]history.UsageSum{}, history.SumUsage(lines, by)...), Total: history.UsageSum{Name: "total"}}
			for _, l := range lines {
				r.Total.Add(l)
			}
			return env.showStale(stale, r, r.text())
		}),
	}
}

func (r usageResult) text() string {
	var b strings.Builder
	if r.Total.Runs == 0 {
		b.WriteString("no agent has run yet\n")
	} else {
		r.table(&b)
	}
	return b.String()
}

func (r usageResult) table(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	again := func(text string) string { // a column only where somebody was asked again
		if r.Total.Asked == 0 {
			return ""
		}
		return text + "\t"
	}
	fmt.Fprintf(w, "%s\truns\tcost\ttokens in\tcached\tout\ttime\t%s\n", strings.ToUpper(r.By), again("asked again"))
	for _, g := range append(slices.Clone(r.Groups), r.Total) {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", g.Name, g.Runs, costText(g), tokensText(g, g.TokensIn), tokensText(g, g.TokensCached), tokensText(g, g.TokensOut), seconds(g.Seconds), again(strconv.Itoa(g.Asked)))
	}
	w.Flush()
}

// costText never shows an unknown cost as zero.
func costText(s history.UsageSum) string {
	switch {
	case s.UnknownCostRuns == 0:
		return s.CostCents.Dollars()
	case s.UnknownCostRuns == s.Runs:
		return "?"
	}
	return "≥ " + s.CostCents.Dollars() + " ?"
}

// tokensText never shows unknown tokens as zero.
func tokensText(s history.UsageSum, n int) string {
	switch {
	case s.UnknownTokenRuns == 0:
		return fmt.Sprint(n)
	case s.UnknownTokenRuns == s.Runs:
		return "?"
	}
	return fmt.Sprintf("≥ %d ?", n)
}

func seconds(n int) string {
	if n < 60 {
		return fmt.Sprintf("%ds", n)
	}
	return fmt.Sprintf("%dm%02ds", n/60, n%60)
}
