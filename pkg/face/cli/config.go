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
	"text/tabwriter"

	urfave "github.com/urfave/cli/v3"
	"gopkg.in/yaml.v3"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/store"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/run/role"
	"liza/pkg/team/assembly"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

func newConfig(env *Env) *urfave.Command {
	o := &configOptions{env: env}
	return &urfave.Command{
		Name: "config", Category: "start", Usage: "configuration: list, show, get, validate, set, schema",
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
	p, err := o.env.System.Find(ctx)
	if err != nil {
		return err
	}
	cfg, warnings, err := config.Load(p.Liza, o.env.System.Environ)
	problems := configProblems(err)
	for _, w := range warnings {
		problems = append(problems, problem{Level: "warning", Key: w.Key, File: w.File, Line: w.Line, Message: w.String()})
	}
	if cfg != nil {
		problems = append(append(problems, o.rolesOf(p, cfg)...), programsOf(cfg)...)
		s, _, _ := o.env.look(ctx) // without a board nothing is hidden by it
		for _, h := range cfg.Hidden(p.Liza, boardSettings(s)) {
			problems = append(problems, problem{Level: "warning", Key: h.Key, File: h.At.File, Line: h.At.Line, Message: h.Message + "; next: " + h.Next})
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
	fmt.Fprintf(o.env.System.Stdout, "%sINVALID\n", b.String())
	return &errDone{3}
}

// rolesOf are settings that name roles which cannot be used.
func (o *configOptions) rolesOf(p *project.Project, cfg *config.Config) []problem {
	d := board.Session{Project: p, Config: func() *config.Config { return cfg }}
	var list []problem
	for _, f := range d.Roles().Library().Contradictions(d.Roles().Settings()) {
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
	options := agent.Options{Custom: assembly.Programs(cfg), Liza: "liza", Scenario: "scenario.yaml"}
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
	p, err := o.env.System.Find(ctx)
	if err != nil {
		return err
	}
	if d, err := o.env.System.Service(ctx); err == nil { // a broken file names no callers; anybody may mend it
		if err := d.Board.AdminOnly("change settings"); err != nil {
			return err
		}
	}
	path, data, err := configFile(p)
	if err != nil {
		return err
	}
	kept, was, err := project.Settings(p.InForce())
	if err != nil {
		return err
	}
	gone := false
	if name, _, err := project.Settings(p.Liza); err == nil && name == "" && kept != "" {
		path, data, gone = filepath.Join(p.Liza, kept), was, true // the team still works with what git took away
	}
	next, err := config.Set(data, ".liza/"+filepath.Base(path), key, value, o.env.System.Environ)
	if err != nil {
		return err
	}
	if kept != "" { // what a person sets holds, also where it is weaker
		if was, err = config.Set(was, kept, key, value, o.env.System.Environ); err == nil {
			err = p.PutInForce(kept, was)
		}
		if err != nil {
			return err
		}
	}
	if !bytes.Equal(next, data) || gone {
		if err := safefile.Replace(path, next, 0o644); err != nil {
			return err
		}
	}
	o.overruled(ctx, key)
	result := map[string]any{"key": key, "value": value, "file": ".liza/" + filepath.Base(path), "changed": !bytes.Equal(next, data)}
	return o.env.Print(result, "%s is %s in .liza/%s\n", key, cmp.Or(value, `""`), filepath.Base(path))
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
	d, err := o.env.System.Service(ctx)
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
	if o.env.System.Get(variable) != "" {
		o.env.System.Log().Warn(variable + " is set and wins over the file")
	}
	setting := config.Setting(key)
	if setting == "" {
		return
	}
	if s, _, err := o.env.look(ctx); err == nil && s.Config[setting] != nil {
		o.env.System.Log().Warn(fmt.Sprintf("config.%s of state.yaml is %v and wins; next: liza config set %s null", setting, s.Config[setting], setting))
	}
}

func newConfigGet(o *configOptions) *urfave.Command {
	return &urfave.Command{
		Name: "get", ArgsUsage: "KEY", Usage: "one effective setting, for scripts",
		Description: "Prints the value alone; of a section, what `liza config show KEY` prints. Changes nothing." +
			examples("liza config get limits.cost_cents", "liza config get agents.default --json") + exitsText(0, 1, 2),
		Action: o.env.onReader(o.get),
	}
}

func (o *configOptions) get(ctx context.Context, d *verb.Service, args []string) error {
	values, key := d.Board.Config().Values(), args[0]
	o.fromState(ctx, d, values)
	i := slices.IndexFunc(values, func(v config.Value) bool { return v.Key == key })
	if i < 0 { // the names that state.yaml has for them, as `config set` takes them
		i = slices.IndexFunc(values, func(v config.Value) bool { return v.Key == "protocol."+key || v.Alias == "config."+key })
	}
	if i < 0 {
		return o.show(ctx, args)
	}
	text, err := yaml.Marshal(values[i].Value)
	if err != nil {
		return err
	}
	if s, ok := values[i].Value.(string); ok {
		text = []byte(s)
	}
	return o.env.Print(values[i], "%s\n", strings.TrimSuffix(string(text), "\n"))
}

func newConfigList(o *configOptions) *urfave.Command {
	return &urfave.Command{
		Name: "list", ArgsUsage: "[GROUP]", Usage: "the settings to look at first, or those of a group",
		Description: "Without GROUP: the settings that a project should look at, with the values in force, and the groups of all others. GROUP is one of those,\n" +
			"a section of config.yaml such as limits, or all. `liza config` alone does the same. Changes nothing." +
			examples("liza config", "liza config list limits", "liza config list all --json") + exitsText(0, 1, 2),
		Action: o.env.onReader(o.list),
	}
}

func (o *configOptions) list(ctx context.Context, d *verb.Service, args []string) error {
	all := d.Board.Config().Values()
	o.fromState(ctx, d, all)
	if len(args) == 0 {
		first := slices.DeleteFunc(slices.Clone(all), func(v config.Value) bool { return !slices.Contains(config.First, v.Key) })
		slices.SortFunc(first, func(a, b config.Value) int {
			return slices.Index(config.First, a.Key) - slices.Index(config.First, b.Key)
		})
		return o.env.Print(first, "%s\n%s", listText(first), settingGroups(len(all)))
	}
	sections, err := sectionsOf(args[0])
	if err != nil {
		return err
	}
	var found []config.Value
	for _, section := range sections {
		for _, v := range all {
			if v.Key == section || strings.HasPrefix(v.Key, section+".") {
				found = append(found, v)
			}
		}
	}
	return o.env.Print(found, "%s", listText(found))
}

// sectionsOf are the sections of a group, one section by its own name, or all.
func sectionsOf(name string) (sections []string, err error) {
	var names []string
	for _, g := range config.Groups {
		if g.Name == name || slices.Contains(g.Sections, name) && name != "all" {
			if g.Name != name {
				return []string{name}, nil
			}
			return g.Sections, nil
		}
		names = append(names, g.Name)
		sections = append(sections, g.Sections...)
	}
	if name != "all" {
		return nil, usagef("liza config list", "there is no group '%s' of settings; there are %s, and all", name, strings.Join(names, ", "))
	}
	return sections, nil
}

// listText has key and value of each setting, and below it what it is for.
func listText(values []config.Value) string {
	var b strings.Builder
	for _, v := range values {
		text, err := inlineYAML(v.Value)
		if err != nil {
			continue
		}
		from := ""
		if v.Origin != "default" {
			from = "  # " + v.Origin
		}
		fmt.Fprintf(&b, "%s: %s%s\n    %s\n", v.Key, text, from, v.About)
	}
	return b.String()
}

// inlineYAML is a value on one line.
func inlineYAML(value any) (string, error) {
	n := &yaml.Node{}
	if err := n.Encode(value); err != nil {
		return "", err
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		n.Style = yaml.FlowStyle
	case strings.Contains(n.Value, "\n"):
		n.Style = yaml.DoubleQuotedStyle
	}
	text, err := yaml.Marshal(n)
	return strings.TrimSpace(string(text)), err
}

func settingGroups(count int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "All %d settings, by group (liza config list GROUP):\n", count)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, g := range config.Groups {
		fmt.Fprintf(w, "  %s\t%s\n", g.Name, g.About)
	}
	w.Flush()
	b.WriteString("\nnext: liza config set KEY VALUE\n")
	return b.String()
}

type configOptions struct {
	env    *Env
	origin bool
}

func (o *configOptions) show(ctx context.Context, args []string) error {
	d, err := o.env.System.Reader(ctx)
	if err != nil {
		return err
	}
	cfg := d.Board.Config()
	values := cfg.Values()
	o.fromState(ctx, d, values)
	if len(args) > 0 {
		key := args[0]
		found := slices.DeleteFunc(slices.Clone(values), func(v config.Value) bool { return v.Key != key && !strings.HasPrefix(v.Key, key+".") })
		if len(found) == 0 {
			return noSetting(args[0])
		}
		values = found
	}
	return o.env.Print(values, "%s", settingsText(values, o.origin))
}

// noSetting names the setting that may have been meant.
func noSetting(key string) error {
	text := "there is no setting " + key
	if near := config.Nearest(key); near != "" {
		text += "; did you mean " + near + "?"
	}
	return usagef("liza config show", "%s", text)
}

// fromState puts in what the section config of state.yaml says: it wins over the file.
func (o *configOptions) fromState(ctx context.Context, d *verb.Service, values []config.Value) {
	cfg := d.Board.Config()
	board, ok := d.Board.Store.(store.Inspector)
	if !ok {
		return
	}
	i, err := board.Inspect(ctx)
	if err != nil || i.State == nil {
		return
	}
	for n := range values {
		v := &values[n]
		setting := config.Setting(v.Key)
		raw, given := i.State.Config[setting]
		if setting == "" || !given || raw == nil || strings.HasPrefix(cfg.Origin(v.Key).String(), "LIZA_") {
			continue
		}
		v.Value, v.Origin = cfg.Translate(v.Key, raw), ".liza/state.yaml"
		if line, _ := i.Line("config." + setting); line > 0 {
			v.Origin += fmt.Sprintf(":%d", line)
		}
		v.Alias = "config." + setting
	}
}

// settingsText is a config.yaml with all values.
func settingsText(values []config.Value, origin bool) string {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, v := range values {
		at := root
		parts := strings.Split(v.Key, ".")
		for _, part := range parts[:len(parts)-1] {
			at = below(at, part)
		}
		n := &yaml.Node{}
		if err := n.Encode(v.Value); err != nil {
			continue
		}
		if n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode {
			n.Style = yaml.FlowStyle
		}
		if origin {
			n.LineComment = v.Origin
			if v.Alias != "" {
				n.LineComment += " as " + v.Alias
			}
		}
		at.Content = append(at.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: parts[len(parts)-1]}, n)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return ""
	}
	return b.String()
}

// below is the map under a key, made when it is not there.
func below(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	m := &yaml.Node{Kind: yaml.MappingNode}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, m)
	return m
}

// boardSettings is the section config of a board, which may be nil.
func boardSettings(s *blackboard.State) map[string]any {
	if s == nil {
		return nil
	}
	return s.Config
}
