package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/protocols"
)

func newHelp(env *Env, app *urfave.Command) *urfave.Command {
	return &urfave.Command{
		Name: "help", Category: "people", ArgsUsage: "[TOPIC] [NAME…]",
		Usage: "explain a command, a protocol, or the exit command's schema",
		Flags: []urfave.Flag{&urfave.BoolFlag{Name: "all", Usage: "explain every command in a line"}},
		Description: "Without a topic: what is needed every day, and the groups of commands. TOPIC is a command, a group (" + groupNames() + "), `all` for\n" +
			"every command, `protocol NAME` for a text about how the team works, or `schema` for the JSON Schema of the exit command. Changes nothing." +
			examples("liza help add-task", "liza help decide", "liza help protocol task-lifecycle") + exitsText(0, 1, 2),
		Action: func(_ context.Context, c *urfave.Command) error {
			if c.Bool("all") {
				return env.topic(app, []string{"all"})
			}
			return env.topic(app, c.Args().Slice())
		},
	}
}

func (e *Env) topic(app *urfave.Command, words []string) error {
	if len(words) == 0 {
		return e.overview(app)
	}
	switch words[0] {
	case "protocol", "protocols":
		return e.protocol(words[1:])
	case "schema":
		return e.printRaw("schema", exitcmd.Schema())
	case "all":
		return e.printText("help", overviewText(app))
	}
	if text := groupsText(app, words[0]); text != "" && len(words) == 1 {
		return e.printText("help", text)
	}
	c := app
	for _, w := range words {
		sub := c.Command(w)
		if sub == nil {
			return unknownCommand(c, w)
		}
		c = sub
	}
	return e.helpOf(c)
}

func (e *Env) protocol(words []string) error {
	names := protocols.Names()
	if len(words) == 0 {
		return e.printText("help", "The protocols are:\n\n  "+strings.Join(names, "\n  ")+"\n\nliza help protocol NAME prints one.\n")
	}
	body, ok := protocols.Text(strings.TrimSuffix(words[0], ".md"))
	if !ok {
		hint := strings.Join(names, ", ")
		if near := blackboard.Nearest(words[0], names); near != "" {
			hint = "did you mean '" + near + "'?"
		}
		return usagef("liza help protocol", "no protocol '%s': %s", words[0], hint)
	}
	return e.printText("text", body)
}

// printText prints a text, or with --json an object with the text under key.
func (e *Env) printText(key, body string) error {
	return e.Print(map[string]string{key: body}, "%s", body)
}

func (e *Env) helpOf(c *urfave.Command) error {
	return e.printText("help", helpText(c.FullName(), c))
}

// overview is the help of a program: of liza its first screen.
func (e *Env) overview(app *urfave.Command) error {
	if len(app.Commands) == 0 {
		return e.helpOf(app)
	}
	return e.printText("help", firstScreen(app))
}

// helpText is the whole help of a command, or of a group of commands.
func helpText(path string, c *urfave.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\n", path, c.Usage)
	body, tail, found := strings.Cut(c.Description, examplesHead)
	if len(c.Commands) > 0 && !strings.Contains(tail, exitsHead) {
		tail, found = groupTail(c, tail), true
	}
	if len(c.Commands) > 0 {
		fmt.Fprintf(&b, "Usage: %s COMMAND\n", path)
	} else {
		fmt.Fprintf(&b, "Usage: %s\n", strings.TrimSpace(path+" [options] "+c.ArgsUsage))
	}
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&b, "Also:  liza %s\n", strings.Join(c.Aliases, ", "))
	}
	if body != "" {
		fmt.Fprintf(&b, "\n%s\n", wrap(body, 90))
	}
	for i, sub := range c.Commands {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  %-14s %s\n", strings.TrimSpace(sub.Name+" "+sub.ArgsUsage), sub.Usage)
	}
	if options := optionsText(visible(c.Flags)); options != "" {
		b.WriteString("\nOptions:\n" + options)
	}
	if found {
		b.WriteString("\nExamples:" + tail + "\n")
	}
	return b.String()
}

// groupTail is the end of the help of a group of commands: its own examples, or else the first
// one of each command, and the exit codes of all.
func groupTail(group *urfave.Command, shown string) string {
	own := shown != ""
	var codes []int
	for _, c := range group.Commands {
		_, tail, _ := strings.Cut(c.Description, examplesHead)
		lines, exits, _ := strings.Cut(tail, exitsHead)
		if first := strings.SplitN(lines, "\n", 3); !own && len(first) > 1 {
			shown += "\n" + first[1]
		}
		for _, exit := range strings.Split(exits, " · ") {
			if code, err := strconv.Atoi(strings.SplitN(exit, " ", 2)[0]); err == nil {
				codes = append(codes, code)
			}
		}
	}
	slices.Sort(codes)
	return shown + exitsText(slices.Compact(codes)...)
}
