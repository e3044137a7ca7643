package config

import "fmt"

// A Hidden is a setting without effect, because another place says otherwise.
type Hidden struct {
	Key     string
	At      Origin // of the setting without effect
	Message string
	Next    string // command that helps
}

// Hidden returns the settings that the environment or the board hides. dir is the folder of the configuration files, board the
// section config of state.yaml; it may be nil. A configuration that cannot be read hides nothing.
func (c *Config) Hidden(dir string, board map[string]any) []Hidden {
	var list []Hidden
	file, _, err := Load(dir, nil)
	if err != nil {
		return nil
	}
	plain := map[string]any{}
	for _, v := range file.Values() {
		plain[v.Key] = v.Value
	}
	inFile, overrides := file.Settings(), c.Overrides()
	for _, v := range c.Values() {
		above, below := c.Origin(v.Key), file.Origin(v.Key)
		if above.Variable != "" && below.File != "" && fmt.Sprint(v.Value) != fmt.Sprint(plain[v.Key]) {
			list = append(list, Hidden{v.Key, below, fmt.Sprintf("%s hides %s (%v) of %s", above, v.Key, plain[v.Key], below), "unset " + above.Variable})
		}
		name := Setting(v.Key)
		if name == "" || board[name] == nil {
			continue
		}
		mine := fmt.Sprint(board[name])
		switch {
		case above.Variable != "" && fmt.Sprint(overrides[name]) != mine:
			list = append(list, Hidden{v.Key, Origin{File: ".liza/state.yaml"}, fmt.Sprintf("%s hides config.%s (%s) of .liza/state.yaml", above, name, mine), "unset " + above.Variable})
		case above.Variable == "" && below.File != "" && fmt.Sprint(inFile[name]) != mine:
			list = append(list, Hidden{v.Key, below, fmt.Sprintf("config.%s (%s) of .liza/state.yaml hides %s (%v) of %s", name, mine, v.Key, plain[v.Key], below), "liza config set " + name + " null"})
		}
	}
	return list
}
