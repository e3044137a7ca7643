package pkg_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// corePackages are those whose faults cost users most.
var corePackages = []string{"store", "verb", "merge", "supervisor", "git", "agent"}

// swaps are the operators that a mutant exchanges.
var swaps = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+",
}

// edit is one mutant of a file: bytes from begin to end become text.
type edit struct {
	begin, end int
	text, what string
}

// edits lists the mutants of a file: exchanged operators, conditions that never hold,
// calls that are left out, errors that are swallowed.
func edits(fset *token.FileSet, f *ast.File, source []byte) []edit {
	var list []edit
	add := func(from, to token.Pos, text, what string) {
		list = append(list, edit{fset.Position(from).Offset, fset.Position(to).Offset, text,
			fmt.Sprintf("line %d: %s", fset.Position(from).Line, what)})
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.BinaryExpr:
			if other, ok := swaps[x.Op]; ok {
				add(x.OpPos, x.OpPos+token.Pos(len(x.Op.String())), other, x.Op.String()+" becomes "+other)
			}
		case *ast.IfStmt:
			cond := source[fset.Position(x.Cond.Pos()).Offset:fset.Position(x.Cond.End()).Offset]
			add(x.Cond.Pos(), x.Cond.End(), "false && ("+string(cond)+")", "the condition never holds")
		case *ast.ExprStmt:
			if _, ok := x.X.(*ast.CallExpr); ok {
				add(x.Pos(), x.End(), "", "a call is left out")
			}
		case *ast.ReturnStmt:
			if len(x.Results) == 0 {
				break
			}
			if last, ok := x.Results[len(x.Results)-1].(*ast.Ident); ok && last.Name == "err" {
				add(last.Pos(), last.End(), "nil", "the error is swallowed")
			}
		}
		return true
	})
	return list
}

// MUTANTS=N tries N mutants of each core package, chosen by MUTANTS_SEED, against the tests of
// that package alone, and prints how many its own tests see. MUTANTS_PACKAGES chooses others.
func TestSampledMutants(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("MUTANTS"))
	if err != nil {
		t.Parallel()
		n = 0
	}
	seed, _ := strconv.ParseUint(os.Getenv("MUTANTS_SEED"), 10, 64)
	packages := corePackages
	if names := os.Getenv("MUTANTS_PACKAGES"); names != "" {
		packages = strings.Fields(names)
	}
	for _, pkg := range packages {
		type candidate struct {
			file string
			edit edit
		}
		var all []candidate
		files, _ := filepath.Glob(filepath.Join(pkg, "*.go"))
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "_other.go") || strings.HasSuffix(file, "_darwin.go") {
				continue
			}
			fset := token.NewFileSet()
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range edits(fset, parsed, source) {
				all = append(all, candidate{file, e})
			}
		}
		if len(all) < 50 {
			t.Errorf("%s has %d places for mutants; the generator sees nothing", pkg, len(all))
		}
		if n == 0 {
			continue
		}
		rng := rand.New(rand.NewPCG(seed, uint64(len(pkg))))
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		counts := map[string]int{}
		for _, c := range all {
			if counts[killed]+counts[survived] == n {
				break
			}
			text, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			code := slices.Concat(text[:c.edit.begin], []byte(c.edit.text), text[c.edit.end:])
			m := mutant{Name: c.edit.what, File: "pkg/" + filepath.ToSlash(c.file), Tests: "./pkg/" + pkg}
			verdict := m.try(t, code, 4*time.Minute)
			counts[verdict]++
			if verdict == survived {
				t.Logf("survived: %s %s", m.File, m.Name)
			}
		}
		t.Logf("%s: %d of %d mutants killed by the package's own tests (%d places, %d did not compile, seed %d)",
			pkg, counts[killed], counts[killed]+counts[survived], len(all), counts[broken], seed)
	}
}
