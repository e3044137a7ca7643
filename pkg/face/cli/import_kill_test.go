package cli_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/forge"
	"liza/pkg/code/forge/forgetest"
	"liza/pkg/verb/verb/verbtest"
)

// P-8.9: `liza import`, killed with SIGKILL before and after each call to the tracker, goes on where it was: each issue is one draft, and
// the one whose work is merged gets one comment and is closed.
func TestAnImportThatIsKilledAtEachStepDoublesNothing(t *testing.T) {
	t.Parallel()
	kinds := []string{forge.GitHub, forge.GitLab, forge.Gitea}
	for _, kind := range kinds[:long(1, 3)] {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			k := newDeadlyForge(t, kind)
			verbtest.Write(t, filepath.Join(k.Dir, ".liza", "config.yaml"), fmt.Sprintf("review: {baseline: false}\nimport: {url: 'https://forge.example.com', api: '%s', repo: %s/%s}\n",
				k.scripted.API(kind), forgetest.Owner, forgetest.Name))
			k.scripted.AddIssue("Say hello", "text", "agents")
			k.scripted.AddIssue("Say goodbye", "text", "agents")

			kills := k.untilItEnds(t, "import", kind, "--label", "agents")
			s := k.State()
			if s.TaskCount() != 2 || len(s.Imports) != 2 || s.Task("issue-1") == nil || s.Task("issue-2") == nil {
				t.Fatalf("after %d kills the board has %d tasks and %+v", kills, s.TaskCount(), s.Imports)
			}
			err := k.Service("").Board.Update(t.Context(), "edit", func(s *blackboard.State, _ transition.Actor) error {
				task := s.Task("issue-1")
				task.SpecRef, task.DoneWhen, task.Scope, task.Type = "specs/vision.md", "issue-1.md has a word", "IN: all", "docs"
				return nil
			})
			if err == nil {
				_, err = k.Service("").Finalize(t.Context(), []string{"issue-1"})
			}
			if err != nil {
				t.Fatal(err)
			}
			k.finish(t, "issue-1")

			clear(k.killed)
			closing := k.untilItEnds(t, "import")
			if kills < 2 || closing < 6 {
				t.Errorf("killed %d and %d times only: %v", kills, closing, k.killed)
			}
			issues := k.scripted.Issues()
			if len(issues) != 2 || issues[0].State != "closed" || len(issues[0].Comments) != 1 || issues[1].State != "open" || len(issues[1].Comments) != 0 {
				t.Errorf("the tracker has %+v", issues)
			}
			if s := k.State(); s.TaskCount() != 2 || s.Imports[0].Status != blackboard.ImportDone || s.Imports[1].Status != blackboard.ImportOpen {
				t.Errorf("the board has %d tasks and %+v, %+v", s.TaskCount(), s.Imports[0], s.Imports[1])
			}
			k.nowhere(t, k.token)
		})
	}
}
