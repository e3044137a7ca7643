package role

import (
	"cmp"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"liza/pkg/base/safefile"
)

//go:embed builtin/*.yaml
var embedded embed.FS

// Builtin returns the library of the built-in roles.
var Builtin = sync.OnceValue(func() *Library { return read(nil) })

// Load reads the built-in roles and the role files of a folder (.liza/roles), which need not exist
// (specs/roles-and-knowledge.md#1.4).
func Load(dir string) *Library {
	found := listFiles(dir)
	if len(found) == 0 {
		return Builtin()
	}
	return read(found)
}

// read makes a library of the files that were found in the folder.
func read(found []string) *Library {
	l := &Library{raw: map[string][]byte{}}
	b := builder{library: l, made: map[*definition]*made{}, builtins: map[string]*definition{}}
	for _, name := range builtinNames {
		data, err := embedded.ReadFile("builtin/" + name + ".yaml")
		if err != nil {
			panic("role: no built-in role " + name)
		}
		list := b.parse(FromBuiltin+":"+name, data)
		list[0].builtin = true
		b.builtins[name] = list[0]
	}
	for _, path := range found {
		b.project = append(b.project, b.read(filepath.Join(".liza", "roles", filepath.Base(path)), path)...)
	}
	b.build()
	return l
}

// listFiles are the role files of a folder in byte order.
func listFiles(dir string) []string {
	entries, err := os.ReadDir(dir)
	if dir == "" || err != nil {
		return nil // there are none, as a rule
	}
	var list []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if strings.HasPrefix(e.Name(), ".") || err == nil && info.IsDir() {
			continue
		}
		if slices.Contains([]string{".yaml", ".yml", ".json", ".md"}, filepath.Ext(path)) {
			list = append(list, path)
		}
	}
	return list
}

// read reads one file; a file that cannot be read breaks the roles that it defines.
func (b *builder) read(shown, path string) []*definition {
	if !utf8.ValidString(shown) || strings.ContainsFunc(shown, unicode.IsControl) {
		shown = strings.Trim(strconv.Quote(shown), `"`) // it is in messages and comments
	}
	data, err := safefile.Read(path)
	if err != nil {
		reason := err.Error()
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			reason = pe.Err.Error()
		}
		return b.unreadable(Diagnostic{Level: Error, File: shown, Reason: "cannot be read: " + reason}, nil)
	}
	return b.parse(shown, data)
}

func (b *builder) parse(shown string, data []byte) []*definition {
	b.library.raw[shown] = data
	list, bad := parseFile(shown, data)
	if bad != nil {
		return b.unreadable(*bad, data)
	}
	for _, d := range list {
		if d.name == "" {
			if !d.noted("name") {
				d.note(Error, nil, "name", "is missing")
			}
			d.name = namesIn(shown, nil)[0]
		}
	}
	return list
}

// unreadable are the roles of a file of which only the names can be guessed.
func (b *builder) unreadable(f Diagnostic, data []byte) []*definition {
	b.library.findings = append(b.library.findings, f)
	var list []*definition
	for _, name := range namesIn(f.File, data) {
		list = append(list, &definition{name: name, file: f.File, line: f.Line, unreadable: f.Reason})
	}
	return list
}

// build resolves every name and collects findings.
func (b *builder) build() {
	names := slices.Clone(builtinNames)
	for _, d := range b.project {
		names = append(names, d.name)
	}
	slices.Sort(names[len(builtinNames):])
	var done []string
	for _, name := range names {
		if slices.Contains(done, name) {
			continue
		}
		done = append(done, name)
		b.library.entries = append(b.library.entries, b.entry(name))
	}
	for _, name := range builtinNames {
		b.library.findings = append(b.library.findings, b.builtins[name].findings...)
	}
	for _, d := range b.project {
		slices.SortStableFunc(d.findings, func(x, y Diagnostic) int { return cmp.Compare(x.Line, y.Line) })
		b.library.findings = append(b.library.findings, d.findings...)
	}
}

func (b *builder) entry(name string) *Entry {
	d := b.defined(name)
	e := &Entry{Name: name, Source: FromBuiltin}
	if !d.builtin {
		e.File, e.Source = d.file, FromProject
		if b.builtins[name] != nil {
			e.Source = FromReplaced
			if d.text("base") != "" && Canonical(d.text("base")) == name {
				e.Source = FromExtended
			}
		}
	}
	m := b.make(d, nil)
	if m.role == nil {
		e.Broken = &UnusableError{Name: name, File: e.File, Why: m.why}
		return e
	}
	e.Role = m.role
	e.Role.Source, e.Role.File = e.Source, e.File
	return e
}

// Entries lists every name: the built-in ones first, then the project's own in byte order.
func (l *Library) Entries() []*Entry { return l.entries }

// Findings returns all findings about the files.
func (l *Library) Findings() []Diagnostic { return l.findings }

// Failed reports whether a finding is an error.
func (l *Library) Failed() bool {
	return slices.ContainsFunc(l.findings, func(f Diagnostic) bool { return f.Level == Error })
}

// Entry finds a name: exactly, else as an alias, else without regard to case.
func (l *Library) Entry(name string) (*Entry, bool) {
	for _, is := range []func(e *Entry) bool{
		func(e *Entry) bool { return e.Name == name },
		func(e *Entry) bool { return e.Name == Canonical(name) },
		func(e *Entry) bool { return strings.EqualFold(e.Name, name) },
	} {
		if i := slices.IndexFunc(l.entries, is); i >= 0 {
			return l.entries[i], true
		}
	}
	return nil, false
}

// Get returns the role of that name or alias, with exact case. The error is an *UnusableError.
func (l *Library) Get(name string) (*Role, error) {
	i := slices.IndexFunc(l.entries, func(e *Entry) bool { return e.Name == Canonical(name) })
	switch {
	case i < 0:
		return nil, &UnusableError{Name: name, Why: "there is no such role; " + oneOf(name, l.names())}
	case l.entries[i].Broken != nil:
		return nil, l.entries[i].Broken
	}
	return l.entries[i].Role, nil
}

func (l *Library) names() []string {
	var names []string
	for _, e := range l.entries {
		names = append(names, e.Name)
	}
	return names
}

// Raw returns the content of a role's file: the project's, else the built-in one.
func (l *Library) Raw(e *Entry) []byte {
	if e.File == "" {
		return l.raw[FromBuiltin+":"+e.Name]
	}
	return l.raw[e.File]
}
