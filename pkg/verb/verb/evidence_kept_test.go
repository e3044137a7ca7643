package verb_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// A file that git ignores goes with its worktree, so it is not named as evidence, and the journal says why.
func TestEvidenceThatGitIgnoresIsNotNamed(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("a")
	p.Shell(p.Dir, "echo '*.log' >> .git/info/exclude")
	coder := p.Service("coder-1")
	p.Must(coder.Claim(t.Context(), "a"))
	p.Commit("a")
	verbtest.Write(t, filepath.Join(p.Repo.WorktreePath("a"), "measured.log"), "9 ms\n")
	p.Must(coder.Submit(t.Context(), verb.SubmitInput{Task: "a", Summary: "It is done", Evidence: []string{"a.md", "measured.log"}}))
	if got := p.State().Task("a").LastOutcome.EvidenceFiles; !slices.Equal(got, []string{"a.md"}) {
		t.Errorf("the evidence is %q", got)
	}
	if log := verbtest.Read(t, p.Project.Journal()); !strings.Contains(log, "git ignores measured.log") {
		t.Errorf("the journal does not say what git ignores:\n%s", log)
	}
}
