package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Lookup returns the adapter of that name: the catalogue's entry with the project's changes,
// or the project's own.
func Lookup(name string, o Options) (Adapter, error) {
	own, isOwn := o.Custom[name]
	own = own.at(o.Root)
	base, isBuiltin := builtin().Programs[name]
	switch {
	case isBuiltin:
		return newProgram(name, own.over(base), isOwn)
	case isOwn:
		return newProgram(name, own.over(Entry{Prompt: promptStdin, Output: formatText, RestartCode: restartCode}), false)
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

func newProgram(name string, e Entry, overridden bool) (Adapter, error) {
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
