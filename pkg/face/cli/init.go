package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/store"
	"liza/pkg/board/store/mirror"
	"liza/pkg/board/store/postgres"
	"liza/pkg/code/project"
	"liza/pkg/team/assembly"
	"liza/pkg/team/findings"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/verb"
)

// newBoard has init make the board in a database when an option or config.yaml names one.
func (e *Env) newBoard(in *verb.InitInput, address string) (at postgres.Address, err error) {
	p, err := project.At(in.Dir)
	if err != nil {
		return at, nil // init says it
	}
	where := config.Store{URL: address}
	if address == "" {
		cfg, _ := config.LoadTolerant(p.Liza, e.System.Environ)
		where = cfg.Store
	}
	if where.URL == "" {
		return at, nil
	}
	if at, err = postgres.ParseAddress(where.URL); err != nil {
		return at, err
	}
	at.Board = cmp.Or(where.Board, at.Board, postgres.BoardName(in.Goal), "board")
	in.Board = func(ctx context.Context, dir string, o store.Options, first *blackboard.State, comments ...store.Comment) error {
		pinned, err := e.System.Pinned(p, dir, at)
		if err != nil {
			return err
		}
		files, err := mirror.ReadFiles(p.Liza, assembly.SharedPaths...)
		if err != nil {
			return err
		}
		files = slices.DeleteFunc(files, func(f store.BoardFile) bool { return f.Path == pinned.File.Path })
		board, _, err := e.System.Board(config.Store{URL: at.URL, Board: at.Board}, o, 0, append(files, pinned.File)...)
		if err != nil {
			return err
		}
		defer board.Close()
		err = board.Create(ctx, first, comments...)
		if err == nil {
			err = pinned.Write()
		}
		if err == nil {
			err = assembly.CopyBoard(ctx, p, dir, board, at)
		}
		return err
	}
	return at, nil
}

// introduce pushes the integration branch of a new board to the remote over which its hosts will work.
func (e *Env) introduce(ctx context.Context, root string) {
	from := *e
	from.System.Dir = root
	d, err := from.System.Service(ctx)
	if err == nil {
		var s *blackboard.State
		if d.Board.Remote() == "" {
			err = errors.New("there is no remote origin, and git.remote names none")
		} else if s, err = d.Board.View(ctx); err == nil {
			err = d.Integration.FollowRemote(ctx, s)
		}
	}
	if err != nil {
		e.System.Log().Warn("the integration branch is not on a git remote yet, over which other hosts get it: "+err.Error(), "next", "git remote add origin URL, or liza config git.remote NAME")
	}
	e.System.CloseAfter(&from.System)
}

func newInit(env *Env) *urfave.Command {
	var in verb.InitInput
	var address string
	join := &joinOptions{env: env}
	return &urfave.Command{
		Name: "init", Category: "start", ArgsUsage: "[GOAL]", Usage: "make this repository a Liza project with a goal",
		Description: "Creates .liza/ with the board and its log, and the integration branch. Your branch, index and files stay as they are. Refuses when the\n" +
			"spec file is missing or not committed as it stands (agents have only what is committed), when there is a project already, and when a\n" +
			"branch of that name is elsewhere. The checks are tried once, for 30 seconds in all, where merges will be checked. To undo it: liza uninit.\n" +
			"With --join this clone becomes a host of a board that is in a database: it gets the settings, roles and instructions of the board, and a copy of the board. The\n" +
			"repository must be a clone of the same remote as that of the other hosts. What .liza says otherwise already is kept aside. Approvals are sealed with a key that\n" +
			"only the hosts have: a second machine gets it by --key. The password comes from PGPASSWORD, ~/.pgpass or the service file. To take the host away again: rm -r .liza." +
			examples("liza init 'Greeting CLI with tests'", "liza init 'Payments' --spec specs/payments.md --from main", "liza init 'Payments' --store postgres://liza@db/liza", "liza init --join postgres://liza@db/liza/payments",
				"ssh first liza -C pay store key - | liza init --join postgres://liza@db/liza/payments --key -") + exitsText(0, 1, 2, 3, 4, 8, 9),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "spec", Usage: "`FILE`: it says what is wanted", DefaultText: "specs/vision.md", Destination: &in.Spec},
			&urfave.StringFlag{Name: "branch", Usage: "`NAME`: integration branch", DefaultText: "integration", Destination: &in.Branch},
			&urfave.StringFlag{Name: "from", Usage: "`REF`: where the integration branch starts", DefaultText: "HEAD", Destination: &in.From},
			text("store", "`URL` of a PostgreSQL database that will have the board, for a team on several hosts: postgres://USER@HOST/DATABASE[/BOARD]", &address),
			text("join", "`URL` of a board in a database whose host this clone becomes: postgres://USER@HOST/DATABASE/BOARD", &join.url),
			text("key", "`FILE` with the key of the board's approvals, from liza store key on another host; with --join; - is stdin", &join.key),
			flag("reuse-branch", "accept an integration branch that exists, wherever it is", &in.ReuseBranch),
		},
		Action: env.do(env.slow("making the project", func(ctx context.Context, args []string) error {
			env := env
			switch {
			case join.url != "" && len(args) > 0:
				return usagef("liza help init", "--join takes no GOAL: the board has one")
			case join.url != "":
				return join.run(ctx)
			case len(args) == 0:
				return usagef("liza help init", "liza init needs GOAL; the command is `liza init GOAL`")
			}
			in.Goal, in.Environ, in.Now, in.Person, in.Mask = args[0], env.System.Environ, env.System.Now(), env.System.Caller().Person, env.System.Secrets().Mask
			in.Dir = cmp.Or(cmp.Or(env.System.Root, env.System.Get("LIZA_ROOT")), env.System.Dir)
			if !filepath.IsAbs(in.Dir) {
				in.Dir = filepath.Join(env.System.Dir, in.Dir)
			}
			in.Keys = env.System.Keys()
			at, err := env.newBoard(&in, address)
			if err != nil {
				return err
			}
			done, err := verb.Init(ctx, in)
			if err != nil {
				return err
			}
			env.System.RememberProject(done.Root)
			if at.Board != "" {
				done.Board = at.String()
				env.introduce(ctx, done.Root)
			}
			if done.Board != "" {
				done.Undo = "liza store move file && " + done.Undo // the name is free again then
			}
			identity := ""
			if done.NoIdentity {
				identity = fmt.Sprintf("  identity     %s: %s\n", maintain.NoIdentity, maintain.TellIdentity)
			}
			shown := struct {
				verb.Initialized
				Checks []string           `json:"checks,omitempty"`
				Differ []findings.Finding `json:"differ,omitempty"`
			}{Initialized: done}
			shown.Checks, shown.Differ = env.tryProject(ctx, done.Root)
			checks, from := "", ""
			for _, line := range shown.Checks {
				checks += "  check        " + line + "\n"
			}
			for _, f := range shown.Differ {
				checks += fmt.Sprintf("  %-12s %s%s\n", f.Check, f.Text, nextText(f.Next))
			}
			if f, off := findings.FiltersOff(done.FiltersOff); off {
				checks += fmt.Sprintf("  %-12s %s%s\n", "filters", f.Text, nextText(f.Next))
			}
			if done.Origin != "" {
				from = ", where " + done.Origin + " is"
			}
			return env.Print(shown, "%s is a Liza project now\n  board        %s\n  goal         %s\n  integration  branch %s at %.9s%s\n%s%s  undo         %s (as long as nothing has been worked on)\n  agents       their programs run with their permission questions switched off; how far they are contained here: liza doctor (specs/security.md of Liza)\nnext: liza run --cli NAME, or liza add TEXT\n",
				done.Root, cmp.Or(done.Board, done.State), done.Goal, done.Branch, done.Integration, from, identity, checks, done.Undo)
		})),
	}
}

func newUninit(env *Env) *urfave.Command {
	var yes bool
	return &urfave.Command{
		Name: "uninit", Category: "repair", Usage: "take Liza out of this repository",
		Description: "Lists what belongs to Liza: .liza, .worktrees, the integration branch, branches of tasks, refs under refs/liza, the key of seals and the line in\n" +
			"git's info/exclude. With --yes it removes all of that. Work that no other branch, tag or remote has is named, and saved before as a bundle in\n" +
			"the git folder. Refuses while agents are at work. Your branches, your files and what is on remotes stay as they are." +
			examples("liza uninit", "liza uninit --yes") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{flag("yes", "remove what is listed", &yes)},
		Action: env.onService(func(ctx context.Context, d *verb.Service, _ []string) error {
			done, err := maintain.Uninit(ctx, d, env.System.Keys(), yes)
			if err != nil {
				return err
			}
			return env.Print(done, "%s", uninitText(done))
		}),
	}
}

func uninitText(u maintain.Uninitialized) string {
	word, save := "would remove", "would be saved in"
	if u.Done {
		word, save = "removed", "is saved in"
	}
	var b strings.Builder
	line := func(word, kind, name, why string) {
		if why != "" {
			why = ": " + why
		}
		fmt.Fprintf(&b, "%-12s %-9s %s%s\n", word, kind, name, why)
	}
	for _, g := range u.Removed {
		line(word, g.Kind, g.Name, g.Why)
	}
	for _, g := range u.Kept {
		line("kept", g.Kind, g.Name, g.Why)
	}
	for _, what := range u.Unmerged {
		line("unmerged", "work", what, "")
	}
	if u.Bundle != "" {
		fmt.Fprintf(&b, "unmerged work %s %s\n", save, u.Bundle)
	}
	switch {
	case !u.Done:
		b.WriteString("nothing was removed\nnext: liza uninit --yes\n")
	case u.Tracked:
		b.WriteString("next: git commit -m 'Without Liza' -- .liza\n")
	case u.Bundle != "":
		fmt.Fprintf(&b, "next: git fetch %s 'refs/*:refs/saved/*', if you want it back\n", u.Bundle)
	}
	return b.String()
}
