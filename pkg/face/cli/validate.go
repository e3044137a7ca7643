package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/team/assembly"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/board"
	"liza/pkg/verb/integration"
)

type validateOptions struct {
	env    *Env
	fix    bool
	accept string // why a person answers for the board as it stands
}

func newValidate(env *Env) *urfave.Command {
	o := &validateOptions{env: env}
	return &urfave.Command{
		Name: "validate", Category: "repair", ArgsUsage: "[FILE]", Usage: "check the board against every rule",
		Description: "All violations at once, with rule, id and line. The last line is VALID (warnings are allowed) or INVALID. FILE may be any state file, also\n" +
			"outside of a project or one that does not parse. Changes nothing; --fix repairs what is provably safe, makes\n" +
			"worktrees of claimed tasks again that are gone, lists that, and checks again. With SKIP_SPEC_FILE_CHECK=1 no command looks for spec files.\n" +
			"--accept is a person's word for the board as it stands: approvals and merges are sealed with the project's key (in $XDG_STATE_HOME/liza or ~/.local/state/liza), and the\n" +
			"journal is accepted. It is for a key that is lost, a copied project, a journal that was changed. Look first: an approval that was edited into the board is sealed as well." +
			examples("liza validate", "liza validate --accept 'new computer; I have compared the board with the old one'", "SKIP_SPEC_FILE_CHECK=1 liza validate old-state.yaml") + exitsText(0, 1, 2, 3, 4, 5, 8),
		Flags: []urfave.Flag{
			flag("fix", "repair what is provably safe", &o.fix),
			text("accept", "`WHY` you answer for the approvals, the merges and the journal as they stand; people only", &o.accept),
		},
		Action: env.do(env.slow("validating", o.run)),
	}
}

func (o *validateOptions) run(ctx context.Context, args []string) error {
	if o.accept != "" {
		return o.seal(ctx, args)
	}
	p, err := o.boardOf(ctx, args)
	if err != nil {
		return err
	}
	p.Now, p.SkipSpecFiles = o.env.System.Now, o.env.System.SkipsSpecFiles()
	v, err := p.Validate(ctx)
	if err == nil && o.fix {
		v, err = o.repair(ctx, p, v)
	}
	if err != nil {
		return err
	}
	return o.show(v)
}

func (o *validateOptions) repair(ctx context.Context, p *maintain.Board, before maintain.Validated) (maintain.Validated, error) {
	if p.Project == nil {
		return before, usagef("liza validate --fix", "--fix repairs the board of a project, not a file outside of one")
	}
	if err := o.env.personOnly(ctx, "repair the board"); err != nil {
		return before, err
	}
	made, err := o.worktrees(ctx)
	if err != nil {
		return before, err
	}
	if len(made) > 0 {
		if before, err = p.Validate(ctx); err != nil {
			return before, err
		}
	}
	after, err := p.Repair(ctx, before)
	after.Fixed = append(made, after.Fixed...)
	return after, err
}

// worktrees makes those of claimed tasks again that are gone. A board that cannot be opened for writing is repaired first.
func (o *validateOptions) worktrees(ctx context.Context) (made []string, err error) {
	d, err := o.env.System.Service(ctx)
	if err != nil || d.Board.Repo == nil {
		return nil, nil
	}
	s, err := d.Board.View(ctx)
	if err != nil {
		return nil, nil
	}
	for t := range s.Tasks() {
		if t.Status != blackboard.Claimed || t.Worktree == "" || d.Board.Elsewhere(t) || isThere(filepath.Join(d.Board.Repo.WorktreePath(t.ID), ".git")) {
			continue
		}
		if err := d.Worktrees.Ensure(ctx, s, t); err != nil {
			return made, err
		}
		made = append(made, t.ID+": its worktree was gone and is made again (V12)")
	}
	return made, nil
}

// seal is the word of a person for the approvals, the merges and the journal as they stand.
func (o *validateOptions) seal(ctx context.Context, args []string) error {
	if len(args) > 0 || o.fix {
		return usagef("liza help validate", "--accept is for the board of the project, and goes with neither FILE nor --fix")
	}
	d, err := o.env.System.Service(ctx)
	if err != nil {
		return err
	}
	done, err := d.Seal(ctx, o.accept)
	if err != nil {
		return err
	}
	names := "none"
	if len(done.Tasks) > 0 {
		names = strings.Join(done.Tasks, ", ")
	}
	text := "sealed as they stand: " + names + "\n"
	if done.Journal != "" {
		text += "accepted as it stands: " + done.Journal + "\n"
	}
	return o.env.Print(done, "%s", text)
}

func (o *validateOptions) show(v maintain.Validated) error {
	next := v.Next()
	message := fmt.Sprintf("%s is not valid: %s", v.File, counts(v))
	switch {
	case o.env.JSON && v.Valid:
		return o.env.Print(v, "")
	case o.env.JSON:
		return o.env.failWith(report{code: 3, message: message, next: next}, v)
	}
	var b strings.Builder
	for _, line := range v.Fixed {
		fmt.Fprintf(&b, "FIXED %s\n", line)
	}
	for _, x := range v.Violations {
		b.WriteString(maintain.ViolationLine(x))
	}
	if len(v.Violations) > 0 {
		fmt.Fprintf(&b, "%s\n", counts(v))
	}
	if v.Valid {
		fmt.Fprintf(o.env.System.Stdout, "%sVALID\n", b.String())
		return nil
	}
	fmt.Fprintf(o.env.System.Stdout, "%sINVALID\n", b.String())
	o.env.System.Log().Info("next: " + next)
	return &errDone{3}
}

func counts(v maintain.Validated) string {
	return prose.Count(v.Errors, "error") + ", " + prose.Count(v.Warnings, "warning")
}

// boardOf is the place of the file that was named, else of the project's state.
func (o *validateOptions) boardOf(ctx context.Context, args []string) (*maintain.Board, error) {
	if len(args) == 0 {
		found, err := o.env.System.Find(ctx)
		if err != nil {
			return nil, err
		}
		return boardIn(ctx, &o.env.System, found)
	}
	if err := o.env.ownFile(args[0]); err != nil {
		return nil, err
	}
	file := o.env.path(args[0])
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, usagef("liza validate FILE", "%s is not a file that can be read", args[0])
	}
	p := &maintain.Board{Name: args[0]}
	if filepath.Base(filepath.Dir(file)) == ".liza" {
		p.Root = filepath.Dir(filepath.Dir(file))
		if found, err := project.At(p.Root); err == nil && found.State() == realFile(file) {
			return boardIn(ctx, &o.env.System, found)
		}
	}
	var err error
	p.Store, err = store.Open(store.Options{Path: file, GitDir: filepath.Join(filepath.Dir(file), ".no-git-dir"), Now: o.env.System.Now})
	return p, err
}

func realFile(path string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// lookAtRemote lets a board be compared with what other hosts have merged.
func lookAtRemote(ctx context.Context, e *assembly.Environment, b *board.Session, p *maintain.Board) error {
	if p.Remote = b.Remote(); p.Remote == "" {
		return nil
	}
	s, err := b.Store.View(ctx)
	if err != nil {
		return nil // that is told
	}
	if b.Shared() {
		machine, _ := os.Hostname()
		if p.Processes.Host, err = board.HostName(s, b.Project.GitDir, e.Get("LIZA_HOST"), machine); err != nil {
			return err
		}
	}
	return integration.New(b).Fetch(ctx, s.Tip())
}

func boardIn(ctx context.Context, e *assembly.Environment, found *project.Project) (*maintain.Board, error) {
	cfg, err := e.Config(found, true)
	if err != nil {
		return nil, err
	}
	s, err := e.Store(found, cfg, &history.Archive{Dir: found.ArchiveDir()}, 0)
	if err != nil {
		return nil, err
	}
	proc := e.Processes(found.Tmp(), found.Root)
	p := &maintain.Board{Name: maintain.BoardName, Root: found.Root, Store: s, Project: found, Processes: blackboard.ProcessFacts{Host: proc.Host, BootID: proc.BootID, Running: proc.Running, Kept: proc.Kept}}
	if repo, err := git.Open(ctx, found.Root); err == nil {
		p.Repo = repo
		err = lookAtRemote(ctx, e, &board.Session{Project: found, Store: s, Repo: repo, Config: cfg.Get}, p)
		if err != nil {
			e.Log().Warn("what other hosts have merged cannot be looked at: " + err.Error())
		}
	}
	return p, nil
}
