package wall

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"liza/pkg/base/safefile"
	"liza/pkg/board/config"
	"liza/pkg/run/agent"
	"liza/pkg/run/proxy"
	"liza/pkg/run/sandbox"
)

// Missing is what the person's own settings of a program name and its runs do not get: without a word the program
// would send an empty key, or go on without a hook that guards it.
type Missing struct {
	What string `json:"what"`
	Next string `json:"next"`
}

// Missing looks for that in the plan of a run of the program.
func (m *Maker) Missing(ctx context.Context, program string) ([]Missing, error) {
	r, level, _, err := m.run(ctx, Use{Name: "RUN", Program: program, Dir: filepath.Join(m.Project.Worktrees(), "TASK"), Write: true, Sockets: filepath.Join(m.Base, "RUN")})
	if err != nil || level != sandbox.Closed && level != sandbox.Partial {
		return nil, err
	}
	return r.missing(level, m.Config().Agents.Custom[program].Sandbox.Allow), nil
}

// missing looks at a level; own is what agents.NAME.sandbox.allow has already.
func (r Run) missing(level sandbox.Level, own config.Allow) []Missing {
	l := looking{run: r, plan: r.Compose(level, ""), add: map[string][]string{allowEnv: slices.Clone(own.Env), allowHosts: slices.Clone(own.Hosts), allowRead: slices.Clone(own.Read)}}
	for _, named := range r.Needs.Named(r.Person.Home, r.Person.Environ) {
		l.variables(named)
		if level == sandbox.Closed {
			l.servers(named)
		}
		l.commands(named)
	}
	l.wrapper()
	l.path()
	for i, key := range l.keys {
		l.found[i].Next = fmt.Sprintf("liza config agents.%s.sandbox.allow.%s %s", r.Program, key, strings.Join(l.add[key], ","))
	}
	return l.found
}

// Keys of sandbox.allow.
const (
	allowEnv        = "env"
	allowHosts      = "hosts"
	allowRead       = "read"
	allowRegistries = "registries"
)

// looking is one look for what is missing.
type looking struct {
	run   Run
	plan  Plan
	found []Missing
	keys  []string            // of sandbox.allow, for each that is found
	add   map[string][]string // key → all that it has to be set to
}

func (l *looking) tell(key, value, format string, args ...any) {
	if !slices.Contains(l.add[key], value) {
		l.found, l.keys = append(l.found, Missing{What: fmt.Sprintf(format, args...)}), append(l.keys, key)
		l.add[key] = append(l.add[key], value)
	}
}

// variables looks for those that are set in the person's shell alone. What Liza sets itself is not the person's.
func (l *looking) variables(named agent.Named) {
	for _, name := range named.Variables {
		set := func(list []string) bool {
			return slices.ContainsFunc(list, func(pair string) bool { return strings.HasPrefix(pair, name+"=") && pair != name+"=" })
		}
		if set(l.run.Person.Environ) && !set(l.plan.Env) && !slices.Contains([]string{"HOME", "TMPDIR", "PWD"}, name) {
			l.tell(allowEnv, name, "%s is set in your shell and named in %s; runs do not get it", name, named.File)
		}
	}
}

func (l *looking) servers(named agent.Named) {
	for _, at := range named.Servers {
		if !proxy.Allows(l.plan.Hosts, at) {
			l.tell(allowHosts, at, "%s is named in %s; runs do not reach it", at, named.File)
		}
	}
}

// fetching are programs that download what they are to run.
var fetching = []string{"npx", "bunx", "uvx", "pipx"}

func (l *looking) commands(named agent.Named) {
	for _, words := range named.Commands {
		for i, word := range words {
			if i == 0 && !strings.Contains(word, "/") {
				l.program(named, word)
				continue
			}
			word = strings.NewReplacer("$HOME/", "~/", "${HOME}/", "~/").Replace(word)
			rest, inHome := strings.CutPrefix(word, "~/")
			at := word
			if inHome {
				at = filepath.Join(l.run.Person.Home, rest)
			}
			if filepath.IsAbs(at) && l.run.Person.Real(at) != "" && !l.sees(word) {
				l.tell(allowRead, l.written(at), "%s is started by %s; runs do not see it", word, named.File)
			}
		}
	}
}

// program looks for one by its name.
func (l *looking) program(named agent.Named, name string) {
	at := l.run.Person.Which(name)
	if slices.Contains(fetching, name) && l.plan.Spec.Level == sandbox.Closed && !l.run.Settings.Allow.Registries {
		l.tell(allowRegistries, "true", "%s, which %s starts, downloads packages; runs reach no registry", name, named.File)
	}
	if at == "" || l.plan.Spec.Sees(at) && l.plan.Spec.Sees(l.run.Person.Real(at)) {
		return
	}
	for _, folder := range l.run.Person.Installed(at) {
		l.tell(allowRead, l.written(folder), "%s is started by %s; runs do not see %s", name, named.File, folder)
	}
}

// path looks for folders of PATH: what the person calls by its name there, a run does not find, or it finds another one.
func (l *looking) path() {
	list := ""
	for _, pair := range l.run.Person.Environ { // of two of one name the later one counts
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			list = value
		}
	}
	for _, folder := range filepath.SplitList(list) {
		real := l.run.Person.Real(folder)
		if !filepath.IsAbs(folder) || real == "" || l.plan.Spec.Sees(folder) && l.plan.Spec.Sees(real) {
			continue
		}
		l.tell(allowRead, l.written(folder), "%s is on your PATH; runs do not see it", l.written(folder))
	}
}

// largestWrapper is the size of a file that is looked at as a script which starts the program.
const largestWrapper = 64 << 10

// wrapper looks for what a shell script starts that stands for the program on PATH.
func (l *looking) wrapper() {
	if len(l.run.Argv) == 0 {
		return
	}
	at := l.run.Person.Real(l.run.Person.Which(l.run.Argv[0]))
	if info, err := os.Stat(at); err != nil || !info.Mode().IsRegular() || info.Size() > largestWrapper {
		return
	}
	text, err := safefile.Read(at)
	if first, _, _ := strings.Cut(string(text), "\n"); err != nil || !shell().MatchString(first) {
		return
	}
	var words []string
	for _, word := range scriptWord().FindAllString(comment().ReplaceAllString(string(text), ""), -1) {
		if strings.Contains(word, "/") {
			words = append(words, word)
		}
	}
	l.commands(agent.Named{File: l.written(at), Commands: [][]string{words}})
}

var (
	shell      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#!.*\b(?:ba|z|da|k)?sh\b`) })
	comment    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)(?:^|\s)#.*$`) })
	scriptWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\s"'\\,;|&()<>\[\]=]+`) })
)

func (l *looking) sees(path string) bool {
	if l.plan.Spec.Sees(path) {
		return true
	}
	rest, inHome := strings.CutPrefix(path, "~/")
	return inHome && slices.ContainsFunc(l.plan.Copy, func(c sandbox.Mount) bool { return safefile.Within(filepath.Join(l.plan.Spec.Home, rest), c.Target) })
}

// written is a path as people write it.
func (l *looking) written(path string) string {
	if rel, err := filepath.Rel(l.run.Person.Home, path); err == nil && filepath.IsLocal(rel) {
		return "~/" + rel
	}
	return path
}
