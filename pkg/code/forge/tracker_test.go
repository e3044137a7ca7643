package forge_test

import (
	"fmt"
	"testing"

	"liza/pkg/code/forge"
	"liza/pkg/code/forge/forgetest"
)

func TestThirtyIssuesOfALabelComeInPages(t *testing.T) {
	each(t, func(t *testing.T, f *forgetest.Forge, _ forge.Client) {
		f.PageSize = 7
		for n := range 60 {
			f.AddIssue(fmt.Sprintf("Issue %d", n), "text", []string{"agents", "other"}[n%2])
		}
		f.EditIssue(1, func(i *forgetest.Issue) { i.State = "closed" })
		for _, kind := range kinds {
			tr, err := forge.NewTracker(options(f, kind, nil))
			check(t, err)
			found := must[[]forge.Ticket](t)(tr.Labelled(t.Context(), []string{"agents"}))
			seen := map[string]bool{}
			for _, i := range found {
				seen[i.Key] = true
			}
			if len(found) != 29 || len(seen) != 29 || seen["1"] {
				t.Errorf("%s: %d issues, %d different", kind, len(found), len(seen))
			}
			if one := must[forge.Ticket](t)(tr.Ticket(t.Context(), "1")); !one.Closed {
				t.Errorf("%s: the closed one is %+v", kind, one)
			}
		}
	})
}
