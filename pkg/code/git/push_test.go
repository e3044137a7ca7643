package git

import (
	"slices"
	"testing"
)

// Without a configured remote an agent can still name an address on the command line.
func TestARepositoryWithoutARemoteDoesNotPushOverTheNetwork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	refusals, err := f.repo.NoPush(t.Context(), "agents do not push")
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range network {
		if !slices.Contains(refusals, [2]string{"url./dev/null/agents do not push/.pushInsteadOf", address}) {
			t.Errorf("nothing refuses a push to %s…: %q", address, refusals)
		}
	}
}
