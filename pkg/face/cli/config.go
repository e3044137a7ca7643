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
	"gopkg.in/yaml.v3"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/store"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/team/assembly"
	"liza/pkg/team/findings"
	"liza/pkg/verb/verb"
)

func newConfig(env *Env) *urfave.Command {
	o := &configOptions{env: env}
	return &urfave.Command{
		Name: "config", Category: "start", ArgsUsage: "[KEY] [VALUE]", Usage: "show the settings, or change one",
		Description: "Without arguments it prints the settings that differ from their defaults as a config.yaml; each line says where its value comes from:\n" +
			".liza/config.yaml, the section config of state.yaml, or the environment. With --all it prints every setting. With KEY it prints the value\n" +
			"alone, or all settings of a section such as limits. With KEY and VALUE it changes one setting; people may do that, agents may not.\n" +
			"VALUE goes into .liza/config.yaml, which keeps its comments and order; the result is validated first. A list is written a,b. A key of\n" +
			"the section config of state.yaml (lease_duration, max_coder_iterations …) is set there, where it wins; null takes it away again.\n" +
			"`liza doctor` says what is wrong with the settings." +
			examples("liza config", "liza config limits", "liza config limits.cost_cents 500", "liza config agents.default --json") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{flag("all", "every setting, with the defaults", &o.all)},
		Action: env.do(func(ctx context.Context, args []string) error {
			switch len(args) {
			case 0:
				return o.list(ctx)
			case 1:
				return o.get(ctx, args[0])
			}
			return o.set(ctx, args[0], args[1])
		}),
	}
}

// configProblem is one thing that is wrong with the settings.
type configProblem struct {
	severity, key, text string
}

// programsOf are the agent programs of the settings that could not be started. A run that would
// fall back to an unknown one goes on without it, so that is a warning.
func programsOf(cfg *config.Config) []configProblem {
	options := agent.Options{Custom: assembly.Programs(cfg), Liza: "liza", Scenario: "scenario.yaml"}
	var list []configProblem
	look := func(level, key, name string) {
		if _, err := agent.Lookup(name, options); err != nil {
			list = append(list, configProblem{level, key, fmt.Sprintf("%s: %v", cfg.Origin(key), err)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents.Custom)) {
		look(findings.Error, "agents."+name, name)
	}
	if _, own := cfg.Agents.Custom[cfg.Agents.Default]; !own && cfg.Agents.Default != "" {
		look(findings.Error, "agents.default", cfg.Agents.Default)
	}
	names := slices.Clone(cfg.Agents.Fallback.All)
	for _, role := range slices.Sorted(maps.Keys(cfg.Agents.Fallback.ByRole)) {
		names = append(names, cfg.Agents.Fallback.ByRole[role]...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if _, own := cfg.Agents.Custom[name]; !own {
			look(findings.Warning, "agents.fallback", name)
		}
	}
	return list
}

// configErrors are all errors that loading found.
func configErrors(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var list []error
	for _, e := range joined.Unwrap() {
		list = append(list, configErrors(e)...)
	}
	return list
}

func (o *configOptions) set(ctx context.Context, key, value string) error {
	if err := o.env.personOnly(ctx, "change settings"); err != nil {
		return err
	}
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
		o.env.System.Log().Warn(fmt.Sprintf("config.%s of state.yaml is %v and wins; next: liza config %s null", setting, s.Config[setting], setting))
	}
}

// list prints the settings that differ from their defaults, or all.
func (o *configOptions) list(ctx context.Context) error {
	values, err := o.values(ctx)
	if err != nil {
		return err
	}
	if o.all {
		return o.env.Print(values, "%s", settingsText(values))
	}
	differ := slices.DeleteFunc(slices.Clone(values), func(v config.Value) bool { return v.Origin == "default" })
	text := "# every setting has its default\n"
	if len(differ) > 0 {
		text = settingsText(differ)
	}
	return o.env.Print(differ, "%s# liza config --all prints all %d settings\n", text, len(values))
}

// get prints one setting, or those of a section.
func (o *configOptions) get(ctx context.Context, name string) error {
	values, err := o.values(ctx)
	if err != nil {
		return err
	}
	key := name
	i := slices.IndexFunc(values, func(v config.Value) bool { return v.Key == key })
	if i < 0 { // the names that state.yaml has for them
		i = slices.IndexFunc(values, func(v config.Value) bool { return v.Key == "protocol."+key || v.Alias == "config."+key })
	}
	if i < 0 {
		found := slices.DeleteFunc(values, func(v config.Value) bool { return !strings.HasPrefix(v.Key, key+".") })
		if len(found) == 0 {
			return noSetting(name)
		}
		return o.env.Print(found, "%s", settingsText(found))
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

// values are all settings in force.
func (o *configOptions) values(ctx context.Context) ([]config.Value, error) {
	d, err := o.env.System.Reader(ctx)
	if err != nil {
		return nil, err
	}
	values := d.Board.Config().Values()
	o.fromState(ctx, d, values)
	return values, nil
}

type configOptions struct {
	env *Env
	all bool
}

// noSetting names the setting that may have been meant.
func noSetting(key string) error {
	text := "there is no setting " + key
	if near := config.Nearest(key); near != "" {
		text += "; did you mean " + near + "?"
	}
	return usagef("liza config --all", "%s", text)
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

// settingsText is a config.yaml with these values, and where each comes from.
func settingsText(values []config.Value) string {
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
		n.LineComment = v.Origin
		if v.Alias != "" {
			n.LineComment += " as " + v.Alias
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
