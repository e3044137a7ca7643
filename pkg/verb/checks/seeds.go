package checks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
	"liza/pkg/code/seed"
)

// seedPlace is the name of the place in which setup makes a seed. It is one whose caches are those of merged work.
const seedPlace = ".seed"

// Seeds returns the folder with what worktree.setup made once.
func (c *Checks) Seeds() *seed.Store {
	return &seed.Store{Dir: c.board.Project.Seeds(), Now: c.board.Now, At: c.board.At}
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
	if len(w.Setup) == 0 || w.Seed.MaxGB == 0 {
		return "", nil, nil
	}
	platform := ""
	if c.board.Platform != nil {
		platform = c.board.Platform()
	}
	files, err = c.board.Repo.Files(ctx, commit)
	return seed.Key(files, w.Setup, w.Seed.Key, platform), files, err
}
