package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// restartCode is the exit code by which a project's own program, or a scripted one, asks to be
// started again (D20).
const restartCode = 42

// maxArgument is the longest single argument that Linux passes on (128 KiB with its NUL).
const maxArgument = 128<<10 - 1

// command is the adapter of a program that the project defines.
type command struct {
	name   string
	custom Custom
}

func newCommand(name string, c Custom) (Adapter, error) {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return nil, fmt.Errorf("cannot use the agent program %q: agents.%s.command is empty", name, name)
	}
	switch c.Prompt {
	case "", "stdin", "file", "argv":
	default:
		return nil, fmt.Errorf("cannot use the agent program %q: agents.%s.prompt is %q, not stdin, file or argv", name, name, c.Prompt)
	}
	if _, err := NewReader(c.Output); err != nil {
		return nil, fmt.Errorf("cannot use the agent program %q: agents.%s.output: %v", name, name, err)
	}
	return command{name, c}, nil
}

// Command replaces the placeholders within each element; what is replaced is never read again,
// so a task's words cannot become arguments of their own.
func (c command) Command(s Spec) (Command, error) {
	values := strings.NewReplacer(
		"{{.PromptFile}}", s.PromptFile,
		"{{.Model}}", s.Model,
		"{{.Worktree}}", s.Worktree,
		"{{.Role}}", s.Role,
		"{{.TaskID}}", s.TaskID,
	)
	cmd := Command{Stdin: c.custom.Prompt == "" || c.custom.Prompt == "stdin", RestartCode: restartCode}
	for _, arg := range c.custom.Command {
		cmd.Argv = append(cmd.Argv, values.Replace(arg))
	}
	if c.custom.Prompt == "argv" {
		if len(s.Prompt) > maxArgument {
			return Command{}, fmt.Errorf("cannot hand a prompt of %d bytes to %s as an argument; set agents.%s.prompt to stdin or file", len(s.Prompt), c.name, c.name)
		}
		cmd.Argv = append(cmd.Argv, s.Prompt)
	}
	for _, name := range slices.Sorted(maps.Keys(c.custom.Env)) {
		cmd.Env = append(cmd.Env, name+"="+c.custom.Env[name])
	}
	if c.custom.Output == readClaude {
		cmd.EndGrace = claudeEndGrace
	}
	return cmd, nil
}

func (c command) Reader() Reader {
	r, err := NewReader(c.custom.Output)
	if err != nil {
		panic("agent: a command was made with an unknown reader: " + err.Error())
	}
	return r
}
