package checks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/config"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/code/review"
	"liza/pkg/code/seed"
)

// seedPlace is the name of the place in which setup makes a seed. It is one whose caches are those of merged work.
const seedPlace = ".seed"

// Seeds returns the folder with what worktree.setup made once.
func (c *Checks) Seeds() *seed.Store {
	return &seed.Store{Dir: c.board.Project.Made(project.Seeds), Now: c.board.Now, At: c.board.At}
}

// Seed lays what setup would make into a fresh worktree at a commit, says so in the log of setup, and reports whether it did: otherwise
// setup has to run. A seed that is not there yet is made.
func (c *Checks) Seed(ctx context.Context, dir, commit, log string) bool {
	key, files, err := c.seedKey(ctx, commit)
	if err != nil || key == "" {
		return false
	}
	if !c.hasSeed(key) {
		err = c.firstSeed(ctx, key)
	}
	var laid seed.Laid
	if err == nil && (c.board.BeginCache == nil || c.board.BeginCache(dir)) { // setup has also filled caches
		laid, err = c.Seeds().Lay(ctx, key, dir, files)
	}
	if err != nil && !errors.Is(err, seed.ErrNone) && ctx.Err() == nil {
		c.board.Progressf("setup: runs without a seed: %v", err)
	}
	if err != nil || laid.Key == "" {
		return false
	}
	review.Note(log, laid.String()+"\n")
	if task := filepath.Base(dir); !strings.HasPrefix(task, ".") {
		c.board.Progressf("%s: %s", task, laid)
	}
	return true
}

// firstSeed makes the seed of a key, if the integration branch pins the same dependencies: nothing that has not been merged decides what is
// in a seed.
func (c *Checks) firstSeed(ctx context.Context, key string) error {
	s, err := c.board.View(ctx)
	if err != nil {
		return err
	}
	tip, err := c.branch.KnownTip(ctx, s)
	if err != nil || tip == "" {
		return err
	}
	merged, files, err := c.seedKey(ctx, tip)
	if err != nil || merged != key {
		return err
	}
	return c.makeSeed(ctx, s.Secrets, seed.Seed{Key: key, Commit: tip}, files)
}

func (c *Checks) hasSeed(key string) bool {
	_, err := c.Seeds().Find(key)
	return err == nil
}

// makeSeed makes a seed, or waits for the one that another process makes.
func (c *Checks) makeSeed(ctx context.Context, secrets []string, made seed.Seed, files []git.Listed) (err error) {
	unlock, err := c.lockSeeds(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if c.hasSeed(made.Key) {
		return nil
	}
	store, limit := c.Seeds(), int64(c.board.Config().Worktree.Seed.MaxGB)<<30
	p, err := c.openPlace(ctx, secrets, seedPlace, made.Commit, c.board.Project.SetupLog(seedPlace), c.board.Config().Limits.CheckTimeout)
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	if err == nil && p.Setup != "" {
		err = fmt.Errorf("%q fails: see %s", p.Setup, c.board.Rel(p.log))
	}
	if err == nil {
		err = review.StopInside(ctx, p.Dir)
	}
	c.board.Failpoint("seed: set up")
	if err != nil {
		return err
	}
	facts, err := c.board.Repo.Inspect(ctx, p.Dir)
	if err != nil {
		return err
	}
	made.Place = p.Dir
	if len(facts.Dirty) > 0 {
		made, err = store.Without(made, fmt.Sprintf("setup changes what git does not ignore (%s)", facts.Dirty[0]))
	} else {
		made, err = store.Keep(ctx, made, files, limit)
	}
	if err == nil && made.None != "" {
		c.board.Progressf("setup: it runs in each worktree, because %s", made.None)
	}
	if list, _ := store.List(); err == nil {
		for _, old := range seed.Surplus(list, limit) {
			_ = store.Remove(old.Key) // one that is being laid goes the next time
		}
	}
	return err
}

// lockSeeds takes the lock of the one maker of seeds.
func (c *Checks) lockSeeds(ctx context.Context) (unlock func() error, err error) {
	me := safefile.Holder{PID: os.Getpid(), Host: c.board.Facts().Host, Agent: c.board.Caller.AgentID, Op: "seed"}
	soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	unlock, err = safefile.LockIn(soon, c.board.Project.SeedLock(), me)
	if held, is := errors.AsType[*safefile.HeldError](err); is && ctx.Err() == nil {
		c.board.Progressf("setup: waits for the seed that %s makes", held.Holder)
		return safefile.LockIn(ctx, c.board.Project.SeedLock(), me)
	}
	return unlock, err
}

// seedKey is the key of the seed for worktrees at a commit, "" if setup has to run in each of them, with the files of the commit.
func (c *Checks) seedKey(ctx context.Context, commit string) (key string, files []git.Listed, err error) {
	w := c.board.Config().Worktree
	if len(w.Setup) == 0 || w.Seed.MaxGB == 0 || !c.KeyNamed() && !seed.Installs(w.Setup) {
		return "", nil, nil
	}
	platform := ""
	if c.board.Platform != nil {
		platform = c.board.Platform()
	}
	files, err = c.board.Repo.Files(ctx, commit)
	return seed.Key(files, w.Setup, w.Seed.Key, platform), files, err
}

// KeyNamed reports whether a person has said what decides what setup makes.
func (c *Checks) KeyNamed() bool { return len(c.board.Config().Worktree.Seed.Key) > 0 }

// keptTemplates is how many templates of a service are kept: older ones are removed when a new one is made.
const keptTemplates = 3

// newTemplate begins the names of templates that are not complete, or on their way out.
const newTemplate = ".new-"

// templateKey names the template of a service at a commit: it differs when init, its program or a file of seed does.
func (c *Checks) templateKey(ctx context.Context, name string, s config.Service, commit string) (string, error) {
	files, err := c.board.Repo.Files(ctx, commit)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %v\n", name, s.Init, s.Env) // maps print in order
	for _, f := range files {
		named := slices.ContainsFunc(s.Init, func(word string) bool { return filepath.Clean(word) == f.Path })
		if named || slices.ContainsFunc(s.Seed, func(glob string) bool { return review.Match(glob, f.Path) }) {
			fmt.Fprintf(sum, "%s %s\n", f.Object, f.Path)
		}
	}
	return name + "-" + hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// Template is a folder that has the folder name with the data with which a service begins: what its init has made at a commit, in the sandbox;
// "" is the head of the integration branch. No run can write there. It is made where it is missing: one process makes it, others wait.
func (c *Checks) Template(ctx context.Context, name, commit string) (dir string, err error) {
	s, err := c.board.View(ctx)
	if err != nil {
		return "", err
	}
	if commit == "" {
		if commit, err = c.branch.TipHere(ctx, s); err != nil {
			return "", err
		}
	}
	service := c.board.Config().Services[name]
	key, err := c.templateKey(ctx, name, service, commit)
	if err != nil {
		return "", err
	}
	if dir = filepath.Join(c.board.Project.Made(project.Templates), key); isThere(dir) {
		return dir, nil
	}
	unlock, err := safefile.LockIn(ctx, c.board.Project.TemplatesLock(), safefile.Holder{PID: os.Getpid(), Host: c.board.Facts().Host, Agent: c.board.Caller.AgentID, Op: "service " + name, Since: c.board.Now()})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if isThere(dir) {
		return dir, nil
	}
	if err := c.makeTemplate(ctx, s.Secrets, name, service, commit, dir); err != nil {
		next := "liza doctor"
		if errors.Is(err, errNotMerged) {
			next = "commit it, then: liza sync"
		}
		return "", &TemplateError{Service: name, Err: err, next: next}
	}
	return dir, nil
}

// errNotMerged says that the program which makes data is not in the commit.
var errNotMerged = errors.New("is not on the integration branch at")

// A TemplateError says why the data of a service could not be made.
type TemplateError struct {
	Service string
	Err     error
	next    string
}

// Next is the command that helps.
func (e *TemplateError) Next() string { return e.next }

func (e *TemplateError) Error() string {
	return fmt.Sprintf("cannot make the data of the service %s: %v", e.Service, e.Err)
}

// Unwrap returns the cause.
func (e *TemplateError) Unwrap() error { return e.Err }

// isThere reports whether a template is there, and notes that it is used.
func isThere(dir string) bool { return os.Chtimes(dir, time.Time{}, time.Now()) == nil }

// makeTemplate runs init in a checkout of a commit after worktree.setup. What it made is the template when it has succeeded,
// and the disk has it. The caller has the lock.
func (c *Checks) makeTemplate(ctx context.Context, secrets []string, name string, s config.Service, commit, dir string) error {
	c.board.Progressf("service %s: runs %q on %.9s", name, strings.Join(s.Init, " "), commit)
	top := filepath.Dir(dir)
	if err := os.MkdirAll(top, 0o700); err != nil {
		return err
	}
	c.dropTemplates(name)
	made := filepath.Join(top, newTemplate+filepath.Base(dir))
	data := filepath.Join(made, name)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	defer func() { _ = safefile.RemoveTree(made) }()
	log := filepath.Join(filepath.Dir(c.board.Project.SetupLog(name)), ".service-"+name+".log")
	p, err := c.openPlace(ctx, secrets, ".service-"+name, commit, log, c.board.Config().Limits.CheckTimeout)
	defer func() {
		if err := p.Close(ctx); err != nil {
			c.board.Progressf("cannot remove the worktree of the service %s: %v", name, err)
		}
	}()
	if err != nil {
		return err
	}
	if p.Setup != "" {
		return fmt.Errorf("worktree.setup fails on %.9s: %q (see %s)", commit, p.Setup, log)
	}
	if program := s.Init[0]; strings.Contains(program, "/") && !filepath.IsAbs(program) {
		if _, err := os.Lstat(filepath.Join(p.Dir, program)); err != nil {
			return fmt.Errorf("%s %w %.9s", program, errNotMerged, commit)
		}
	}
	init := p.command("")
	init.Argv, init.Fills, init.Data, init.Writes = s.Init, name, data, []string{data}
	ran := init.RunIn(ctx, c.board.Enclose)
	if ran.Err != nil {
		return ran.Err
	}
	if ran.Failed() {
		return fmt.Errorf("init ended with exit code %d (see %s)%s: %s", ran.ExitCode, log, ran.Unreached(), review.TailOf(log))
	}
	c.board.Failpoint("service.init")
	folder, err := os.Open(made)
	if err != nil {
		return err
	}
	err = safefile.SyncAround(folder)
	return errors.Join(err, folder.Close(), os.Rename(made, dir))
}

// dropTemplates removes what killed processes have left, and all but the newest templates of a service. The caller has the lock.
func (c *Checks) dropTemplates(name string) {
	top := c.board.Project.Made(project.Templates)
	left, _ := filepath.Glob(filepath.Join(top, newTemplate+"*"))
	all, _ := filepath.Glob(filepath.Join(top, name+"-"+strings.Repeat("[0-9a-f]", 16)))
	slices.SortFunc(all, func(a, b string) int { return changedAt(b).Compare(changedAt(a)) })
	for _, dir := range left {
		_ = safefile.RemoveTree(dir) // what is left is removed with the next one
	}
	for _, dir := range all[min(len(all), keptTemplates-1):] {
		_ = RemoveTemplate(dir)
	}
}

// RemoveTemplate removes a template. Who copies it in this moment finds that it is gone.
func RemoveTemplate(dir string) error {
	gone := filepath.Join(filepath.Dir(dir), newTemplate+"gone-"+filepath.Base(dir))
	if err := os.Rename(dir, gone); err != nil {
		return err
	}
	return safefile.RemoveTree(gone)
}

func changedAt(path string) time.Time {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
