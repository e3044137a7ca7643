package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/history"
	"liza/pkg/verb/board"
)

// runsOf shows what the agents of a task were given and answered: all in a table, or the one with the number that was given.
func (o *showOptions) runsOf(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usagef("liza help show", "--runs and --run need the ID of a task, or planner")
	}
	d, err := o.env.System.Reader(ctx)
	if err != nil {
		return err
	}
	task := args[0]
	if task == "planner" {
		task = board.PlannerRuns
	}
	list, err := d.Board.Histories().History(ctx, task)
	if err != nil {
		return err
	}
	if o.run == "" {
		return o.runsTable(list, args[0])
	}
	in, err := board.InteractionOf(list, args[0], o.run)
	if err != nil {
		return err
	}
	return o.env.Print(in, "%s", interactionText(in))
}

func (o *showOptions) runsTable(list []history.Interaction, task string) error {
	if len(list) == 0 {
		return o.env.Print(map[string]any{"task": task, "interactions": []history.Interaction{}}, "%s has no runs\n", task)
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
