package config

import (
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// SandboxOf is what holds for one program: the settings of the project with those of
// agents.NAME.sandbox. Lists are added, other values replace.
func (c *Config) SandboxOf(program string) Sandbox {
	out := c.Sandbox
	own := c.Agents.Custom[program].Sandbox
	c.overlay(reflect.ValueOf(&out).Elem(), reflect.ValueOf(own), "agents."+program+".sandbox")
	return out
}

func (c *Config) overlay(to, own reflect.Value, prefix string) {
	for i := range to.NumField() {
		key := join(prefix, to.Type().Field(i).Tag.Get("key"))
		switch at := to.Field(i); {
		case at.Kind() == reflect.Struct:
			c.overlay(at, own.Field(i), key)
		case at.Kind() == reflect.Slice:
			at.Set(reflect.ValueOf(slices.Concat(at.Interface().([]string), own.Field(i).Interface().([]string))))
		case c.IsSet(key):
			at.Set(own.Field(i))
		}
	}
}

var (
	pathForm     = lazy(`^(~(/.*)?|[^~\x00][^\x00]*)$`)
	hostForm     = lazy(`^((\*\.)?[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)
	variableForm = lazy(`^[A-Za-z_][A-Za-z0-9_]*\*?$`)
)

func lazy(form string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(form) })
}

// Path is the absolute path that a text of sandbox.allow stands for: ~/ is the person's home
// folder, and a relative path is in the project.
func Path(text, home, root string) string {
	if rest, ok := strings.CutPrefix(text, "~"); ok {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	return filepath.Join(root, text)
}
