package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"liza/pkg/safefile"
	"liza/pkg/yamldoc"
)

// Load reads the settings from the folder .liza (config.yaml, else config.json,
// else only defaults) and the environment. The error joins a *FileError or every
// *ValueError there is; then there is no Config (specs/roles-and-knowledge.md#10.3).
func Load(liza string, environment []string) (*Config, []Warning, error) {
	root, file, err := read(liza)
	return strict(root, file, environment, err)
}

// Parse is Load for a file that is not there yet: what data would mean as the file of
// that name (.liza/config.yaml).
func Parse(data []byte, file string, environment []string) (*Config, []Warning, error) {
	parse := yamldoc.Node
	if filepath.Ext(file) == ".json" {
		parse = yamldoc.JSONNode
	}
	root, err := parse(data)
	root, file, err = tree(root, err, file)
	return strict(root, file, environment, err)
}

func strict(root *yaml.Node, file string, environment []string, err error) (*Config, []Warning, error) {
	if err != nil {
		return nil, nil, err
	}
	cfg, warnings, problems := load(root, file, environment)
	if len(problems) == 0 {
		return cfg, warnings, nil
	}
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return nil, warnings, errors.Join(errs...)
}

// LoadTolerant is Load for commands that only read: what cannot be used has its
// default, and a warning says so.
func LoadTolerant(liza string, environment []string) (*Config, []Warning) {
	root, file, err := read(liza)
	if err != nil {
		root = nil
	}
	cfg, warnings, problems := load(root, file, environment)
	if err != nil {
		warnings = append(warnings, Warning{Text: err.Error() + "; the defaults are used"})
		if bad := (*FileError)(nil); errors.As(err, &bad) {
			warnings[len(warnings)-1] = Warning{File: bad.File, Line: bad.Line, Text: bad.Reason + "; the defaults are used"}
		}
	}
	for _, p := range problems {
		instead := "it is left out"
		if p.again {
			instead = "the later one is used"
		}
		warnings = append(warnings, Warning{
			Key: p.Key, File: p.File, Line: p.Line, Variable: p.Variable,
			Text: fmt.Sprintf("%s: expected %s, found %s; %s", p.Key, p.Expected, p.Found, instead),
		})
	}
	return cfg, warnings
}

// load always gives a Config in which every value is a good one.
func load(root *yaml.Node, file string, environment []string) (*Config, []Warning, []*ValueError) {
	d := decoder{cfg: Default(), file: file}
	if root != nil {
		d.rename(root)
		d.structure(root, reflect.ValueOf(d.cfg).Elem(), "")
	}
	d.cfg.atHome(environment)
	d.cfg.shorthands(func(o Origin) bool { return o.File != "" })
	d.errs = append(d.errs, d.cfg.together()...)

	errs, warnings := environ(d.cfg, environment)
	d.cfg.shorthands(func(o Origin) bool { return o.Variable != "" })
	d.errs = append(d.errs, errs...)
	d.errs = append(d.errs, d.cfg.together()...)
	d.cfg.keepSettings()
	return d.cfg, append(d.warnings, warnings...), d.errs
}

// atHome puts the person's home folder in the place of ~/ at the beginning of the words of commands: no shell reads them.
func (c *Config) atHome(environment []string) {
	home := ""
	for _, pair := range environment {
		if value, ok := strings.CutPrefix(pair, "HOME="); ok {
			home = value
		}
	}
	for _, a := range c.Agents.Custom {
		for _, words := range [][]string{a.Command, a.ResumeCommand, a.Interactive, a.Version, a.Help} {
			for i, word := range words {
				if strings.HasPrefix(word, "~/") && home != "" {
					words[i] = home + word[1:]
				}
			}
		}
	}
}

// shorthands puts the two of section orchestration into the keys that they are
// for, except where such a key is set itself in the same place (file, environment).
func (c *Config) shorthands(here func(Origin) bool) {
	spread := func(key string, d time.Duration, targets map[string]*time.Duration) {
		if d == 0 || !here(c.origins[key]) {
			return
		}
		for target, v := range targets {
			if !here(c.origins[target]) {
				*v = d
				c.origins[target] = c.origins[key]
			}
		}
	}
	spread("orchestration.agent_timeout_minutes", c.Orchestration.AgentTimeout, map[string]*time.Duration{
		"limits.timeout_minutes.planner": &c.Limits.Timeout.Planner,
		"limits.timeout_minutes.coder":   &c.Limits.Timeout.Coder,
	})
	spread("orchestration.poll_interval_seconds", c.Orchestration.PollInterval, map[string]*time.Duration{
		"protocol.coder_poll_interval":    &c.Protocol.CoderPollInterval,
		"protocol.planner_poll_interval":  &c.Protocol.PlannerPollInterval,
		"protocol.reviewer_poll_interval": &c.Protocol.ReviewerPollInterval,
	})
}

// together checks values that must fit each other and puts back the default of
// those that do not.
func (c *Config) together() []*ValueError {
	var errs []*ValueError
	wrong := func(key, other, expected, found string) {
		o := c.origins[key]
		if o == (Origin{}) {
			o = c.origins[other]
		}
		errs = append(errs, &ValueError{Key: key, File: o.File, Line: o.Line, Variable: o.Variable, Expected: expected, Found: found})
		delete(c.origins, key)
	}
	p, builtin := &c.Protocol, defaultProtocol()
	if 3*p.HeartbeatInterval > p.LeaseDuration {
		wrong("protocol.heartbeat_interval", "protocol.lease_duration",
			fmt.Sprintf("at most a third of protocol.lease_duration (%d)", p.LeaseDuration/time.Second), strconv.Itoa(int(p.HeartbeatInterval/time.Second)))
		p.HeartbeatInterval = builtin.HeartbeatInterval
		if 3*p.HeartbeatInterval > p.LeaseDuration {
			p.LeaseDuration = builtin.LeaseDuration
			delete(c.origins, "protocol.lease_duration")
		}
	}
	if r := &c.Review; r.AutoMerge && (r.Mode == "strict" || r.Mode == "disabled") {
		wrong("review.auto_merge", "review.mode", "false in review.mode "+r.Mode, "true")
		r.AutoMerge = false
	}
	return errs
}

// OneFile refuses a folder with config.yaml and config.json: none of them wins.
func OneFile(liza string) error {
	_, errYAML := os.Stat(filepath.Join(liza, "config.yaml"))
	_, errJSON := os.Stat(filepath.Join(liza, "config.json"))
	if errYAML == nil && errJSON == nil {
		return &FileError{File: filepath.Base(liza) + "/config.yaml", Reason: "config.json is there too; keep one of them"}
	}
	return nil
}

// read finds and parses the file; root is nil when there is none or it is empty.
func read(liza string) (root *yaml.Node, file string, err error) {
	if err := OneFile(liza); err != nil {
		return nil, "", err
	}
	shown := func(name string) string { return filepath.Base(liza) + "/" + name }
	asYAML, errYAML := safefile.Read(filepath.Join(liza, "config.yaml"))
	asJSON, errJSON := safefile.Read(filepath.Join(liza, "config.json"))
	switch {
	case errYAML != nil && !errors.Is(errYAML, fs.ErrNotExist):
		return nil, "", &FileError{File: shown("config.yaml"), Reason: cause(errYAML)}
	case errJSON != nil && !errors.Is(errJSON, fs.ErrNotExist):
		return nil, "", &FileError{File: shown("config.json"), Reason: cause(errJSON)}
	case errYAML == nil:
		root, err = yamldoc.Node(asYAML)
		return tree(root, err, shown("config.yaml"))
	case errJSON == nil:
		root, err = yamldoc.JSONNode(asJSON)
		return tree(root, err, shown("config.json"))
	}
	return nil, "", nil
}

// cause is an error of the file system without the path, which is named already.
func cause(err error) string {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// tree turns an error of the reader into one that names the file.
func tree(root *yaml.Node, err error, file string) (*yaml.Node, string, error) {
	if broken := (*yamldoc.SyntaxError)(nil); errors.As(err, &broken) {
		err = &FileError{File: file, Line: broken.Line, Reason: broken.Reason}
	}
	return root, file, err
}
