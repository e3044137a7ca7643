package verb_test

import (
	"slices"
	"testing"

	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// A caller may use its texts in another call at the same time.
func TestAVerbLeavesTheTextsOfItsCallerAlone(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	isClaimed(p)
	in := verb.BlockInput{Task: "task-1", Reason: "The format is not said", Questions: []string{"Which\a format?"}}
	done(p, drop(p.Service("coder-1").Block(t.Context(), in)))
	if got := p.State().Task("task-1").BlockedQuestions; !slices.Equal(got, []string{"Which format?"}) {
		t.Errorf("the board asks %q", got)
	}
	if in.Questions[0] != "Which\a format?" {
		t.Errorf("the caller's question became %q", in.Questions[0])
	}
}
