package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
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
	board   blackboard.Settings // the section config; nil: not read yet
}

// guardSettings looks until the function that it returns is called, which looks a last time.
func (c *factory) guardSettings(ctx context.Context) (stop func()) {
	g := &guarded{factory: c, stats: map[string]string{}, sums: map[string]string{}}
	g.look(ctx)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	changes := c.service.Board.Store.Watch(ctx)
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
	// A run whose end comes after the files have been read is counted once more by the next look, which is the first to
	// see what it changed at its very end.
	over := g.factory.runs.ended()
	changed := g.files()
	if s, err := g.factory.service.Board.View(ctx); err == nil { // if not, the next look is as good
		if g.board != nil && !maps.EqualFunc(g.board, s.Config, func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
			changed = append(changed, "state.yaml (config)")
		}
		if g.board = maps.Clone(s.Config); g.board == nil {
			g.board = blackboard.Settings{}
		}
	}
	during := g.factory.runs.during(over)
	if len(changed) == 0 || during == "" {
		return
	}
	text := fmt.Sprintf("%s changed while %s ran", strings.Join(changed, ", "), during)
	d := g.factory.service
	if err := d.TellSettings(context.WithoutCancel(ctx), text); err != nil {
		g.factory.env.System.Log().Warn("cannot write down that settings changed: " + err.Error())
	}
	g.factory.env.System.Notice(d.Board.Project, blackboard.AlertSettingsChanged, strings.Join(changed, ", "), text+"; next: liza config")
}

// files are those whose content is another one than at the last look.
func (g *guarded) files() (changed []string) {
	p := g.factory.service.Board.Project
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
