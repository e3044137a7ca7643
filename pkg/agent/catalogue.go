package agent

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
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
	Model         []string          `yaml:"model"`
	Resume        []string          `yaml:"resume"`
	ResumeCommand []string          `yaml:"resume_command"`
	Interactive   []string          `yaml:"interactive"`
	MCP           []string          `yaml:"mcp"`
	Env           map[string]string `yaml:"env"`
	RootEnv       map[string]string `yaml:"root_env"`
	Unset         []string          `yaml:"unset"`
	Version       []string          `yaml:"version"`
	Help          []string          `yaml:"help"`
	Needs         []string          `yaml:"needs"`
	RestartCode   int               `yaml:"restart_code"`
	EndGrace      int               `yaml:"end_grace"` // seconds
	SessionUsage  bool              `yaml:"session_usage"`
	Sandbox       Needs             `yaml:"sandbox"`

	ExitCodes  map[int]Outcome     `yaml:"exit_codes"`
	Signatures map[string][]string `yaml:"signatures"` // class → regular expressions
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
		for _, err := range e.problems() {
			errs = append(errs, fmt.Errorf("%s.%v", name, err))
		}
		for _, text := range slices.Concat(e.Command, e.Model, e.Resume, e.ResumeCommand, e.Interactive, e.MCP, []string{e.LongPrompt}) {
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
	placeholders = []string{"{{.PromptFile}}", schemaFile, "{{.Prompt}}", "{{.Model}}", "{{.ModelArgs}}", "{{.MCPConfig}}", "{{.Liza}}", "{{.Session}}", "{{.Worktree}}", "{{.Role}}", "{{.TaskID}}"}
)

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
	if (e.Output == formatObject) != (e.Answer != "") {
		bad("answer names the field of the JSON object that has the answer: it belongs to output: json, and nothing else")
	}
	if len(e.Model) > 0 && !mentions(e.Model, "{{.Model}}") {
		bad("model has no {{.Model}}")
	}
	if len(e.MCP) > 0 && !mentions(e.MCP, "{{.MCPConfig}}") && !mentions(e.MCP, "{{.Liza}}") {
		bad("mcp has no {{.MCPConfig}} and no {{.Liza}}")
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

func mentions(args []string, what string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, what) })
}

// over puts the keys that a project sets over those of an entry. Lists are replaced, maps are
// added to; of signatures, those of the project are looked for first.
func (e Entry) over(base Entry) Entry {
	out := base
	to, from := reflect.ValueOf(&out).Elem(), reflect.ValueOf(e)
	for i := range from.NumField() {
		if own := from.Field(i); own.Kind() != reflect.Map && !own.IsZero() {
			to.Field(i).Set(own)
		}
	}
	out.Env, out.RootEnv, out.ExitCodes = added(base.Env, e.Env), added(base.RootEnv, e.RootEnv), added(base.ExitCodes, e.ExitCodes)
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

// CommonNeeds are those of every command, also of one that is not an agent program.
func CommonNeeds() Needs { return builtin().Common.Sandbox }
