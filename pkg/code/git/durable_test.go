package git

import (
	"os"
	"path/filepath"
	"testing"
)

// A process makes each object durable once, and again what is another file now.
func TestWhatIsDurableIsNotSyncedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	left := func(what string, want int) (paths []string) {
		t.Helper()
		_, paths, err := f.repo.notDurable()
		if err != nil || len(paths) != want {
			t.Errorf("%s: %d objects are to be synced, want %d: %v", what, len(paths), want, err)
		}
		return paths
	}
	_, all, err := f.repo.notDurable()
	if err != nil || len(all) < 3 {
		t.Fatalf("the repository has %d objects: %v", len(all), err)
	}
	if err := f.repo.SyncLoose("refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	left("after a sync", 0)
	f.git("commit", "-q", "--allow-empty", "-m", "another")
	left("after a commit", 1)
	if err := f.repo.SyncLoose("refs/heads/none"); err != nil { // a branch that is packed has no file
		t.Fatal(err)
	}
	again := all[0] + ".again"
	text, err := os.ReadFile(all[0])
	if err == nil {
		err = os.WriteFile(again, text, 0o444)
	}
	if err == nil {
		err = os.Rename(again, all[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	if paths := left("after one was written again", 1); len(paths) == 1 && paths[0] != all[0] {
		t.Errorf("%s is to be synced, want %s", paths[0], filepath.Base(all[0]))
	}
	if err := os.Remove(all[1]); err != nil {
		t.Fatal(err)
	}
	if err := f.repo.SyncLoose(""); err != nil {
		t.Fatal(err)
	}
	if _, kept := f.repo.synced.files[all[1]]; kept {
		t.Error("an object that is gone is remembered")
	}
}
