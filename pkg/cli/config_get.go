package cli

import (
	"context"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"
	"gopkg.in/yaml.v3"

	"liza/pkg/config"
	"liza/pkg/verb"
)

func newConfigGet(o *configOptions) *urfave.Command {
	return &urfave.Command{
		Name: "get", ArgsUsage: "KEY", Usage: "one effective setting, for scripts",
		Description: "Prints the value alone; of a section, what `liza config show KEY` prints. Changes nothing." +
			examples("liza config get limits.cost_cents", "liza config get agents.default --json") + exitsText(0, 1, 2),
		Action: o.env.onReader(o.get),
	}
}

func (o *configOptions) get(ctx context.Context, d *verb.Service, args []string) error {
	values, key := d.Config().Values(), config.Canonical(args[0])
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
