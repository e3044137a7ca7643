package cli

import (
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/config"
	"liza/pkg/project"
)

// hidden is a setting that has no effect, because another place says otherwise.
type hidden struct {
	key     string
	at      config.Origin // of what is hidden
	message string
	next    string
}

// hiddenSettings are those that the environment or state.yaml hides. s may be nil.
func (e *Env) hiddenSettings(p *project.Project, cfg *config.Config, s *blackboard.State) []hidden {
	var list []hidden
	file, _, err := config.Load(p.Liza, nil)
	if err != nil {
		return nil // that is told elsewhere
	}
	plain := map[string]any{}
	for _, v := range file.Values() {
		plain[v.Key] = v.Value
	}
	inFile, overrides := file.Settings(), cfg.Overrides()
	for _, v := range cfg.Values() {
		above, below := cfg.Origin(v.Key), file.Origin(v.Key)
		if above.Variable != "" && below.File != "" && fmt.Sprint(v.Value) != fmt.Sprint(plain[v.Key]) {
			list = append(list, hidden{v.Key, below, fmt.Sprintf("%s hides %s (%v) of %s", above, v.Key, plain[v.Key], below), "unset " + above.Variable})
		}
		name := config.Setting(v.Key)
		if s == nil || name == "" || s.Config[name] == nil {
			continue
		}
		mine := fmt.Sprint(s.Config[name])
		switch {
		case above.Variable != "" && fmt.Sprint(overrides[name]) != mine:
			list = append(list, hidden{v.Key, config.Origin{File: ".liza/state.yaml"}, fmt.Sprintf("%s hides config.%s (%s) of .liza/state.yaml", above, name, mine), "unset " + above.Variable})
		case above.Variable == "" && below.File != "" && fmt.Sprint(inFile[name]) != mine:
			list = append(list, hidden{v.Key, below, fmt.Sprintf("config.%s (%s) of .liza/state.yaml hides %s (%v) of %s", name, mine, v.Key, plain[v.Key], below), "liza config set " + name + " null"})
		}
	}
	return list
}
