package upkeep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/prose"
	"liza/pkg/safefile"
	"liza/pkg/verb"
)

// lastSprint is when the sprint before the current one began; ok is false when there was
// none before that one.
func (c *collector) lastSprint() (at time.Time, ok bool, err error) {
	j := history.Journal{Path: c.Project.Journal()}
	started, err := j.Read(history.Filter{Action: blackboard.ActionSprintStarted, Last: 2})
	if err != nil || len(started) < 2 {
		return at, false, err
	}
	at, ok = started[0].Timestamp.At()
	return at, ok, nil
}

// texts are the prompts and outputs from before the last sprint (specs/protocol.md#3.5).
func (c *collector) texts(ctx context.Context) error {
	before, ok, err := c.lastSprint()
	if err != nil || !ok {
		return err
	}
	s, err := c.view(ctx)
	if err != nil {
		return err
	}
	open := func(name string) bool {
		for t := range s.Tasks() {
			if !t.Status.Terminal() && (name == t.ID || strings.HasPrefix(name, t.ID+".") || strings.HasPrefix(name, "integration-"+t.ID+"-")) {
				return true
			}
		}
		return false
	}
	prompts := filepath.Dir(filepath.Dir(c.Project.Prompt("x", 1)))
	entries, err := filepath.Glob(filepath.Join(prompts, "*", "*.txt"))
	if err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(c.Project.Output("x")), "*.log"))
	if err != nil {
		return err
	}
	away, err := filepath.Glob(filepath.Join(filepath.Dir(c.Project.Output("x")), "*.log.1"))
	if err != nil {
		return err
	}
	events, err := filepath.Glob(filepath.Join(filepath.Dir(c.Project.Activity("x")), "*.events*"))
	if err != nil {
		return err
	}
	old := map[string][]string{}
	for _, path := range slices.Concat(entries, logs, away, events) {
		owner := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".1"), ".log"), ".events")
		if dir := filepath.Dir(path); filepath.Dir(dir) == prompts {
			owner = filepath.Base(dir)
		}
		info, err := os.Lstat(path)
		if err != nil || !info.ModTime().Before(before) || open(owner) {
			continue
		}
		old[filepath.Dir(path)] = append(old[filepath.Dir(path)], path)
	}
	for _, dir := range slices.Sorted(maps.Keys(old)) {
		c.drop("file", fmt.Sprintf("%s: %s", c.Rel(dir), prose.Count(len(old[dir]), "file")), "older than the sprint before this one", func() error {
			var errs []error
			for _, path := range old[dir] {
				errs = append(errs, os.Remove(path))
			}
			if filepath.Dir(dir) == prompts {
				_ = os.Remove(dir) // if it is empty now
			}
			return errors.Join(errs...)
		})
	}
	return nil
}

// histories are those of tasks that ended more than history.retention_days ago.
func (c *collector) histories(ctx context.Context) error {
	keep := c.Config().History.RetentionDays
	if keep == 0 {
		return nil
	}
	s, err := c.view(ctx)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(c.Project.HistoryDir("x")))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		_, why, over := c.over(s, e.Name())
		dir := c.Project.HistoryDir(e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), "_") || !over || c.Now().Sub(newest(dir)) < time.Duration(keep)*24*time.Hour {
			continue
		}
		c.drop("file", c.Rel(dir), fmt.Sprintf("%s, and history.retention_days is %d", why, keep), func() error { return os.RemoveAll(dir) })
	}
	return nil
}

// newest is when something in a folder changed last.
func newest(dir string) time.Time {
	var last time.Time
	entries, _ := os.ReadDir(dir) // one that cannot be read is removed or not by its own time
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// stray is how old a temporary file has to be before it counts as left over.
const stray = time.Hour

// temporary are files of writers that were killed, and scratch folders.
func (c *collector) temporary(context.Context) error {
	for _, path := range c.Strays() {
		c.drop("file", c.Rel(path), "its writer is gone", func() error { return safefile.RemoveTree(path) })
	}
	entries, err := os.ReadDir(c.Project.Tmp())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if path := filepath.Join(c.Project.Tmp(), e.Name()); c.strayed(path) && c.Now().Sub(newest(path)) > stray {
			c.drop("file", c.Rel(path), "scratch of a program that has ended", func() error { return safefile.RemoveTree(path) })
		}
	}
	return err
}

func (c *collector) strayed(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && c.Now().Sub(info.ModTime()) > stray
}

// CollectInput says what CollectGarbage may remove.
type CollectInput struct {
	DryRun bool
	Attic  bool          // saved work as well, of tasks that ended
	Older  time.Duration // so long ago
}

// Collected is what CollectGarbage removed, or would remove, and what it kept.
type Collected struct {
	DryRun  bool      `json:"dry_run"`
	Removed []Garbage `json:"removed"`
	Kept    []Garbage `json:"kept"`
}

// Garbage is one thing that is left over, or looks like it.
type Garbage struct {
	Kind string `json:"kind"` // worktree, branch, candidate, attic, check, file
	Name string `json:"name"`
	Why  string `json:"why"`
	Next string `json:"next,omitempty"` // of what was kept: the command that helps
}

// A collector is one call of CollectGarbage.
type collector struct {
	*verb.Service
	in       CollectInput
	head     string // of the integration branch; "" without one
	archived map[string]blackboard.Archived
	out      Collected
}

func (c *collector) keep(kind, name, why, next string) {
	c.out.Kept = append(c.out.Kept, Garbage{Kind: kind, Name: name, Why: why, Next: next})
}

// drop removes one thing, or only says so. What cannot be removed is kept, with the reason.
func (c *collector) drop(kind, name, why string, remove func() error) {
	if !c.in.DryRun {
		if err := remove(); err != nil {
			c.keep(kind, name, err.Error(), "")
			return
		}
	}
	c.out.Removed = append(c.out.Removed, Garbage{Kind: kind, Name: name, Why: why})
}

// view looks at the board again: what is about to be removed must not be in use now.
func (c *collector) view(ctx context.Context) (*blackboard.State, error) {
	s, err := c.View(ctx)
	if err != nil {
		return nil, err
	}
	c.archived = c.Archives().Archived()
	c.head, err = c.TipOf(ctx, s)
	return s, err
}

// over reports whether nobody works on a task any more, and why; else what it is.
func (c *collector) over(s *blackboard.State, id string) (base, why string, over bool) {
	if t := s.Task(id); t != nil {
		return t.BaseCommit, fmt.Sprintf("task %s is %s", id, t.Status), t.Status.Terminal()
	}
	if was, ok := c.archived[id]; ok {
		return "", fmt.Sprintf("task %s is archived (%s)", id, was.Status), true
	}
	return "", "no task has the id " + id, true
}
