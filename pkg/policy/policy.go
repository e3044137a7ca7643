package policy

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Place is where a command would run. Paths are absolute.
type Place struct {
	Worktree string
	Home     string
}

// List is the project's own part of the deny list (policy.*): expressions over a segment.
// Allow wins over the built-in list, Deny over everything. The expressions are valid: the
// configuration was checked.
type List struct {
	Deny, Allow []string
	AllowSudo   bool
}

// Denial says why a command is not started.
type Denial struct {
	Segment string
	Why     string
}

func (d *Denial) Error() string {
	return fmt.Sprintf("denied: `%s` %s", shorten(d.Segment), d.Why)
}

// Hint is what can be done about a denial.
func (d *Denial) Hint() string {
	return "say it without this command, or let a person allow it in policy.allow of .liza/config.yaml"
}

func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}

// maxCommand is the length of the longest word that a program can be started with on Linux;
// a command is one word behind `sh -c`.
const maxCommand = 128<<10 - 1

// Check is nil for a command that may be started at that place. A *Denial names the segment
// that may not; another error says why the command cannot be understood.
func (l List) Check(command string, at Place) error {
	if strings.TrimSpace(command) == "" {
		return errEmpty
	}
	if len(command) > maxCommand {
		return fmt.Errorf("it has %d bytes, and no shell takes more than %d; put it into a script", len(command), maxCommand)
	}
	j := &judge{list: l, place: at, cwd: at.Worktree}
	for _, text := range l.Deny {
		j.deny = append(j.deny, regexp.MustCompile(text))
	}
	for _, text := range l.Allow {
		j.allow = append(j.allow, regexp.MustCompile(text))
	}
	if bomb := forkBomb(command); bomb != "" && !j.allowed(bomb) {
		return &Denial{bomb, "starts copies of itself without end"}
	}
	return j.text(command, 0)
}

var bomb = regexp.MustCompile(`([\w:.]+)\s*\(\s*\)\s*\{\s*([\w:.]+)\s*\|\s*([\w:.]+)\s*&`)

// forkBomb finds a function that pipes itself into itself in the background.
func forkBomb(command string) string {
	for _, m := range bomb.FindAllStringSubmatch(command, -1) {
		if m[1] == m[2] && m[2] == m[3] {
			return m[0]
		}
	}
	return ""
}

// judge goes through the segments of one command.
type judge struct {
	list        List
	place       Place
	deny, allow []*regexp.Regexp
	cwd         string // where the segment would run, as far as cd tells
	pipe        pipe
}

// pipe is what the segments before have written into.
type pipe struct {
	last  []string // words of the segment before
	loads bool     // one of them downloads something
}

func (j *judge) allowed(raw string) bool {
	for _, r := range j.allow {
		if r.MatchString(raw) {
			return true
		}
	}
	return false
}

// text judges a text that a shell would carry out.
func (j *judge) text(command string, depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	s := &splitter{text: command, depth: depth, judge: j.segment, enter: j.subshell}
	return s.split(false)
}

// subshell keeps what a subshell changes from what comes after it.
func (j *judge) subshell() func() {
	cwd, before := j.cwd, j.pipe
	j.pipe = pipe{}
	return func() { j.cwd, j.pipe = cwd, before }
}

func (j *judge) segment(s segment) error {
	if !s.piped {
		j.pipe = pipe{}
	}
	for _, r := range j.deny {
		if r.MatchString(s.raw) {
			return &Denial{s.raw, "is forbidden by policy.deny"}
		}
	}
	err := j.nested(s)
	if err == nil && !j.allowed(s.raw) {
		if why := j.wrong(s); why != "" {
			err = &Denial{s.raw, why}
		}
	}
	j.pipe = pipe{s.words, j.pipe.loads || s.loads || downloads(s.words)}
	return err
}

// nested judges the commands that a segment hands to another program.
func (j *judge) nested(s segment) error {
	words, _ := bare(s.words)
	if len(words) == 0 {
		return nil
	}
	var texts []string
	switch name := path.Base(words[0]); {
	case shells[name]:
		texts = append(texts, s.scripts...)
		if text, ok := commandText(words); ok {
			texts = append(texts, text)
		} else if s.piped && prints[path.Base(first(j.pipe.last))] {
			texts = append(texts, strings.Join(j.pipe.last[1:], " "))
		}
	case name == "eval":
		texts = append(texts, strings.Join(words[1:], " "))
	case name == "xargs":
		return j.handed(s, afterOptions(words[1:], "IEadLnPs"))
	case name == "find":
		for i, w := range words {
			if w == "-exec" || w == "-execdir" || w == "-ok" || w == "-okdir" {
				if err := j.handed(s, words[i+1:]); err != nil {
					return err
				}
			}
		}
	case name == "env":
		for i, w := range words {
			if (w == "-S" || w == "--split-string") && i+1 < len(words) {
				texts = append(texts, strings.Join(words[i+1:], " "))
			}
		}
	}
	for _, text := range texts {
		if err := j.text(text, s.depth+1); err != nil {
			return err
		}
	}
	return nil
}

// handed judges words that are a command without a shell.
func (j *judge) handed(s segment, words []string) error {
	if len(words) == 0 {
		return nil
	}
	if s.depth >= maxDepth {
		return errDeep
	}
	before := j.pipe
	err := j.segment(segment{raw: strings.Join(words, " "), words: words, depth: s.depth + 1})
	j.pipe = before
	return err
}

var shells = map[string]bool{"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "ash": true}

var prints = map[string]bool{"echo": true, "printf": true}

// commandText is what a shell is given with -c.
func commandText(words []string) (string, bool) {
	for i := 1; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "+") {
			return "", false
		}
		if !strings.HasPrefix(w, "--") && strings.Contains(w, "c") && i+1 < len(words) {
			return words[i+1], true
		}
		if w == "-o" || w == "+o" || w == "-O" {
			i++
		}
	}
	return "", false
}

// bare leaves out what stands before the command itself: assignments, the words of the shell's
// own grammar, and programs that start another one. sudo tells whether it would change the user.
func bare(words []string) (rest []string, sudo bool) {
	for len(words) > 0 {
		name := path.Base(words[0])
		switch {
		case assignment.MatchString(words[0]) || grammar[words[0]]:
			words = words[1:]
		case name == "sudo" || name == "doas":
			sudo = true
			words = afterOptions(words[1:], "ughpCTUrt")
		case name == "timeout":
			words = afterOptions(words[1:], "sk")
			if len(words) > 0 {
				words = words[1:]
			}
		case name == "nice":
			words = afterOptions(words[1:], "n")
		case name == "env":
			after := afterOptions(words[1:], "uC")
			if len(after) < len(words)-1 && strings.HasPrefix(words[1], "-S") {
				return words, sudo
			}
			words = after
		case name == "nohup" || name == "time" || name == "command" || name == "exec" || name == "builtin":
			words = afterOptions(words[1:], "")
		default:
			return words, sudo
		}
	}
	return words, sudo
}

var (
	assignment = regexp.MustCompile(`^[A-Za-z_]\w*\+?=`)
	grammar    = map[string]bool{"{": true, "}": true, "!": true, "if": true, "then": true, "elif": true, "else": true, "do": true, "while": true, "until": true}
)

// afterOptions leaves out options; those of one letter in valued take the next word.
func afterOptions(words []string, valued string) []string {
	for len(words) > 0 {
		w := words[0]
		if len(w) < 2 || w[0] != '-' {
			break
		}
		words = words[1:]
		if w == "--" {
			break
		}
		if len(w) == 2 && strings.Contains(valued, w[1:]) && len(words) > 0 {
			words = words[1:]
		}
	}
	return words
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// downloads tells whether a command gets something from elsewhere, or unpacks it: what it
// prints is not known to anybody.
func downloads(words []string) bool {
	words, _ = bare(words)
	switch path.Base(first(words)) {
	case "curl", "wget", "fetch", "aria2c":
		return true
	case "base64":
		for _, w := range words[1:] {
			if w == "--decode" || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "dD") {
				return true
			}
		}
	}
	return false
}
