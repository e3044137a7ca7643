package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/verbs"
)

// The scripts ask the hidden command `liza __complete WORDS…` for candidates.
var completionScripts = map[string]string{
	"bash": `_liza() {
  local IFS=$'\n'
  COMPREPLY=($(liza __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _liza liza
`,
	"zsh": `#compdef liza
_liza() {
  local -a found
  found=("${(@f)$(liza __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _liza liza
`,
	"fish": `function __liza_complete
  set -l words (commandline -opc) (commandline -ct)
  liza __complete $words[2..-1] 2>/dev/null
end
complete -c liza -f -a '(__liza_complete)'
`,
}

func newCompletion(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "completion", Category: "plumbing", ArgsUsage: "SHELL", Usage: "print the completion script for bash, zsh or fish",
		Description: "The script completes commands, options, and the ids of tasks and agents. Changes nothing." +
			examples("source <(liza completion bash)", "liza completion fish > ~/.config/fish/completions/liza.fish") + exitsText(0, 1, 2),
		Action: env.do(func(_ context.Context, args []string) error {
			script, ok := completionScripts[args[0]]
			if !ok {
				return usagef("liza completion bash", "no completion for the shell '%s'; there is one for %s", args[0],
					strings.Join(slices.Sorted(maps.Keys(completionScripts)), ", "))
			}
			return env.printText("script", script)
		}),
	}
}

// newComplete prints what the last of the words may become, one candidate a line. It is
// for the scripts above, and silent about everything that goes wrong.
func newComplete(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "__complete", Hidden: true, SkipFlagParsing: true, ArgsUsage: "[WORD…]",
		Action: func(ctx context.Context, c *urfave.Command) error {
			for _, candidate := range (completer{env}).candidates(ctx, c.Root(), c.Args().Slice()) {
				fmt.Fprintln(env.System.Stdout, candidate)
			}
			return nil
		},
	}
}

// A completer finds what a word of the command line may become.
type completer struct{ env *Env }

func (x completer) candidates(ctx context.Context, app *urfave.Command, words []string) []string {
	last := ""
	if n := len(words); n > 0 {
		last, words = words[n-1], words[:n-1]
	}
	c, arguments, pending := x.follow(app, words)
	var all []string
	switch {
	case pending != "":
		all = x.valuesOf(ctx, c, pending)
	case strings.HasPrefix(last, "-"):
		for _, f := range optionsOf(c) {
			for _, n := range f.Names() {
				all = append(all, dashed(n))
			}
		}
	case len(c.Commands) > 0:
		all = names(c.Commands)
	case c.Name == "help":
		all = append(names(app.Commands), "all", "protocol", "schema")
		for _, g := range groups {
			all = append(all, g.name)
		}
	default:
		all = x.argumentsOf(ctx, c, len(arguments))
	}
	return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, last) })
}

// follow walks along the words that are complete: to the command, its arguments so far,
// and the option that still waits for its value.
func (x completer) follow(app *urfave.Command, words []string) (c *urfave.Command, arguments []string, pending string) {
	c = app
	for _, w := range words {
		switch {
		case pending != "":
			if pending == "C" {
				x.env.System.Root = w
			}
			pending = ""
		case strings.HasPrefix(w, "-") && w != "-":
			name := strings.TrimLeft(w, "-")
			if f, ok := optionOf(c, name).(urfave.DocGenerationFlag); ok && f.TakesValue() {
				pending = name
			}
		case c.Command(w) != nil:
			c = c.Command(w)
		default:
			arguments = append(arguments, w)
		}
	}
	return c, arguments, pending
}

// valuesOf are the values of an option: those that a verb's field has, or else by its name.
func (x completer) valuesOf(ctx context.Context, c *urfave.Command, option string) []string {
	if v := verbs.Find(pathOf(c)); v != nil {
		for _, f := range v.Fields(verbs.CLI) {
			if f.Arg == "" && f.Option == option {
				return x.valuesOfField(ctx, f)
			}
		}
	}
	switch option {
	case "as", "agent", "id":
		return x.idsOf(ctx, agentIDs)
	case "task":
		return x.idsOf(ctx, taskIDs)
	case "format":
		return []string{"text", "mermaid"}
	case "log-format":
		return []string{"text", "json"}
	}
	return nil
}

// valuesOfField are what a field of a verb may be: its values, or the ids of what it names.
func (x completer) valuesOfField(ctx context.Context, f verbs.Field) []string {
	if f.Values != nil {
		return f.Values
	}
	switch f.Name {
	case "name":
		return x.idsOf(ctx, func(s *blackboard.State) []string { return append(taskIDs(s), agentIDs(s)...) })
	case "task", "tasks", "ids", "by", "depends_on", "planned":
		return x.idsOf(ctx, taskIDs)
	case "agent":
		return x.idsOf(ctx, agentIDs)
	case "question":
		return x.idsOf(ctx, openQuestions)
	}
	return nil
}

// argumentsOf are the values of a positional argument: of a verb's field, or else by the word that ArgsUsage has at that place.
func (x completer) argumentsOf(ctx context.Context, c *urfave.Command, at int) []string {
	if v := verbs.Find(pathOf(c)); v != nil && v.Does() {
		if f, ok := v.Argument(at); ok {
			return x.valuesOfField(ctx, f)
		}
		return nil
	}
	usage := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(c.ArgsUsage))
	if len(usage) == 0 {
		return nil
	}
	word := usage[min(at, len(usage)-1)]
	switch {
	case at >= len(usage) && !strings.HasSuffix(word, "…"):
		return nil
	case c.Name == "attach":
		return x.idsOf(ctx, agentIDs)
	case c.Name == "show" || c.Name == "output":
		return x.idsOf(ctx, func(s *blackboard.State) []string { return append(taskIDs(s), agentIDs(s)...) })
	case strings.TrimSuffix(word, "…") == "ID":
		return x.idsOf(ctx, taskIDs)
	case strings.Contains(word, "|"):
		return strings.Split(word, "|")
	case word == "SHELL":
		return slices.Sorted(maps.Keys(completionScripts))
	}
	return nil
}

func (x completer) idsOf(ctx context.Context, of func(*blackboard.State) []string) []string {
	d, err := x.env.System.Reader(ctx)
	if err != nil {
		return nil
	}
	s, err := d.Board.View(ctx)
	if err != nil {
		return nil
	}
	return of(s)
}

func agentIDs(s *blackboard.State) []string { return slices.Sorted(maps.Keys(s.Agents)) }

func taskIDs(s *blackboard.State) []string {
	var ids []string
	for t := range s.Tasks() {
		if t != nil {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

func openQuestions(s *blackboard.State) []string {
	var ids []string
	for _, q := range s.Questions {
		if q.Status == blackboard.QuestionOpen {
			ids = append(ids, q.ID)
		}
	}
	return ids
}
