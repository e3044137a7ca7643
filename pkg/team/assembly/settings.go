package assembly

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"liza/pkg/base/notify"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/code/project"
)

// Settings is the configuration now: read again when its file changed.
type Settings struct {
	mu      sync.Mutex
	env     *Environment
	environ []string // whose variables count
	project *project.Project
	current *config.Config
	stamp   stamp
}

// stamp is size and time of the files of the configuration; it is looked at more than a thousand times for each merged task.
type stamp [2]struct{ size, changed int64 }

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
		return warnings, nil
	}
	s.current, warnings, err = config.Load(s.project.Liza, s.environ)
	return warnings, err
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
	for i, name := range []string{"config.yaml", "config.json"} {
		if info, err := os.Stat(filepath.Join(s.project.Liza, name)); err == nil {
			now[i].size, now[i].changed = info.Size(), info.ModTime().UnixNano()
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
			s.env.mail(s.project, notify.New("config_invalid", fmt.Sprint(now), text+"; next: liza config validate"))
		} else {
			s.current = cfg
		}
	}
	return s.current
}
