package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/face/verbs"
)

// verbCommands makes a command of each verb; a name of two words is a command below that of the first.
func (e *Env) verbCommands() (top []*urfave.Command) {
	for _, v := range verbs.All() {
		if v.Of != "" {
			continue
		}
		above, _, below := strings.Cut(v.Name, " ")
		c := e.verbCommand(v)
		if v.Name == "answer" {
			c = e.listing(c)
		}
		if !below {
			top = append(top, c)
			continue
		}
		i := slices.IndexFunc(top, func(c *urfave.Command) bool { return c.Name == above })
		top[i].Commands = append(top[i].Commands, c)
	}
	return top
}

// verbCommand makes the command of a verb: its options and arguments are the fields of its input.
func (e *Env) verbCommand(v *verbs.Verb) *urfave.Command {
	words := strings.Fields(v.Name)
	c := &urfave.Command{Name: words[len(words)-1], Aliases: v.Aliases, Category: v.Group, Hidden: v.Hidden, Usage: v.Usage, Description: v.Help + examples(v.Examples...)}
	if v.By != "" {
		c.Usage += " (" + v.By + ")"
	}
	if v.Exits != nil {
		c.Description += exitsText(v.Exits...)
	}
	if !v.Does() {
		return c
	}
	c.ArgsUsage = v.ArgsUsage()
	for _, f := range v.Fields(verbs.CLI) {
		if f.Arg == "" && f.Option != f.File {
			c.Flags = append(c.Flags, optionFor(f))
		}
		if f.File != "" {
			c.Flags = append(c.Flags, &urfave.StringFlag{Name: f.File, Usage: "`F`: file with the " + fileOf(f) + "; - is stdin"})
		}
	}
	c.Action = func(ctx context.Context, c *urfave.Command) error {
		return e.do(func(ctx context.Context, args []string) error {
			options, err := e.optionsOfVerb(v, c)
			if err != nil {
				return err
			}
			return e.runVerb(ctx, v, args, options)
		})(ctx, c)
	}
	return c
}

// fileOf says what the file of a field has.
func fileOf(f verbs.Field) string {
	if f.Option == f.File {
		return f.Help
	}
	return f.Option
}

// optionFor makes the option of a field.
func optionFor(f verbs.Field) urfave.Flag {
	help := f.Help
	if f.Required {
		help += " (required)"
	}
	word := "`" + f.Word + "`: "
	switch kind := f.Kind(); {
	case kind == verbs.Switch:
		return &urfave.BoolFlag{Name: f.Option, Usage: help}
	case kind == verbs.Number:
		return &urfave.IntFlag{Name: f.Option, Usage: word + help, DefaultText: f.Unset}
	case kind == verbs.Many:
		return &urfave.StringSliceFlag{Name: f.Option, Usage: word + help}
	}
	return &urfave.StringFlag{Name: f.Option, Usage: word + help, DefaultText: f.Unset}
}

// optionsOfVerb returns the options that are given, and for one that names a file the text of the file.
func (e *Env) optionsOfVerb(v *verbs.Verb, c *urfave.Command) (map[string][]string, error) {
	given := map[string][]string{}
	for _, f := range v.Fields(verbs.CLI) {
		if f.Arg == "" && f.Option != f.File && c.IsSet(f.Option) {
			switch f.Kind() {
			case verbs.Switch:
				given[f.Option] = []string{strconv.FormatBool(c.Bool(f.Option))}
			case verbs.Number:
				given[f.Option] = []string{strconv.Itoa(c.Int(f.Option))}
			case verbs.Many:
				given[f.Option] = c.StringSlice(f.Option)
			default:
				given[f.Option] = []string{c.String(f.Option)}
			}
		}
		if f.File == "" || !c.IsSet(f.File) {
			continue
		}
		if given[f.Option] != nil {
			return nil, usagef(helpCommand(c), "--%s and --%s exclude each other", f.Option, f.File)
		}
		text, err := e.readText(c.String(f.File))
		if err != nil {
			return nil, err
		}
		given[f.Option] = []string{strings.TrimSpace(string(text))}
	}
	return given, nil
}

func (e *Env) runVerb(ctx context.Context, v *verbs.Verb, args []string, options map[string][]string) error {
	in, err := v.Parse(args, options)
	if err != nil {
		return err
	}
	open := e.System.Service
	if r, ok := in.(interface{ Reads() bool }); v.Reads || ok && r.Reads() {
		open = e.System.Reader
	}
	service, err := open(ctx)
	if err != nil {
		return err
	}
	if v.Doing != "" {
		defer e.progress(v.Doing)()
	}
	result, err := v.Run(ctx, service, in)
	switch {
	case err != nil && (!v.Partial || result == nil):
		return err
	case err != nil && e.JSON:
		return e.failWith(explain(err), result)
	}
	text := v.Say(in, result)
	if !e.JSON {
		e.Notices(text.Notices)
	}
	if err != nil {
		_, _ = fmt.Fprint(e.System.Stdout, text.Body)
		return err
	}
	return e.Print(result, "%s", text.Body)
}
