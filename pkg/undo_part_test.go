package pkg_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A hunk is one place that a mend changed: the code that it wrote there, and the lines that were there before.
type hunk struct {
	was     string   // the file before it
	written []string // without comments and white space at the borders
	before  []string
}

// hunks are the places where a mend wrote code that says something else.
func (p *past) hunks(commit string) (list []hunk, err error) {
	text, err := p.git("diff-tree", "-p", "-U0", "-w", "-M", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", commit+"^", commit, "--", "*.go")
	var was string
	inside, code := false, false
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "diff --git "):
			was, inside, code = "", false, false
		case !inside && strings.HasPrefix(line, "--- a/"):
			was = line[len("--- a/"):]
		case !inside && strings.HasPrefix(line, "+++ b/"):
			code = isCode(line[len("+++ b/"):])
		case strings.HasPrefix(line, "@@ "):
			if inside = true; code {
				list = append(list, hunk{was: was})
			}
		case inside && code && strings.HasPrefix(line, "+"):
			list[len(list)-1].written = append(list[len(list)-1].written, line[1:])
		case inside && code && strings.HasPrefix(line, "-"):
			list[len(list)-1].before = append(list[len(list)-1].before, line[1:])
		}
	}
	return slices.DeleteFunc(list, func(h hunk) bool { return h.saysTheSame() }), err
}

// codeLines are the lines of a text that hold code, and where they are.
func codeLines(lines []string) (code []string, at []int) {
	for i, line := range lines {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			code, at = append(code, line), append(at, i)
		}
	}
	return code, at
}

// tokens are what the compiler reads of some lines, with all sentences the same.
func tokens(lines []string) (list []string) {
	var s scanner.Scanner
	text := []byte(strings.Join(lines, "\n"))
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, func(token.Position, string) {}, 0)
	for {
		_, tok, literal := s.Scan()
		if tok == token.EOF {
			return list
		}
		if tok == token.STRING && strings.Contains(literal, " ") {
			literal = "a sentence"
		}
		list = append(list, tok.String()+" "+literal)
	}
}

// saysTheSame reports whether a hunk only takes lines away, or changes comments and sentences alone.
func (h hunk) saysTheSame() bool {
	return len(h.written) == 0 || slices.Equal(tokens(h.written), tokens(h.before))
}

// A foundHunk is one whose code is in one place of the tree of today.
type foundHunk struct {
	hunk
	number      int // in the mend, from 1
	file        string
	first, last int // lines, from 0
}

func (h foundHunk) overlaps(o foundHunk) bool {
	return h.file == o.file && h.first <= o.last && o.first <= h.last
}

// fewestLetters are those of a hunk that is looked for: less may be anywhere by chance.
const fewestLetters = 20

// A source is a file of the tree: its lines, and those of them that hold code.
type source struct {
	name  string
	lines []string
	code  []string
	at    []int
}

// sources are the files of the tree that are for this system, and where each line of code is: the file and the number of the line among those that hold code.
var sources = sync.OnceValues(func() (files map[string]*source, where map[string][]position) {
	files, where = map[string]*source{}, map[string][]position{}
	for _, top := range []string{"../pkg", "../cmd"} {
		_ = filepath.WalkDir(top, func(file string, e os.DirEntry, err error) error {
			if built, _ := build.Default.MatchFile(filepath.Split(file)); err != nil || !built || !isCode(file) {
				return nil // what is for another system no test here can notice
			}
			text, _ := os.ReadFile(file)
			s := &source{name: strings.TrimPrefix(filepath.ToSlash(file), "../"), lines: strings.Split(string(text), "\n")}
			s.code, s.at = codeLines(s.lines)
			files[s.name] = s
			for i, line := range s.code {
				where[line] = append(where[line], position{s, i})
			}
			return nil
		})
	}
	return files, where
})

type position struct {
	in *source
	i  int
}

// standing finds the hunks of a mend in the tree of today, line for line but for comments and white space.
func standing(list []hunk) (found []foundHunk) {
	_, where := sources()
	for n, h := range list {
		code, _ := codeLines(h.written)
		if len(strings.Join(code, "")) < fewestLetters {
			continue
		}
		var here []foundHunk
		for _, p := range where[code[0]] {
			if end := p.i + len(code); end <= len(p.in.code) && slices.Equal(p.in.code[p.i:end], code) {
				here = append(here, foundHunk{h, n + 1, p.in.name, p.in.at[p.i], p.in.at[end-1]})
			}
		}
		if len(here) == 1 && !slices.ContainsFunc(found, here[0].overlaps) {
			found = append(found, here[0])
		}
	}
	return found
}

// without returns the files of today as they are without some hunks.
func (p *past) without(commit string, list []foundHunk) map[string][]byte {
	files := map[string][]byte{}
	today, _ := sources()
	list = slices.SortedFunc(slices.Values(list), func(a, b foundHunk) int { return b.first - a.first })
	for _, h := range list {
		text, ok := files[h.file]
		if !ok {
			text = []byte(strings.Join(today[h.file].lines, "\n"))
		}
		lines := strings.Split(string(text), "\n")
		files[h.file] = []byte(strings.Join(slices.Concat(lines[:h.first], h.before, lines[h.last+1:]), "\n"))
	}
	for _, h := range list {
		files[h.file] = fitImports(files[h.file], p.blob(commit+"^:"+h.was))
	}
	return files
}

// blob is a file of the history; of one that was not there it is empty.
func (p *past) blob(name string) []byte {
	if _, ok := p.blobs[name]; !ok {
		text, _ := p.git("cat-file", "blob", name)
		p.blobs[name] = []byte(text)
	}
	return p.blobs[name]
}

// fitImports drops the imports of a file that nothing uses any more, and adds those of the file before that are used again.
func fitImports(text, before []byte) []byte {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	was, err2 := parser.ParseFile(token.NewFileSet(), "", before, parser.ImportsOnly)
	if err != nil || err2 != nil && len(before) > 0 {
		return text
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil {
				used[x.Name] = true
			}
		}
		return true
	})
	text = slices.Clone(text)
	for _, decl := range file.Decls {
		imports, ok := decl.(*ast.GenDecl)
		for _, spec := range file.Imports {
			if name := importName(spec); ok && imports.Pos() <= spec.Pos() && spec.End() <= imports.End() && name != "_" && !used[name] {
				from, to := spec.Pos(), spec.End()
				if !imports.Lparen.IsValid() {
					from = imports.Pos()
				}
				copy(text[from-1:to-1], bytes.Repeat([]byte(" "), int(to-from)))
			}
		}
	}
	for _, spec := range file.Imports {
		delete(used, importName(spec))
	}
	if was == nil {
		return text
	}
	more := ""
	for _, spec := range was.Imports {
		if name := importName(spec); used[name] {
			more += fmt.Sprintf("; import %s %s", name, spec.Path.Value)
		}
	}
	end := file.Name.End() - 1
	return slices.Concat(text[:end], []byte(more), text[end:])
}

// importName is the name by which a file knows what it imports, as far as the path says it.
func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	name, _ := strconv.Unquote(spec.Path.Value)
	name = regexp.MustCompile(`[/.]v\d+$`).ReplaceAllString(name, "")
	return path.Base(name)
}

// A checker tells what compiles, without the compiler. What packages of others offer it knows from what was built of them.
type checker struct {
	set   *token.FileSet
	from  types.Importer
	today map[string]map[string]string
}

var newChecker = sync.OnceValues(func() (*checker, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-test", "-f", "{{if not .ForTest}}{{.ImportPath}}\t{{.Export}}{{end}}", "./...")
	list.Dir = ".."
	out, err := list.Output()
	exports := map[string]string{}
	for _, line := range strings.Split(string(out), "\n") {
		if name, file, ok := strings.Cut(line, "\t"); ok {
			exports[name] = file
		}
	}
	set := token.NewFileSet()
	return &checker{set, importer.ForCompiler(set, "gc", func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) }), map[string]map[string]string{}}, err
})

// compiles reports whether a package compiles with some files changed, its own tests as well, and still offers others what it offers today.
func (c *checker) compiles(dir string, files map[string][]byte) bool {
	if c.today[dir] == nil {
		c.today[dir], _ = c.offers(dir, nil)
	}
	offers, err := c.offers(dir, files)
	for name, kind := range c.today[dir] {
		if offers[name] != kind {
			return false
		}
	}
	return err == nil
}

func (c *checker) offers(dir string, files map[string][]byte) (map[string]string, error) {
	names, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	var parsed []*ast.File
	for _, name := range names {
		if ok, _ := build.Default.MatchFile(filepath.Dir(name), filepath.Base(name)); !ok {
			continue
		}
		var text any
		if instead, ok := files[path.Join(dir, filepath.Base(name))]; ok {
			text = instead
		}
		file, err2 := parser.ParseFile(c.set, name, text, parser.SkipObjectResolution)
		if err = errors.Join(err, err2); err2 == nil && !strings.HasSuffix(file.Name.Name, "_test") {
			parsed = append(parsed, file)
		}
	}
	config := types.Config{Importer: c.from}
	is, err2 := config.Check("liza/"+dir, c.set, parsed, nil)
	if err = errors.Join(err, err2); err != nil {
		return nil, err
	}
	list := map[string]string{}
	for _, name := range is.Scope().Names() {
		object := is.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		list[name] = types.ObjectString(object, nil)
		if t, ok := object.(*types.TypeName); ok {
			list[name] = "type"
			offersOfType(list, name, t.Type())
		}
	}
	return list, nil
}

// offersOfType adds the fields and methods of a type that others can use.
func offersOfType(list map[string]string, name string, t types.Type) {
	for m := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if m.Obj().Exported() {
			list[name+"."+m.Obj().Name()] = types.TypeString(m.Type(), nil)
		}
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			if f.Exported() {
				list[name+"."+f.Name()] = types.TypeString(f.Type(), nil)
			}
		}
		return
	}
	list[name] = types.TypeString(t.Underlying(), nil)
}

// part takes back those hunks of a mend whose code is in the tree of today and without which it compiles: those with given
// numbers, or, without numbers, as many as can be. It returns their numbers.
func (p *past) part(commit, numbers string) (u undoing, taken, cannot string, err error) {
	list, err := p.hunks(commit)
	if err != nil {
		return u, "", "", err
	}
	found := standing(list)
	if len(found) == 0 {
		return u, "", "the code is another now", nil
	}
	wanted, _, _ := strings.Cut(numbers, " of ")
	if numbers == "" {
		c, err := newChecker()
		if err != nil {
			return u, "", "", err
		}
		if found = c.most(p, commit, found); len(found) == 0 {
			return u, "", "what is left of it compiles in no other way", nil
		}
	} else if found = slices.DeleteFunc(found, func(h foundHunk) bool { return !slices.Contains(strings.Fields(wanted), strconv.Itoa(h.number)) }); len(found) != len(strings.Fields(wanted)) {
		return u, "", "the code is another now", nil
	}
	for _, h := range found {
		taken += strconv.Itoa(h.number) + " "
	}
	u, cannot, err = p.overlay(p.without(commit, found))
	return u, fmt.Sprintf("%sof %d", taken, len(list)), cannot, err
}

// mostHunks bounds what is tried of a mend that wrote much, each for itself.
const mostHunks = 15

// most returns the hunks that can be taken back together: of each package all, or one after the other.
func (c *checker) most(p *past, commit string, found []foundHunk) (list []foundHunk) {
	packages := map[string][]foundHunk{}
	for _, h := range found {
		packages[path.Dir(h.file)] = append(packages[path.Dir(h.file)], h)
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		all := packages[dir]
		if c.compiles(dir, p.without(commit, all)) {
			list = append(list, all...)
			continue
		}
		var some []foundHunk
		for _, h := range all[:min(len(all), mostHunks)] {
			if more := append(slices.Clone(some), h); c.compiles(dir, p.without(commit, more)) {
				some = more
			}
		}
		list = append(list, some...)
	}
	return list
}

// overlay writes what the compiler reads instead of some files of the tree; nothing for those that are gone.
func (p *past) overlay(files map[string][]byte) (u undoing, cannot string, err error) {
	dir, err := os.MkdirTemp(p.dir, "overlay-")
	if err != nil {
		return u, "", err
	}
	top, _ := filepath.Abs("..")
	replace, speaks := map[string]string{}, false
	for name, text := range files {
		here := filepath.Join(top, filepath.FromSlash(name))
		is, _ := os.ReadFile(here)
		if _, err := os.Stat(filepath.Dir(here)); err != nil {
			return u, "its package is another now: " + path.Dir(name), nil
		}
		if replace[here] = ""; text != nil {
			replace[here] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
			err = errors.Join(err, os.WriteFile(replace[here], text, 0o600))
		}
		speaks = speaks || text == nil || withoutComments(is) != withoutComments(text)
	}
	switch u.files = slices.Sorted(maps.Keys(files)); {
	case len(files) == 0:
		return u, "nothing of it is left", nil
	case !speaks:
		return u, "only comments differ", nil
	}
	u.overlay = filepath.Join(dir, "overlay.json")
	list, _ := json.Marshal(map[string]any{"Replace": replace})
	return u, "", errors.Join(err, os.WriteFile(u.overlay, list, 0o600))
}
