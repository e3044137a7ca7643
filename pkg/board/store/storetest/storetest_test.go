package storetest

import (
	"testing"

	"github.com/anishathalye/porcupine"

	"liza/pkg/board/blackboard"
)

func TestADoubleClaimIsNoPossibleHistory(t *testing.T) {
	t.Parallel()
	claim := func(client string, from, to int64, seen Seen) porcupine.Operation {
		return porcupine.Operation{Input: Call{"claim", "task-1", client}, Call: from, Output: seen, Return: to}
	}
	free := Seen{blackboard.Unclaimed, "", true}
	first, second := claim("coder-1", 1, 5, free), claim("coder-2", 2, 6, free)
	if Linearizable([]porcupine.Operation{first, second}) {
		t.Error("two claims at once that both succeeded are taken for possible")
	}
	if !Linearizable([]porcupine.Operation{first, claim("coder-2", 2, 6, Seen{blackboard.Claimed, "coder-1", false})}) {
		t.Error("a claim that came too late is taken for impossible")
	}
	if Linearizable([]porcupine.Operation{first, claim("coder-2", 7, 9, Seen{blackboard.Unclaimed, "", false})}) {
		t.Error("a look at a state that is over is taken for possible")
	}
}
