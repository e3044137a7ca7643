package pkg_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// In `return x, f(&x)` the language leaves open whether x is read before or after f changes it.
func TestNoReturnDependsOnTheOrderOfEvaluation(t *testing.T) {
	t.Parallel()
	for _, root := range []string{".", "../cmd"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			for _, at := range openOrder(file) {
				t.Errorf("%s: a value is returned beside a call that gets its address; call first, then return", files.Position(at))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestReturnsThatDependOnTheOrderAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"return x, f(&x)":                       1,
		"return x.y, f(&x)":                     1,
		"return f(&x), x":                       1,
		"return x, f(ctx, &x.y)":                1,
		"return x, errors.Join(err, f(&x))":     1,
		"return x, f(func() { g(&x) })":         1,
		"return x, f(x)":                        0,
		"return &x, f(&x)":                      0,
		"return y, f(&x)":                       0,
		"err := f(&x); return x, err":           0,
		"return func() int { return x }, f(&x)": 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc _() (T, error) {\n"+text+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := openOrder(file); len(got) != want {
			t.Errorf("%s: found %d, want %d", text, len(got), want)
		}
	}
}

// openOrder lists the returns of a variable beside a call that gets its address.
func openOrder(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		if !ok {
			return true
		}
		for i, value := range r.Results {
			name := variable(value)
			for j, other := range r.Results {
				if i != j && name != "" && takesAddress(other, name) {
					found = append(found, r.Pos())
					return true
				}
			}
		}
		return true
	})
	return found
}

// variable is the name of a variable, or of that whose field is meant.
func variable(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return variable(e.X)
	}
	return ""
}

// takesAddress reports whether a call within e gets the address of the variable.
func takesAddress(e ast.Expr, name string) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for _, arg := range call.Args {
			if u, ok := arg.(*ast.UnaryExpr); ok && u.Op == token.AND && variable(u.X) == name {
				found = true
			}
		}
		return true
	})
	return found
}
