package history

import (
	"fmt"
	"slices"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// Scrubbed is a journal in which secrets were masked, and which was chained again. It is not
// written yet.
type Scrubbed struct {
	End   Link // of its last entry
	files []scrubbedFile
}

type scrubbedFile struct{ path, text string }

// Scrub masks what was written before a secret was known, here and in what was rotated away,
// and adds an entry that says so, chained to what head names. Breaks of the chain stay breaks.
// It returns nil when there is nothing to mask. The caller holds the lock of the state.
func (j Journal) Scrub(rev int, head Link, e blackboard.Entry) (*Scrubbed, error) {
	text, err := j.text()
	if err != nil || j.Mask == nil {
		return nil, err
	}
	files, err := j.allRotated()
	if err != nil {
		return nil, err
	}
	s, done := newScrubber(j.Mask), &Scrubbed{}
	first, _ := span(text)
	for _, older := range files {
		text, err := older.text()
		if err != nil {
			return nil, err
		}
		in := s
		if older.notBefore(first) {
			in = newScrubber(j.Mask)
		}
		if masked := in.file(text); masked != text {
			done.files = append(done.files, scrubbedFile{older.Path, masked})
		}
	}
	masked := s.file(text)
	if masked == text && len(done.files) == 0 {
		return nil, nil
	}
	if head == "" {
		if head, err = j.End(); err != nil {
			return nil, err
		}
	}
	lines, end, err := j.Lines(rev, s.of(head), []blackboard.Entry{e})
	if err != nil {
		return nil, err
	}
	if masked != "" {
		masked = ended(masked)
	}
	done.End, done.files = end, append(done.files, scrubbedFile{j.Path, masked + string(lines)})
	return done, nil
}

// Text is the masked journal, without what was rotated away.
func (s *Scrubbed) Text() string { return s.files[len(s.files)-1].text }

// Write puts the masked journal in the place of the old one. The newest file is the first: an
// older one that a killed writer did not come to is masked next time, and what follows it has
// the right link already.
func (s *Scrubbed) Write() error {
	for _, f := range slices.Backward(s.files) {
		if err := safefile.Replace(f.path, []byte(f.text), 0o644); err != nil {
			return fmt.Errorf("cannot mask secrets in the journal: %w", err)
		}
	}
	return nil
}

// scrubber masks entries in their order.
type scrubber struct {
	mask     func(string) string
	now      map[Link]Link // links by what they were
	old, new digest
}

func newScrubber(mask func(string) string) *scrubber {
	return &scrubber{mask: mask, now: map[Link]Link{}, old: newDigest(), new: newDigest()}
}

func (s *scrubber) of(l Link) Link {
	if now, ok := s.now[l]; ok {
		return now
	}
	return l
}

func (s *scrubber) file(text string) string {
	head, entries := chunks(text)
	var b strings.Builder
	b.WriteString(s.mask(head))
	for _, c := range entries {
		b.WriteString(s.entry(c))
	}
	return b.String()
}

func (s *scrubber) entry(c chunk) string {
	was := c.link()
	text := strings.TrimRight(c.text, " \r\n")
	space := c.text[len(text):]
	if p := c.prev(); p == "" {
		text = s.mask(text)
	} else {
		body := strings.TrimSuffix(text, fmt.Sprintf(", prev: %q}", p))
		accepts := c.accepts()
		if accepts != "" && accepts == s.old.String() {
			body = strings.Replace(body, fmt.Sprintf(", accepts: %q", accepts), fmt.Sprintf(", accepts: %q", s.new), 1)
		}
		text = s.mask(body) + fmt.Sprintf(", prev: %q}", s.of(p))
	}
	is := chunk{text: text}.link()
	s.now[was] = is
	s.old.add(was)
	s.new.add(is)
	return text + space
}
