package move

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/code/project"
	"liza/pkg/team/assembly"
	"liza/pkg/verb/verb/verbtest"
)

// process is one at a project, with the keys of the place.
func process(p *verbtest.Place) *assembly.Environment {
	return &assembly.Environment{Stderr: new(strings.Builder), Dir: p.Dir, Now: time.Now, Environ: []string{"PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + p.StateHome(), "USER=ada"}}
}

// A refused move leaves the board where it is, and says what to do instead.
func TestAMoveThatCannotBeginLeavesTheBoardWhereItIs(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	e := process(p)
	m := &move{e}
	ctx := context.Background()
	p.Supervised("coder-2")
	p.Supervised("coder-1")
	before := verbtest.Read(t, p.Project.State())
	config := func(text string) {
		t.Helper()
		path := filepath.Join(p.Project.Liza, "config.yaml")
		if text == "" {
			_ = os.Remove(path)
			return
		}
		verbtest.Write(t, path, text)
	}
	for _, c := range []struct {
		name, config, to, want string
	}{
		{"a file that is one", "", "file", "2 the board is a file already (next: liza config store)"},
		{"an address that is none", "", "nowhere", "cannot use the address of the store: it must begin with postgres://"},
		{"agents at work", "", "postgres://ada@127.0.0.1:1/liza", "4 the board cannot be moved while agents work: coder-1, coder-2 (next: liza stop --all)"},
		{"another database", "store: {url: 'postgres://ada@127.0.0.1:1/liza', board: words}\n", "postgres://ada@127.0.0.1:2/liza", "4 the board is in a database already: "},
		{"the board of another name there", "store: {url: 'postgres://ada@127.0.0.1:1/liza', board: words}\n", "postgres://ada@127.0.0.1:1/liza?board=numbers", "4 the board is in a database already: "},
	} {
		config(c.config)
		_, err := Board(ctx, e, c.to)
		got := verbtest.Advice(err)
		if err == nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if c.config != "" && !strings.HasSuffix(got, "(next: liza store move file)") {
			t.Errorf("%s: %q, want it to lead to liza store move file", c.name, got)
		}
		if config(""); store.IsAway(m.files(p.Project)) || verbtest.Read(t, p.Project.State()) != before {
			t.Errorf("%s: the board was marked as away, or changed", c.name)
		}
	}
}

// A move into a database that was cut off, and is not wanted any more, is taken back by naming the file: then the file is the board again, once.
func TestAMoveThatWasCutOffIsTakenBackByNamingTheFile(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	e := process(p)
	m := &move{e}
	ctx := context.Background()
	if err := store.MarkAway(m.files(p.Project), "postgres://elsewhere/liza"); err != nil {
		t.Fatal(err)
	}
	if !store.IsAway(m.files(p.Project)) {
		t.Fatal("the mark of a move is not seen")
	}
	out, err := Board(ctx, e, "file")
	if err != nil || out.Kind != "file" || out.Board != ".liza/state.yaml" || out.Text != "the board is .liza/state.yaml of this host\n" || store.IsAway(m.files(p.Project)) {
		t.Errorf("taken back: %+v, %v, away %t; want the file to be the board", out, err, store.IsAway(m.files(p.Project)))
	}
	if _, err := p.Service("").Board.View(ctx); err != nil {
		t.Errorf("the board cannot be read afterwards: %v", err)
	}
	if _, err := Board(ctx, e, "file"); verbtest.Advice(err) != "2 the board is a file already (next: liza config store)" {
		t.Errorf("taken back twice: %v", err)
	}
}

// Under the lock the settings are read again: what another process has moved meanwhile is left alone.
func TestWhatAnotherProcessHasMovedIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := &project.Project{Root: dir, Liza: filepath.Join(dir, ".liza"), GitDir: dir}
	m := &move{&assembly.Environment{}}
	for text, want := range map[string]string{"": "", "review: {mode: strict}\n": "", "store: {url: 'postgres://h/liza'}\n": "4 the board was moved into a database meanwhile (next: liza config store)"} {
		verbtest.Write(t, filepath.Join(at.Liza, "config.yaml"), text)
		if got := verbtest.Advice(m.isFile(at)); got != want {
			t.Errorf("with %q: %q, want %q", text, got, want)
		}
	}
}

// A board is moved when nobody works: unknown is not dead, and a lease that is over is nobody.
func TestABoardIsMovedWhenNobodyWorks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		entry *blackboard.Agent
		works bool
	}{
		{"an agent whose lease holds", &blackboard.Agent{Role: "coder", Host: "here", BootID: "boot", LeaseExpires: verbtest.At(5), Heartbeat: verbtest.At(0)}, true},
		{"one whose lease is over", &blackboard.Agent{Role: "coder", Host: "here", BootID: "boot", LeaseExpires: verbtest.At(-5), Heartbeat: verbtest.At(-30)}, false},
		{"one that beats in the future", &blackboard.Agent{Role: "coder", Host: "here", BootID: "boot", LeaseExpires: verbtest.At(5), Heartbeat: verbtest.At(60)}, true},
		{"one without a lease", &blackboard.Agent{Role: "coder", Host: "here", BootID: "boot"}, true},
	} {
		s := verbtest.Board()
		s.Agents["coder-1"] = c.entry
		d, _ := verbtest.OnMemory(t, s)
		if err := idle(d, s); (err != nil) != c.works {
			t.Errorf("%s: %v, want it to be at work: %t", c.name, err, c.works)
		}
	}
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	if err := idle(d, verbtest.Board()); err != nil {
		t.Errorf("nobody: %v", err)
	}
}

func TestTheRevisionOfAMovedBoardIsThatOfItsLastEntry(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("a")
	journal := verbtest.Read(t, p.Project.Journal())
	if got, want := lastRevision(journal), p.State().Revision; got != want {
		t.Errorf("the journal ends at revision %d, want %d", got, want)
	}
	if got := lastRevision(""); got != 0 {
		t.Errorf("an empty journal ends at revision %d, want 0", got)
	}
	if name := nameOf(p.Project); !strings.HasSuffix(name, ":"+p.Project.GitDir) {
		t.Errorf("this project on this host is called %q", name)
	}
}
