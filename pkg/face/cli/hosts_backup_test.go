package cli_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/store/postgres/pgtest"
	"liza/pkg/verb/verb/verbtest"
)

// backupCommands are those of specs/hosts.md, in their order: as they are written there.
func backupCommands(t *testing.T) (dump, restore string) {
	t.Helper()
	page, err := os.ReadFile("../../../specs/hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Backup and restore\n")
	section, _, _ = strings.Cut(section, "\n## ")
	found := regexp.MustCompile("`(pg_(?:dump|restore) [^`]+)`").FindAllStringSubmatch(section, -1)
	if len(found) != 2 || !strings.HasPrefix(found[0][1], "pg_dump ") || !strings.HasPrefix(found[1][1], "pg_restore ") {
		t.Fatalf("the page has these commands: %q", found)
	}
	return found[0][1], found[1][1]
}

// The commands of the page about backups are run as they are written. After a restore to an earlier moment a host says that the remote is
// ahead of the board, and whose work that is; a person accepts it, and the team goes on. Nothing of the copy is of the time that is gone.
func TestABoardGoesOnAfterABackupWasRestored(t *testing.T) {
	t.Parallel()
	dump, restore := backupCommands(t)
	newDatabase(t) // which says whether there is a server
	server, err := database()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := pgtest.Programs()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), "CREATE DATABASE liza") // the name on the page
	_ = conn.Close(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	m := &movable{T: t, sprint: &sprint{Place: verbtest.New(t), liza: lizaProgram(t)}}
	origin := filepath.Join(t.TempDir(), "origin.git")
	m.Git(m.Dir, "clone", "-q", "--bare", ".", origin)
	m.Git(m.Dir, "remote", "add", "origin", origin)
	verbtest.Write(t, m.scenario(), "default:\n  coder: {run: 'echo word >> $LIZA_TASK_ID.md', commit: Work}\n  code_reviewer: {review: {status: ok}}\n")
	m.must(m.Dir, "store", "move", "postgres://liza@/liza/pay?host="+url.QueryEscape(server.Dir()))
	task := func(id string) {
		m.must(m.Dir, "add-task", "--id", id, "--desc", id, "--type", "docs", "--spec", "specs/vision.md", "--done", id+".md has a word", "--scope", id+".md")
	}
	run := func() string {
		return m.must(m.Dir, "run", "--plain", "--scenario", m.scenario(), "--planners", "0", "--coders", "1", "--reviewers", "1")
	}
	client := func(command string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = filepath.Dir(origin)
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") }),
			"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "PGHOST="+server.Dir(), "PGUSER=liza")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	task("before")
	run()
	task("lost")
	client(dump)
	run()
	task("later")
	run()
	m.must(m.Dir, "tell", "planner", "after the backup")
	ahead := m.Git(origin, "rev-parse", "integration")
	client(restore)

	m.must(m.Dir, "status")
	for _, name := range []string{"state.yaml", "log.yaml"} {
		if text, err := os.ReadFile(filepath.Join(m.Dir, ".liza", name)); err != nil || strings.Contains(string(text), "later") || !strings.Contains(string(text), "lost") {
			t.Errorf("the copy %s is not of the backup (%v):\n%s", name, err, text)
		}
	}
	if out, err := m.at(m.Dir, "", "validate"); err == nil || !strings.Contains(out, "V63") {
		t.Errorf("validate says nothing of the remote, which is ahead: %s", out)
	}
	if out := m.must(m.Dir, "status"); !strings.Contains(out, "merged on integration, but not on the board: lost, later;") || !strings.Contains(out, "liza sync --accept") {
		t.Errorf("it does not say whose work the board lacks: %s", out)
	}
	m.must(m.Dir, "sync", "--accept", "--reason", "a backup was restored")
	m.must(m.Dir, "abandon", "lost", "--reason", "it was merged after the backup")
	task("after")
	run()
	if out := m.must(m.Dir, "validate"); !strings.Contains("\n"+out, "\nVALID") {
		t.Errorf("after the restore: %s", out)
	}
	merged := strings.Fields(m.Git(origin, "log", "--reverse", "--first-parent", "--merges", "--format=%(trailers:key=Liza-Task,valueonly)", "main..integration"))
	if m.Git(origin, "merge-base", ahead, "integration") != ahead || !slices.Equal(merged, []string{"before", "lost", "later", "after"}) {
		t.Errorf("the remote has the merges %v, and not all that was there before the restore", merged)
	}
}
