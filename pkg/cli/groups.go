package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"
)

// A group is what a person looks for at one time. Those for people name their commands here;
// the others have the commands of a category.
type group struct {
	name, title string
	commands    []string
}

var groups = []group{
	{"start", "Start", []string{"help", "init", "join", "run", "demo", "goal", "doctor", "check", "sandbox", "config"}},
	{"look", "Look", []string{"status", "show", "diff", "output", "attach", "log", "graph", "watch", "top", "serve", "report", "usage", "validate"}},
	{"steer", "Steer", []string{"note", "pause", "resume", "abort", "checkpoint", "stop", "restart", "hold", "unhold", "edit", "sprint", "sync", "import", "land"}},
	{"decide", "Decide", []string{"questions", "answer", "comment", "approve-merge", "reject-merge", "release", "resubmit", "integration", "analyze", "ack"}},
	{"teach", "Teach", []string{"facts", "spec-change", "roles", "preview"}},
	{"repair", "Repair", []string{"restore", "store", "seal", "archive", "gc", "uninit", "explain"}},
	{"time-travel", "Time travel", []string{"history", "step", "poststep", "restep", "rerun", "replay"}},
	{"agents", "For agents, and for people with --as AGENT_ID", nil},
	{"plumbing", "Plumbing, for supervisors and scripts", nil},
}

// daily is what the first screen explains: what somebody needs who works with Liza every day.
var daily = []struct{ usage, says string }{
	{"init GOAL", "make this repository a Liza project with a goal"},
	{"run", "run the whole team until the goal is complete"},
	{"status, top", "see goal, tasks, agents, and what waits for you"},
	{"show ID, log", "see one task or agent whole; see what happened"},
	{"output ID -f", "follow what an agent, or the one of a task, says and does"},
	{"note TEXT", "tell the planner something, or a task (--task ID)"},
	{"questions, answer ID", "see what agents ask, and answer"},
	{"approve-merge ID", "release work that waits for a person; or reject-merge"},
	{"pause, resume, abort", "stop the team, or let it go on"},
	{"doctor", "look at everything that a team needs"},
}

// of lists the commands of a group, in its order.
func (g group) of(app *urfave.Command) []*urfave.Command {
	var list []*urfave.Command
	for _, name := range g.commands {
		list = append(list, app.Command(name))
	}
	for _, c := range app.Commands {
		if g.commands == nil && c.Category == g.name && !c.Hidden {
			list = append(list, c)
		}
	}
	return list
}

func groupNames() string {
	var list []string
	for _, g := range groups {
		list = append(list, g.name)
	}
	return strings.Join(list, ", ")
}

// firstScreen has what is needed every day, and the names of all else.
func firstScreen(app *urfave.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\nEvery day\n", app.Name, app.Usage)
	for _, d := range daily {
		fmt.Fprintf(&b, "  %-21s %s\n", d.usage, d.says)
	}
	b.WriteString("\nAll commands, by group\n")
	for _, g := range groups {
		lines := wrap(strings.Join(names(g.of(app)), " "), 80)
		fmt.Fprintf(&b, "  %-12s %s\n", g.name, strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", 15)))
	}
	b.WriteString("\nliza help COMMAND explains one, liza help GROUP a group, liza help all everything.\n")
	return b.String()
}

// overviewText explains every command in a line, by group.
func overviewText(app *urfave.Command) string {
	return fmt.Sprintf("%s - %s\n\nUsage: %s [global options] COMMAND [options] [arguments]\n\n%s\nGlobal options, before or behind the command\n%s\nliza help COMMAND explains one. Start with: liza demo\n",
		app.Name, app.Usage, app.Name, groupsText(app, ""), optionsText(globals(app)))
}

// groupsText explains the commands of a group, of all for people, or with "" of all; it is "" for
// what is not a group.
func groupsText(app *urfave.Command, name string) string {
	var parts []string
	for _, g := range groups {
		if name != "" && name != g.name && (name != "people" || g.commands == nil) {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n", g.title)
		for _, c := range g.of(app) {
			fmt.Fprintf(&b, "  %-15s %s\n", c.Name, c.Usage)
		}
		parts = append(parts, b.String())
	}
	return strings.Join(parts, "\n")
}
