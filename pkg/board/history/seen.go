package history

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"liza/pkg/base/safefile"
)

// Seen is what a process has looked at in a journal and found right. While those bytes are the same, the next look takes only what came after
// them into memory: a team looks at its journal again and again. It may be used by several goroutines.
type Seen struct {
	mu      sync.Mutex
	checked beginning // by Check
	chained beginning // by Broken, with the rotated files
}

// get and set hold the lock for a moment only: a look at a database may wait for it.
func (s *Seen) get(b *beginning) beginning {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *b
}

func (s *Seen) set(b *beginning, to beginning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*b = to
}

// A beginning is a journal up to its last entry at some time.
type beginning struct {
	size  int64
	sum   []byte // SHA-256 of these bytes, after those of the rotated files
	lines int
	rev   int  // the greatest revision in it
	last  Link // its last entry
}

// since is what comes after a beginning; false if there is no beginning, or its bytes are others now. sum has the bytes before the journal's.
func (j Journal) since(b beginning, sum hash.Hash) (text string, _ hash.Hash, ok bool) {
	if b.size == 0 || j.Kept != nil && j.Stream == nil {
		return "", sum, false
	}
	w := &rest{of: sum, left: b.size}
	if err := j.stream(w); err != nil || w.left > 0 || !bytes.Equal(sum.Sum(nil), b.sum) {
		return "", sum, false
	}
	row, _, _ := bytes.Cut(w.text, []byte("\n"))
	return string(w.text), sum, len(w.text) == 0 || begins(string(row)) // else it belongs to the last entry before
}

// stream writes the whole text.
func (j Journal) stream(w io.Writer) error {
	if j.Stream != nil {
		return j.Stream(w)
	}
	f, err := safefile.Open(j.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// rest hashes so many bytes and keeps what comes after them.
type rest struct {
	of   io.Writer
	left int64
	text []byte
}

func (r *rest) Write(p []byte) (int, error) {
	known := min(int64(len(p)), r.left)
	_, _ = r.of.Write(p[:known])
	r.left -= known
	r.text = append(r.text, p[known:]...)
	return len(p), nil
}

// goOn takes all entries but the last into a beginning. The last may be in the course of being written.
func (b *beginning) goOn(text string, entries []chunk, sum hash.Hash) {
	if len(entries) < 2 {
		return
	}
	text = strings.TrimSuffix(text, entries[len(entries)-1].text)
	_, _ = io.WriteString(sum, text)
	b.size, b.sum = b.size+int64(len(text)), sum.Sum(nil)
	b.lines += entries[len(entries)-1].line - 1
}

// rotatedSum has the names and bytes of the rotated files.
func (j Journal) rotatedSum() (hash.Hash, error) {
	sum := sha256.New()
	files, err := j.allRotated()
	for _, r := range files {
		f, failed := safefile.Open(r.Path)
		if failed != nil {
			return nil, fmt.Errorf("cannot read archive/%s of the journal: %w", filepath.Base(r.Path), failed)
		}
		_, _ = io.WriteString(sum, r.Path+"\n")
		_, failed = io.Copy(sum, f)
		f.Close()
		if failed != nil {
			return nil, fmt.Errorf("cannot read archive/%s of the journal: %w", filepath.Base(r.Path), failed)
		}
	}
	return sum, err
}
