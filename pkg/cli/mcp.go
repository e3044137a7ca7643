package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/mcp"
)

func newMCP(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "mcp", Category: "agents", Usage: "serve the verbs and views to programs that speak the Model Context Protocol, on stdio",
		Description: "The verbs of agents are tools with the names and options of the commands; the board, tasks, specs and the log are resources; the prompts of the\n" +
			"roles are prompts. Who calls is decided as for every command, by LIZA_AGENT_ID and LIZA_AGENT_TOKEN, at each call. An agent sees the tools of its role.\n" +
			"Changes nothing by itself." +
			examples("liza mcp", "claude --mcp-config '{\"mcpServers\":{\"liza\":{\"command\":\"liza\",\"args\":[\"mcp\"]}}}'") + exitsText(0, 1, 2),
		Action: env.do(func(ctx context.Context, _ []string) error { return env.serveMCP(ctx) }),
	}
}

// toolCommands are the commands that are tools, and which roles see them; a person sees all.
// They are shown, not guarded: who may do what is decided by the verb.
var toolCommands = []struct {
	name  string
	roles string // "" = every role
}{
	{"add-task", "planner"}, {"finalize", "planner"}, {"plan apply", "planner"}, {"unblock", "planner"}, {"supersede", "planner"}, {"abandon", "planner"},
	{"convert", "planner"}, {"defer", "planner"},
	{"intent", "coder"}, {"submit", "coder"}, {"block", "coder"},
	{"verdict", "code_reviewer"},
	{"handoff", "coder code_reviewer"}, {"discover", "coder code_reviewer"},
	{"anomaly", ""}, {"heartbeat", ""},
	{"note", "human"}, {"answer", "human"}, {"hold", "human"}, {"unhold", "human"},
	{"status", ""}, {"show", ""}, {"log", ""}, {"questions", ""}, {"plan show", ""}, {"validate", ""},
}

// readingTools change nothing.
var readingTools = []string{"status", "show", "log", "questions", "plan show", "validate"}

func (e *Env) serveMCP(ctx context.Context) error {
	e.lasting()
	if _, err := e.Find(ctx); err != nil {
		return err
	}
	role := "human"
	if id := e.Get("LIZA_AGENT_ID"); id != "" {
		r, _, ok := blackboard.ParseAgentID(id)
		if !ok {
			return usagef("liza help mcp", "LIZA_AGENT_ID '%s' is malformed; it must be coder-N, code-reviewer-N or planner-N", id)
		}
		role = string(r)
	}
	offer := mcp.Offer{Name: "liza", Version: version, Tools: e.tools(role), Resources: e.resources(), Prompts: e.prompts(),
		Instructions: "Liza coordinates coding agents on one repository. Each tool is the command of the same name; `ok: false` with `error.message` and `error.next` says why nothing was changed."}
	return mcp.Serve(ctx, e.Stdin, e.Stdout, offer)
}

// tools makes a tool of each command.
func (e *Env) tools(role string) []mcp.Tool {
	root := lizaCommand(e.quiet(nil))
	var list []mcp.Tool
	for _, t := range toolCommands {
		if role != "human" && t.roles != "" && !slices.Contains(strings.Fields(t.roles), role) {
			continue
		}
		c := root
		for _, word := range strings.Fields(t.name) {
			c = c.Command(word)
		}
		list = append(list, e.tool(c, t.name))
	}
	return list
}

// tool describes a command by what its help knows.
func (e *Env) tool(c *urfave.Command, name string) mcp.Tool {
	help, _, _ := strings.Cut(c.Description, "\n\n")
	t := mcp.Tool{Name: strings.ReplaceAll(name, " ", "-"), Help: c.Usage + ".\n" + help, ReadOnly: slices.Contains(readingTools, name)}
	positional := positionals(c)
	t.Arguments = append(t.Arguments, positional...)
	flags := map[string]mcp.Kind{}
	for _, f := range c.Flags {
		a, ok := option(f)
		if !ok || slices.ContainsFunc(positional, func(p mcp.Argument) bool { return p.Name == a.Name }) {
			continue
		}
		flags[a.Name] = a.Kind
		t.Arguments = append(t.Arguments, a)
	}
	t.Call = func(ctx context.Context, given map[string]json.RawMessage) (json.RawMessage, bool) {
		args := append([]string{"liza", "--json"}, strings.Fields(name)...)
		args = append(args, options(flags, given)...)
		rest, stdin := arguments(positional, given)
		return e.call(ctx, append(append(args, "--"), rest...), stdin)
	}
	return t
}

// positionals are the arguments that ArgsUsage names: "ID", "[TASK]", "ID…",
// "approve|reject", and "FILE|-" for a text that the command reads from stdin.
func positionals(c *urfave.Command) []mcp.Argument {
	var list []mcp.Argument
	for _, word := range strings.Fields(c.ArgsUsage) {
		a := mcp.Argument{Kind: mcp.Text, Required: !strings.HasPrefix(word, "[")}
		word = strings.Trim(word, "[]")
		switch {
		case word == "FILE|-":
			a.Name, a.Kind, a.Help = c.Name, mcp.Any, "the plan: an object, or its text"
			if c.Name == "apply" {
				a.Name = "plan"
			}
		case strings.Contains(word, "|"):
			a.Name, a.OneOf, a.Help = c.Name, strings.Split(word, "|"), "one of "+strings.ReplaceAll(word, "|", ", ")
		case strings.HasSuffix(word, "…"):
			a.Name, a.Kind = strings.ToLower(strings.TrimSuffix(word, "…"))+"s", mcp.Texts
			a.Help = "one or more"
		default:
			a.Name, a.Help = strings.ToLower(word), word
		}
		list = append(list, a)
	}
	return list
}

// option describes a flag; ok is false for one that is no argument of a tool.
func option(f urfave.Flag) (a mcp.Argument, ok bool) {
	a.Name = f.Names()[0]
	if d, is := f.(urfave.DocGenerationFlag); is {
		a.Help = strings.ReplaceAll(d.GetUsage(), "`", "")
	}
	switch f.(type) {
	case *urfave.StringFlag:
		a.Kind = mcp.Text
	case *urfave.StringSliceFlag:
		a.Kind = mcp.Texts
	case *urfave.BoolFlag:
		a.Kind = mcp.Flag
	case *urfave.IntFlag:
		a.Kind = mcp.Number
	default:
		return a, false
	}
	return a, a.Name != "help" && a.Name != "follow" && !strings.HasSuffix(a.Name, "-file")
}

// options are the words of the command line for what was given. Its types were checked.
func options(flags map[string]mcp.Kind, given map[string]json.RawMessage) []string {
	var words []string
	for name, kind := range flags {
		value, is := given[name]
		if !is {
			continue
		}
		var list []string
		switch kind {
		case mcp.Texts:
			_ = json.Unmarshal(value, &list)
		case mcp.Flag:
			if string(value) == "true" {
				words = append(words, "--"+name)
			}
		case mcp.Number:
			list = []string{string(value)}
		default:
			list = make([]string, 1)
			_ = json.Unmarshal(value, &list[0])
		}
		for _, v := range list {
			words = append(words, "--"+name+"="+v)
		}
	}
	return words
}

// arguments are the positional words, and what stands on stdin.
func arguments(positional []mcp.Argument, given map[string]json.RawMessage) (words []string, stdin []byte) {
	for _, a := range positional {
		value, is := given[a.Name]
		if !is {
			continue
		}
		var text string
		switch a.Kind {
		case mcp.Any:
			if json.Unmarshal(value, &text) == nil {
				value = []byte(text)
			}
			stdin, words = value, append(words, "-")
		case mcp.Texts:
			var list []string
			_ = json.Unmarshal(value, &list)
			words = append(words, list...)
		default:
			_ = json.Unmarshal(value, &text)
			words = append(words, text)
		}
	}
	return words, stdin
}

// quiet is the environment of a command inside of this process, which reads what it is
// given and prints for nobody.
func (e *Env) quiet(stdin []byte) *Env {
	inner := *e
	inner.Stdin, inner.Stdout, inner.Stderr = bytes.NewReader(stdin), io.Discard, io.Discard
	inner.Terminal, inner.StdinTerminal, inner.Signals, inner.late = false, false, nil, new(sync.WaitGroup)
	inner.JSON = true
	return &inner
}

// call runs a command as the command line does.
func (e *Env) call(ctx context.Context, args []string, stdin []byte) (json.RawMessage, bool) {
	inner := e.quiet(stdin)
	var out, warnings bytes.Buffer
	inner.Stdout, inner.Stderr = &out, &warnings
	code := inner.serve(ctx, lizaCommand(inner), args)
	_, _ = io.Copy(e.Stderr, &warnings)
	result := bytes.TrimSpace(out.Bytes())
	if !json.Valid(result) || len(result) == 0 {
		text, _ := json.Marshal(map[string]any{"ok": code == 0, "error": map[string]string{"code": strconv.Itoa(code), "message": warnings.String()}})
		return text, code != 0
	}
	return result, code != 0
}

// resultOf runs a command and takes what it says.
func (e *Env) resultOf(ctx context.Context, args ...string) (json.RawMessage, error) {
	out, failed := e.call(ctx, append([]string{"liza", "--json"}, args...), nil)
	var answer struct {
		Result json.RawMessage
		Error  struct{ Message, Next string }
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, err
	}
	if failed {
		return nil, fmt.Errorf("%s; next: %s", answer.Error.Message, answer.Error.Next)
	}
	return answer.Result, nil
}

func (e *Env) resources() []mcp.Resource {
	command := func(args ...string) func(context.Context, string) (string, error) {
		return func(ctx context.Context, id string) (string, error) {
			words := slices.Clone(args)
			if id != "" {
				words = append(words, "--", id)
			}
			out, err := e.resultOf(ctx, words...)
			return string(out), err
		}
	}
	return []mcp.Resource{
		{URI: "liza://board", Name: "board", Help: "the whole board, as it stands in .liza/state.yaml", MIME: "application/yaml", Read: e.boardText},
		{URI: "liza://status", Name: "status", Help: "goal, sprint, tasks, agents, and what waits for a person", MIME: "application/json", Read: command("status")},
		{URI: "liza://task/{id}", Name: "task", Help: "one task, whole: fields, history, findings, attempts", MIME: "application/json", Read: command("show")},
		{URI: "liza://spec", Name: "goal's spec", Help: "the spec of the goal", MIME: "text/markdown", Read: e.specText},
		{URI: "liza://spec/{id}", Name: "task's spec", Help: "the spec that a task names", MIME: "text/markdown", Read: e.specText},
		{URI: "liza://log", Name: "log", Help: "the newest entries of the journal", MIME: "application/json", Read: command("log")},
	}
}

func (e *Env) boardText(ctx context.Context, _ string) (string, error) {
	p, err := e.Find(ctx)
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(p.State())
	return string(data), err
}

// specText is the spec of a task, or of the goal.
func (e *Env) specText(ctx context.Context, id string) (string, error) {
	d, err := e.Reader(ctx)
	if err != nil {
		return "", err
	}
	s, err := d.View(ctx)
	if err != nil {
		return "", err
	}
	ref := ""
	if id == "" && s.Goal != nil {
		ref = s.Goal.SpecRef
	} else if t := s.Task(id); t != nil {
		ref = t.SpecRef
	}
	if ref == "" {
		return "", errors.New("there is no such task, or it names no spec")
	}
	return d.SpecText(ref)
}

func (e *Env) prompts() []mcp.Prompt {
	task := mcp.Argument{Name: "task", Help: "id of the task", Kind: mcp.Text, Required: true}
	prompt := func(name, help string, arguments ...mcp.Argument) mcp.Prompt {
		return mcp.Prompt{Name: name, Help: help, Arguments: arguments, Text: func(ctx context.Context, given map[string]string) (string, error) {
			out, err := e.resultOf(ctx, "preview", first(given["task"], "_planner"))
			if err != nil {
				return "", err
			}
			var p previewed
			if err := json.Unmarshal(out, &p); err != nil {
				return "", err
			}
			if p.Kind != name {
				return "", fmt.Errorf("the next run on it is that of a %s", p.Kind)
			}
			return p.Prompt, nil
		}}
	}
	return []mcp.Prompt{
		prompt("planner", "what a planner is given now"),
		prompt("coder", "what a coder is given for a task", task),
		prompt("code_reviewer", "what a code reviewer is given for a task", task),
	}
}
