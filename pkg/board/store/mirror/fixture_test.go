package mirror

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/store/storetest"
)

// errCut is what a board answers without a connection.
var errCut = errors.New("no connection")

// board is what several hosts share, in memory: every content by its revision, the journal and the files.
type board struct {
	turn     sync.Mutex // of writers
	mu       sync.Mutex
	id       string
	engine   *store.Engine
	contents []*store.Content // [i] has revision i+1; nil: not kept
	lines    []string
	end      history.Link
	files    []store.BoardFile
	number   int64 // of the last file
	cut      bool
}

func newBoard(t *testing.T) *board {
	t.Helper()
	b := &board{id: "1", engine: store.NewEngine(store.Options{Path: "memory/state.yaml", Now: time.Now, Validate: noEmptyDescription})}
	first, entries, err := b.engine.First(storetest.First())
	if err != nil {
		t.Fatal(err)
	}
	b.add(first, entries)
	return b
}

// noEmptyDescription stands for the rules of a board.
func noEmptyDescription(after, _ *blackboard.State) (broken []blackboard.Violation) {
	for t := range after.Tasks() {
		if t.Description == "" {
			broken = append(broken, blackboard.Violation{Rule: "V99", Severity: blackboard.SeverityError, OnWrite: true, Path: "tasks[" + t.ID + "].description", Subjects: []string{t.ID}, Message: "a task needs a description"})
		}
	}
	return broken
}

func (b *board) newest() *store.Content { return b.contents[len(b.contents)-1] }

func (b *board) add(c *store.Content, entries []blackboard.Entry) {
	b.contents = append(b.contents, c)
	for _, e := range entries {
		line, end, err := history.Journal{}.Lines(c.Revision(), b.end, []blackboard.Entry{e})
		if err != nil {
			panic(err)
		}
		b.lines, b.end = append(b.lines, string(line)), end
	}
}

func (b *board) journal() string { return strings.Join(b.lines, "") }

// connect cuts a board off, and back.
func (b *board) connect(on bool) {
	b.turn.Lock()
	defer b.turn.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = !on
}

// connection is that of one process.
type connection struct {
	store.Shared // what the mirror does not use
	*board
	seen     store.Latest
	watchers []chan struct{}
}

func (c *connection) see() error {
	if c.cut {
		return errCut
	}
	c.seen = store.Latest{Board: c.id, Revision: c.newest().Revision(), Text: c.newest().Doc().Bytes()}
	return nil
}

func (c *connection) View(ctx context.Context) (*blackboard.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := errors.Join(ctx.Err(), c.see()); err != nil {
		return nil, err
	}
	return c.newest().State(), nil
}

func (c *connection) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	return c.write(func() (*store.Content, []blackboard.Entry, error) {
		return c.engine.Change(ctx, op, c.newest(), change)
	})
}

func (c *connection) HandEdit(_ context.Context, op store.Op, revision int, text []byte) (done store.Edited, err error) {
	base, err := c.Content(context.Background(), revision)
	if err != nil {
		return done, err
	}
	return done, c.write(func() (next *store.Content, entries []blackboard.Entry, err error) {
		next, done, entries, err = c.engine.HandEdit(op, c.newest(), base, text)
		return next, entries, err
	})
}

func (c *connection) write(next func() (*store.Content, []blackboard.Entry, error)) error {
	c.turn.Lock()
	defer c.turn.Unlock()
	if c.cut {
		return errCut
	}
	content, entries, err := next() // others look meanwhile
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && content != nil {
		c.add(content, entries)
	}
	if err != nil {
		return err
	}
	return c.see()
}

func (c *connection) Content(_ context.Context, revision int) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if revision < 1 || revision > len(c.contents) || c.contents[revision-1] == nil {
		return nil, &store.NoSnapshotError{Revision: revision}
	}
	return c.contents[revision-1].Doc().Bytes(), nil
}

func (c *connection) Latest() store.Latest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

func (c *connection) Since(_ context.Context, journal, file int64) (news store.News, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return news, errCut
	}
	if journal < int64(len(c.lines)) {
		news.Lines = strings.Join(c.lines[journal:], "")
	}
	news.Journal = int64(len(c.lines))
	for _, f := range c.files {
		if f.Number > file {
			news.Files = append(news.Files, f)
		}
	}
	return news, nil
}

func (c *connection) PutFiles(_ context.Context, files ...store.BoardFile) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range files {
		c.files = slices.DeleteFunc(c.files, func(old store.BoardFile) bool { return old.Path == f.Path })
		c.number++
		f.Number = c.number
		c.files = append(c.files, f)
	}
	return nil
}

func (c *connection) Restore(_ context.Context, op store.Op, revision int) (int, string, error) {
	old, err := c.Content(context.Background(), revision)
	if err != nil {
		return 0, "", err
	}
	err = c.write(func() (*store.Content, []blackboard.Entry, error) { return c.engine.PutBack(op, c.newest(), old) })
	return c.newest().Revision(), "", err
}

func (c *connection) Watch(ctx context.Context) <-chan struct{} {
	signals := untilEnd(ctx)
	c.watchers = append(c.watchers, signals)
	return signals
}

// tell is a notification of the board.
func (c *connection) tell() {
	for _, w := range c.watchers {
		select {
		case w <- struct{}{}:
		default: // one is waiting already
		}
	}
}

func untilEnd(ctx context.Context) chan struct{} {
	signals := make(chan struct{}, 1)
	context.AfterFunc(ctx, func() { close(signals) })
	return signals
}

func (c *connection) Close() {}

// host is one clone with its copy.
type host struct {
	*Store
	t      *testing.T
	dir    string
	board  *connection
	mu     sync.Mutex
	alerts []string
}

// on makes a host of a board in a folder; a second one in the same folder is another process.
func on(t *testing.T, b *board, dir string) *host {
	t.Helper()
	h := &host{t: t, dir: dir, board: &connection{board: b}}
	h.Store = New(h.board, Options{Path: filepath.Join(dir, "state.yaml"), Record: filepath.Join(dir, "git", "mirror"), Name: "team/payments", Alert: func(kind blackboard.AlertKind, text string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.alerts = append(h.alerts, string(kind)+": "+text)
	}})
	h.files = silent{}
	return h
}

// silent is a folder in which nothing happens.
type silent struct{}

func (silent) Watch(ctx context.Context) <-chan struct{} { return untilEnd(ctx) }

// joined is a host with a copy.
func joined(t *testing.T, b *board) *host {
	t.Helper()
	h := on(t, b, t.TempDir())
	h.look()
	return h
}

func (h *host) look() *blackboard.State {
	h.t.Helper()
	s, err := h.View(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *host) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func (h *host) save(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// edits is a person who replaces words of the copy.
func (h *host) edits(old, new string) {
	h.t.Helper()
	text := h.read("state.yaml")
	if !strings.Contains(text, old) {
		h.t.Fatalf("the copy has no %q:\n%s", old, text)
	}
	h.save("state.yaml", strings.Replace(text, old, new, 1))
}

// describe changes a task by a verb.
func (h *host) describe(task, description string) {
	h.t.Helper()
	err := h.Update(h.t.Context(), store.Op{Name: "test", Agent: "coder-1"}, func(s *blackboard.State) error {
		s.Task(task).Description = description
		s.Record(blackboard.Entry{Agent: "coder-1", Action: "described", Task: task, Detail: description})
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// kept are the texts that were put aside.
func (h *host) kept() (texts []string) {
	h.t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.dir, "git", "conflict-*-person.yaml"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			h.t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

func (h *host) told() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.alerts, "\n")
}

// isCopy fails the test unless the files of a host are the board.
func (h *host) isCopy() {
	h.t.Helper()
	h.board.mu.Lock()
	text, journal := string(h.board.newest().Doc().Bytes()), h.board.journal()
	h.board.mu.Unlock()
	if got := string(body([]byte(h.read("state.yaml")))); got != text {
		h.t.Errorf("the copy is\n%s\nand the board\n%s", got, text)
	}
	if got := h.read("log.yaml"); got != journal {
		h.t.Errorf("the copy of the journal is\n%s\nand the board's\n%s", got, journal)
	}
}
