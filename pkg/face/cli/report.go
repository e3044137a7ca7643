package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/face/dashboard"
	"liza/pkg/verb/verb"
)

type reportOptions struct {
	env          *Env
	format, file string
	sprint       string
}

func newReport(env *Env) *urfave.Command {
	o := &reportOptions{env: env}
	return &urfave.Command{
		Name: "report", Category: "look", Usage: "tell what the sprint did",
		Description: "What was delivered, what to look at first, what is open, who worked when, what waited for what, costs, and why reviews sent work back; to be read by somebody\n" +
			"who does not know Liza. HTML is one page that needs nothing from outside, Markdown is for a forge, JSON has all figures. Commits are links when they\n" +
			"were pushed to a known forge (remote origin). Archived tasks of the sprint are in it. Changes nothing but the file." +
			examples("liza report", "liza report --format html -o report.html") + exitsText(0, 1, 2, 3),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "format", Value: "md", Usage: "`F`: " + strings.Join(dashboard.ReportFormats, ", "), Destination: &o.format},
			text("sprint", "`ID` of a sprint in the archive, also of a goal that is over (liza goal --list)", &o.sprint),
			text("o", "`FILE` to write to instead of printing", &o.file),
		},
		Action: env.do(env.slow("writing the report", o.run)),
	}
}

func (o *reportOptions) run(ctx context.Context, _ []string) error {
	if !slices.Contains(dashboard.ReportFormats, o.format) {
		return usagef("liza help report", "--format '%s' must be one of %s", o.format, strings.Join(dashboard.ReportFormats, ", "))
	}
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
	return o.env.showStale(stale, map[string]string{"file": o.file, "format": o.format}, "the report is in "+o.file+"\n")
}

func (o *reportOptions) body(r dashboard.Report) (string, error) {
	switch o.format {
	case "html":
		return r.HTML()
	case "json":
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
	f := dashboard.ReportFacts{Facts: viewFacts(d, s, "")}
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
	f := dashboard.ReportFacts{Facts: viewFacts(d, s, "")}
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
