package agent

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/prose"
)

// Entry describes one agent program: an entry of the catalogue, or of agents: in the settings
// of a project. catalogue.yaml says what each key means.
type Entry struct {
	About    string `yaml:"about"`
	Status   string `yaml:"status"`
	Checked  string `yaml:"checked"`
	Provider string `yaml:"provider"`

	Command       []string          `yaml:"command"`
	Prompt        string            `yaml:"prompt"`
	LongPrompt    string            `yaml:"long_prompt"`
	Output        string            `yaml:"output"`
	Answer        string            `yaml:"answer"`
	Dialogue      string            `yaml:"dialogue"`
	Mode          string            `yaml:"mode"`
	Model         []string          `yaml:"model"`
	Resume        []string          `yaml:"resume"`
	ResumeCommand []string          `yaml:"resume_command"`
	Interactive   []string          `yaml:"interactive"`
	Reopen        []string          `yaml:"interactive_resume"`
	MCP           []string          `yaml:"mcp"`
	Schema        []string          `yaml:"schema"`
	AnswerTool    string            `yaml:"answer_tool"`
	Budget        []string          `yaml:"budget"`
	Off           map[string]string `yaml:"off"` // tool → reason; a tool without one is on
	OffArgs       []string          `yaml:"off_args"`
	NoTools       Toolless          `yaml:"no_tools"`
	Env           map[string]string `yaml:"env"`
	RootEnv       map[string]string `yaml:"root_env"`
	Unset         []string          `yaml:"unset"`
	Version       []string          `yaml:"version"`
	Help          []string          `yaml:"help"`
	Needs         []string          `yaml:"needs"`
	RestartCode   int               `yaml:"restart_code"`
	EndGrace      int               `yaml:"end_grace"` // seconds
	SessionUsage  bool              `yaml:"session_usage"`
	PartialUsage  bool              `yaml:"partial_usage"`
	Sandbox       Needs             `yaml:"sandbox"`
	Project       []string          `yaml:"project"`
	Accounts      map[string]string `yaml:"accounts"` // a project's only: folder of settings of each account

	ExitCodes  map[int]Outcome     `yaml:"exit_codes"`
	Signatures map[string][]string `yaml:"signatures"` // class → regular expressions
}

// Toolless starts a program without any tool: for a run that only writes a text.
type Toolless struct {
	Args []string          `yaml:"args"`
	Env  map[string]string `yaml:"env"`
}

// What a prompt can be handed over by.
const (
	promptStdin = "stdin"
	promptFile  = "file"
	promptArgv  = "argv"
)

type catalogue struct {
	Version int `yaml:"version"`
	Common  struct {
		ExitCodes  map[int]Outcome     `yaml:"exit_codes"`
		Signatures map[string][]string `yaml:"signatures"`
		Sandbox    Needs               `yaml:"sandbox"`
		Project    []string            `yaml:"project"`
	} `yaml:"common"`
	Programs map[string]Entry `yaml:"programs"`

	common *rules
}

// catalogueVersion is the form of the file that this program reads.
const catalogueVersion = 1

//go:embed catalogue.yaml
var catalogueFile []byte

// builtin is the catalogue of this program. A test reads it, so that it cannot be broken.
var builtin = sync.OnceValue(func() *catalogue {
	c, err := parseCatalogue(catalogueFile)
	if err != nil {
		panic("agent: the built-in catalogue: " + err.Error())
	}
	return c
})

// parseCatalogue reads a catalogue and reports everything that is wrong with it.
func parseCatalogue(data []byte) (*catalogue, error) {
	c := &catalogue{}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read the catalogue: %v", err)
	}
	if c.Version != catalogueVersion {
		return nil, fmt.Errorf("cannot read the catalogue: version is %d; this program reads %d", c.Version, catalogueVersion)
	}
	var errs []error
	var err error
	if c.common, err = newRules(c.Common.ExitCodes, c.Common.Signatures, nil); err != nil {
		errs = append(errs, fmt.Errorf("common: %v", err))
	}
	for _, err := range c.Common.Sandbox.problems() {
		errs = append(errs, fmt.Errorf("common.%v", err))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Programs)) {
		e := c.Programs[name]
		if !slices.Contains([]string{"measured", "documented", "unverified"}, e.Status) {
			errs = append(errs, fmt.Errorf("%s.status is %q, not measured, documented or unverified", name, e.Status))
		}
		if (e.Status == "measured") != (e.Checked != "") {
			errs = append(errs, fmt.Errorf("%s.checked names the measured version, and nothing else", name))
		}
		for _, err := range e.spoken().problems() {
			errs = append(errs, fmt.Errorf("%s.%v", name, err))
		}
		for _, text := range slices.Concat(e.Command, e.Model, e.Resume, e.ResumeCommand, e.Interactive, e.Reopen, e.MCP, e.Schema, e.Budget, e.OffArgs, []string{e.LongPrompt}) {
			for _, p := range placeholder().FindAllString(text, -1) {
				if !slices.Contains(placeholders, p) {
					errs = append(errs, fmt.Errorf("%s: %s is not known", name, p))
				}
			}
		}
	}
	return c, errors.Join(errs...)
}

var (
	programName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) })
	placeholder  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{[^}]*\}\}`) })
	placeholders = []string{"{{.PromptFile}}", schemaFile, answerSchema, strictSchemaFile, budget, tool, "{{.Prompt}}", "{{.Model}}", "{{.ModelArgs}}", "{{.MCPConfig}}", "{{.Liza}}", "{{.Session}}", "{{.Worktree}}", "{{.Role}}", "{{.TaskID}}"}
)

// spoken is an entry whose protocol settles what others say by arguments: how the prompt goes in, a conversation goes on, and the program
// is told of Liza's MCP server.
func (e Entry) spoken() Entry {
	if e.Output == formatACP {
		e.Prompt, e.Dialogue, e.EndGrace = promptStdin, "", cmp.Or(e.EndGrace, 5)
		e.Resume, e.ResumeCommand, e.MCP, e.Schema, e.Budget = nil, nil, nil, nil, nil
	}
	return e
}

// problems lists what is wrong with an entry; each begins with the key.
func (e Entry) problems() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(e.Command) == 0 || e.Command[0] == "" {
		bad("command is empty")
	}
	switch e.Prompt {
	case promptStdin, promptFile, promptArgv:
	default:
		bad("prompt is %q, not stdin, file or argv", e.Prompt)
	}
	for key, command := range map[string][]string{"command": e.Command, "resume_command": e.ResumeCommand} {
		if e.Prompt == promptStdin && mentions(command, "{{.Prompt}}") {
			bad("%s has {{.Prompt}}, but prompt is stdin", key)
		}
	}
	if _, ok := formats[e.Output]; !ok {
		bad("output: cannot read output of the form %q; known are %s", e.Output, strings.Join(Formats(), ", "))
	}
	if _, ok := dialogues[e.Dialogue]; e.Dialogue != "" && !ok {
		bad("dialogue: %q is not known; known are %s", e.Dialogue, strings.Join(Dialogues(), ", "))
	}
	if e.Dialogue != "" && e.Prompt != promptStdin {
		bad("dialogue is over stdin, and prompt is %s", e.Prompt)
	}
	if e.Mode != "" && e.Output != formatACP {
		bad("mode is of a session of output: acp, and output is %s", e.Output)
	}
	if (e.Output == formatObject) != (e.Answer != "") {
		bad("answer names the field of the JSON object that has the answer: it belongs to output: json, and nothing else")
	}
	if len(e.Model) > 0 && !mentions(e.Model, "{{.Model}}") {
		bad("model has no {{.Model}}")
	}
	if len(e.MCP) > 0 && !mentions(e.MCP, "{{.MCPConfig}}") && !mentions(e.MCP, "{{.Liza}}") {
		bad("mcp has no {{.MCPConfig}} and no {{.Liza}}")
	}
	if len(e.Schema) > 0 && !mentions(e.Schema, answerSchema) && !mentions(e.Schema, strictSchemaFile) {
		bad("schema has no %s and no %s", answerSchema, strictSchemaFile)
	}
	if len(e.Budget) > 0 && !mentions(e.Budget, budget) {
		bad("budget has no %s", budget)
	}
	if len(e.OffArgs) > 0 && !mentions(e.OffArgs, tool) {
		bad("off_args has no %s", tool)
	}
	if len(e.Off) > 0 && len(e.OffArgs) == 0 {
		bad("off names tools, and this program cannot be told of them")
	}
	for key, args := range map[string][]string{"resume": e.Resume, "resume_command": e.ResumeCommand} {
		if len(args) > 0 && !mentions(args, "{{.Session}}") {
			bad("%s has no {{.Session}}", key)
		}
	}
	if e.EndGrace < 0 {
		bad("end_grace is %d, and cannot be negative", e.EndGrace)
	}
	if _, err := newRules(e.ExitCodes, e.Signatures, nil); err != nil {
		bad("%v", err)
	}
	errs = append(errs, e.Sandbox.problems()...)
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// off are the arguments that switch tools off, in the order of their names.
func (e Entry) off() (args []string) {
	for _, name := range slices.Sorted(maps.Keys(e.Off)) {
		if e.Off[name] == "" {
			continue
		}
		for _, arg := range e.OffArgs {
			args = append(args, strings.ReplaceAll(arg, tool, name))
		}
	}
	return args
}

func mentions(args []string, what string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, what) })
}

// over puts the keys that a project sets over those of an entry. Lists are replaced, maps are
// added to; of signatures, those of the project are looked for first.
func (e Entry) over(base Entry) Entry {
	out := base
	if len(e.Command) > 0 || e.Prompt != "" || e.Output != "" { // these were of the command in the catalogue
		out.Dialogue = ""
	}
	if len(e.Command) > 0 {
		out.Off, out.OffArgs, out.NoTools = nil, nil, Toolless{}
	}
	to, from := reflect.ValueOf(&out).Elem(), reflect.ValueOf(e)
	for i := range from.NumField() {
		if own := from.Field(i); own.Kind() != reflect.Map && !own.IsZero() {
			to.Field(i).Set(own)
		}
	}
	out.Env, out.RootEnv, out.ExitCodes = added(base.Env, e.Env), added(base.RootEnv, e.RootEnv), added(base.ExitCodes, e.ExitCodes)
	out.Off = added(out.Off, e.Off)
	out.Accounts = e.Accounts
	out.Signatures = map[string][]string{}
	for _, class := range classes {
		if own := slices.Concat(e.Signatures[class], base.Signatures[class]); len(own) > 0 {
			out.Signatures[class] = own
		}
	}
	for class, own := range e.Signatures { // one that is not known is reported, not lost
		if !slices.Contains(classes, class) {
			out.Signatures[class] = own
		}
	}
	return out
}

// Names are the programs of the catalogue, and scripted.
func Names() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(builtin().Programs)), Scripted)))
}

// ProjectSettings are the names by which programs of the catalogue find settings, instructions and hooks in a project, sorted. The work of one
// task must not have them act in the run of another role, whatever its program: a program reads those of others, too.
var ProjectSettings = sync.OnceValue(func() []string {
	all := slices.Clone(builtin().Common.Project)
	for _, e := range builtin().Programs {
		all = append(all, e.Project...)
	}
	slices.Sort(all)
	return slices.Compact(all)
})

// IsProjectSetting reports whether a path of a repository is one of the ProjectSettings, or in one, in whichever folder.
func IsProjectSetting(file string) bool {
	file = "/" + strings.ToLower(file) + "/"
	return slices.ContainsFunc(ProjectSettings(), func(name string) bool { return strings.Contains(file, "/"+strings.ToLower(name)+"/") })
}

// CommonNeeds are those of every command, also of one that is not an agent program.
func CommonNeeds() Needs { return builtin().Common.Sandbox }

// at is an entry whose relative paths are those of the project at root. A program runs in the
// worktree of its task, where a file that the project does not track is missing, and one that it
// tracks is the agent's to change. The rule is one sentence of specs/configuration.md: the program
// itself when it has a slash, and every argument that begins with ./ or ../ and is a file of the project.
func (e Entry) at(root string) Entry {
	if root == "" {
		return e
	}
	for _, argv := range []*[]string{&e.Command, &e.ResumeCommand, &e.Interactive, &e.Reopen, &e.Version, &e.Help} {
		*argv = argumentsAt(root, *argv, true)
	}
	for _, more := range []*[]string{&e.Model, &e.Resume, &e.MCP, &e.Schema, &e.Budget} {
		*more = argumentsAt(root, *more, false)
	}
	return e
}

func argumentsAt(root string, argv []string, program bool) []string {
	argv = slices.Clone(argv)
	for i, a := range argv {
		path := filepath.Join(root, a)
		isProgram := program && i == 0 && strings.Contains(a, "/") && !filepath.IsAbs(a) && !strings.HasPrefix(a, "{{")
		if isProgram || Relative(a) && isFile(path) {
			argv[i] = path
		}
	}
	return argv
}

// Relative reports whether an argument says by its form that it is a path: ./NAME or ../NAME.
func Relative(argument string) bool {
	return strings.HasPrefix(argument, "./") || strings.HasPrefix(argument, "../")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// call is a tool that a model calls, and what it was given, as the program writes it.
type call struct {
	name  string
	given json.RawMessage
}

func (c call) event() Event {
	return Event{Kind: EventTool, Text: c.name, Input: given(c.given)}
}

// telling are the arguments by which a person knows what a tool does, the most telling first. They are the names that the tools
// of the programs have for them.
var telling = []string{"command", "cmd", "script", "file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path", "dir_path",
	"query", "url", "description", "task", "prompt"}

// given says in one line what a tool was given: a command, a path, what is looked for, or else all its arguments.
func given(data json.RawMessage) string {
	var text string
	if figure(data, &text) { // JSON in a string, or no JSON at all
		if data = json.RawMessage(text); !json.Valid(data) {
			return oneLine(text)
		}
	}
	var args map[string]json.RawMessage
	if !figure(data, &args) {
		return ""
	}
	pattern := word(args["pattern"])
	for _, name := range telling {
		if value := word(args[name]); value != "" {
			switch {
			case name == "command" || name == "cmd":
				value = command(value)
			case pattern != "":
				value = pattern + " in " + value
			}
			return oneLine(value)
		}
	}
	if pattern != "" {
		return oneLine(pattern)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		all = append(all, name+"="+plainText(args[name]))
	}
	return oneLine(strings.Join(all, " "))
}

// word is a string, or a list of strings as one; "" is any other value.
func word(data json.RawMessage) string {
	var text string
	var list []string
	if figure(data, &list) {
		return strings.Join(list, " ")
	}
	figure(data, &text)
	return text
}

var shellCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:\S*/)?(?:ba|z|da)?sh -l?c (.+)$`)
})

// command is a command without the shell that a program puts before it.
func command(text string) string {
	m := shellCall().FindStringSubmatch(text)
	if m == nil {
		return text
	}
	text = m[1]
	if n := len(text); n > 1 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		quote := text[:1]
		text = text[1 : n-1]
		if quote == `"` {
			return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\$`, `$`, "\\`", "`").Replace(text)
		}
		return strings.ReplaceAll(text, `'\''`, `'`)
	}
	return text
}

// withoutDir is a text without the path of the folder that a run works in.
func withoutDir(text, dir string) string {
	if dir == "" || dir == "/" {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, dir+"/", ""), dir, ".")
}

// maxResult is how much of a tool's answer is told.
const maxResult = 2 << 10

// answered is what a tool answered, without its middle when it is long.
func answered(text string) Event {
	if len(text) > maxResult {
		text = strings.ToValidUTF8(text[:maxResult/2], "") + "\n[…]\n" + strings.ToValidUTF8(text[len(text)-maxResult/2:], "")
	}
	return Event{Kind: EventResult, Text: prose.Plain(strings.TrimSpace(text))}
}

// plainText is a JSON string without its quotes, and any other value as it is written.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// figure reads JSON and reports whether all of it could be read.
func figure(data json.RawMessage, v any) bool {
	return len(data) > 0 && string(data) != "null" && json.Unmarshal(data, v) == nil
}
