// Package verbs declares the actions of callers: each verb once, with its name, who may use it, its input, its help and the
// method of the service behind it. The command line makes commands, options and completion from a declaration, the MCP server
// tools with their schemas, and the page's server routes with their JSON.
//
// A new verb is one entry in one of the files of this package.
package verbs

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb"
)

// Who are the callers that may use a command.
type Who int

const (
	Everyone Who = iota + 1 // it shows something, or makes something outside of the project
	ByVerb                  // the rules of the board decide it, within the write
	People                  // people only; the verb itself checks that
	Gated                   // people only; the face has to check that
	Outside                 // everyone, but not from inside a run: it needs a terminal, or a place of its own
)

// A Face is a way to call verbs.
type Face string

const (
	CLI  Face = "cli"
	MCP  Face = "mcp"
	HTTP Face = "http"
)

// A Verb is the declaration of one verb, or of a group of verbs whose names begin with its name.
type Verb struct {
	Name     string // as on the command line: "facts add"
	Aliases  []string
	Of       string // the command that does it, for a verb that has none of its own
	Hidden   bool   // its command is for scripts and tests: help and completion do not name it
	Group    string // of the help, for a name of one word
	Who      Who
	By       string   // its usual callers, for the help
	Usage    string   // one line, without a full stop
	Help     string   // what it does and what it refuses
	Examples []string // command lines
	Exits    []int    // exit codes

	Doing   string   // text for a person on a terminal while it takes long
	Reads   bool     // it changes nothing; it works with a broken configuration
	Without []string // fields of the input that this verb does not have
	Partial bool     // its result, if any, is shown with an error too
	Route   string   // path of the HTTP API; {name} is a field of the input
	Tool    *Tool    // its tool over MCP

	input reflect.Type
	run   func(ctx context.Context, service *verb.Service, in any) (result any, err error)
	say   func(in, result any) Text
}

// A Tool has the callers that a verb is offered to over MCP. The verb decides whether they may use it.
type Tool struct {
	Roles   []blackboard.Role // none: all
	People  bool              // people too, or, without Roles, people only
	Outside bool              // not inside a run: there the supervisor does its work
	Agents  bool              // useless to a person without an agent's id
	About   string            // "": usage and help of the command
}

// A Text is a result in words, for a person.
type Text struct {
	Body    string   // with its line ends
	Notices []string // warnings that belong to it
}

// declare adds the function and the texts of a verb. In is a struct whose fields are described by tags:
//
//	json     name, and omitempty for what may be left out
//	help     what the field says
//	arg      word of a positional argument: "ID", "[ID]" for one that may be left out, "ID…" for several
//	option   name of the option, when it is not the JSON name with dashes
//	word     word for the value of the option in its help
//	default  value of what is left out
//	unset    what applies when it is left out, in words
//	values   the possible values, with commas
//	list     comma: one option has all elements
//	file     option that names a file with the text
//	faces    cli, mcp, http: only these have the field
func declare[In, Out any](v Verb, run func(context.Context, *verb.Service, In) (Out, error), say func(In, Out) Text) *Verb {
	v.input = reflect.TypeFor[In]()
	v.run = func(ctx context.Context, service *verb.Service, in any) (any, error) {
		return run(ctx, service, in.(In))
	}
	v.say = func(in, result any) Text { return say(in.(In), result.(Out)) }
	return &v
}

// A pageInput is an input that the person's page completes.
type pageInput interface{ fromPage() any }

// Input returns the type of the input.
func (v *Verb) Input() reflect.Type { return v.input }

// Does reports whether v does something itself.
func (v *Verb) Does() bool { return v.run != nil }

// Run carries out v with an input from Decode or Parse.
func (v *Verb) Run(ctx context.Context, service *verb.Service, in any) (result any, err error) {
	result, err = v.run(ctx, service, in)
	return result, v.explained(err)
}

// explained names the help of the command that was called, where that of the verb is named which the command has chosen.
func (v *Verb) explained(err error) error {
	wrong, ok := err.(*transition.Refusal)
	if !ok || wrong.Exit != transition.ExitUsage {
		return err
	}
	other, help := strings.CutPrefix(wrong.Next, "liza help ")
	if !help || other == v.Command() || !slices.ContainsFunc(all, func(x *Verb) bool { return x.Name == other }) {
		return err
	}
	own := *wrong
	own.Next = "liza help " + v.Command()
	return &own
}

// Say returns the text of a result.
func (v *Verb) Say(in, result any) Text { return v.say(in, result) }

// Command returns the name of the command that does v.
func (v *Verb) Command() string { return cmp.Or(v.Of, v.Name) }

// ToolName returns the name of v over MCP.
func (v *Verb) ToolName() string { return strings.ReplaceAll(v.Name, " ", "-") }

// About describes v to a program.
func (v *Verb) About() string {
	if v.Tool.About != "" {
		return v.Tool.About
	}
	return strings.ToUpper(v.Usage[:1]) + v.Usage[1:] + ". " + strings.ReplaceAll(v.Help, "\n", " ")
}

// OfferedTo reports whether a caller of role, "" for a person, is offered v over MCP; inside means that it is in a run.
func (v *Verb) OfferedTo(role blackboard.Role, inside bool) bool {
	t := v.Tool
	switch {
	case t == nil || t.Outside && inside:
		return false
	case role == "":
		return !t.Agents
	case len(t.Roles) == 0:
		return !t.People
	}
	for _, r := range t.Roles {
		if r == role {
			return true
		}
	}
	return false
}

// All returns the verbs, in the order of the help.
func All() []*Verb { return all }

var all = concat(planning, work, steering, deciding, people, knowledge)

func concat(lists ...[]*Verb) (list []*Verb) {
	for _, l := range lists {
		list = append(list, l...)
	}
	return list
}

// Find returns the verb of a name, or nil.
func Find(name string) *Verb {
	for _, v := range all {
		if v.Name == name {
			return v
		}
	}
	return nil
}
