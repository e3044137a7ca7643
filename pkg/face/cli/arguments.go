package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
)

// The options of commands. A usage text that begins with a word in backquotes names the
// value: "`SHA` commit to review".

func text(name, usage string, to *string) urfave.Flag {
	return &urfave.StringFlag{Name: name, Usage: usage, Destination: to}
}

// texts is an option that may be given several times.
func texts(name, usage string, to *[]string) urfave.Flag {
	return &urfave.StringSliceFlag{Name: name, Usage: usage, Destination: to}
}

func flag(name, usage string, to *bool) urfave.Flag {
	return &urfave.BoolFlag{Name: name, Usage: usage, Destination: to}
}

func number(name, usage string, value int, to *int) urfave.Flag {
	return &urfave.IntFlag{Name: name, Usage: usage, Value: value, Destination: to}
}

// commaList reads "a,b".
func commaList(s string) []string {
	list := []string{}
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// pairs reads "k=v" texts.
func pairs(option string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range list {
		k, v, ok := strings.Cut(p, "=")
		if !ok || strings.TrimSpace(k) == "" {
			return nil, usagef("liza help", "--%s '%s' must have the form key=value", option, p)
		}
		out[strings.TrimSpace(k)] = v
	}
	return out, nil
}

// checkArguments compares the positional arguments with what ArgsUsage says: "ID",
// "[TASK]" for one that may be left out, "ID…" for several.
func checkArguments(c *urfave.Command) error {
	words := strings.Fields(c.ArgsUsage)
	least, most := 0, len(words)
	for _, w := range words {
		if !strings.HasPrefix(w, "[") {
			least++
		}
		if strings.Contains(w, "…") {
			most = 1 << 20
		}
	}
	given := c.Args().Slice()
	switch {
	case len(given) < least:
		return usagef(helpCommand(c), "%s needs %s; the command is `%s`", c.FullName(), strings.TrimSuffix(words[len(given)], "…"), usageLine(c))
	case len(given) > most && most == 0:
		return usagef(helpCommand(c), "%s takes no argument, but '%s' was given", c.FullName(), given[0])
	case len(given) > most:
		hint := " (quote a text of several words)"
		if slices.ContainsFunc(given, func(word string) bool { return strings.ContainsAny(word, " \t\n") }) {
			hint = "" // it is quoted
		}
		return usagef(helpCommand(c), "'%s' is one argument too many; the command is `%s`%s", given[most], usageLine(c), hint)
	}
	return nil
}

func usageLine(c *urfave.Command) string {
	return strings.TrimSpace(c.FullName() + " [options] " + c.ArgsUsage)
}

// helpCommand is the command that explains c.
func helpCommand(c *urfave.Command) string {
	if c.Root() == c {
		return c.Name + " --help"
	}
	root, rest, _ := strings.Cut(c.FullName(), " ")
	return root + " help " + rest
}

// elsewhere are words that people try, and the command that does what they look for.
var elsewhere = map[string]string{
	"board": "status", "list": "status", "ls": "status", "tasks": "status", "agents": "status", "task": "show", "start": "run", "team": "run", "new": "init", "create": "init",
	"continue": "resume", "cancel": "stop", "logs": "log", "journal": "log", "check": "doctor", "costs": "usage", "settings": "config",
	"review": "claim-review", "question": "answer", "questions": "answer", "undo": "restore",
}

// unknownCommand names the nearest command that there is.
func unknownCommand(c *urfave.Command, name string) error {
	var known []string
	for _, sub := range c.Commands {
		if !sub.Hidden {
			known = append(known, sub.Names()...)
		}
	}
	message := fmt.Sprintf("%s has no command '%s'", c.FullName(), name)
	next := helpCommand(c)
	near := blackboard.Nearest(name, known)
	if c.Root() == c && c.Name == "liza" {
		if there := elsewhere[strings.ToLower(name)]; there != "" {
			near = there
		} else if near == "" {
			near = elsewhere[blackboard.Nearest(name, slices.Sorted(maps.Keys(elsewhere)))]
		}
	}
	if near != "" {
		message += "; did you mean '" + near + "'?"
		next = c.FullName() + " " + near + " --help"
	}
	return usagef(next, "%s", message)
}

// names lists the visible commands.
func names(commands []*urfave.Command) []string {
	var out []string
	for _, c := range commands {
		if !c.Hidden {
			out = append(out, c.Name)
		}
	}
	return out
}

// usageErrorOf says in our words what the library found wrong with the options.
func usageErrorOf(c *urfave.Command, err error) error {
	if first := c.Args().First(); first != "" && c.Root() == c && len(c.Commands) > 0 && c.Command(first) == nil {
		return unknownCommand(c, first)
	}
	reason := err.Error()
	if name, ok := strings.CutPrefix(reason, "flag provided but not defined: -"); ok {
		return unknownOption(c, name)
	}
	if name, ok := strings.CutPrefix(reason, "flag needs an argument: "); ok {
		return usagef(helpCommand(c), "%s needs a value", dashed(strings.TrimLeft(name, "-")))
	}
	if value, name, ok := badValue(reason); ok {
		return usagef(helpCommand(c), "%s '%s' must be %s", dashed(name), value, kindOf(optionOf(c, name)))
	}
	return usagef(helpCommand(c), "%s", reason)
}

// badValue takes apart: invalid value "x" for flag -name: reason
func badValue(reason string) (value, name string, ok bool) {
	rest, found := strings.CutPrefix(reason, "invalid value ")
	quoted, err := strconv.QuotedPrefix(rest)
	if !found || err != nil {
		return "", "", false
	}
	if value, err = strconv.Unquote(quoted); err != nil {
		return "", "", false
	}
	name, ok = strings.CutPrefix(rest[len(quoted):], " for flag -")
	name, _, _ = strings.Cut(name, ":")
	return value, name, ok
}

func unknownOption(c *urfave.Command, name string) error {
	var known []string
	for _, f := range optionsOf(c) {
		known = append(known, f.Names()...)
	}
	message := fmt.Sprintf("%s has no option %s", c.FullName(), dashed(name))
	if near := blackboard.Nearest(name, known); near != "" && len(name) > 1 {
		message += "; did you mean " + dashed(near) + "?"
	} else if strings.ContainsAny(name, " \t\n") {
		message += "; put -- before a text that begins with a dash"
	}
	return usagef(helpCommand(c), "%s", message)
}

// optionsOf lists the options of a command, the global ones last.
func optionsOf(c *urfave.Command) []urfave.Flag {
	var all []urfave.Flag
	for _, up := range c.Lineage() {
		for _, f := range up.Flags {
			if l, ok := f.(urfave.LocalFlag); up == c || !ok || !l.IsLocal() {
				all = append(all, f)
			}
		}
	}
	return all
}

func optionOf(c *urfave.Command, name string) urfave.Flag {
	for _, f := range optionsOf(c) {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func kindOf(f urfave.Flag) string {
	switch f.(type) {
	case *urfave.IntFlag:
		return "a whole number"
	case *urfave.DurationFlag:
		return "a time such as 30s, 5m or 2h"
	case *urfave.BoolFlag:
		return "true or false"
	}
	return "of another form"
}

// dashed is an option as it is written: -C, --json.
func dashed(name string) string {
	if len([]rune(name)) == 1 {
		return "-" + name
	}
	return "--" + name
}

// wantsJSON reports whether --json is among the arguments.
func wantsJSON(args []string) bool {
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "--json", "-json", "--json=true":
			return true
		}
	}
	return false
}
