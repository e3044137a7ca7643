package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"
	"gopkg.in/yaml.v3"

	"liza/pkg/config"
	"liza/pkg/verb"
)

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
	all := d.Config().Values()
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
	for _, g := range config.Groups {
		fmt.Fprintf(&b, "  %-10s%s\n", g.Name, g.About)
	}
	b.WriteString("\nnext: liza config set KEY VALUE\n")
	return b.String()
}
