package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// settingsLook is how often the files of settings are looked at while agent programs run,
// besides each change of the board.
const settingsLook = time.Second

// guarded tells people when what agents are held to changes while their programs run: by a
// verb or by an edit, by a person or by the agent itself. Who it was cannot be told.
type guarded struct {
	factory *factory
	stats   map[string]string   // of each file: what shows that it must be read again
	sums    map[string]string   // of each file: its content
	board   blackboard.Settings // the section config
	seen    map[string]string   // agent → its run, of those that ran since the last look
	total   map[string]int      // agent → its runs so far
	early   []string            // what changed at the last look, when no program ran
}

// guardSettings looks until the function that it returns is called, which looks a last time.
func (c *factory) guardSettings(ctx context.Context) (stop func()) {
	g := &guarded{factory: c, stats: map[string]string{}, sums: map[string]string{}, total: map[string]int{}}
	g.look(ctx)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	changes := c.service.Store.Watch(ctx)
	go func() {
		defer close(ended)
		tick := time.NewTicker(settingsLook)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case _, ok := <-changes:
				if !ok {
					changes = nil
					continue
				}
			}
			g.look(ctx)
		}
	}()
	return func() {
		cancel()
		<-ended
		g.look(context.WithoutCancel(ctx))
	}
}

// look compares, and tells what changed while programs ran.
func (g *guarded) look(ctx context.Context) {
	s, err := g.factory.service.View(ctx)
	if err != nil {
		return // the next look is as good
	}
	began := g.seen == nil
	runs := g.runs(s)
	changed := g.files()
	if g.board != nil && !maps.EqualFunc(g.board, s.Config, func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		changed = append(changed, "state.yaml (config)")
	}
	if g.board = maps.Clone(s.Config); g.board == nil {
		g.board = blackboard.Settings{}
	}
	if began {
		return
	}
	if changed = g.due(changed, len(runs) > 0); len(changed) == 0 {
		return
	}
	during := strings.Join(slices.Sorted(maps.Values(runs)), ", ")
	text := fmt.Sprintf("%s changed while %s ran", strings.Join(changed, ", "), during)
	d := g.factory.service
	if err := d.TellSettings(context.WithoutCancel(ctx), text); err != nil {
		g.factory.env.Log().Warn("cannot write down that settings changed: " + err.Error())
	}
	g.factory.env.notice(d.Project, "SETTINGS_CHANGED", strings.Join(changed, ", "), text+"; next: liza config show --origin")
}

// due are the changes to tell. A program works before the board says that it runs, so what changed while none seemed to
// run counts for one that the next look finds.
func (g *guarded) due(changed []string, running bool) []string {
	early := g.early
	g.early = nil
	if !running {
		g.early = changed
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(early, changed))))
}

// runs are those of this process that are under way now, or were at the last look or between.
func (g *guarded) runs(s *blackboard.State) map[string]string {
	now, all := map[string]string{}, maps.Clone(g.seen)
	if all == nil {
		all = map[string]string{}
	}
	for id, e := range s.Agents {
		if e.PID != os.Getpid() {
			continue
		}
		switch n, known := g.total[id]; {
		case e.Child != nil:
			now[id] = id
			if e.Child.Task != "" {
				now[id] = id + " on " + e.Child.Task
			}
			all[id] = now[id]
		case known && n != e.IterationsTotal && all[id] == "":
			all[id] = id
		}
		g.total[id] = e.IterationsTotal
	}
	g.seen = now
	return all
}

// files are those whose content is another one than at the last look.
func (g *guarded) files() (changed []string) {
	p := g.factory.service.Project
	there := map[string]bool{}
	for _, root := range []string{filepath.Join(p.Liza, "config.yaml"), filepath.Join(p.Liza, "config.json"), p.Instructions(), p.Roles(), p.Skills()} {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil // what is gone is noticed below
			}
			there[path] = true
			stat := "" // a link is what it leads to
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				stat = fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode())
			}
			if was, known := g.stats[path]; known && was == stat {
				return nil
			}
			sum := stat
			if data, err := safefile.Read(path); stat != "" && err == nil {
				sum = fmt.Sprintf("%x", sha256.Sum256(data))
			}
			if g.stats[path] = stat; g.sums[path] != sum {
				g.sums[path] = sum
				changed = append(changed, path)
			}
			return nil
		})
	}
	for path := range g.stats {
		if !there[path] {
			delete(g.stats, path)
			delete(g.sums, path)
			changed = append(changed, path)
		}
	}
	for i, path := range changed {
		if rel, err := filepath.Rel(p.Liza, path); err == nil {
			changed[i] = filepath.ToSlash(rel)
		}
	}
	return changed
}
