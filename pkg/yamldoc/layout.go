package yamldoc

import (
	"strings"
)

// layout cuts text at its top-level keys, and the sections of split at their entries,
// by looking at lines only. ok is false when the lines do not have the plain shape that
// lets them be cut: then nothing is known. What layout returns is a guess until every
// piece was parsed by itself: a quoted text, a flow list or a block text that runs over
// a cut leaves a piece before the cut that does not parse.
func layout(text string, split map[string]bool) (sections []*section, tail string, ok bool) {
	if strings.IndexByte(text, '\r') >= 0 || strings.Contains(text, "\u0085") ||
		strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029") {
		return nil, "", false
	}
	var starts []int // of the sections, with the comments above them
	var keys []string
	lead := -1 // where comments began that may belong to the next section
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		switch first := text[at]; {
		case first == '\n':
		case first == ' ' && lead < 0 && len(starts) > 0: // the inside of a section
		case first == '#':
			if lead < 0 {
				lead = at
			}
		case first == ' ':
			switch lineKind(text[at:end]) {
			case oddLine: // among comments that no piece contains
				return nil, "", false
			case textLine:
				if len(starts) == 0 {
					return nil, "", false
				}
				lead = -1
			}
		case first == '-' && isItem(text[at:end]):
			if len(starts) == 0 {
				return nil, "", false
			}
			lead = -1
		default:
			key, found := mapKey(text[at:end])
			if !found {
				return nil, "", false
			}
			start := at
			if lead >= 0 {
				start = lead
			}
			starts, keys, lead = append(starts, start), append(keys, key), -1
		}
		at = end
	}
	if len(starts) == 0 {
		return nil, "", false
	}
	stop := len(text)
	if lead >= 0 {
		stop = lead
	}
	starts[0] = 0
	for i, start := range starts {
		end := stop
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		s := &section{key: keys[i], text: text[start:end]}
		if split[s.key] {
			s.cut()
		}
		sections = append(sections, s)
	}
	return sections, text[stop:], true
}

// cut takes the section apart if its entries all begin in one column.
func (s *section) cut() {
	head := s.bodyStart()
	if head < 0 {
		return
	}
	var (
		text   = s.text
		indent = -1
		list   bool
		starts []int
		names  []string
		lead   = -1
	)
	for at := head; at < len(text); {
		depth := leading(text[at:])
		end := lineEnd(text, at+depth)
		line := text[at:end]
		switch c := text[at+depth : end]; {
		case c == "" || c[0] == '\n':
		case c[0] == '\t':
			return
		case c[0] == '#':
			if lead < 0 && (indent < 0 || depth <= indent) {
				lead = at
			}
		case indent >= 0 && depth > indent:
			lead = -1
		default:
			if indent < 0 {
				indent, list = depth, isItem(line[depth:])
			}
			name, named := mapKey(line[depth:])
			if depth != indent || list != isItem(line[depth:]) || !list && !named {
				return
			}
			start := at
			if lead >= 0 && len(starts) > 0 {
				start = lead
			}
			starts, names, lead = append(starts, start), append(names, name), -1
		}
		at = end
	}
	if len(starts) == 0 {
		return
	}
	s.list, s.indent, s.apart, s.split = list, indent, true, true
	s.head = text[:starts[0]]
	for i, start := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		e := &Entry{text: text[start:end]}
		if !list {
			e.name = names[i]
		}
		s.entries = append(s.entries, e)
	}
	s.text = ""
}

// bodyStart is where the section goes on after its "key:" line, or -1 when there is
// more on that line than a comment.
func (s *section) bodyStart() int {
	for at := 0; at < len(s.text); {
		end := lineEnd(s.text, at)
		line := s.text[at:end]
		if strings.HasPrefix(line, s.key) {
			rest := strings.TrimSpace(line[len(s.key)+1:])
			if rest != "" && !(rest[0] == '#' && !strings.HasPrefix(line[len(s.key)+1:], "#")) {
				return -1
			}
			return end
		}
		at = end
	}
	return -1
}

type kindOfLine int

const (
	textLine kindOfLine = iota
	blankLine
	commentLine
	oddLine // begins with a tab
)

func lineKind(line string) kindOfLine {
	rest := strings.TrimLeft(line, " ")
	switch {
	case rest == "" || rest == "\n":
		return blankLine
	case rest[0] == '#':
		return commentLine
	case rest[0] == '\t':
		return oddLine
	}
	return textLine
}

func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// leading tells how many blanks a text begins with.
func leading(text string) int {
	n := 0
	for n < len(text) && text[n] == ' ' {
		n++
	}
	return n
}

func isItem(line string) bool {
	return strings.HasPrefix(line, "- ") || line == "-\n" || line == "-"
}

// mapKey reads a key of letters, digits and ._- that is at the beginning of line.
func mapKey(line string) (string, bool) {
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		case (c == '-' || c == '.') && i > 0:
		case c == ':' && i > 0:
			rest := line[i+1:]
			return line[:i], rest == "" || rest[0] == ' ' || rest[0] == '\n'
		default:
			return "", false
		}
	}
	return "", false
}
