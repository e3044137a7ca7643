package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	root       bool   // running as root
	account    string // folder of its settings; "": the person's own
	overridden bool
}

func (p *entryProgram) Info() Info {
	e := p.entry
	return Info{Name: p.name, Binary: e.Command[0], About: e.About, Provider: e.Provider, Status: e.Status, Checked: e.Checked, Output: e.Output,
		Schema:   slices.ContainsFunc([][]string{e.Command, e.Model, e.Resume, e.ResumeCommand, e.Interactive, e.MCP}, func(argv []string) bool { return mentions(argv, schemaFile) }),
		Enforces: len(e.Schema) > 0, AnswerTool: e.AnswerTool,
		Dialogue: e.Dialogue != "" || e.Output == formatACP, Interrupts: e.Output == formatACP,
		Resumes: e.Output == formatACP || len(e.Resume)+len(e.ResumeCommand) > 0, Interactive: mentions(e.Interactive, "{{.Prompt"), Overridden: p.overridden,
		Accounts: slices.Sorted(maps.Keys(e.Accounts)), Needs: p.needs()}
}

// needs are those of the entry with those of all programs. A variable that the entry sets is one that the program needs, also
// where the person's shell has it with the same value.
func (p *entryProgram) needs() Needs {
	n := p.entry.Sandbox
	for _, set := range []map[string]string{p.entry.Env, p.entry.RootEnv, n.Set} {
		n.Env = slices.Concat(n.Env, slices.Sorted(maps.Keys(set)))
	}
	if p.account != "" {
		n = n.ofAccount(p.account)
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
	case s.Session == "" || e.Output == formatACP:
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
	off := e.off()
	if s.NoTools && len(e.NoTools.Args) > 0 {
		off = e.NoTools.Args
	}
	argv = slices.Concat(p.withModel(argv, s, len(argv)), off, p.tools(s), after)
	if s.Schema != "" {
		argv = append(argv, e.Schema...)
	}
	if s.Budget > 0 {
		argv = append(argv, e.Budget...)
	}
	if atEnd {
		argv = append(argv, "{{.Prompt}}")
	}
	cmd := p.start(argv, s, text)
	cmd.Stdin = e.Prompt == promptStdin
	if e.Dialogue != "" {
		cmd.dialogue = dialogues[e.Dialogue](s)
	}
	if e.Output == formatACP {
		if s.mode = e.Mode; len(e.Model) > 0 {
			s.Model = "" // its arguments say it
		}
		cmd.dialogue = newACP(s)
	}
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
	argv, at := slices.Clone(e.Interactive), 1
	switch {
	case s.Session == "":
	case len(e.Reopen) > 0:
		argv, at = slices.Clone(e.Reopen), 2
	default:
		argv = slices.Insert(argv, 1, e.Resume...)
	}
	argv = slices.Insert(argv, at, p.tools(s)...)
	return p.start(p.withModel(argv, s, at), s, text), nil
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
		answerSchema, s.Schema,
		strictSchemaFile, s.StrictSchemaFile,
		budget, strconv.FormatFloat(s.Budget, 'f', -1, 64),
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
	if s.NoTools {
		env = added(env, p.entry.NoTools.Env)
	}
	if s.Contain != nil {
		env = added(env, p.entry.Sandbox.Set)
	} else { // there the sandbox says where the folder is
		env = added(env, p.needs().account)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, name+"="+env[name])
	}
	return cmd
}

func (p *entryProgram) Reader(s Spec) Reader {
	return newReader(p.entry.Output, p.rules, readerOptions{listen: s.Event, dir: cmp.Or(s.At, s.Dir), wholeSession: p.entry.SessionUsage && s.Session != "", partialUsage: p.entry.PartialUsage, answer: p.entry.Answer})
}

// Lookup returns the adapter of that name: the catalogue's entry with the project's changes,
// or the project's own.
//
// NAME@ACCOUNT is the program with the settings of one of its accounts.
func Lookup(name string, o Options) (Adapter, error) {
	name, account, ofOne := strings.Cut(name, "@")
	own, isOwn := o.Custom[name]
	own = own.at(o.Root)
	base, isBuiltin := builtin().Programs[name]
	switch {
	case isBuiltin:
		return newAccount(name, account, ofOne, own.over(base), isOwn)
	case isOwn:
		return newAccount(name, account, ofOne, own.over(Entry{Prompt: promptStdin, Output: formatText, RestartCode: restartCode}), false)
	case name == Scripted:
		return newScripted(o)
	}
	known := Names()
	for n := range o.Custom {
		known = append(known, n)
	}
	slices.Sort(known)
	return nil, fmt.Errorf("cannot find the agent program %q; known are %s", name, strings.Join(slices.Compact(known), ", "))
}

func newScripted(o Options) (Adapter, error) {
	if o.Scenario == "" {
		return nil, fmt.Errorf("cannot use the scripted agent without a scenario file")
	}
	// The child works elsewhere, so a relative path would name another file there.
	scenario, err := filepath.Abs(o.Scenario)
	if err != nil {
		return nil, fmt.Errorf("cannot find the scenario file %s: %v", o.Scenario, err)
	}
	return scripted{liza: o.Liza, scenario: scenario}, nil
}

// newAccount is newProgram with the settings of an account, if one is named.
func newAccount(name, account string, named bool, e Entry, overridden bool) (Adapter, error) {
	for other, folder := range e.Accounts {
		if !programName().MatchString(other) || !filepath.IsAbs(folder) {
			return nil, fmt.Errorf("cannot use the agent program %q: agents.%s.accounts: %s: %q is not a name with an absolute path, or one that begins with ~/", name, name, other, folder)
		}
	}
	folder := e.Accounts[account]
	if named && folder == "" {
		return nil, fmt.Errorf("cannot use the agent program %q: it has no account %q (agents.%s.accounts)", name, account, name)
	}
	made, err := newProgram(name, e, overridden)
	if p, ok := made.(*entryProgram); ok && named {
		p.name, p.account = name+"@"+account, folder
	}
	return made, err
}

func newProgram(name string, e Entry, overridden bool) (Adapter, error) {
	e = e.spoken()
	problems := e.problems()
	if !programName().MatchString(name) {
		problems = append(problems, fmt.Errorf("its name has other characters than letters, digits, dots and dashes"))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("cannot use the agent program %q: agents.%s.%v", name, name, problems[0])
	}
	rules, err := newRules(e.ExitCodes, e.Signatures, builtin().common)
	if err != nil {
		return nil, fmt.Errorf("cannot use the agent program %q: agents.%s.%v", name, name, err)
	}
	return &entryProgram{name: name, entry: e, rules: rules, root: os.Geteuid() == 0, overridden: overridden}, nil
}

// NewReader returns a reader by name, with the signatures that all programs share; "" is text,
// and scripted is that of the scripted agent.
func NewReader(name string) (Reader, error) {
	if name == "" {
		name = formatText
	}
	if name == formatScripted {
		return &scriptedReader{}, nil
	}
	if _, ok := formats[name]; !ok {
		return nil, fmt.Errorf("cannot read output of the form %q; known are %s", name, strings.Join(Formats(), ", "))
	}
	return newReader(name, builtin().common, readerOptions{}), nil
}

// Options is what Lookup needs to know about this program.
type Options struct {
	Custom   map[string]Entry // agents: of the project: its own programs, and changes of built-in ones
	Root     string           // of the project: relative paths of its entries begin there
	Liza     string           // absolute path of the running liza, for the scripted agent
	Scenario string           // scenario file of the scripted agent
}

// Settings is a file of a program's own settings, below the person's home folder, with the fields by which people name what the
// program needs besides. Whatever is written there as ${NAME} or {env:NAME} is a variable, too.
type Settings struct {
	File      string   `yaml:"file"`
	Variables []string `yaml:"variables"` // the value is the name of one
	Servers   []string `yaml:"servers"`   // the value is a URL
	Commands  []string `yaml:"commands"`  // the value is a command line, or a list of its words
}

// Named is what one file of settings names.
type Named struct {
	File      string
	Variables []string
	Servers   []string   // HOST:PORT
	Commands  [][]string // the words of each
}

// Named is what the person's settings of the program name. A file that is missing names nothing.
func (n Needs) Named(home string, environ []string) (all []Named) {
	values := n.passed(environ)
	for _, s := range n.Settings {
		at := n.placed(s.File, home, values)
		text, err := os.ReadFile(at)
		if err != nil {
			continue
		}
		if rel, ok := within(home, at); ok {
			at = "~" + string(filepath.Separator) + rel
		}
		found := s.read(string(text))
		found.File = at
		all = append(all, found)
	}
	return all
}

var (
	comment  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*(?:#|//).*$`) })
	expanded = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:\$\{(?:env:)?|\$\{\{ *secrets\.|\{env:)([A-Za-z_][A-Za-z0-9_]*)`)
	})
	variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`) })
	commandWord  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\s"'\\,;|&()<>\[\]]+`) })
)

// read finds the fields in JSON, YAML and TOML alike: they are written NAME: VALUE or NAME = VALUE in all of them.
func (s Settings) read(text string) (found Named) {
	text = comment().ReplaceAllString(text, "")
	add := func(list *[]string, value string) {
		if value != "" && !slices.Contains(*list, value) {
			*list = append(*list, value)
		}
	}
	for _, name := range values(text, s.Variables) {
		if name = strings.TrimPrefix(name, "$"); variableName().MatchString(name) {
			add(&found.Variables, name)
		}
	}
	for _, m := range expanded().FindAllStringSubmatch(text, -1) {
		add(&found.Variables, m[1])
	}
	for _, url := range values(text, s.Servers) {
		add(&found.Servers, hostOf(url))
	}
	for _, line := range values(text, s.Commands) {
		if words := commandWord().FindAllString(line, -1); len(words) > 0 {
			found.Commands = append(found.Commands, words)
		}
	}
	return found
}

// values are those of fields: a text in quotes, a list as it is written, or a word.
func values(text string, fields []string) (all []string) {
	if len(fields) == 0 {
		return nil
	}
	form := regexp.MustCompile(fmt.Sprintf(`(?:^|[\s{,"'])(?:%s)["']?[ \t]*[:=]\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(\[[^\]]*\])|([^\s"'\[{,}]+))`, strings.Join(fields, "|")))
	for _, m := range form.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1]+m[2]+m[3]+m[4])
	}
	return all
}
