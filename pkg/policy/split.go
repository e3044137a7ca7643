package policy

import (
	"errors"
	"fmt"
	"strings"
)

// maxDepth is how deep substitutions, subshells and nested shells are looked into.
const maxDepth = 4

// Errors about commands that are not started because they cannot be understood.
var (
	errEmpty    = errors.New("the command is empty")
	errUnclosed = errors.New("a quote or a bracket of the command is not closed")
	errDeep     = fmt.Errorf("the command is nested deeper than %d levels, so that it cannot be looked through", maxDepth)
)

// segment is one simple command.
type segment struct {
	raw     string
	words   []string // without quotes, and without redirections
	targets []string // files that are written by redirection
	scripts []string // here-documents
	loads   bool     // a download stands in one of its substitutions
	piped   bool     // it reads what the segment before writes
	depth   int
}

// splitter cuts a text into segments. judge sees each as soon as it is complete: those of a
// substitution come before the segment that has it.
type splitter struct {
	text  string
	at    int
	depth int
	judge func(segment) error
	enter func() (leave func()) // a subshell begins

	seg     segment
	begin   int
	word    strings.Builder
	inWord  bool
	target  bool     // the next word is written to
	skip    bool     // the next word is read from
	heredoc []string // delimiters whose texts begin with the next line
	await   bool     // the next word is such a delimiter
	loads   bool     // some segment downloads something
}

// split reads up to the end of the text, or up to a closing bracket when nested.
func (s *splitter) split(nested bool) error {
	s.begin = s.at
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '\\':
			s.escape()
		case c == '\'':
			end := strings.IndexByte(s.text[s.at+1:], '\'')
			if end < 0 {
				return errUnclosed
			}
			s.put(s.text[s.at+1 : s.at+1+end])
			s.at += end + 2
		case c == '"':
			s.at++
			s.put("")
			if err := s.expand('"'); err != nil {
				return err
			}
		case c == '`':
			if err := s.backticks(); err != nil {
				return err
			}
		case s.starts("$(") || s.starts("<(") || s.starts(">("):
			s.at += 2
			if err := s.substitution(); err != nil {
				return err
			}
		case s.starts("${"):
			end := strings.IndexByte(s.text[s.at:], '}')
			if end < 0 {
				return errUnclosed
			}
			s.put(s.text[s.at : s.at+end+1])
			s.at += end + 1
		case c == '<' || c == '>' || s.starts("&>"):
			s.redirection()
		case c == '#' && !s.inWord:
			s.at += lineEnd(s.text[s.at:])
		case c == ' ' || c == '\t' || c == '\r':
			s.endWord()
			s.at++
		case c == '(':
			if err := s.subshell(); err != nil {
				return err
			}
		case c == ')' && nested:
			err := s.end(false)
			s.at++
			return err
		case strings.IndexByte(";&|\n)", c) >= 0:
			if err := s.separator(c); err != nil {
				return err
			}
		default:
			s.plain()
		}
	}
	if nested {
		return errUnclosed
	}
	return s.end(false)
}

func (s *splitter) starts(text string) bool { return strings.HasPrefix(s.text[s.at:], text) }

// put adds to the word, which may be empty: ” is a word.
func (s *splitter) put(text string) {
	s.word.WriteString(text)
	s.inWord = true
}

// plain takes everything up to the next byte that means something.
func (s *splitter) plain() {
	n := strings.IndexAny(s.text[s.at+1:], "\\'\"`$<>#(){};&| \t\r\n")
	if n < 0 {
		n = len(s.text) - s.at - 1
	}
	s.put(s.text[s.at : s.at+1+n])
	s.at += n + 1
}

func (s *splitter) escape() {
	if s.at+1 < len(s.text) && s.text[s.at+1] != '\n' {
		s.put(s.text[s.at+1 : s.at+2])
	}
	s.at += 2
}

// expand reads what stands in double quotes, or a whole here-document for the end 0:
// substitutions are carried out in it.
func (s *splitter) expand(end byte) error {
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case end != 0 && c == end:
			s.at++
			return nil
		case c == '\\':
			s.escape()
		case c == '`':
			if err := s.backticks(); err != nil {
				return err
			}
		case s.starts("$("):
			s.at += 2
			if err := s.substitution(); err != nil {
				return err
			}
		default:
			s.put(s.text[s.at : s.at+1])
			s.at++
		}
	}
	if end != 0 {
		return errUnclosed
	}
	return nil
}

// nest is a splitter for a text that is carried out by itself.
func (s *splitter) nest(text string) (*splitter, error) {
	if s.depth >= maxDepth {
		return nil, errDeep
	}
	return &splitter{text: text, depth: s.depth + 1, judge: s.judge, enter: s.enter}, nil
}

func (s *splitter) backticks() error {
	var inner strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\' && s.at+1 < len(s.text) && strings.IndexByte("`\\$", s.text[s.at+1]) >= 0:
			s.at++
			inner.WriteByte(s.text[s.at])
		case c == '`':
			s.at++
			return s.inner(inner.String(), 0, false)
		default:
			inner.WriteByte(c)
		}
	}
	return errUnclosed
}

// substitution reads what follows "$(" up to its bracket.
func (s *splitter) substitution() error { return s.inner(s.text, s.at, true) }

func (s *splitter) inner(text string, at int, nested bool) error {
	n, err := s.nest(text)
	if err != nil {
		return err
	}
	n.at = at
	leave := s.enter()
	err = n.split(nested)
	leave()
	if nested {
		s.at = n.at
	}
	s.seg.loads = s.seg.loads || n.loads
	s.put("$()")
	return err
}

func (s *splitter) subshell() error {
	if err := s.end(false); err != nil {
		return err
	}
	n, err := s.nest(s.text)
	if err != nil {
		return err
	}
	n.at = s.at + 1
	leave := s.enter()
	err = n.split(true)
	leave()
	s.at, s.loads, s.begin = n.at, s.loads || n.loads, n.at
	return err
}

// redirection reads the operator; the word that follows is no argument.
func (s *splitter) redirection() {
	if strings.Trim(s.word.String(), "0123456789") == "" {
		s.word.Reset()
		s.inWord = false
	}
	s.endWord()
	op := s.at
	for s.at < len(s.text) && s.at-op < 3 && strings.IndexByte("<>&|-", s.text[s.at]) >= 0 {
		s.at++
	}
	switch operator := s.text[op:s.at]; {
	case strings.HasPrefix(operator, "<<") && operator != "<<<":
		s.await = true
	case strings.Contains(operator, ">"):
		s.target = true
	default:
		s.skip = true
	}
}

func (s *splitter) endWord() {
	if !s.inWord {
		return
	}
	word := s.word.String()
	s.word.Reset()
	s.inWord = false
	switch {
	case s.await:
		s.heredoc = append(s.heredoc, word)
	case s.target:
		s.seg.targets = append(s.seg.targets, word)
	case !s.skip:
		s.seg.words = append(s.seg.words, word)
	}
	s.await, s.target, s.skip = false, false, false
}

// separator ends the segment, and the next one begins behind it.
func (s *splitter) separator(c byte) error {
	s.endWord()
	pipe, n := c == '|', 1
	switch {
	case s.starts("||"):
		pipe, n = false, 2
	case s.starts("&&") || s.starts("|&"):
		n = 2
	}
	if c == '\n' {
		if err := s.heredocs(); err != nil {
			return err
		}
	}
	if err := s.end(pipe); err != nil {
		return err
	}
	s.at = min(s.at+n, len(s.text))
	s.begin = s.at
	return nil
}

// heredocs takes the lines up to each delimiter. What a shell reads that way is looked
// through with its segment; in others only substitutions count.
func (s *splitter) heredocs() error {
	for _, delimiter := range s.heredoc {
		var body strings.Builder
		for s.at < len(s.text) {
			line := s.text[s.at+1:]
			line = line[:lineEnd(line)]
			s.at += 1 + len(line)
			if strings.TrimLeft(line, "\t") == delimiter {
				break
			}
			body.WriteString(line + "\n")
		}
		s.seg.scripts = append(s.seg.scripts, body.String())
		n, err := s.nest(body.String())
		if err != nil {
			return err
		}
		if err := n.expand(0); err != nil {
			return err
		}
		s.seg.loads = s.seg.loads || n.seg.loads
	}
	s.heredoc = nil
	return nil
}

func lineEnd(text string) int {
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}

// end hands the segment over. pipe: the next one reads what it writes.
func (s *splitter) end(pipe bool) error {
	s.endWord()
	s.await, s.target, s.skip = false, false, false
	seg := s.seg
	seg.raw = strings.TrimSpace(s.text[s.begin:min(s.at, len(s.text))])
	seg.depth = s.depth
	s.seg = segment{piped: pipe}
	if len(seg.words) == 0 && len(seg.targets) == 0 {
		s.seg.piped = pipe || seg.piped // the line may end behind a pipe
		return nil
	}
	if downloads(seg.words) {
		s.loads = true
	}
	return s.judge(seg)
}
