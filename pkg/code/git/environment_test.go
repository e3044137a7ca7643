package git

import (
	"slices"
	"testing"
)

// What git starts, such as a filter, must not take the folder of the shell for its own.
func TestGitIsInItsOwnFolderAlsoByItsEnvironment(t *testing.T) {
	t.Setenv("PWD", "/the/checkout")
	t.Setenv("OLDPWD", "/home/ann")
	f := newFixture(t)
	for _, v := range f.repo.env {
		if v == "PWD=/the/checkout" || v == "OLDPWD=/home/ann" {
			t.Errorf("git gets %s", v)
		}
	}
	if env := f.repo.ownEnv(call{dir: f.dir}); !slices.Contains(env, "PWD="+f.dir) {
		t.Errorf("git gets %v, without its folder", env)
	}
}
