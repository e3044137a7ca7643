package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
	"liza/pkg/verb/verb"
)

type showOptions struct {
	env  *Env
	view string
}

func newShow(env *Env) *urfave.Command {
	o := &showOptions{env: env}
	return &urfave.Command{
		Name: "show", Category: "look", ArgsUsage: "[ID]", Usage: "show one task, agent, question, plan or discovery, whole",
		Description: "All fields, history, dependencies, findings and attempts. Without ID it is `liza status`. Changes nothing." +
			examples("liza show task-3", "liza show --view logist") + exitsText(0, 1, 2, 3, 4),
		Flags:  []urfave.Flag{viewFlag(&o.view)},
		Action: env.do(o.run),
	}
}

func (o *showOptions) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return (&statusOptions{env: o.env, view: o.view}).run(ctx, nil)
	}
	if err := checkView(o.view); err != nil {
		return err
	}
	d, s, stale, err := o.env.lookAt(ctx)
	if err != nil {
		return err
	}
	sprint := ""
	entry, what, ok := dashboard.Find(s, args[0])
	if !ok {
		if sprint, err = o.fetch(d, s, args[0]); err != nil {
			return err
		}
		entry, what, _ = dashboard.Find(s, args[0])
	}
	result := map[string]any{"kind": what, what: dashboard.Plain(entry)}
	body := dashboard.TaskText(s, args[0])
	if t, ok := entry.(*blackboard.Task); ok && o.view != "liza" {
		translated := o.viewStatus(d, s, t)
		result["view_status"] = translated
		body += "\n" + dashboard.InWords(t, o.view, translated)
	}
	if a, ok := entry.(*blackboard.Agent); ok && o.view != "liza" {
		word := dashboard.Word(string(a.Role), o.view)
		result["view_role"] = word
		body += fmt.Sprintf("\nIn the words of %s\n  role  %s\n", o.view, word)
	}
	for id, doing := range sourceOf(d, o.view).DoingOn(s) {
		if a := s.Agents[id]; id == args[0] || a.CurrentTask == args[0] {
			result["doing"] = doing
			body += dashboard.DoingText(id, doing)
		}
	}
	if t, ok := entry.(*blackboard.Task); ok {
		body += o.change(ctx, d, t)
		for _, c := range radar(ctx, d, s, t.ID) {
			result["conflicts"] = c.Files
			body += "\n" + c.String() + "\n"
		}
	}
	if sprint != "" {
		result["archived"] = sprint
		body += "\narchived with " + sprint + "\n"
	}
	return o.env.showStale(stale, result, body)
}

// change leads to what a task changes, "" for one that has nothing to show.
func (o *showOptions) change(ctx context.Context, d *verb.Service, t *blackboard.Task) string {
	if d.Board.Repo == nil || t.ReviewCommit == "" && t.Worktree == "" {
		return ""
	}
	if t.Status == blackboard.Claimed { // its worktree is not read for a number
		return fmt.Sprintf("\nChange\n  liza diff %s   as its worktree is now\n", t.ID)
	}
	diff, err := sourceOf(d, "liza").Diff(ctx, t.ID)
	if err != nil || diff == nil {
		return ""
	}
	found := len(diff.Findings)
	for _, f := range diff.Files {
		found += len(f.Findings)
	}
	text := fmt.Sprintf("\nChange\n  liza diff %s   %s, +%d -%d", t.ID, prose.Count(len(diff.Files), "file"), diff.Added, diff.Removed)
	if found > 0 {
		text += ", " + prose.Count(found, "finding")
	}
	return text + "\n"
}

// viewStatus is the status in the vocabulary, as `liza status` shows it.
func (o *showOptions) viewStatus(d *verb.Service, s *blackboard.State, t *blackboard.Task) string {
	for _, row := range dashboard.Build(s, viewFacts(d, s, o.view)).Tasks {
		if row.ID == t.ID {
			return row.ViewStatus
		}
	}
	return dashboard.ViewStatus(t, o.view)
}

// fetch puts an archived task where the others are, and names the sprint that has it.
func (o *showOptions) fetch(d *verb.Service, s *blackboard.State, id string) (sprint string, err error) {
	if g, err := d.Board.Histories().ArchivedGoal(id); err != nil {
		return "", err
	} else if g != nil {
		s.Goal = g
		return "the sprints of `liza goal --list`", nil
	}
	t, sprint, err := d.Board.Histories().ArchivedTask(id)
	if err == nil && t == nil {
		err = notThere(s, id)
	}
	if err != nil {
		return "", err
	}
	s.AddTasks(t)
	return sprint, nil
}

func notThere(s *blackboard.State, id string) error {
	known := append(taskIDs(s), slices.Sorted(maps.Keys(s.Agents))...)
	for _, q := range s.Questions {
		if q != nil {
			known = append(known, q.ID)
		}
	}
	for _, p := range s.Plans {
		if p != nil {
			known = append(known, p.ID)
		}
	}
	for _, d := range s.Discovered {
		if d != nil {
			known = append(known, d.ID)
		}
	}
	message := "nothing on the board has the id '" + id + "'"
	if near := blackboard.Nearest(id, known); near != "" {
		message += "; did you mean '" + near + "'?"
	}
	return &transition.Refusal{Guard: "G05", Exit: transition.ExitRefused, Next: "liza status", Message: message}
}

type diffOptions struct {
	env         *Env
	stat, plain bool
}

func newDiff(env *Env) *urfave.Command {
	o := &diffOptions{env: env}
	return &urfave.Command{
		Name: "diff", Category: "look", ArgsUsage: "ID [PATH…]", Usage: "show what a task changes, with what was found at its lines",
		Description: "The task's own change against the place where it left the integration branch: while it is worked on (as its worktree is now, with what is not\n" +
			"committed), under review, and after its merge. Findings of the last review and comments of people (liza comment) are below their lines. PATHs are files,\n" +
			"folders and patterns from the top of the repository. On a terminal it goes through git's pager. Secrets are masked. Changes nothing." +
			examples("liza diff task-3", "liza diff task-3 --stat", "liza diff task-3 src/", "liza diff task-3 --no-findings | git apply") + exitsText(0, 1, 2, 3, 4),
		Flags: []urfave.Flag{
			flag("stat", "only how many lines of which files", &o.stat),
			flag("no-findings", "the change alone, as git shows it", &o.plain),
		},
		Action: env.onProject(env.System.GitReader, o.run),
	}
}

func (o *diffOptions) run(ctx context.Context, d *verb.Service, args []string) error {
	id, paths := args[0], args[1:]
	change, err := sourceOf(d, "liza").Diff(ctx, id)
	if err != nil {
		return err
	}
	if change == nil {
		s, err := d.Board.View(ctx)
		if err != nil {
			return err
		}
		return notThere(s, id)
	}
	if len(paths) > 0 && !change.Only(paths) {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza diff " + id + " --stat", Message: fmt.Sprintf("%s does not change %s", id, paths[0])}
	}
	if o.plain {
		change.Place(nil)
	}
	if o.env.JSON {
		return o.env.Print(change, "")
	}
	text := ""
	if o.stat {
		text = dashboard.DiffStat(change, o.env.terminal().width(), o.env.terminal().colour())
	} else {
		text = dashboard.DiffText(change, o.env.terminal().colour(), o.env.Terminal)
	}
	return o.env.terminal().page(ctx, text)
}
