package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/transition"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/verb"
)

type editOptions struct{ env *Env }

// newEdit is the command of the verb edit, and without a task an editor for the whole board.
func newEdit(env *Env, c *urfave.Command) {
	o, one := &editOptions{env: env}, c.Action
	c.Action = func(ctx context.Context, c *urfave.Command) error {
		task := c.Args().First()
		given := slices.ContainsFunc(c.Flags, func(f urfave.Flag) bool { return f.IsSet() })
		switch {
		case task != "" && !given:
			return usagef("liza help edit", "name what changes of %s: --priority, --title, --desc, --done, --scope or --limit", task)
		case task != "":
			return one(ctx, c)
		case given:
			return usagef("liza help edit", "name the task that changes")
		}
		return env.onService(o.run)(ctx, c)
	}
}

// edited is the result of `liza edit`.
type edited struct {
	Revision int      `json:"revision"`
	Changed  []string `json:"changed"`
	Notes    []string `json:"warnings,omitempty"`
}

func (o *editOptions) run(ctx context.Context, d *verb.Service, _ []string) error {
	dir, err := os.MkdirTemp("", "liza-edit-")
	if err != nil {
		return fmt.Errorf("cannot make a copy to edit: %w", err)
	}
	s := &editing{env: o.env, path: filepath.Join(dir, "state.yaml")}
	done, err := maintain.Edit(ctx, d, func(text []byte, problem error) ([]byte, error) { return s.open(ctx, text, problem) })
	if err != nil {
		if s.saved { // a person's work is not thrown away
			return fmt.Errorf("%w\nyour text is kept as %s", err, s.path)
		}
		os.RemoveAll(dir)
		return err
	}
	os.RemoveAll(dir)
	if done.Revision == 0 {
		return &transition.Refusal{Exit: transition.ExitNothing, Next: "liza status", Message: "nothing was changed"}
	}
	result := edited{Revision: done.Revision, Changed: done.Names}
	what := prose.Few(done.Names, 10)
	if what == "" {
		what = "comments or layout only"
	}
	text := fmt.Sprintf("written as revision %d: %s\n", done.Revision, what)
	for _, n := range done.Notes {
		note := fmt.Sprintf("line %d: %s", n.Line, n.Text)
		result.Notes = append(result.Notes, note)
		text += "note: " + note + "\n"
	}
	return o.env.Print(result, "%s", text)
}

// editing is a copy of the state in a person's editor.
type editing struct {
	env   *Env
	path  string
	saved bool // it has something that the state has not
}

// open runs the editor. After a problem it asks first, where somebody can answer; else it
// gives up.
func (s *editing) open(ctx context.Context, text []byte, problem error) ([]byte, error) {
	if problem != nil {
		if !s.env.StdinTerminal {
			return nil, nil
		}
		s.env.System.Log().Error(explain(problem).message)
		if !s.again() {
			return nil, nil
		}
	}
	editor := cmp.Or(s.env.System.Get("VISUAL"), s.env.System.Get("EDITOR"))
	if editor == "" {
		if !s.env.StdinTerminal {
			return nil, usagef("EDITOR=COMMAND liza edit", "cannot edit: there is no terminal, and neither VISUAL nor EDITOR names an editor that needs none")
		}
		editor = "vi"
	}
	if err := os.WriteFile(s.path, text, 0o600); err != nil {
		return nil, fmt.Errorf("cannot make a copy to edit: %w", err)
	}
	// Through the shell, for editors are set with options.
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", s.path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = s.env.System.Stdin, s.env.direct.out, s.env.direct.errs, s.env.System.Environ
	if s.env.JSON {
		cmd.Stdout = s.env.direct.errs
	}
	if err := cmd.Run(); err != nil {
		s.saved = s.differs(text)
		return nil, transition.Refuse(transition.ExitFailure, "EDITOR=vi liza edit", "cannot edit: the editor '%s' failed: %w", editor, err)
	}
	edited, err := safefile.Read(s.path)
	if err != nil {
		return nil, fmt.Errorf("cannot read what was edited: %w", err)
	}
	s.saved = s.saved || string(edited) != string(text)
	if problem != nil && string(edited) == string(text) {
		return nil, nil
	}
	return edited, nil
}

func (s *editing) differs(text []byte) bool {
	edited, err := safefile.Read(s.path)
	return err == nil && string(edited) != string(text) || err != nil && !errors.Is(err, os.ErrNotExist)
}

func (s *editing) again() bool {
	fmt.Fprint(s.env.System.Stderr, "edit again? [Y/n] ")
	answer, err := bufio.NewReader(s.env.System.Stdin).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return err == nil && answer != "n" && answer != "no"
}
