package pkg_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// A word of the protocol that is written out has no compiler to see that it is misspelt, so it is
// written once, as a constant. What a type has no constants for may be written out.
func TestWordsOfTheProtocolAreConstants(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	all := typedAll(t, fset, "./pkg/...")
	words := map[string]bool{"Status": true, "Event": true, "HistoryEvent": true, "TaskKind": true, "BlockedKind": true, "QuestionStatus": true, "CheckStatus": true,
		"Role": true, "Completion": true, "Liveness": true, "Action": true, "AnomalyKind": true, "TriggerKind": true, "AlertKind": true, "PriorState": true, "ReviewMode": true, "GateDecision": true}
	found := 0
	for _, p := range all {
		if strings.HasSuffix(p.path, "test") {
			continue
		}
		constants := declared(p.files)
		for expr, value := range p.info.Types {
			lit, ok := expr.(*ast.BasicLit)
			named, isNamed := value.Type.(*types.Named)
			if !ok || !isNamed || named.Obj().Pkg() == nil || !ofProtocol[named.Obj().Pkg().Path()] || !words[named.Obj().Name()] || lit.Value == `""` {
				continue
			}
			at := fset.Position(lit.Pos())
			if ofProtocol[p.path] && constants[expr] {
				found++
				continue
			}
			t.Errorf("%s: %s is a %s; use its constant (%s)", at, lit.Value, named.Obj().Name(), named.Obj().Pkg().Path())
		}
	}
	if found < 215 {
		t.Errorf("the test sees %d words, so it proves nothing", found)
	}
}

// ofProtocol are the packages whose words are meant.
var ofProtocol = map[string]bool{"liza/pkg/board/blackboard": true, "liza/pkg/board/transition": true}

// declared returns the literals in the declarations of constants of a package.
func declared(files []*ast.File) map[ast.Expr]bool {
	in := map[ast.Expr]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				ast.Inspect(g, func(n ast.Node) bool {
					if lit, ok := n.(*ast.BasicLit); ok {
						in[lit] = true
					}
					return true
				})
			}
		}
	}
	return in
}
