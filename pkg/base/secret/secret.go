// Package secret masks secrets in everything that is written (specs/decisions.md#D22).
//
// A Set has names and values. Mask replaces each value, and the forms in which programs print one, by [REDACTED:name]; Writer
// does the same to a stream, across the borders of its chunks (specs/roles-and-knowledge.md#9.6). The package neither writes
// nor returns a value.
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

// Set is a collection of secrets. The zero Set and a nil one mask nothing. A Set may
// be used by several goroutines, also while secrets are added.
type Set struct {
	mu     sync.RWMutex
	forms  *forms
	values map[string]bool // masked values
	given  *forms          // the plain values that were added as secrets; see Found
	folder string          // content of the folder at the last AddFolder
}

// forms are the texts to replace, longest first. They are immutable.
type forms struct {
	list   []form
	begins *[1 << 16 / 64]uint64 // the pairs of bytes that a form begins with
}

// form is one way in which a value may appear.
type form struct{ text, name string }

// with is f and more of them; a text that is there keeps its name.
func (f *forms) with(name string, texts []string) *forms {
	next := &forms{begins: new([1 << 16 / 64]uint64)}
	if f != nil {
		next.list = slices.Clone(f.list)
	}
	for _, text := range texts {
		if !slices.ContainsFunc(next.list, func(f form) bool { return f.text == text }) {
			next.list = append(next.list, form{text, name})
		}
	}
	slices.SortStableFunc(next.list, func(a, b form) int { return cmp.Compare(len(b.text), len(a.text)) })
	for _, f := range next.list {
		pair := uint16(f.text[0])<<8 | uint16(f.text[1])
		next.begins[pair/64] |= 1 << (pair % 64)
	}
	return next
}

// Add adds a value with a name; line ends after the value do not belong to it. Values of less than four characters are
// ignored. A value that has a name keeps it.
func (s *Set) Add(name, value string) { s.add(name, value, false) }

// Masks reports whether a value is long enough to be masked.
func Masks(value string) bool { return utf8.RuneCountInString(trimmed(value)) >= minRunes }

func trimmed(value string) string { return strings.TrimRight(value, "\r\n") }

func (s *Set) add(name, value string, given bool) {
	if !Masks(value) {
		return
	}
	value = trimmed(value)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.values[value] {
		if s.values == nil {
			s.values = map[string]bool{}
		}
		s.values[value] = true
		s.forms = s.forms.with(name, formsOf(value))
	}
	if given && utf8.RuneCountInString(value) >= minEnvRunes {
		s.given = s.given.with(name, []string{value})
	}
}

// Found returns the name of a secret whose value is in text. It considers only values that were added as secrets, and that
// are too long to occur by chance.
func (s *Set) Found(text string) (name string, found bool) {
	if s == nil {
		return "", false
	}
	s.mu.RLock()
	given := s.given
	s.mu.RUnlock()
	spans := find(text, given)
	if len(spans) == 0 {
		return "", false
	}
	return spans[0].name, true
}

// Finder returns Found, or nil while the set is empty.
func (s *Set) Finder() func(text string) (name string, found bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.given == nil {
		return nil
	}
	return s.Found
}

// AddEnviron adds the secrets of an environment: LIZA_SECRET_<NAME>, the longer values of variables whose names end in _KEY,
// _TOKEN, _SECRET or _PASSWORD, and those in the headers of OpenTelemetry's exporters.
func (s *Set) AddEnviron(environ []string) {
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if own, ok := strings.CutPrefix(name, "LIZA_SECRET_"); ok {
			s.add(strings.ToLower(own), value, true)
			continue
		}
		if strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_") && strings.HasSuffix(name, "HEADERS") {
			for header := range strings.SplitSeq(value, ",") {
				key, credential, _ := strings.Cut(header, "=")
				s.Add(strings.TrimSpace(key), strings.TrimSpace(credential))
			}
			continue
		}
		for _, end := range []string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"} {
			if strings.HasSuffix(name, end) && utf8.RuneCountInString(value) >= minEnvRunes {
				s.Add(name, value)
			}
		}
	}
}

// AddFolder adds the files of a folder (.liza/secrets), each under its name. A missing folder has none, and an unchanged one
// is not read again.
func (s *Set) AddFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the secrets: %v", err)
	}
	look := dir
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			look += fmt.Sprint("\x00", e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	s.mu.RLock()
	same := s.folder == look
	s.mu.RUnlock()
	if same {
		return nil
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		value, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("cannot read the secret %s: %v", e.Name(), err)
		}
		s.add(e.Name(), string(value), true)
	}
	s.mu.Lock()
	s.folder = look
	s.mu.Unlock()
	return nil
}

// Mask returns text with every value replaced by [REDACTED:name]. Of two values that overlap both are replaced, by the name
// of the first one.
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

// Find reports whether text has a value, and returns the name of the first one.
func (s *Set) Find(text string) (name string, found bool) {
	spans := find(text, s.snapshot())
	if len(spans) == 0 {
		return "", false
	}
	return spans[0].name, true
}

func mark(name string) string { return "[REDACTED:" + name + "]" }

func (s *Set) snapshot() *forms {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.forms
}

// span is a part of a text that one mark replaces.
type span struct {
	start, end int
	name       string
}

// find gives the parts of text that hold a form, in order and without overlaps:
// parts that overlap are joined. It goes through the text once, however many forms
// there are.
func find(text string, forms *forms) []span {
	if forms == nil {
		return nil
	}
	var out []span
	for i := 0; i+1 < len(text); i++ {
		if pair := uint16(text[i])<<8 | uint16(text[i+1]); forms.begins[pair/64]&(1<<(pair%64)) == 0 {
			continue
		}
		// Of the forms that begin at one place the longest is first.
		at := slices.IndexFunc(forms.list, func(f form) bool { return strings.HasPrefix(text[i:], f.text) })
		if at < 0 {
			continue
		}
		f := forms.list[at]
		if n := len(out); n > 0 && i < out[n-1].end {
			out[n-1].end = max(out[n-1].end, i+len(f.text))
			continue
		}
		out = append(out, span{i, i + len(f.text), f.name})
	}
	return out
}
