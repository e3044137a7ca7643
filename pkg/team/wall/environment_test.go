package wall

import (
	"slices"
	"testing"

	"liza/pkg/run/sandbox"
)

// A machine may hand settings to git in the environment of the person; what Liza adds for a run is counted after them.
func TestSettingsOfGitAreNumberedWithoutThoseOfThePerson(t *testing.T) {
	t.Parallel()
	person := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraheader", "GIT_CONFIG_VALUE_0=token"}
	w := &Wall{Plan: Plan{Wall: sandbox.Wall{}}, maker: &Maker{Environ: person}}
	got := w.environment(append(slices.Clone(person), "GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_1=user.name", "GIT_CONFIG_VALUE_1=Ada=L", "GIT_CONFIG_KEY_2=user.email", "GIT_CONFIG_VALUE_2=ada@example.com"))
	want := []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=Ada=L", "GIT_CONFIG_KEY_1=user.email", "GIT_CONFIG_VALUE_1=ada@example.com", "GIT_CONFIG_COUNT=2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := w.environment(person); !slices.Equal(got, want[:1]) {
		t.Errorf("without settings of its own: %q", got)
	}
}
