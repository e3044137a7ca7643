package secret

import (
	"io"
	"strings"
	"sync"
)

// Writer masks a stream. It holds back only what may be the beginning of a secret; Close writes the rest. It may be used by
// several goroutines.
type Writer struct {
	set *Set
	out io.Writer

	mu      sync.Mutex
	held    string
	covered int // bytes at the beginning of held that a mark replaces
}

// Writer returns a writer that masks its input and writes the result to w.
func (s *Set) Writer(w io.Writer) *Writer { return &Writer{set: s, out: w} }

// Write masks p and writes all that cannot be the beginning of a secret. An error is that of the writer below.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	forms := w.set.snapshot()
	text := w.held + string(p)
	if err := w.emit(text, partial(text, forms), forms); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes the bytes held back. It does not close the writer below.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.emit(w.held, len(w.held), w.set.snapshot())
}

// emit writes text up to end and holds the rest. No form that begins before end
// goes beyond the text, so the parts found there are final.
func (w *Writer) emit(text string, end int, forms *forms) error {
	var out strings.Builder
	at := w.covered
	for _, p := range find(text, forms) {
		if p.start >= end {
			break
		}
		if p.start < w.covered { // joined with the part whose mark is already out
			at = max(at, p.end)
			continue
		}
		out.WriteString(text[at:p.start])
		out.WriteString(mark(p.name))
		at = p.end
	}
	if at < end {
		out.WriteString(text[at:end])
		at = end
	}
	w.held, w.covered = text[end:], at-end
	if out.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(w.out, out.String())
	return err
}

// partial gives the place from which the rest of the text may be the beginning of
// a form, or the length of the text.
func partial(text string, forms *forms) int {
	first := len(text)
	if forms == nil {
		return first
	}
	for _, f := range forms.list {
		for i := max(0, len(text)-len(f.text)+1); i < first; i++ {
			if strings.HasPrefix(f.text, text[i:]) {
				first = i
			}
		}
	}
	return first
}
