// Package mirror keeps a copy of a shared board in the files of a project, for people and for programs that read them:
// state.yaml, log.yaml and the archive. No decision depends on the copy. A person's edit of it is written to the board.
package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// Options are the settings of a copy.
type Options struct {
	Path   string // .liza/state.yaml
	Record string // file that records the last write of the copy
	Name   string // name of the board, for people
	Alert  func(kind blackboard.AlertKind, text string)

	Settings Settings // settings that all hosts share; the zero value: they are not followed
}

// Store is a shared board with its copy.
type Store struct {
	store.Shared
	o      Options
	engine *store.Engine // parses the copy
	files  interface {
		Watch(context.Context) <-chan struct{}
	}

	watching sync.Mutex
	watchers int
	stop     context.CancelFunc // ends the follower
}

var _ store.Shared = (*Store)(nil)

// New returns board with a copy in the files of o.
func New(board store.Shared, o Options) *Store {
	if o.Alert == nil {
		o.Alert = func(blackboard.AlertKind, string) {}
	}
	return &Store{Shared: board, o: o, engine: store.NewEngine(store.Options{Path: o.Path}), files: store.NewWatcher(o.Path, o.Alert)}
}

// record describes the last write of the copy. It is in git's folder, where it is not edited by accident.
type record struct {
	Name     string         `json:"name"`  // name of the board, for people
	Board    string         `json:"board"` // id of the board
	Revision int            `json:"revision"`
	SHA256   string         `json:"sha256"` // hash of state.yaml
	Stamp    safefile.Stamp `json:"stamp"`
	At       time.Time      `json:"at"`
	Lost     time.Time      `json:"lost,omitzero"` // start of the lost connection that the copy mentions
	Journal  int64          `json:"journal"`       // number of the last line of log.yaml
	LogSize  int64          `json:"log_size"`
	File     int64          `json:"file"` // number of the last file of the board
	Settings kept           `json:"settings,omitzero"`
}

// Recorded returns the name of the board of the copy whose record is at path, or "".
func Recorded(path string) string {
	r, _ := readRecord(path)
	return r.Name
}

func readRecord(path string) (r record, ok bool) {
	data, err := safefile.Read(path)
	ok = err == nil && json.Unmarshal(data, &r) == nil && r.Board != ""
	return r, ok
}

func (s *Store) write(r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := safefile.MakeFolder(filepath.Dir(s.o.Record), 0o755); err != nil {
		return err
	}
	return safefile.Replace(s.o.Record, append(data, '\n'), 0o644)
}

// lockTime is how long to wait for another process that is writing the copy.
const lockTime = 5 * time.Second

func (s *Store) locked(ctx context.Context, run func() error) error {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	unlock, err := safefile.Lock(ctx, s.o.Path+".lock", safefile.Holder{PID: os.Getpid(), Op: "mirror"})
	if err != nil {
		return err
	}
	return errors.Join(run(), unlock())
}

// Refresh writes the latest board that this process knows into the copy, unless the copy is newer or was edited.
func (s *Store) Refresh(ctx context.Context) error {
	now := s.Latest()
	if now.Board == "" {
		return nil
	}
	if r, ok := readRecord(s.o.Record); ok && s.current(r, now) {
		return nil
	}
	return s.locked(ctx, func() error {
		r, ok := readRecord(s.o.Record)
		if ok && (s.current(r, now) || s.edited(r)) {
			return nil
		}
		return s.renew(ctx, r, now)
	})
}

// renew writes the copy. The lock is held.
func (s *Store) renew(ctx context.Context, r record, now store.Latest) error {
	if r.Board != now.Board {
		if err := s.clear(ctx, r); err != nil {
			return err
		}
		r = record{Board: now.Board}
	}
	r.Name = s.o.Name
	news, err := s.Since(ctx, r.Journal, r.File)
	if err != nil {
		return err
	}
	if err := s.follow(ctx, &r, news); err != nil {
		return err
	}
	r.Lost, r.Revision, r.At = time.Time{}, now.Revision, time.Now().UTC()
	return s.put(r, now.Text)
}

// clear makes room for the copy of a board that has no record here. It keeps a text that a person may have written.
func (s *Store) clear(ctx context.Context, r record) error {
	text, err := safefile.Read(s.o.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && r.SHA256 != "" && !s.edited(r) {
		return nil
	}
	if err != nil {
		return err
	}
	if c, err := s.engine.Parse(body(text)); err == nil && r.SHA256 == "" {
		if was, err := s.Content(ctx, c.Revision()); err == nil && bytes.Equal(was, body(text)) {
			return nil
		}
	}
	s.o.Alert(blackboard.AlertHandEdit, "what .liza/state.yaml had is not of this board; it is kept in "+s.keep(text))
	return nil
}

// current reports whether the copy needs nothing.
func (s *Store) current(r record, now store.Latest) bool {
	if r.Board != now.Board || r.Revision < now.Revision || !r.Lost.IsZero() {
		return false
	}
	_, err := os.Lstat(s.o.Path)
	return err == nil
}

// lose has the copy say on top since when there is no connection.
func (s *Store) lose(ctx context.Context, since time.Time) error {
	if r, ok := readRecord(s.o.Record); !ok || !r.Lost.IsZero() {
		return nil
	}
	return s.locked(ctx, func() error {
		r, ok := readRecord(s.o.Record)
		if !ok || !r.Lost.IsZero() || s.edited(r) {
			return nil
		}
		text, err := safefile.Read(s.o.Path)
		if err != nil {
			return err
		}
		r.Lost = since.UTC()
		return s.put(r, body(text))
	})
}

// put writes state.yaml and the record.
func (s *Store) put(r record, text []byte) error {
	all := append([]byte(headOf(s.o.Name, r.Revision, r.Lost)), text...)
	staged, err := safefile.Stage(s.o.Path, all, 0o644)
	if err != nil {
		return err
	}
	if r.Stamp, err = staged.CommitStamp(); err != nil {
		return err
	}
	sum := sha256.Sum256(all)
	r.SHA256 = hex.EncodeToString(sum[:])
	return s.write(r)
}

// follow adds to log.yaml and to the files of the board.
func (s *Store) follow(ctx context.Context, r *record, news store.News) error {
	log := filepath.Join(filepath.Dir(s.o.Path), "log.yaml")
	info, err := os.Stat(log)
	if whole := r.Journal > 0 && (err != nil || info.Size() < r.LogSize) || strings.Contains(news.Lines, "action: "+string(blackboard.ActionScrubbed)+","); whole {
		// Lines that were masked have changed in their place.
		r.LogSize = 0
		if news, err = s.Since(ctx, 0, r.File); err != nil {
			return err
		}
	}
	if err := appendAt(log, r.LogSize, news.Lines); err != nil {
		return err
	}
	r.Journal, r.LogSize = news.Journal, r.LogSize+int64(len(news.Lines))
	for _, f := range news.Files {
		r.File = f.Number
		if err := s.take(f); err != nil {
			return err
		}
	}
	return nil
}

// appendAt writes text at offset size of a file, in place of the rest that a killed process left.
func appendAt(path string, size int64, text string) error {
	f, err := safefile.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	if _, err := f.WriteAt([]byte(text), size); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// archive is the folder of the board's files that only grow. For the others see Settings.
const archive = "archive/"

func (s *Store) take(f store.BoardFile) error {
	if !strings.HasPrefix(f.Path, archive) || !filepath.IsLocal(f.Path) {
		return nil
	}
	return WriteFile(filepath.Dir(s.o.Path), f)
}

// WriteFile writes the file f of the board below the folder dir.
func WriteFile(dir string, f store.BoardFile) error {
	if !filepath.IsLocal(f.Path) {
		return fmt.Errorf("the board has a file that leads out of the project: %s", f.Path)
	}
	path := filepath.Join(dir, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cannot make a folder: %w", err)
	}
	return safefile.Replace(path, []byte(f.Text), 0o644)
}

// ReadFiles reads the files at the given paths below dir, and all files in those that are folders.
func ReadFiles(dir string, paths ...string) ([]store.BoardFile, error) {
	var files []store.BoardFile
	for _, p := range paths {
		err := filepath.WalkDir(filepath.Join(dir, p), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := safefile.Read(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			files = append(files, store.BoardFile{Path: filepath.ToSlash(rel), Text: string(text)})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("cannot read what the hosts of a board share: %w", err)
		}
	}
	return files, nil
}

// edited reports whether the file was changed since its last write.
func (s *Store) edited(r record) bool {
	text, _ := s.edit(r)
	return text != nil
}

// edit returns the copy, with its head, if it was edited, else nil.
func (s *Store) edit(r record) ([]byte, error) {
	if r.SHA256 == "" {
		return nil, nil
	}
	if stamp, err := safefile.StampOf(s.o.Path); err == nil && stamp == r.Stamp {
		return nil, nil
	}
	text, err := safefile.Read(s.o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it is written again
	}
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) == r.SHA256 {
		return nil, nil
	}
	return text, nil
}

// keep puts a person's text where nothing removes it, and returns its path.
func (s *Store) keep(text []byte) string { return s.keepAside("person.yaml", string(text)) }

func (s *Store) keepAside(name, text string) string {
	path := filepath.Join(filepath.Dir(s.o.Record), "conflict-"+time.Now().UTC().Format("20060102T150405.000Z")+"-"+strings.ReplaceAll(name, "/", "-"))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return "no file: " + err.Error()
	}
	return path
}

// headMark begins each line of the comment on top of a copy.
const headMark = "#| "

// headOf returns the comment at the beginning of the copy, with its purpose and age.
func headOf(board string, revision int, lost time.Time) string {
	text := fmt.Sprintf("A copy of board %s, revision %d.\nAn edit of it is taken to the board, like one of the board itself.", board, revision)
	if !lost.IsZero() {
		text = fmt.Sprintf("NO CONNECTION to the database since %s. What is below may be older than the board.\n", lost.UTC().Format(time.RFC3339)) + text
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(headMark + line + "\n")
	}
	return b.String()
}

// body is a copy's text without that comment.
func body(text []byte) []byte {
	for strings.HasPrefix(string(text[:min(len(text), len(headMark))]), headMark) {
		_, rest, _ := strings.Cut(string(text), "\n")
		text = []byte(rest)
	}
	return text
}
