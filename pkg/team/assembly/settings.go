package assembly

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"liza/pkg/base/notify"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
)

// Settings is the configuration now: read again when its file changed. What gates and limits the team never becomes weaker
// because git has exchanged the file, or taken it away: what the team last worked with stays in force then.
type Settings struct {
	mu      sync.Mutex
	env     *Environment
	environ []string // whose variables count
	project *project.Project
	current *config.Config
	stamp   stamp
}

// stamp is size and time of the files of the configuration and of those in force; it is looked at more than a thousand times
// for each merged task.
type stamp [4]struct{ size, changed int64 }

func (e *Environment) Config(p *project.Project, tolerant bool) (*Settings, error) {
	s := &Settings{env: e, environ: e.Environ, project: p}
	warnings, err := s.load(tolerant)
	e.warn(warnings)
	return s, err
}

func (s *Settings) load(tolerant bool) (warnings []config.Warning, err error) {
	s.stamp = s.look()
	if tolerant {
		s.current, warnings = config.LoadTolerant(s.project.Liza, s.environ)
	} else if s.current, warnings, err = config.Load(s.project.Liza, s.environ); err != nil {
		return warnings, err
	}
	s.current = s.holding(s.current, tolerant)
	return warnings, nil
}

// holding puts what the team last worked with in the place of what git has made weaker. Without that, cfg is now what the team
// works with; a command that only reads does not write it down, and neither does one of a run.
func (s *Settings) holding(cfg *config.Config, tolerant bool) *config.Config {
	name, text, err := project.Settings(s.project.Liza)
	kept, was, errKept := project.Settings(s.project.InForce())
	if err != nil || errKept != nil || name == kept && bytes.Equal(text, was) {
		return cfg
	}
	if before, _, err := config.Load(s.project.InForce(), s.environ); err == nil && kept != "" {
		if name == "" {
			before.HoldAll()
			return before
		}
		if committed, tracked := s.committed(name, cfg); tracked && len(cfg.Hold(before, committed)) > 0 {
			return cfg
		}
	}
	if tolerant || s.env.Get("LIZA_RUN") != "" {
		return cfg
	}
	if err := s.project.PutInForce(name, text); err != nil {
		s.env.Log().Warn("cannot keep a copy of the settings: " + err.Error())
	}
	s.stamp = s.look()
	return cfg
}

// gitTime bounds the question what git has of the file of settings.
const gitTime = 10 * time.Second

// committed is the file of settings as git has it in its index; cfg if that cannot be found out.
func (s *Settings) committed(name string, cfg *config.Config) (committed *config.Config, tracked bool) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	repo, err := git.Open(ctx, s.project.Root)
	if err != nil {
		return cfg, true
	}
	text, tracked, err := repo.Staged(ctx, ".liza/"+name)
	if err != nil || !tracked {
		return cfg, tracked
	}
	if committed, _, err = config.Parse(text, ".liza/"+name, s.environ); err != nil {
		return cfg, true
	}
	return committed, true
}

// follow takes the settings of an agent's supervisor in the place of those that the agent's own
// shell gives: an agent cannot switch off what it is held to.
func (s *Settings) follow(board *blackboard.State, tolerant bool) error {
	if board == nil {
		return nil
	}
	e := board.Agents[s.env.Get("LIZA_AGENT_ID")]
	if e == nil || e.PID == 0 { // a registration by hand has no supervisor
		return nil
	}
	if maps.Equal(config.Handed(s.env.Environ), e.Settings) {
		return nil
	}
	s.environ = config.Under(s.env.Environ, e.Settings)
	_, err := s.load(tolerant)
	return err
}

func (e *Environment) warn(list []config.Warning) {
	for _, w := range list {
		e.Log().Warn(w.String())
	}
}

func (s *Settings) look() (now stamp) {
	for i, folder := range []string{s.project.Liza, s.project.InForce()} {
		for j, name := range []string{"config.yaml", "config.json"} {
			if info, err := os.Stat(filepath.Join(folder, name)); err == nil {
				now[2*i+j].size, now[2*i+j].changed = info.Size(), info.ModTime().UnixNano()
			}
		}
	}
	return now
}

// Get is the configuration; a changed file acts on the next decision, a broken one not at all.
func (s *Settings) Get() *config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.look(); now != s.stamp {
		s.stamp = now
		if cfg, _, err := config.Load(s.project.Liza, s.environ); err != nil {
			text := "the configuration is broken; the last good one stays: " + err.Error()
			s.env.Log().Warn(text)
			s.env.mail(s.project, notify.New("config_invalid", fmt.Sprint(now), text+"; next: liza doctor"))
		} else {
			s.current = s.holding(cfg, false)
		}
	}
	return s.current
}
