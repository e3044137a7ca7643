package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/board/history"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

type historyOptions struct {
	env  *Env
	n    string
	raw  bool
	diff string
}

func newHistory(env *Env) *urfave.Command {
	o := &historyOptions{env: env}
	return &urfave.Command{
		Name: "history", Category: "look", ArgsUsage: "TASK [B]", Usage: "what the agents of a task were given, and what they answered",
		Description: "Every run of an agent program is one interaction, numbered from 1; TASK may be _planner or _summarizer. The file is\n" +
			".liza/history/TASK/jobHistory.json. Nothing is decided by it, and reading it changes nothing." +
			examples("liza history task-3", "liza history task-3 --n 2 --raw > answer.json", "liza history task-3 --diff 1 2") + exitsText(0, 1, 2, 3, 4),
		Flags: []urfave.Flag{
			text("n", "`K`: that interaction, whole", &o.n),
			flag("raw", "only what the program answered; without --n of the newest one", &o.raw),
			text("diff", "`A` B: how the prompt of interaction B differs from that of A", &o.diff),
		},
		Action: env.onReader(o.run),
	}
}

func (o *historyOptions) run(ctx context.Context, d *verb.Service, args []string) error {
	task := args[0]
	list, err := d.Board.Histories().History(ctx, task)
	if err != nil {
		return err
	}
	if o.diff != "" || len(args) > 1 {
		return o.compare(list, task, args[1:])
	}
	if o.n == "" && o.raw {
		if o.n = newestAnswer(list); o.n == "" {
			return usagef("liza history "+task, "no program has answered for %s yet", task)
		}
	}
	if o.n == "" && !o.raw {
		return o.table(list, task)
	}
	in, err := board.InteractionOf(list, task, "--n", o.n)
	switch {
	case err != nil:
		return err
	case o.raw && o.env.JSON:
		return o.env.Print(map[string]any{"sequence": in.Sequence, "raw_response": in.Response.RawResponse}, "")
	case o.raw:
		_, err := fmt.Fprint(o.env.System.Stdout, in.Response.RawResponse)
		return err
	}
	return o.env.Print(in, "%s", interactionText(in))
}

// newestAnswer is the number of the newest interaction that is a run, "" when there is none.
func newestAnswer(list []history.Interaction) string {
	for _, in := range slices.Backward(list) {
		if in.Liza.Event == "" {
			return strconv.Itoa(in.Sequence)
		}
	}
	return ""
}

func (o *historyOptions) table(list []history.Interaction, task string) error {
	if len(list) == 0 {
		return o.env.Print(map[string]any{"task": task, "interactions": []history.Interaction{}}, "%s has no interactions\n", task)
	}
	rows := [][]string{{"#", "TIME", "AGENT", "ROLE", "BEFORE", "AFTER", "RESULT", "SECONDS", "COST", "SUMMARY"}}
	for _, in := range list {
		l := in.Liza
		row := []string{strconv.Itoa(in.Sequence), string(in.Timestamp), in.Request.Metadata.Agent, in.Request.Metadata.Role, l.StatusBefore, l.StatusAfter, resultOf(in), strconv.Itoa(l.Seconds), "?", in.Response.Summary}
		if l.CostCents != nil {
			row[8] = fmt.Sprintf("%s ct", *l.CostCents)
		}
		if l.Event != "" {
			row[2], row[3], row[7], row[8] = "-", "-", "-", "-"
		}
		row[9] = prose.OneLine(cmp.Or(row[9], l.Error), listWidth)
		rows = append(rows, row)
	}
	return o.env.Print(map[string]any{"task": task, "interactions": list}, "%s", prose.Columns(rows))
}

// resultOf is what came of an interaction, in a word.
func resultOf(in history.Interaction) string {
	switch {
	case in.Liza.Event != "":
		return in.Liza.Event
	case in.Liza.Simulated:
		return strings.Join(in.Response.Actions, " ") + " (simulated)"
	case in.Response.Status != history.Success:
		return in.Response.Status
	case len(in.Response.Actions) == 0:
		return "by verbs"
	}
	return strings.Join(in.Response.Actions, " ")
}

func interactionText(in history.Interaction) string {
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", key, value)
		}
	}
	m, l := in.Request.Metadata, in.Liza
	line("number", strconv.Itoa(in.Sequence))
	line("time", string(in.Timestamp))
	line("status", fmt.Sprintf("%s (%s) to %s", l.StatusBefore, in.StateBefore, l.StatusAfter))
	line("event", l.Event)
	line("agent", strings.TrimSpace(fmt.Sprintf("%s %s %s %s", m.Agent, m.Role, m.Adapter, m.Model)))
	line("workspace", in.WorkspacePath)
	line("files", strings.Join(in.Request.FilesContext, ", "))
	line("refused", strings.Join(l.RefusedHosts, ", "))
	line("commits", strings.TrimSpace(fmt.Sprintf("%.9s %.9s", l.CommitBefore, l.CommitAfter)))
	line("response", in.Response.Status+" "+strings.Join(in.Response.Actions, " "))
	line("error", l.Error)
	line("summary", in.Response.Summary)
	line("evidence", strings.Join(in.Response.EvidenceFiles, ", "))
	if in.Request.Prompt != "" {
		fmt.Fprintf(&b, "\n--- prompt ---\n%s\n", strings.TrimSuffix(in.Request.Prompt, "\n"))
	}
	if in.Response.RawResponse != "" {
		fmt.Fprintf(&b, "\n--- answer ---\n%s\n", strings.TrimSuffix(in.Response.RawResponse, "\n"))
	}
	return b.String()
}

// compare shows how two prompts differ.
func (o *historyOptions) compare(list []history.Interaction, task string, rest []string) error {
	if o.diff == "" || len(rest) != 1 {
		return usagef("liza help history", "--diff needs two numbers: liza history %s --diff 1 2", task)
	}
	var pair [2]history.Interaction
	for i, number := range []string{o.diff, rest[0]} {
		var err error
		if pair[i], err = board.InteractionOf(list, task, "--diff", number); err != nil {
			return err
		}
	}
	a, b := pair[0], pair[1]
	name := func(in history.Interaction) string { return fmt.Sprintf("prompt of interaction %d", in.Sequence) }
	diff := role.Unified(name(a), name(b), a.Request.Prompt, b.Request.Prompt)
	text := diff
	if diff == "" {
		text = fmt.Sprintf("the prompts of interactions %d and %d are the same\n", a.Sequence, b.Sequence)
	}
	return o.env.Print(map[string]any{"task": task, "from": a.Sequence, "to": b.Sequence, "diff": diff}, "%s", text)
}
