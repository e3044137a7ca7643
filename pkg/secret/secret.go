// Package secret masks secrets in everything that is written (D22).
//
// A Set knows names and values. Mask replaces each value, and the forms in which
// programs print one, by [REDACTED:name]; Writer does the same to a stream, over the
// borders of its chunks (roles-and-knowledge 9.6). The package never writes a value
// anywhere and hands none out.
package secret

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// minRunes is the length from which a value is masked. Shorter ones occur in
// ordinary text everywhere.
const minRunes = 4

// minEnvRunes is the same for variables that only look like secrets by their name.
const minEnvRunes = 8

// Set is a collection of secrets. The zero Set and a nil one mask nothing. A Set may
// be used by several goroutines, also while secrets are added.
type Set struct {
	mu    sync.RWMutex
	forms []form // longest first
}

// form is one way in which a value may appear.
type form struct{ text, name string }

// Add makes the set mask a value under a name; line ends after the value do not
// belong to it. Values of less than four characters are ignored. A value that has
// a name keeps it.
func (s *Set) Add(name, value string) {
	value = strings.TrimRight(value, "\r\n")
	if utf8.RuneCountInString(value) < minRunes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := slices.Clone(s.forms)
	for _, text := range formsOf(value) {
		if !slices.ContainsFunc(next, func(f form) bool { return f.text == text }) {
			next = append(next, form{text, name})
		}
	}
	slices.SortStableFunc(next, func(a, b form) int { return cmp.Compare(len(b.text), len(a.text)) })
	s.forms = next
}

// AddEnviron adds the secrets of an environment: LIZA_SECRET_<NAME>, and the longer
// values of variables whose names end in _KEY, _TOKEN, _SECRET or _PASSWORD.
func (s *Set) AddEnviron(environ []string) {
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if own, ok := strings.CutPrefix(name, "LIZA_SECRET_"); ok {
			s.Add(strings.ToLower(own), value)
			continue
		}
		for _, end := range []string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"} {
			if strings.HasSuffix(name, end) && utf8.RuneCountInString(value) >= minEnvRunes {
				s.Add(name, value)
			}
		}
	}
}

// AddFolder adds the files of a folder (.liza/secrets), each under its name. A
// folder that does not exist has none.
func (s *Set) AddFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the secrets: %v", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		value, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("cannot read the secret %s: %v", e.Name(), err)
		}
		s.Add(e.Name(), string(value))
	}
	return nil
}

// Mask gives the text with every value replaced by [REDACTED:name]. Where two
// values overlap, both are gone and the first one is named.
func (s *Set) Mask(text string) string {
	forms := s.snapshot()
	spans := find(text, forms)
	if len(spans) == 0 {
		return text
	}
	var out strings.Builder
	at := 0
	for _, p := range spans {
		out.WriteString(text[at:p.start])
		out.WriteString(mark(p.name))
		at = p.end
	}
	out.WriteString(text[at:])
	return out.String()
}

// Find tells whether the text holds a value, and the name of the first one.
func (s *Set) Find(text string) (name string, found bool) {
	spans := find(text, s.snapshot())
	if len(spans) == 0 {
		return "", false
	}
	return spans[0].name, true
}

func mark(name string) string { return "[REDACTED:" + name + "]" }

func (s *Set) snapshot() []form {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.forms // replaced whole by Add, never changed
}

// span is a part of a text that one mark replaces.
type span struct {
	start, end int
	name       string
}

// find gives the parts of text that hold a form, in order and without overlaps:
// parts that overlap are joined.
func find(text string, forms []form) []span {
	var all []span
	for _, f := range forms {
		for from := 0; ; {
			i := strings.Index(text[from:], f.text)
			if i < 0 {
				break
			}
			all = append(all, span{from + i, from + i + len(f.text), f.name})
			from += i + 1
		}
	}
	// Stable: of the parts that begin at one place the longest stands first.
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var out []span
	for _, p := range all {
		if n := len(out); n > 0 && p.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, p.end)
			continue
		}
		out = append(out, p)
	}
	return out
}
