package broker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

func TestAProcessOfAnotherRunIsTurnedAway(t *testing.T) {
	t.Parallel()
	f, err := MakeFolder(short(t), t.Name(), "coder-1")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	s := Serve(f.Listener, func(context.Context, *Call) int { t.Error("it was carried out"); return 0 }, func(pid int) bool { asked.Store(int64(pid)); return false })
	defer s.Close()
	if _, _, _, err := call(t, filepath.Join(f.Path, Socket), "", "submit"); !errors.Is(err, ErrGone) && !errors.Is(err, ErrCut) {
		t.Errorf("%v, want the connection ended", err)
	}
	if asked.Load() != int64(os.Getpid()) {
		t.Errorf("asked about process %d, not %d", asked.Load(), os.Getpid())
	}
}
