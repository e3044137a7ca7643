package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/exitcmd"
	"liza/protocols"
)

func newHelp(env *Env, app *urfave.Command) *urfave.Command {
	return &urfave.Command{
		Name: "help", Category: "start", ArgsUsage: "[TOPIC] [NAME…]",
		Usage: "explain a command, a protocol, or the exit command's schema",
		Description: "Without a topic: what a person needs, by group. TOPIC is a command, a group (" + groupNames() + "), `all` for\n" +
			"every command of people and agents, `protocol NAME` for a text about how the team works, or `schema` for the JSON Schema of the exit command. Changes nothing." +
			examples("liza help retry", "liza help decide", "liza help protocol task-lifecycle") + exitsText(0, 1, 2),
		Action: func(_ context.Context, c *urfave.Command) error {
			return (helpPages{env}).topic(app, c.Args().Slice())
		},
	}
}

// helpPages prints the help of commands and topics.
type helpPages struct{ env *Env }

func (h helpPages) topic(app *urfave.Command, words []string) error {
	if len(words) == 0 {
		return h.overview(app)
	}
	switch words[0] {
	case "protocol", "protocols":
		return h.protocol(words[1:])
	case "schema":
		return h.env.printRaw("schema", exitcmd.Schema())
	case "all":
		return h.env.printText("help", overviewText(app))
	}
	if text := groupsText(app, words[0]); text != "" && len(words) == 1 {
		return h.env.printText("help", text)
	}
	c := app
	for _, w := range words {
		sub := c.Command(w)
		if sub == nil {
			return unknownCommand(c, w)
		}
		c = sub
	}
	return h.helpOf(c)
}

func (h helpPages) protocol(words []string) error {
	names := protocols.Names()
	if len(words) == 0 {
		return h.env.printText("help", "The protocols are:\n\n  "+strings.Join(names, "\n  ")+"\n\nliza help protocol NAME prints one.\n")
	}
	body, ok := protocols.Text(strings.TrimSuffix(words[0], ".md"))
	if !ok {
		hint := strings.Join(names, ", ")
		if near := blackboard.Nearest(words[0], names); near != "" {
			hint = "did you mean '" + near + "'?"
		}
		return usagef("liza help protocol", "no protocol '%s': %s", words[0], hint)
	}
	return h.env.printText("text", body)
}

// printText prints a text, or with --json an object with the text under key.
func (e *Env) printText(key, body string) error {
	return e.Print(map[string]string{key: body}, "%s", body)
}

func (h helpPages) helpOf(c *urfave.Command) error {
	return h.env.printText("help", helpText(c.FullName(), c))
}

// overview is the help of a program: of liza its first screen.
func (h helpPages) overview(app *urfave.Command) error {
	if len(app.Commands) == 0 {
		return h.helpOf(app)
	}
	return h.env.printText("help", firstScreen(app))
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

// wrap breaks a text into lines of at most width characters.
func wrap(text string, width int) string {
	var b strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case length+1+n > width:
			b.WriteByte('\n')
			length = 0
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += n
	}
	return b.String()
}

// globals are the options that are before or behind every command.
func globals(app *urfave.Command) []urfave.Flag { return visible(app.Flags) }

func visible(flags []urfave.Flag) []urfave.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f urfave.Flag) bool {
		v, ok := f.(urfave.VisibleFlag)
		return ok && !v.IsVisible()
	})
}

// optionsText describes options in two columns.
func optionsText(flags []urfave.Flag) string {
	var left, right []string
	width := 0
	for _, f := range flags {
		l, r := optionText(f)
		left, right = append(left, l), append(right, r)
		width = max(width, min(len(l), 30))
	}
	var b strings.Builder
	for i := range left {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, left[i], right[i])
	}
	return b.String()
}

func optionText(f urfave.Flag) (left, right string) {
	doc, ok := f.(urfave.DocGenerationFlag)
	if !ok {
		return f.String(), ""
	}
	var names []string
	for _, n := range f.Names() {
		names = append(names, dashed(n))
	}
	left, right = strings.Join(names, ", "), doc.GetUsage()
	if _, isSwitch := f.(*urfave.GenericFlag); isSwitch {
		return left, right
	}
	if rest, cut := strings.CutPrefix(right, "`"); cut && doc.TakesValue() {
		word, usage, _ := strings.Cut(rest, "`")
		left, right = left+" "+word, strings.TrimLeft(usage, ": ")
	} else if doc.TakesValue() {
		left += " " + valueWord(f)
	}
	if m, ok := f.(urfave.DocGenerationMultiValueFlag); ok && m.IsMultiValueFlag() {
		right += " (may be repeated)"
	}
	if standard := standardOf(doc); standard != "" {
		right += " (default: " + standard + ")"
	}
	return left, right
}

// standardOf is the default of an option; none is said of what is empty or off.
func standardOf(f urfave.DocGenerationFlag) string {
	if t := f.GetDefaultText(); t != "" {
		return t
	}
	switch v := strings.Trim(f.GetValue(), `"`); v {
	case "false", "0", "0s", "[]":
		return ""
	default:
		return v
	}
}

func valueWord(f urfave.Flag) string {
	switch f.(type) {
	case *urfave.IntFlag:
		return "N"
	case *urfave.DurationFlag:
		return "TIME"
	}
	return "TEXT"
}

// A group is what a person looks for at one time: the commands of a category.
type group struct {
	name, title string
	people      bool
}

var groups = []group{
	{"start", "Start", true},
	{"look", "Look", true},
	{"steer", "Steer", true},
	{"decide", "Decide", true},
	{"teach", "Teach", true},
	{"repair", "Repair", true},
	{"agents", "For agents, and for people with --as AGENT_ID", false},
	{"plumbing", "Plumbing, for supervisors and scripts", false},
}

// daily is what the first screen explains: what somebody needs who works with Liza every day. The first word is a command.
var daily = []struct{ usage, says string }{
	{"init GOAL", "make this repository a Liza project with a goal"},
	{"run", "run the whole team until the goal is complete"},
	{"doctor", "look at everything that a team needs"},
	{"status, top", "see goal, tasks, agents, and what waits for you"},
	{"show ID, log", "see one task or agent whole; see what happened"},
	{"output ID -f", "follow what an agent, or the one of a task, says and does"},
	{"add TEXT", "put a task on the board; edit changes one, abandon drops it"},
	{"tell planner TEXT", "tell the planner something, or the agent of a task"},
	{"pause, resume [ID]", "stop the team or a task, or let it go on"},
	{"stop AGENT", "end the run of an agent; stop --all ends all"},
	{"answer [ID TEXT]", "see what agents ask, and answer"},
	{"approve ID, reject ID", "release work that waits for you, or send it back"},
	{"retry TASK", "give work that is blocked, limited or held another try"},
}

// of lists the commands of a group, in its order.
func (g group) of(app *urfave.Command) []*urfave.Command {
	var list []*urfave.Command
	for _, c := range app.Commands {
		if c.Category == g.name && !c.Hidden {
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

// firstScreen has what a person needs, by group: what is needed every day with an explanation, the others by name.
func firstScreen(app *urfave.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\n", app.Name, app.Usage)
	for _, g := range groups {
		if !g.people {
			continue
		}
		others := names(g.of(app))
		fmt.Fprintf(&b, "%s\n", g.title)
		for _, d := range daily {
			words := strings.FieldsFunc(d.usage, func(r rune) bool { return r == ' ' || r == ',' })
			if c := app.Command(words[0]); c == nil || c.Category != g.name {
				continue
			}
			fmt.Fprintf(&b, "  %-22s %s\n", d.usage, d.says)
			others = slices.DeleteFunc(others, func(name string) bool { return slices.Contains(words, name) })
		}
		if len(others) > 0 {
			fmt.Fprintf(&b, "  also: %s\n", strings.ReplaceAll(wrap(strings.Join(others, " "), 80), "\n", "\n        "))
		}
	}
	b.WriteString("\nliza help COMMAND explains one, liza help GROUP a group, liza help all each in a line.\nliza help agents has those of agents.\n")
	return b.String()
}

// overviewText explains every command of people and agents in a line, by group; specs/commands.md has the others too.
func overviewText(app *urfave.Command) string {
	return fmt.Sprintf("%s - %s\n\nUsage: %s [global options] COMMAND [options] [arguments]\n\n%s\nGlobal options, before or behind the command\n%s\nliza help COMMAND explains one. Start with: liza demo\n",
		app.Name, app.Usage, app.Name, groupsText(app, ""), optionsText(globals(app)))
}

// groupsText explains the commands of a group, of all for people, or with "" of all; it is "" for
// what is not a group.
func groupsText(app *urfave.Command, name string) string {
	var parts []string
	for _, g := range groups {
		if name != "" && name != g.name && (name != "people" || !g.people) || name == "" && g.name == "plumbing" {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n", g.title)
		for _, c := range g.of(app) {
			fmt.Fprintf(&b, "  %-15s %s\n", c.Name, c.Usage)
		}
		if g.name == "agents" {
			b.WriteString("  also: abandon, facts, status, show, diff, log, tell\n")
		}
		parts = append(parts, b.String())
	}
	return strings.Join(parts, "\n")
}

// newMan is what makes the man pages for an installation, from the same texts as `liza help`.
func newMan(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "__man", Hidden: true, ArgsUsage: "DIR", Usage: "write the man pages into a folder",
		Action: env.do(func(_ context.Context, args []string) error { return env.writeMan(args[0]) }),
	}
}

func (e *Env) writeMan(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot write the man pages: %w", err)
	}
	pages := manPages(e.tree(e), agentCommand(e, &agentOptions{}), telemetryCommand(e, nil))
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write the man pages: %w", err)
		}
	}
	return e.Print(map[string]any{"dir": dir, "pages": len(pages)}, "%d pages in %s\n", len(pages), dir)
}

// manPages are the pages of the programs, by name of the file.
func manPages(liza *urfave.Command, others ...*urfave.Command) map[string]string {
	overview := manTitle("LIZA", liza.Name, liza.Usage) + manText(overviewText(liza))
	pages := map[string]string{"liza.1": overview}
	for _, c := range others {
		pages[c.Name+".1"] = manPage(c.Name, c)
	}
	for _, c := range liza.Commands {
		if !c.Hidden {
			pages["liza-"+c.Name+".1"] = manPage("liza "+c.Name, c)
		}
	}
	return pages
}

// manPage is the page of a command, with its own commands one after the other.
func manPage(path string, c *urfave.Command) string {
	page := manTitle(strings.ToUpper(dashedPath(path)), dashedPath(path), c.Usage) + manText(helpText(path, c))
	for _, sub := range c.Commands {
		page += ".SH " + strings.ToUpper(sub.Name) + "\n" + manText(helpText(path+" "+sub.Name, sub))
	}
	return page + ".SH SEE ALSO\n.BR liza (1)\n"
}

func dashedPath(path string) string { return strings.ReplaceAll(path, " ", "-") }

func manTitle(title, name, usage string) string {
	return fmt.Sprintf(".TH %q 1 \"\" %q \"Liza\"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n", title, "liza "+version, roff.Replace(name), roff.Replace(usage))
}

// roff keeps characters from being read as instructions.
var roff = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// manText is a help text as it is, line by line.
func manText(help string) string {
	var b strings.Builder
	b.WriteString(".nf\n")
	for line := range strings.Lines(help) {
		line = roff.Replace(strings.TrimRight(line, "\n"))
		if strings.HasPrefix(line, ".") {
			line = `\&` + line
		}
		b.WriteString(line + "\n")
	}
	b.WriteString(".fi\n")
	return b.String()
}
