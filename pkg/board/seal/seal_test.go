package seal_test

import (
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/board/seal"
)

func TestASealFitsWhatWasSealedAndNothingElse(t *testing.T) {
	t.Parallel()
	k := seal.New(make([]byte, 32))
	mac := k.Sign("task-1", "abc", "")
	if !k.Fits(mac, "task-1", "abc", "") {
		t.Error("a seal does not fit what was sealed")
	}
	for _, other := range [][]string{{"task-1", "ab", "c"}, {"task-1abc", "", ""}, {"task-1", "abc"}, {"task-2", "abc", ""}, nil} {
		if k.Fits(mac, other...) {
			t.Errorf("the seal fits %q", other)
		}
	}
	if k.Fits("", "task-1", "abc", "") || k.Fits("zz", "task-1", "abc", "") {
		t.Error("what is not a seal fits")
	}
	if seal.New([]byte("another secret that is long enough")).Fits(mac, "task-1", "abc", "") {
		t.Error("the seal of one key fits another")
	}
}

func TestAProjectHasOneKeyThatOnlyThePersonCanRead(t *testing.T) {
	t.Parallel()
	folder, gitDir := filepath.Join(t.TempDir(), "state", "liza"), t.TempDir()
	ring := seal.Ring{Folder: folder, GitDir: gitDir}
	if k, err := ring.Key(); k != nil || err != nil {
		t.Fatalf("before there is a key: %v, %v", k, err)
	}
	made, err := ring.Make()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ring.Make()
	if err != nil || again.ID != made.ID {
		t.Errorf("made again: %v, %v; wanted %s", again, err, made.ID)
	}
	if k, err := ring.Key(); err != nil || !k.Fits(made.Sign("x"), "x") {
		t.Errorf("read again: %v, %v", k, err)
	}
	if k, err := (seal.Ring{Folder: folder, GitDir: t.TempDir()}).Key(); k != nil || err != nil {
		t.Errorf("another repository has the key %v, %v", k, err)
	}
	files, _ := filepath.Glob(filepath.Join(folder, "keys", "*"))
	if len(files) != 1 {
		t.Fatalf("the files are %q", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, %v; wanted 0600", info.Mode(), err)
	}
}

func TestTheKeyGoesWithAMovedProjectAndNotWithACopy(t *testing.T) {
	t.Parallel()
	folder, dir := t.TempDir(), t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for _, d := range []string{from, to} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	k, err := seal.Ring{Folder: folder, GitDir: from}.Make()
	if err != nil {
		t.Fatal(err)
	}
	there := seal.Ring{Folder: folder, GitDir: to}
	if key, copied, err := there.Moved(k.ID); key != nil || !copied || err != nil {
		t.Errorf("a copy has the key %v, %v, %v", key, copied, err)
	}
	if key, copied, err := there.Moved("unknown"); key != nil || copied || err != nil {
		t.Errorf("an unknown key is %v, %v, %v", key, copied, err)
	}
	if err := os.Remove(from); err != nil {
		t.Fatal(err)
	}
	if moved, _, err := there.Moved(k.ID); err != nil || moved == nil || moved.ID != k.ID {
		t.Fatalf("a moved project has the key %v, %v", moved, err)
	}
	if now, err := there.Key(); err != nil || now == nil || now.ID != k.ID {
		t.Errorf("afterwards it has the key %v, %v", now, err)
	}
}

func TestAFolderThatNobodyNamedIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	if _, err := (seal.Ring{GitDir: t.TempDir()}).Key(); err != seal.ErrNoFolder {
		t.Errorf("the error is %v", err)
	}
}

// A clone on the same machine finds the key by its name; to another machine it is brought as text.
func TestAKeyIsFoundByItsNameAndReadFromText(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	k, err := seal.Ring{Folder: folder, GitDir: t.TempDir()}.Make()
	if err != nil {
		t.Fatal(err)
	}
	clone := seal.Ring{Folder: folder, GitDir: t.TempDir()}
	if got := clone.Named("0123456789ab", k.Name()); got != k.Secret() {
		t.Errorf("found %q", got)
	}
	if got := clone.Named("0123456789ab"); got != "" {
		t.Errorf("found %q for another name", got)
	}
	if same, err := seal.Parse(k.Secret() + "\n"); err != nil || same.Name() != k.Name() {
		t.Errorf("read %v, %v", same, err)
	}
	for _, bad := range []string{"", "5a", "no key"} {
		if _, err := seal.Parse(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
