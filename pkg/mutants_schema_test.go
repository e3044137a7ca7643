package pkg_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A fault can be switched on at its place.
type fault struct {
	id     int
	pkg    string // below pkg/
	file   string // below the module's root
	line   int
	source string // the line, trimmed
	what   string
}

// mutated is several packages with all their faults in them.
type mutated struct {
	places   []fault
	files    map[string][]byte // changed sources by absolute path
	dir      string            // of the test binaries
	current  string            // where a run sees its fault
	overlay  string
	binaries map[string]string // of tests by package
	tests    []coveredTest
}

// switches is the file that is added to a package. The fault that is on is in a file of a folder
// that each run sees as its own, so that processes that a test starts have it as well, whatever
// their environment. Where a test passes is written into shared memory, because some are killed.
const switches = `package %[1]s

import (
	"cmp"
	"os"
	"strconv"
	"syscall"
)

var mutantActive, mutantSeen = mutantStart()

func mutantStart() (int, []byte) {
	text, _ := os.ReadFile(%[2]q + "/mutant")
	id, err := strconv.Atoi(string(text))
	if err != nil {
		id = -1
	}
	f, err := os.OpenFile(%[2]q + "/seen", os.O_RDWR, 0)
	if err != nil {
		return id, nil
	}
	defer f.Close()
	seen, err := syscall.Mmap(int(f.Fd()), 0, %[3]d, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return id, seen
}

func mutantOn(id int) bool {
	if mutantSeen != nil {
		mutantSeen[id] = 1
	}
	return id == mutantActive
}

func mutantAnd(id int, a bool, b func() bool) bool {
	if mutantOn(id) {
		return a || b()
	}
	return a && b()
}

func mutantOr(id int, a bool, b func() bool) bool {
	if mutantOn(id) {
		return a && b()
	}
	return a || b()
}

// mutantLess swaps < with <=, and > with >= when its operands are exchanged.
func mutantLess[T cmp.Ordered](id int, a, b T) bool {
	if mutantOn(id) {
		return a <= b
	}
	return a < b
}

func mutantAtMost[T cmp.Ordered](id int, a, b T) bool {
	if mutantOn(id) {
		return a < b
	}
	return a <= b
}

func mutantGreater[T cmp.Ordered](id int, a, b T) bool {
	if mutantOn(id) {
		return a >= b
	}
	return a > b
}

func mutantAtLeast[T cmp.Ordered](id int, a, b T) bool {
	if mutantOn(id) {
		return a > b
	}
	return a >= b
}

type mutantNumber interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

func mutantPlus[T mutantNumber](id int, a, b T) T {
	if mutantOn(id) {
		return a - b
	}
	return a + b
}

func mutantMinus[T mutantNumber](id int, a, b T) T {
	if mutantOn(id) {
		return a + b
	}
	return a - b
}

func mutantError(id int, err error) error {
	if mutantOn(id) {
		return nil
	}
	return err
}

var _, _, _, _, _, _, _, _, _ = mutantAnd, mutantOr, mutantLess[int], mutantAtMost[int], mutantGreater[int], mutantAtLeast[int], mutantPlus[int], mutantMinus[int], mutantError
`

// operators are the exchanges that a function of the switches does, and how they are told.
var operators = map[token.Token][2]string{
	token.LSS: {"mutantLess", "< becomes <="}, token.LEQ: {"mutantAtMost", "<= becomes <"},
	token.GTR: {"mutantGreater", "> becomes >="}, token.GEQ: {"mutantAtLeast", ">= becomes >"},
	token.ADD: {"mutantPlus", "+ becomes -"}, token.SUB: {"mutantMinus", "- becomes +"},
	token.EQL: {"", "== becomes !="}, token.NEQ: {"", "!= becomes =="},
	token.LAND: {"mutantAnd", "&& becomes ||"}, token.LOR: {"mutantOr", "|| becomes &&"},
}

// readMutants finds the places of packages and writes the switches round them: exchanged
// operators, conditions that never hold, calls that are left out, errors that are swallowed.
func readMutants(t *testing.T, names ...string) *mutated {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	m := &mutated{dir: t.TempDir(), files: map[string][]byte{}, binaries: map[string]string{}}
	m.current = filepath.Join(m.dir, "current")
	added := map[string]string{} // name of a package by its new file
	for _, name := range names {
		before := len(m.places)
		fset, files, info := typed(t, "./pkg/"+name)
		for _, f := range files {
			path := fset.Position(f.Package).Filename
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(root, path)
			w := &switcher{m: m, pkg: name, file: filepath.ToSlash(rel), fset: fset, info: info, source: source, lines: strings.Split(string(source), "\n")}
			ast.Inspect(f, w.visit)
			m.files[path] = w.text()
		}
		if found := len(m.places) - before; found < 50 {
			t.Errorf("%s has %d places for mutants; the generator sees nothing", name, found)
		}
		added[filepath.Join(root, "pkg", name, "mutants_switches.go")] = files[0].Name.Name
	}
	for path, name := range added {
		m.files[path] = fmt.Appendf(nil, switches, name, m.current, len(m.places)+1)
	}
	return m
}

// typed parses and checks the sources of a package that are built on this machine.
func typed(t *testing.T, path string) (*token.FileSet, []*ast.File, *types.Info) {
	t.Helper()
	fset := token.NewFileSet()
	for _, p := range typedAll(t, fset, path) {
		return fset, p.files, p.info
	}
	t.Fatalf("%s: no such package", path)
	return nil, nil, nil
}

type typedPackage struct {
	path  string
	files []*ast.File
	info  *types.Info
}

// typedAll does that for all packages that a pattern means.
func typedAll(t *testing.T, fset *token.FileSet, pattern string) []typedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,DepOnly", pattern)
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
		DepOnly                 bool
	}
	exports := map[string]string{}
	var meant []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var l listed
		if err := dec.Decode(&l); err != nil {
			t.Fatal(err)
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			meant = append(meant, l)
		}
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	var all []typedPackage
	for _, l := range meant {
		p := typedPackage{path: l.ImportPath, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
		for _, name := range l.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			p.files = append(p.files, f)
		}
		if _, err := conf.Check(l.ImportPath, fset, p.files, p.info); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// switcher writes switches round the places of one file, as insertions into its text.
type switcher struct {
	m      *mutated
	pkg    string
	file   string
	fset   *token.FileSet
	info   *types.Info
	source []byte
	lines  []string
	edits  []insertion
}

// insertion puts text before an offset, after having left out some bytes there. Of several at
// one offset those that close are before those that open; an outer one opens first and closes last.
type insertion struct {
	at, skip int
	text     string
	closes   bool
}

func (w *switcher) offset(p token.Pos) int { return w.fset.Position(p).Offset }

func (w *switcher) add(p token.Pos, what string) int {
	line := w.fset.Position(p).Line
	id := len(w.m.places)
	w.m.places = append(w.m.places, fault{id, w.pkg, w.file, line, strings.TrimSpace(w.lines[line-1]), what})
	return id
}

// around puts text before and behind a node.
func (w *switcher) around(n ast.Node, before, behind string) {
	w.edits = append(w.edits, insertion{at: w.offset(n.Pos()), text: before}, insertion{at: w.offset(n.End()), text: behind, closes: true})
}

func (w *switcher) visit(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.GenDecl:
		return x.Tok != token.CONST
	case *ast.IfStmt:
		id := w.add(x.Cond.Pos(), "the condition never holds")
		w.around(x.Cond, fmt.Sprintf("!mutantOn(%d) && bool(", id), ")")
	case *ast.BinaryExpr:
		w.binary(x)
	case *ast.BlockStmt:
		w.calls(x.List)
	case *ast.CaseClause:
		w.calls(x.Body)
	case *ast.CommClause:
		w.calls(x.Body)
	case *ast.ReturnStmt:
		if len(x.Results) == 0 {
			break
		}
		last, ok := x.Results[len(x.Results)-1].(*ast.Ident)
		if ok && last.Name == "err" && types.Identical(w.info.TypeOf(last), types.Universe.Lookup("error").Type()) {
			id := w.add(last.Pos(), "the error is swallowed")
			w.around(last, fmt.Sprintf("mutantError(%d, ", id), ")")
		}
	}
	return true
}

// calls leaves out those statements of a list that only call something.
func (w *switcher) calls(list []ast.Stmt) {
	for _, stmt := range list {
		x, ok := stmt.(*ast.ExprStmt)
		if !ok {
			continue
		}
		call, ok := x.X.(*ast.CallExpr)
		if !ok {
			continue
		}
		// What follows a panic need not return: without it the function would not compile.
		if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
			continue
		}
		id := w.add(x.Pos(), "a call is left out")
		w.around(x, fmt.Sprintf("if !mutantOn(%d) { ", id), " }")
	}
}

// binary exchanges an operator, where the result compiles: no constants, no sums of strings.
func (w *switcher) binary(x *ast.BinaryExpr) {
	op, ok := operators[x.Op]
	tv := w.info.Types[x]
	if !ok || tv.Value != nil {
		return
	}
	operand := w.info.TypeOf(x.X)
	if w.info.Types[x.X].Value != nil {
		operand = w.info.TypeOf(x.Y)
	}
	basic, _ := operand.Underlying().(*types.Basic)
	switch x.Op {
	case token.ADD, token.SUB:
		if basic == nil || basic.Info()&types.IsNumeric == 0 || basic.Info()&types.IsComplex != 0 {
			return
		}
	case token.LAND, token.LOR:
		if b, ok := tv.Type.(*types.Basic); !ok || b.Info()&types.IsBoolean == 0 {
			return
		}
	case token.EQL, token.NEQ:
	default:
		if _, param := operand.(*types.TypeParam); basic == nil && !param {
			return
		}
	}
	id := w.add(x.OpPos, op[1])
	between := insertion{at: w.offset(x.OpPos), skip: len(x.Op.String()), text: ",", closes: true}
	switch x.Op {
	case token.EQL, token.NEQ:
		w.around(x, fmt.Sprintf("(mutantOn(%d) != (", id), "))")
	case token.LAND, token.LOR:
		between.text = ", func() bool { return bool("
		w.around(x, fmt.Sprintf("%s(%d, bool(", op[0], id), ") })")
		between.text = ")" + between.text
		w.edits = append(w.edits, between)
	default:
		w.around(x, fmt.Sprintf("%s(%d, ", op[0], id), ")")
		w.edits = append(w.edits, between)
	}
}

// text is the source with all insertions in it. ast.Inspect meets an outer node before its inner
// ones, so that opening texts are in order already and closing ones in reverse order.
func (w *switcher) text() []byte {
	var opening, closing []insertion
	for _, e := range w.edits {
		if e.closes {
			closing = append(closing, e)
		} else {
			opening = append(opening, e)
		}
	}
	slices.Reverse(closing)
	all := append(closing, opening...)
	slices.SortStableFunc(all, func(a, b insertion) int { return a.at - b.at })
	var out bytes.Buffer
	done := 0
	for _, e := range all {
		out.Write(w.source[done:e.at])
		out.WriteString(e.text)
		done = e.at + e.skip
	}
	out.Write(w.source[done:])
	return out.Bytes()
}
