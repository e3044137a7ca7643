// Package toolchain has the requirements of the tools of languages in contained runs: their installation folders, caches in
// place of the person's, and the hosts of their packages.
//
// A cache that a run may write poisons the builds of all who share it, and a build without one takes minutes. So runs have
// caches of the project's own; downloads of the person are read-only, if the tool can use them so. The table is data; In is a
// pure function of it, of the person's environment and of the files on disk.
package toolchain

import (
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// A Person is the owner of the tools, with the functions to find them.
type Person struct {
	Home    string
	Environ []string
	Which   func(program string) string // returns its path by PATH, or ""
	Real    func(path string) string    // returns the path without links, or "" if it is missing
	Glob    func(pattern string) []string
}

// On returns a person of this machine.
func On(home string, environ []string) Person {
	path := lookUp(environ, "PATH")
	return Person{Home: home, Environ: environ,
		Which: func(program string) string {
			for _, folder := range filepath.SplitList(path) {
				file := filepath.Join(folder, program)
				if info, err := os.Stat(file); filepath.IsAbs(folder) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
					return file
				}
			}
			return ""
		},
		Real: func(path string) string {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				return ""
			}
			return real
		},
		Glob: func(pattern string) []string {
			list, _ := filepath.Glob(pattern)
			return list
		}}
}

// Platform names the system and the tools of languages of a person: where each of them lies, and of which size and time it is. What one of
// them has built may not run with another one.
func (p Person) Platform() string {
	text := runtime.GOOS + "/" + runtime.GOARCH
	for _, t := range Table {
		for _, name := range t.Programs {
			real := p.Real(p.Which(name))
			if info, err := os.Stat(real); real != "" && err == nil {
				text += fmt.Sprintf("\n%s %d %d", real, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return text
}

// Use is the purpose of the tools.
type Use struct {
	Root       string   // folder whose files identify the project's toolchains; "": its files are not trusted
	Files      []string // further paths that identify them
	Checkout   string   // folder whose files say which variables a run gets, and nothing else; or ""
	Cache      string   // folder of the project's own caches
	Filled     string   // folder of caches that setup has filled, read-only; or ""
	Registries bool     // packages may be downloaded
	Proxy      string   // HOST:PORT of the proxy, for tools that do not read HTTP_PROXY; or ""
}

// Access has the requirements of all toolchains together. Paths are absolute.
type Access struct {
	Tools  []string // files and folders of programs, read-only
	Read   []string // caches and settings of the person, read-only
	Caches []string // folders in Use.Cache, to be made and writable
	Env    []string // NAME=value
	Pass   []string // names of the person's variables to pass on
	Hosts  []string // registries of the project's toolchains; all of Registries() may be requested
}

// In returns the requirements of a person's tools for a use.
func In(p Person, u Use) Access {
	var a Access
	for _, t := range Table {
		a.add(p, u, t)
	}
	a.Tools = append(a.Tools, p.own()...)
	a.Tools, a.Read = outermost(a.Tools), outermost(a.Read)
	return a
}

// Registries returns the hosts of all toolchains.
func Registries() (hosts []string) {
	for _, t := range Table {
		hosts = append(hosts, t.Registries...)
	}
	return hosts
}

func (a *Access) add(p Person, u Use, t Toolchain) {
	there := false
	for _, name := range t.Programs {
		if program := p.Which(name); program != "" {
			there, a.Tools = true, append(a.Tools, p.Installed(program)...)
		}
	}
	if !there || t.Only && !p.marked(t, u, u.Checkout) {
		return
	}
	places := map[string]string{}
	for name, candidates := range t.Places {
		places[name] = p.first(candidates)
	}
	if u.Filled != "" {
		places["filled"] = p.first([]string{filepath.Join(u.Filled, t.Name)})
		a.Read = append(a.Read, u.Filled) // as a whole: a check can make a link of what is in it, and it would be the link's target that is shown
	}
	for _, name := range t.Tools {
		a.Tools = append(a.Tools, p.outside(places[name])...)
	}
	for _, name := range t.Caches {
		a.Read = append(a.Read, p.outside(places[name])...)
	}
	for _, file := range t.Home {
		if full := filepath.Join(p.Home, file); p.Real(full) != "" {
			a.Read = append(a.Read, full)
		}
	}
	cache := filepath.Join(u.Cache, t.Name)
	a.Caches, a.Pass = append(a.Caches, cache), append(a.Pass, t.Pass...)
	set := map[string]bool{}
	for _, v := range t.Env {
		if value, ok := p.value(v, u, cache, places); ok && !set[v.Name] {
			set[v.Name] = true
			a.Env = append(a.Env, v.Name+"="+value)
		}
	}
	if u.Registries && p.marked(t, u, u.Root) {
		a.Hosts = append(a.Hosts, t.Registries...)
	}
}

// own are the folders of PATH in the home folder, and what their programs need.
func (p Person) own() (tools []string) {
	for _, folder := range filepath.SplitList(lookUp(p.Environ, "PATH")) {
		if shown := p.outside(filepath.Clean(folder)); filepath.IsAbs(folder) && strings.HasPrefix(folder, p.Home+"/") && p.Real(folder) != "" && len(shown) > 0 {
			tools = append(tools, shown...)
			programs := p.Glob(folder + "/*")
			for _, program := range programs[:min(len(programs), mostPrograms)] {
				tools = append(tools, p.Installed(program)...)
			}
		}
	}
	return tools
}

const mostPrograms = 500

// marked reports whether a project is built with a toolchain, by files in a folder or the further paths of a use.
func (p Person) marked(t Toolchain, u Use, root string) bool {
	return slices.ContainsFunc(t.Marks, func(mark string) bool {
		below := func(file string) bool { return path.Base(file) == mark && strings.Count(file, "/") <= 1 }
		return slices.ContainsFunc(u.Files, below) ||
			root != "" && (p.Real(filepath.Join(root, mark)) != "" || len(p.Glob(filepath.Join(root, "*", mark))) > 0)
	})
}

var (
	inPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[a-z0-9]+\}`) })
	inEnv   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$[A-Z_]+`) })
)

// value returns the value of a variable; ok is false for a variable of another use, or with a missing part.
func (p Person) value(v Variable, u Use, cache string, places map[string]string) (text string, ok bool) {
	if v.When == offline && u.Registries || v.When == online && !u.Registries || v.When == proxied && u.Proxy == "" {
		return "", false
	}
	host, port, _ := net.SplitHostPort(u.Proxy)
	ok = true
	text = inPlace().ReplaceAllStringFunc(v.Value, func(name string) string {
		switch name = name[1 : len(name)-1]; name {
		case "cache":
			return cache
		case "host":
			return host
		case "port":
			return port
		}
		ok = ok && places[name] != ""
		return places[name]
	})
	text = inEnv().ReplaceAllStringFunc(text, func(name string) string {
		value := lookUp(p.Environ, name[1:])
		ok = ok && value != ""
		return value
	})
	return strings.TrimSpace(text), ok
}

// first is the first of several places that is there.
func (p Person) first(candidates []string) string {
	for _, c := range candidates {
		if rest, ok := strings.CutPrefix(c, "~"); ok {
			c = p.Home + rest
		} else if name, rest, _ := strings.Cut(c, "/"); strings.HasPrefix(c, "$") {
			value := lookUp(p.Environ, name[1:])
			if !filepath.IsAbs(value) {
				continue
			}
			c = filepath.Join(value, rest)
		}
		if c = filepath.Clean(c); p.Real(c) != "" {
			return c
		}
	}
	return ""
}

// outside returns a path and its target without links, unless they are shown anyway.
func (p Person) outside(path string) (list []string) {
	if path == "" || p.tooWide(p.Real(path)) {
		return nil
	}
	for _, one := range []string{path, p.Real(path)} {
		if one != "" && !system(one) && !p.tooWide(one) && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

// tooWide reports whether a folder has more than tools in it: the home folder, its parents, and the folders with the data of
// all programs.
func (p Person) tooWide(path string) bool {
	for _, home := range []string{p.Home, p.Real(p.Home), p.Home + "/.local", p.Home + "/.config"} {
		if home == path || strings.HasPrefix(home, strings.TrimSuffix(path, "/")+"/") {
			return true
		}
	}
	return false
}

// system reports whether a path is in a folder that every run sees.
func system(path string) bool {
	return slices.ContainsFunc([]string{"/usr/", "/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/"}, func(folder string) bool { return strings.HasPrefix(path+"/", folder) })
}

// Installed returns the paths that a program outside of the system's folders needs: the program, and its installation folder.
func (p Person) Installed(program string) []string {
	if program == "" {
		return nil
	}
	real := p.Real(program)
	if real == "" {
		return nil
	}
	list := append(p.outside(program), p.outside(real)...)
	return outermost(append(list, p.outside(p.home(real))...))
}

// home is the folder that a program is installed in; "" when it is one file by itself.
func (p Person) home(real string) string {
	if before, _, ok := strings.Cut(real, "/node_modules/"); ok {
		return before + "/node_modules" // packages use those beside them
	}
	folder := filepath.Dir(real)
	if filepath.Base(folder) == "shims" { // of a manager of versions: it starts what is beside them
		return filepath.Dir(folder)
	}
	if filepath.Base(folder) != "bin" {
		return ""
	}
	prefix := filepath.Dir(folder)
	for _, mark := range []string{"pyvenv.cfg", "lib/node_modules", "lib/modules", "lib/rustlib", "pkg/tool"} {
		if p.Real(filepath.Join(prefix, mark)) != "" {
			return prefix
		}
	}
	return ""
}

// outermost removes duplicates, and paths inside another one of the list.
func outermost(list []string) []string {
	slices.Sort(list)
	var out []string
	for _, path := range list {
		if !slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(path+"/", o+"/") }) {
			out = append(out, path)
		}
	}
	return out
}

func lookUp(environ []string, name string) string {
	value := ""
	for _, pair := range environ {
		if n, v, ok := strings.Cut(pair, "="); ok && n == name {
			value = v
		}
	}
	return value
}
