package safefile

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// use1 locks and unlocks once.
func use1(t *testing.T, path string) {
	t.Helper()
	unlock, err := Lock(within(t, 10*time.Second), path, Holder{PID: os.Getpid(), Host: "mac", Agent: "coder-1", Op: "claim"})
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatalf("unlock again: %v", err)
	}
}

// Whatever is in the file beside the lock, such as what older versions counted there.
func TestTheLockIgnoresWhatIsInTheQueue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	write(t, queuePath(path), "what is this?")
	use1(t, path)
	if err := os.Remove(queuePath(path)); err != nil {
		t.Fatal(err)
	}
	use1(t, path)
}

func TestTheLockWorksWithoutAQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, obstacle := range map[string]func(path string) error{
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"link":   func(path string) error { return os.Symlink(filepath.Join(dir, "target"), path) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".lock")
			if err := obstacle(queuePath(path)); err != nil {
				t.Fatal(err)
			}
			use1(t, path)
			_, kill := holder(t, path)
			if _, err := Lock(within(t, 50*time.Millisecond), path, Holder{PID: 1}); err == nil {
				t.Error("the lock was granted twice")
			}
			kill()
			use1(t, path)
			if _, err := os.Stat(filepath.Join(dir, "target")); !os.IsNotExist(err) {
				t.Errorf("the link was followed: %v", err)
			}
		})
	}
}
