package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/seal"
	"liza/pkg/board/store"
	"liza/pkg/board/store/mirror"
	"liza/pkg/board/store/postgres"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/team/assembly"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// joinOptions are those of `liza init --join`: this clone becomes a host of a board that is in a database.
type joinOptions struct {
	env *Env
	url string
	key string // a file, - for stdin
}

// takeKey makes the key of the board's approvals that of this clone: the person has it on this machine, or has brought it from
// another host. The database does not have it, because a run may be able to read that.
func (o *joinOptions) takeKey(ctx context.Context, board store.Shared, s *blackboard.State, gitDir string, at postgres.Address) error {
	ring := seal.Ring{Folder: o.env.System.Keys(), GitDir: gitDir}
	name, err := board.SealKey(ctx)
	if err != nil {
		return err
	}
	names := []string{name}
	for t := range s.Tasks() {
		if t.Seal != nil && t.Seal.Verdict != blackboard.SealHistory { // since a person has sealed the board again there is another one
			names = append(names, t.Seal.Key)
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "" })
	if len(names) == 0 {
		return nil
	}
	secret := ""
	if o.key == "" {
		secret = ring.Named(names...)
	} else if text, err := o.env.readText(o.key); err != nil {
		return err
	} else if k, err := seal.Parse(string(text)); err == nil && slices.Contains(names, k.Name()) {
		secret = k.Secret()
	} else {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza store key FILE, on a host of the board", Message: fmt.Sprintf("what --key names is not the key %s, with which the approvals of the board are sealed", names[0])}
	}
	if secret == "" {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: fmt.Sprintf("liza store key FILE, on a host of the board; then here: liza init --join %s --key FILE", at),
			Message: fmt.Sprintf("cannot join: this machine does not have the key %s, with which the approvals of the board are sealed", names[0])}
	}
	return ring.Take(secret)
}

// joined is the result of join.
type joined struct {
	Root        string   `json:"root"`
	Board       string   `json:"board"`
	Revision    int      `json:"revision"`
	Branch      string   `json:"integration_branch"`
	Integration string   `json:"integration_head"`
	Replaced    []string `json:"replaced,omitempty"` // files of this host that said something else than those of the board
}

func (o *joinOptions) run(ctx context.Context) error {
	env := o.env
	dir := cmp.Or(env.System.Named(), env.System.Dir)
	p, err := project.At(dir)
	if err != nil {
		return err
	}
	cfg, _ := config.LoadTolerant(p.Liza, env.System.Environ)
	at, err := joinAddress(o.url)
	if err != nil {
		return err
	}
	if isThere(p.State()) {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza status", Message: "this clone has a project already: .liza/state.yaml exists"}
	}
	repo, err := git.Open(ctx, dir)
	if err != nil {
		return err
	}
	shared, _, err := env.System.Board(config.Store{URL: at.URL, Board: at.Board}, store.Options{Path: p.State(), GitDir: p.GitDir, LockTimeout: cfg.LockTimeout(), Mask: env.System.Secrets().Mask,
		Seals: verb.Seals(env.System.Keys(), p.GitDir, p.Root)}, 0)
	if err != nil {
		return err
	}
	defer shared.Close()
	s, err := shared.View(ctx)
	if err != nil {
		return err
	}
	done := joined{Root: p.Root, Board: at.String(), Branch: s.IntegrationBranch()}
	if done.Integration, err = integrationHere(ctx, repo, s); err != nil {
		return err
	}
	if err := o.takeKey(ctx, shared, s, p.GitDir, at); err != nil {
		return err
	}
	machine, _ := os.Hostname()
	if err := board.Enrol(ctx, shared, p.GitDir, env.System.Get("LIZA_HOST"), machine, version, shared.Now()); err != nil {
		return err
	}
	if s, err = shared.View(ctx); err != nil {
		return err
	}
	done.Revision = s.Revision
	news, err := shared.Since(ctx, 0, 0)
	if err != nil {
		return err
	}
	if err := os.Remove(p.Mirror()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot remove %s: %w", p.Mirror(), err)
	}
	err = p.Create(ctx, func(dir string) error {
		for _, f := range news.Files {
			if err := mirror.WriteFile(dir, f); err != nil {
				return err
			}
		}
		pinned, err := env.System.Pinned(p, dir, at)
		if err == nil {
			err = pinned.Write()
		}
		if err == nil {
			err = repo.AddExclude(ctx, "/.worktrees/")
		}
		if err == nil {
			err = assembly.CopyBoard(ctx, p, dir, shared, at)
		}
		return err
	})
	if err != nil {
		return err
	}
	own := mirror.New(shared, mirror.Options{Path: p.State(), Record: p.Mirror(), Name: at.String(), Alert: env.System.StoreNotice(p), Settings: assembly.SettingsOf(p, at)})
	if done.Replaced, err = own.TakeSettings(ctx); err != nil {
		return err
	}
	replaced := ""
	if len(done.Replaced) > 0 {
		replaced = fmt.Sprintf("  replaced     %s by what the board has; what was here is kept in %s\n", strings.Join(done.Replaced, ", "), filepath.Dir(p.Mirror()))
	}
	return env.Print(done, "%s is a host of the board now\n  board        %s, revision %d\n  integration  branch %s at %.9s\n%snext: liza run --cli NAME, or liza status\n",
		done.Root, done.Board, done.Revision, done.Branch, done.Integration, replaced)
}

func joinAddress(url string) (postgres.Address, error) {
	at, err := postgres.ParseAddress(url)
	if err != nil {
		return at, err
	}
	if at.Board == "" {
		return at, usagef("liza help init", "the address has no board: postgres://USER@HOST/DATABASE/BOARD")
	}
	return at, nil
}

// integrationHere finds the integration branch of a board in this clone, or makes it where the board left it.
func integrationHere(ctx context.Context, repo *git.Repo, s *blackboard.State) (head string, err error) {
	if head, err = repo.BranchTip(ctx, s.IntegrationBranch()); err == nil {
		return head, nil
	}
	head = s.Tip()
	if there, err := repo.CommitExists(ctx, head); err != nil || !there {
		return "", &transition.Refusal{Exit: transition.ExitRefused, Next: "git fetch",
			Message: fmt.Sprintf("this repository does not have the commit %.9s, at which branch %s of the board is: is it a clone of the same remote?", head, s.IntegrationBranch())}
	}
	return head, repo.CreateBranch(ctx, s.IntegrationBranch(), head)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// differing are the files of a host that say something else than those of the board.
func differing(liza string, files []store.BoardFile) (names []string, err error) {
	for _, f := range files {
		own, err := mirror.ReadFiles(liza, f.Path)
		if err != nil {
			return nil, err
		}
		text := ""
		if len(own) > 0 {
			text = own[0].Text
		}
		if !strings.HasPrefix(f.Path, "archive/") && withoutStore(text) != withoutStore(f.Text) {
			names = append(names, filepath.ToSlash(filepath.Join(".liza", f.Path)))
		}
	}
	return names, nil
}

// withoutStore is a text of settings without the section that may be another one on each host: how the database is reached.
func withoutStore(text string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") {
			in = strings.HasPrefix(line, "store:")
		}
		if !in && strings.TrimSpace(line) != "" {
			b.WriteString(line)
		}
	}
	return b.String()
}
