package agent

import (
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Needs is what a program needs of the person's where it is contained. Paths are below the
// person's home folder; catalogue.yaml says what each key means.
type Needs struct {
	Read  []string `yaml:"read"`
	Login []string `yaml:"login"`
	Keep  []string `yaml:"keep"`
	Copy  []string `yaml:"copy"`
	Trust []string `yaml:"trust"`

	Hosts []string `yaml:"hosts"`
	Quiet []string `yaml:"quiet"`

	Env     []string          `yaml:"env"`
	Set     map[string]string `yaml:"set"`
	Folders map[string]string `yaml:"folders"`
	Files   []string          `yaml:"files"`
	Servers []string          `yaml:"servers"`

	Settings []Settings `yaml:"settings"`

	Args     []string `yaml:"args"`
	Measured bool     `yaml:"measured"`

	account map[string]string // variables that name the folder of an account
}

// AccountHome names the folder of an account for a program that has no variable of its own for it.
const AccountHome = "LIZA_ACCOUNT_HOME"

// ofAccount returns the needs with the settings of an account: of the files of the person that the program may use, those in its
// folder of settings, which is that of the account.
func (n Needs) ofAccount(folder string) Needs {
	if len(n.Folders) == 0 {
		n.Folders, n.Read = map[string]string{AccountHome: ".account"}, []string{".account"}
	}
	n.account = map[string]string{}
	for name := range n.Folders {
		n.account[name] = folder
	}
	own := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(p string) bool {
			for _, of := range n.Folders {
				if strings.HasPrefix(p+"/", of+"/") {
					return false
				}
			}
			return true
		})
	}
	n.Read, n.Login, n.Keep, n.Copy = own(n.Read), own(n.Login), own(n.Keep), own(n.Copy)
	return n
}

// TrustedFolder stands for the path of a folder in Needs.Trust.
const TrustedFolder = "FOLDER"

var (
	needsVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\*?$`) })
	needsHost     = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)
	})
)

// problems lists what is wrong with needs; each begins with the key.
func (n Needs) problems() []error {
	var errs []error
	look := func(key, what string, list []string, good func(string) bool) {
		for _, text := range list {
			if !good(text) {
				errs = append(errs, fmt.Errorf("sandbox.%s: %q is not %s", key, text, what))
			}
		}
	}
	inHome := func(p string) bool { return p != "." && path.Clean(p) == p && filepath.IsLocal(p) }
	for key, list := range map[string][]string{"read": n.Read, "login": n.Login, "keep": n.Keep, "copy": n.Copy, "folders": slices.Collect(maps.Values(n.Folders))} {
		look(key, "a path below the home folder", list, inHome)
	}
	for key, list := range map[string][]string{"hosts": n.Hosts, "quiet": n.Quiet} {
		look(key, "a host", list, needsHost().MatchString)
	}
	plain := func(name string) bool { return needsVariable().MatchString(name) && !strings.HasSuffix(name, "*") }
	look("env", "the name of a variable", n.Env, needsVariable().MatchString)
	for key, list := range map[string][]string{"files": n.Files, "servers": n.Servers, "set": slices.Collect(maps.Keys(n.Set)), "folders": slices.Collect(maps.Keys(n.Folders))} {
		look(key, "the name of a variable", list, plain)
	}
	if len(n.Trust) > 0 && (len(n.Copy) == 0 || !slices.Contains(n.Trust, TrustedFolder)) {
		errs = append(errs, fmt.Errorf("sandbox.trust: it needs %s, and files in copy", TrustedFolder))
	}
	for _, s := range n.Settings {
		look("settings", "a path below the home folder", []string{s.File}, inHome)
		look("settings", "the name of a field", slices.Concat(s.Variables, s.Servers, s.Commands), needsVariable().MatchString)
	}
	return errs
}

// and are needs with those that all programs have.
func (n Needs) and(common Needs) Needs {
	n.Read, n.Login = slices.Concat(n.Read, common.Read), slices.Concat(n.Login, common.Login)
	n.Keep, n.Copy = slices.Concat(n.Keep, common.Keep), slices.Concat(n.Copy, common.Copy)
	n.Hosts, n.Quiet = slices.Concat(n.Hosts, common.Hosts), slices.Concat(n.Quiet, common.Quiet)
	n.Env, n.Files, n.Servers = slices.Concat(n.Env, common.Env), slices.Concat(n.Files, common.Files), slices.Concat(n.Servers, common.Servers)
	n.Set, n.Folders = added(common.Set, n.Set), added(common.Folders, n.Folders)
	return n
}

// Passes reports whether a program that is contained gets a variable of the person's environment.
func (n Needs) Passes(name string) bool {
	if _, ok := n.Folders[name]; ok || slices.Contains(n.Files, name) || slices.Contains(n.Servers, name) {
		return true
	}
	return slices.ContainsFunc(n.Env, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}

// Access is what the needs of a program are for one person, in whose environment variables may
// name other folders and servers. A path in home is relative to it.
type Access struct {
	Read  []string // absolute: outside of the home folder
	Write []string
	Keep  []string

	HomeRead  []string
	HomeLogin []string // files: written in place, and left out where they are missing
	HomeKeep  []string // folders that the project keeps for all its runs
	HomeCopy  []string // each run has a copy of its own

	Hosts []string
	Quiet []string // refused without a word to people
	Env   []string // NAME=value, of the person's environment as the program gets it
}

// In is what a program may use of the person whose home folder and environment these are. Inside
// is the path of the home folder for the program: a variable that names a folder in the home
// folder is changed to that. It looks at no file.
func (n Needs) In(home, inside string, environ []string) Access {
	values := n.passed(environ)
	maps.Copy(values, n.account)
	a := Access{Hosts: slices.Clone(n.Hosts), Quiet: slices.Clone(n.Quiet)}
	place := func(list []string, below, outside *[]string) {
		for _, p := range list {
			at := n.placed(p, home, values)
			if rel, ok := within(home, at); ok {
				*below = append(*below, rel)
			} else if _, all := within(at, home); !all && at != home { // never the home folder as a whole
				*outside = append(*outside, at)
			}
		}
	}
	place(n.Read, &a.HomeRead, &a.Read)
	place(n.Login, &a.HomeLogin, &a.Write)
	place(n.Keep, &a.HomeKeep, &a.Keep)
	place(n.Copy, &a.HomeCopy, &a.Read)
	for _, name := range n.Files {
		if file := values[name]; filepath.IsAbs(file) {
			if rel, ok := within(home, file); ok {
				a.HomeRead, values[name] = append(a.HomeRead, rel), filepath.Join(inside, rel)
			} else {
				a.Read = append(a.Read, filepath.Clean(file))
			}
		}
	}
	for _, name := range n.Servers {
		if host := hostOf(values[name]); host != "" {
			a.Hosts = append(a.Hosts, host)
		}
	}
	for name := range n.Folders {
		if rel, ok := within(home, values[name]); ok || values[name] == home {
			values[name] = filepath.Join(inside, rel)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		a.Env = append(a.Env, name+"="+values[name])
	}
	return a
}

// passed are the person's variables that the program gets, without empty ones.
func (n Needs) passed(environ []string) map[string]string {
	values := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && value != "" && n.Passes(name) {
			values[name] = value
		}
	}
	return values
}

// placed is where a path of the home folder is when a variable moves the folder that it is in.
func (n Needs) placed(p, home string, values map[string]string) string {
	at, longest := filepath.Join(home, p), -1
	for name, folder := range n.Folders {
		rest, in := strings.CutPrefix(p+"/", folder+"/")
		if moved := values[name]; in && filepath.IsAbs(moved) && len(folder) > longest {
			at, longest = filepath.Join(moved, rest), len(folder)
		}
	}
	return at
}

// within is a path relative to the folder that it is in.
func within(folder, p string) (rel string, ok bool) {
	if !filepath.IsAbs(p) {
		return "", false
	}
	rel, err := filepath.Rel(folder, p)
	return rel, err == nil && filepath.IsLocal(rel) && rel != "."
}

// hostOf is HOST:PORT of a URL, which a person has named by that.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	if u.Port() != "" {
		return strings.ToLower(u.Host)
	}
	return strings.ToLower(u.Host) + map[bool]string{true: ":443", false: ":80"}[u.Scheme == "https"]
}

func added[K comparable, V any](base, more map[K]V) map[K]V {
	out := maps.Clone(base)
	if out == nil {
		out = map[K]V{}
	}
	maps.Copy(out, more)
	return out
}
