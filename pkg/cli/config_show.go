package cli

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/config"
	"liza/pkg/store"
	"liza/pkg/verb"
)

type configOptions struct {
	env    *Env
	origin bool
}

func (o *configOptions) show(ctx context.Context, args []string) error {
	d, err := o.env.Reader(ctx)
	if err != nil {
		return err
	}
	cfg := d.Config()
	values := cfg.Values()
	o.fromState(ctx, d, values)
	if len(args) > 0 {
		key := config.Canonical(args[0])
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
	cfg := d.Config()
	board, ok := d.Store.(store.Inspector)
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
