package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/config"
	"liza/pkg/project"
	"liza/pkg/role"
	"liza/pkg/safefile"
	"liza/pkg/verb"
)

func newConfig(env *Env) *urfave.Command {
	o := &configOptions{env: env}
	return &urfave.Command{
		Name: "config", Category: "people", Usage: "configuration: list, show, get, validate, set, schema",
		Commands: []*urfave.Command{
			newConfigList(o),
			{
				Name: "show", ArgsUsage: "[KEY]", Usage: "every effective setting",
				Description: "Prints a whole config.yaml with the values that are in force: built-in, .liza/config.yaml, the section config of state.yaml, environment.\n" +
					"With --origin each line says where its value comes from. KEY is a setting or a section. Changes nothing." +
					examples("liza config show --origin", "liza config show limits") + exitsText(0, 1, 2),
				Flags:  []urfave.Flag{flag("origin", "where each value comes from", &o.origin)},
				Action: env.do(o.show),
			},
			newConfigGet(o),
			{
				Name: "validate", Usage: "what is wrong with the configuration",
				Description: "All errors of .liza/config.yaml and of the environment at once, each with key, file and line; unknown keys are warnings with the nearest name.\n" +
					"The last line is VALID or INVALID. Changes nothing." + examples("liza config validate", "liza config validate --json") + exitsText(0, 1, 2, 3),
				Action: env.do(o.validate),
			},
			{
				Name: "set", ArgsUsage: "KEY VALUE", Usage: "change one setting",
				Description: "Writes KEY into .liza/config.yaml (made when it is not there) and keeps comments and order; the result is validated first. A list is written\n" +
					"a,b. A key of the section config of state.yaml (lease_duration, max_coder_iterations …) is set there, where it wins over config.yaml; null takes it\n" +
					"away again. For people only." +
					examples("liza config set limits.cost_cents 500", "liza config set lease_duration 900") + exitsText(0, 1, 2, 3, 4, 5),
				Action: env.do(o.set),
			},
			{
				Name: "schema", Usage: "the JSON Schema of config.yaml",
				Description: "For editors that complete and check the file; it is specs/config.schema.json too. Needs no project and changes nothing." +
					examples("liza config schema > config.schema.json", "liza config schema --json") + exitsText(0, 1, 2),
				Action: env.do(func(context.Context, []string) error { return env.printRaw("schema", config.Schema()) }),
			},
		},
	}
}

// problem is one line of `liza config validate`.
type problem struct {
	Level   string `json:"level"`
	Key     string `json:"key,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

func (o *configOptions) validate(ctx context.Context, _ []string) error {
	p, err := o.env.Find(ctx)
	if err != nil {
		return err
	}
	cfg, warnings, err := config.Load(p.Liza, o.env.Environ)
	problems := configProblems(err)
	for _, w := range warnings {
		problems = append(problems, problem{Level: "warning", Key: w.Key, File: w.File, Line: w.Line, Message: w.String()})
	}
	if cfg != nil {
		problems = append(append(problems, o.rolesOf(p, cfg)...), programsOf(cfg)...)
		s, _, _ := o.env.look(ctx) // without a board nothing is hidden by it
		for _, h := range o.env.hiddenSettings(p, cfg, s) {
			problems = append(problems, problem{Level: "warning", Key: h.key, File: h.at.File, Line: h.at.Line, Message: h.message + "; next: " + h.next})
		}
	}
	failed := slices.ContainsFunc(problems, func(p problem) bool { return p.Level == "error" })
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%-7s %s\n", strings.ToUpper(p.Level), p.Message)
	}
	result := map[string]any{"valid": !failed, "problems": append([]problem{}, problems...)}
	switch {
	case !failed:
		return o.env.Print(result, "%sVALID\n", b.String())
	case o.env.JSON:
		return o.env.failWith(report{code: 3, message: "the configuration has errors", next: "edit .liza/config.yaml"}, result)
	}
	fmt.Fprintf(o.env.Stdout, "%sINVALID\n", b.String())
	return &errDone{3}
}

// rolesOf are settings that name roles which cannot be used.
func (o *configOptions) rolesOf(p *project.Project, cfg *config.Config) []problem {
	d := verb.Service{Project: p, Config: func() *config.Config { return cfg }}
	var list []problem
	for _, f := range d.Roles().Contradictions(d.RoleSettings()) {
		level := "error"
		if f.Level != role.Error {
			level = "warning"
		}
		origin := cfg.Origin(f.Key)
		list = append(list, problem{Level: level, Key: f.Key, File: origin.File, Line: origin.Line, Message: fmt.Sprintf("%s: %s: role %s: %s", origin, f.Key, f.Role, f.Reason)})
	}
	return list
}

// programsOf are the agent programs of the settings that could not be started. A run that would
// fall back to an unknown one goes on without it, so that is a warning.
func programsOf(cfg *config.Config) []problem {
	options := agent.Options{Custom: programs(cfg), Liza: "liza", Scenario: "scenario.yaml"}
	var list []problem
	look := func(level, key, name string) {
		if _, err := agent.Lookup(name, options); err != nil {
			at := cfg.Origin(key)
			list = append(list, problem{Level: level, Key: key, File: at.File, Line: at.Line, Message: fmt.Sprintf("%s: %s: %v", at, key, err)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents.Custom)) {
		look("error", "agents."+name, name)
	}
	if _, own := cfg.Agents.Custom[cfg.Agents.Default]; !own && cfg.Agents.Default != "" {
		look("error", "agents.default", cfg.Agents.Default)
	}
	names := slices.Clone(cfg.Agents.Fallback.All)
	for _, role := range slices.Sorted(maps.Keys(cfg.Agents.Fallback.ByRole)) {
		names = append(names, cfg.Agents.Fallback.ByRole[role]...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if _, own := cfg.Agents.Custom[name]; !own {
			look("warning", "agents.fallback", name)
		}
	}
	return list
}

// configProblems are all errors that loading found.
func configProblems(err error) []problem {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var list []problem
		for _, e := range joined.Unwrap() {
			list = append(list, configProblems(e)...)
		}
		return list
	}
	p := problem{Level: "error", Message: err.Error()}
	if x, ok := errors.AsType[*config.ValueError](err); ok {
		p.Key, p.File, p.Line = x.Key, x.File, x.Line
	} else if x, ok := errors.AsType[*config.FileError](err); ok {
		p.File, p.Line = x.File, x.Line
	}
	return []problem{p}
}

func (o *configOptions) set(ctx context.Context, args []string) error {
	key, value := args[0], args[1]
	if slices.Contains(blackboard.SettingKeys(), key) {
		return o.setState(ctx, key, value)
	}
	p, err := o.env.Find(ctx)
	if err != nil {
		return err
	}
	if d, err := o.env.Service(ctx); err == nil { // a broken file names no callers; anybody may mend it
		if err := d.AdminOnly("change settings"); err != nil {
			return err
		}
	}
	path, data, err := configFile(p)
	if err != nil {
		return err
	}
	next, err := config.Set(data, ".liza/"+filepath.Base(path), key, value, o.env.Environ)
	if err != nil {
		return err
	}
	if !bytes.Equal(next, data) {
		if err := safefile.Replace(path, next, 0o644); err != nil {
			return err
		}
	}
	o.overruled(ctx, config.Canonical(key))
	result := map[string]any{"key": config.Canonical(key), "value": value, "file": ".liza/" + filepath.Base(path), "changed": !bytes.Equal(next, data)}
	return o.env.Print(result, "%s is %s in .liza/%s\n", config.Canonical(key), cmp.Or(value, `""`), filepath.Base(path))
}

// configFile is the file that there is, else the one to make.
func configFile(p *project.Project) (path string, data []byte, err error) {
	if err := config.OneFile(p.Liza); err != nil {
		return "", nil, err
	}
	for _, name := range []string{"config.json", "config.yaml"} {
		path = filepath.Join(p.Liza, name)
		data, err = safefile.Read(path)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err = nil
	}
	if err != nil {
		return path, nil, fmt.Errorf("cannot read .liza/%s: %v", filepath.Base(path), errText(err))
	}
	return path, data, nil
}

// setState changes a setting that is in the state.
func (o *configOptions) setState(ctx context.Context, key, value string) error {
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	done, err := d.SetSetting(ctx, key, value)
	if err != nil {
		return err
	}
	if done.Value == nil {
		return o.env.Print(done, "%s is no longer in .liza/state.yaml\n", done.Key)
	}
	return o.env.Print(done, "%s is %v in .liza/state.yaml\n", done.Key, done.Value)
}

// overruled warns when something that wins says otherwise.
func (o *configOptions) overruled(ctx context.Context, key string) {
	variable := "LIZA_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
	if o.env.Get(variable) != "" {
		o.env.Log().Warn(variable + " is set and wins over the file")
	}
	setting := config.Setting(key)
	if setting == "" {
		return
	}
	if s, _, err := o.env.look(ctx); err == nil && s.Config[setting] != nil {
		o.env.Log().Warn(fmt.Sprintf("config.%s of state.yaml is %v and wins; next: liza config set %s null", setting, s.Config[setting], setting))
	}
}
