package wall

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/code/project"
	"liza/pkg/run/service"
)

// A run writes the folder of the logs of its services. What it puts there in the place of a log is not followed from outside: it would be on the
// board, in alerts, and in the next prompt.
func TestALogOfAServiceThatIsALinkIsNotRead(t *testing.T) {
	t.Parallel()
	p := &project.Project{Liza: t.TempDir()}
	logs := filepath.Join(p.Tmp(), privatePrefix+"coder-1", "services")
	key := filepath.Join(t.TempDir(), "id_ed25519")
	err := errors.Join(os.MkdirAll(logs, 0o700), os.WriteFile(key, []byte("a key of the person\n"), 0o600), os.WriteFile(filepath.Join(logs, "db.log"), []byte("ready\n"), 0o600),
		os.Symlink(key, filepath.Join(logs, "linked.log")), os.Link(key, filepath.Join(logs, "named.log")), os.Symlink(key, filepath.Join(logs, "failure")))
	if err != nil {
		t.Fatal(err)
	}
	if end := PrintedNow(p, "coder-1", "db"); string(end) != "ready\n" {
		t.Errorf("a log has %q", end)
	}
	for _, name := range []string{"linked", "named"} {
		if end := PrintedNow(p, "coder-1", name); len(end) > 0 {
			t.Errorf("the log of %s has %q", name, end)
		}
	}
	if why, tail := service.Failure(logs); why != "" {
		t.Errorf("the services failed: %s %q", why, tail)
	}
}
