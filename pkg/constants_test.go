package pkg_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
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
		for expr, value := range p.info.Types {
			lit, ok := expr.(*ast.BasicLit)
			named, isNamed := value.Type.(*types.Named)
			if !ok || !isNamed || named.Obj().Pkg() == nil || !ofProtocol[named.Obj().Pkg().Path()] || !words[named.Obj().Name()] || lit.Value == `""` {
				continue
			}
			at := fset.Position(lit.Pos())
			if declared[filepath.Base(at.Filename)] && ofProtocol[p.path] {
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
var ofProtocol = map[string]bool{"liza/pkg/blackboard": true, "liza/pkg/transition": true}

// declared are their files that have the constants.
var declared = map[string]bool{"constants.go": true, "actions.go": true, "alert_kinds.go": true, "anomaly_kinds.go": true, "event.go": true, "trigger_kinds.go": true, "model.go": true, "values.go": true, "goal.go": true, "liveness.go": true}
