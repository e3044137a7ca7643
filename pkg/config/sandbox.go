package config

import (
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Sandbox says how strongly programs and commands are contained, and what they may use besides
// what they need.
type Sandbox struct {
	Level   string        `key:"level" is:"auto|closed|partial|open" about:"How strongly: closed (namespaces), partial (files and system calls only), open (not at all); auto takes the strongest that works on this machine."`
	Require string        `key:"require" is:"|closed|partial" about:"Nothing is started at a weaker level than this; empty: what auto finds will do."`
	Wrap    []string      `key:"wrap" about:"A command of your own that is put before each program instead, at level auto: [docker, run, …]."`
	Allow   Allow         `key:"allow" about:"What may be used besides what programs need."`
	Limits  SandboxLimits `key:"limits" about:"Bounds of one run; 0 means no limit."`
}

// Allow is what programs may use besides what they need. Path gives the paths.
type Allow struct {
	Read       []string `key:"read" is:"path" about:"Files and folders that may be read. A path begins with / or with ~/ (your home folder); any other is in the project."`
	Write      []string `key:"write" is:"path" about:"Files and folders that may be written as well."`
	Copy       []string `key:"copy" is:"path" about:"Files and folders below ~/ of which each run has a copy of its own, that is removed when it ends."`
	Hosts      []string `key:"hosts" is:"host" about:"Hosts that may be reached: api.example.com, *.example.com, with a port when it is not 80 or 443. A host of this machine or of a private network has to be named with its port."`
	Env        []string `key:"env" is:"variable" about:"Variables of your environment that programs get; a * at the end of a name stands for any ending."`
	Registries bool     `key:"registries" about:"Agent programs may reach the package registries of the languages in use; setup and checks always may."`
}

// SandboxLimits bound one run; 0 means none.
type SandboxLimits struct {
	Processes int `key:"processes" is:"0.." about:"Processes and threads at one time."`
	MemoryMB  int `key:"memory_mb" is:"0.." about:"Memory."`
	DiskMB    int `key:"disk_mb" is:"0.." about:"Size of each private folder of a run, of an agent as of a check, and what its worktree and its caches may grow by."`
	FileMB    int `key:"file_mb" is:"0.." about:"Size of one file."`
}

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
