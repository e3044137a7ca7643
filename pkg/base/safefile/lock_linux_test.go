package safefile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestChildrenDoNotInheritTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	unlock, err := Lock(t.Context(), path, Holder{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	dir := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/fd"
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if strings.HasPrefix(target, path) {
			t.Errorf("the child has %s open", target)
		}
	}
}
