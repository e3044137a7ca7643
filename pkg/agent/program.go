package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// maxArgument is the longest single argument that Linux passes on (128 KiB with its NUL).
	maxArgument = 128<<10 - 1
	// longPrompt is the longest prompt that is handed over as an argument, where there is
	// another way: everybody on the machine can read arguments.
	longPrompt = 32 << 10
)

// entryProgram is the adapter of an entry.
type entryProgram struct {
	name       string
	entry      Entry
	rules      *rules
	root       bool // running as root
	overridden bool
}

func (p *entryProgram) Info() Info {
	e := p.entry
	return Info{Name: p.name, Binary: e.Command[0], About: e.About, Provider: e.Provider, Status: e.Status, Checked: e.Checked, Output: e.Output,
		Schema:  slices.ContainsFunc([][]string{e.Command, e.Model, e.Resume, e.ResumeCommand, e.Interactive, e.MCP}, func(argv []string) bool { return mentions(argv, schemaFile) }),
		Resumes: len(e.Resume)+len(e.ResumeCommand) > 0, Interactive: mentions(e.Interactive, "{{.Prompt"), Overridden: p.overridden,
		Needs: p.needs()}
}

// needs are those of the entry with those of all programs. A variable that the entry sets is one that the program needs, also
// where the person's shell has it with the same value.
func (p *entryProgram) needs() Needs {
	n := p.entry.Sandbox
	for _, set := range []map[string]string{p.entry.Env, p.entry.RootEnv, n.Set} {
		n.Env = slices.Concat(n.Env, slices.Sorted(maps.Keys(set)))
	}
	return n.and(builtin().Common.Sandbox)
}

// Command replaces the placeholders within each element; what is replaced is never read again,
// so a task's words cannot become arguments of their own.
func (p *entryProgram) Command(s Spec) (Command, error) {
	e := p.entry
	argv := e.Command
	var after []string
	switch {
	case s.Session == "":
	case len(e.ResumeCommand) > 0:
		argv = e.ResumeCommand
	default:
		after = e.Resume
	}
	text, err := p.argument(s)
	if err != nil {
		return Command{}, err
	}
	atEnd := e.Prompt == promptArgv && !mentions(argv, "{{.Prompt}}")
	argv = slices.Concat(p.withModel(argv, s, len(argv)), p.tools(s), after)
	if atEnd {
		argv = append(argv, "{{.Prompt}}")
	}
	cmd := p.start(argv, s, text)
	cmd.Stdin = e.Prompt == promptStdin
	cmd.RestartCode, cmd.EndGrace = e.RestartCode, time.Duration(e.EndGrace)*time.Second
	return cmd, nil
}

// Interactive hands a long prompt over as a file to be read.
func (p *entryProgram) Interactive(s Spec) (Command, error) {
	e := p.entry
	if len(e.Interactive) == 0 {
		return Command{}, fmt.Errorf("cannot open %s in a terminal: set agents.%s.interactive", p.name, p.name)
	}
	text := s.Prompt
	if len(text) > longPrompt {
		if s.PromptFile == "" {
			return Command{}, fmt.Errorf("cannot hand a prompt of %d bytes to %s as an argument without a prompt file", len(text), p.name)
		}
		text = "Read the file " + s.PromptFile + " and do exactly what it says."
	}
	argv := slices.Clone(e.Interactive)
	if s.Session != "" {
		argv = slices.Insert(argv, 1, e.Resume...)
	}
	argv = slices.Insert(argv, 1, p.tools(s)...)
	return p.start(p.withModel(argv, s, 1), s, text), nil
}

// tools are the arguments that tell the program of Liza's server, if it takes any, and those that
// switch its own sandbox off where Liza contains it.
func (p *entryProgram) tools(s Spec) (args []string) {
	if s.Contain != nil {
		args = p.entry.Sandbox.Args
	}
	if s.Liza != "" {
		args = slices.Concat(args, p.entry.MCP)
	}
	return args
}

// argument is the text that stands for {{.Prompt}}.
func (p *entryProgram) argument(s Spec) (string, error) {
	e := p.entry
	if e.Prompt != promptArgv {
		return "", nil
	}
	if e.LongPrompt != "" && len(s.Prompt) > longPrompt {
		return p.values(s, "").Replace(e.LongPrompt), nil
	}
	if len(s.Prompt) > maxArgument {
		return "", fmt.Errorf("cannot hand a prompt of %d bytes to %s as an argument; set agents.%s.prompt to stdin or file", len(s.Prompt), p.name, p.name)
	}
	return s.Prompt, nil
}

// withModel puts the arguments for the model where they belong, else at position at.
func (p *entryProgram) withModel(argv []string, s Spec, at int) []string {
	const mark = "{{.ModelArgs}}"
	argv = slices.Clone(argv)
	if i := slices.Index(argv, mark); i >= 0 {
		argv, at = slices.Delete(argv, i, i+1), i
	}
	if s.Model != "" {
		argv = slices.Insert(argv, at, p.entry.Model...)
	}
	return argv
}

// mcpConfig is the server that a program is told of, in the form of mcpServers. Identity goes
// through the environment, as for every command.
func mcpConfig(liza string) string {
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	text, err := json.Marshal(map[string]map[string]server{"mcpServers": {"liza": {liza, []string{"mcp"}}}})
	if err != nil {
		panic("agent: a configuration of texts cannot be written: " + err.Error())
	}
	return string(text)
}

func (p *entryProgram) values(s Spec, prompt string) *strings.Replacer {
	return strings.NewReplacer(
		"{{.PromptFile}}", s.PromptFile,
		schemaFile, s.SchemaFile,
		"{{.Prompt}}", prompt,
		"{{.Model}}", s.Model,
		"{{.MCPConfig}}", mcpConfig(s.Liza),
		"{{.Liza}}", s.Liza,
		"{{.Session}}", s.Session,
		"{{.Worktree}}", s.Worktree,
		"{{.Role}}", s.Role,
		"{{.TaskID}}", s.TaskID,
	)
}

func (p *entryProgram) start(argv []string, s Spec, prompt string) Command {
	values := p.values(s, prompt)
	cmd := Command{Unset: p.entry.Unset}
	for _, arg := range argv {
		cmd.Argv = append(cmd.Argv, values.Replace(arg))
	}
	env := p.entry.Env
	if p.root {
		env = added(env, p.entry.RootEnv)
	}
	if s.Contain != nil {
		env = added(env, p.entry.Sandbox.Set)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, name+"="+env[name])
	}
	return cmd
}

func (p *entryProgram) Reader(s Spec) Reader {
	return newReader(p.entry.Output, p.rules, readerOptions{listen: s.Event, dir: s.Dir, wholeSession: p.entry.SessionUsage && s.Session != "", answer: p.entry.Answer})
}
