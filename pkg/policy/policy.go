package policy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
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
	came        pipe   // what the segment reads
}

// pipe is what a command writes, and another one may read.
type pipe struct {
	open  bool     // there is one
	last  []string // words of the command that writes into it
	loads bool     // one of those that write into it downloads something
}

// and is what comes of two commands that follow one another.
func (p pipe) and(next pipe) pipe {
	next.loads = next.loads || p.loads
	if next.last == nil {
		next.last = p.last
	}
	return next
}

func (p pipe) opened() pipe {
	p.open = true
	return p
}

func (j *judge) allowed(raw string) bool {
	for _, r := range j.allow {
		if r.MatchString(raw) {
			return true
		}
	}
	return false
}

// subshell keeps what a subshell changes from what comes after it.
func (j *judge) subshell() func() {
	cwd, came := j.cwd, j.came
	return func() { j.cwd, j.came = cwd, came }
}

func (j *judge) segment(s segment) error {
	for _, r := range j.deny {
		if r.MatchString(s.raw) {
			return &Denial{s.raw, "is forbidden by policy.deny"}
		}
	}
	came := j.came
	err := j.nested(s)
	j.came = came
	if err == nil && !j.allowed(s.raw) {
		if why := j.wrong(s); why != "" {
			err = &Denial{s.raw, why}
		}
	}
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
		} else if s.piped && prints[path.Base(first(j.came.last))] {
			texts = append(texts, strings.Join(j.came.last[1:], " "))
		}
	case name == "eval":
		texts = append(texts, strings.Join(words[1:], " "))
	case name == "trap" || name == "alias":
		for _, w := range words[1:] {
			_, value, _ := strings.Cut(w, "=")
			if name == "trap" {
				value = w
			}
			texts = append(texts, value)
		}
	case name == "xargs":
		given := afterOptions(words[1:], "IEadLnPs")
		if s.piped && prints[path.Base(first(j.came.last))] {
			given = append(slices.Clone(given), strings.Fields(strings.Join(j.came.last[1:], " "))...)
		}
		return j.handed(s, given)
	case name == "find":
		return j.found(s, words[1:])
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

// found judges the commands that find starts, for each of the folders that it looks through.
func (j *judge) found(s segment, args []string) error {
	roots := findRoots(args)
	for i, w := range args {
		if w != "-exec" && w != "-execdir" && w != "-ok" && w != "-okdir" {
			continue
		}
		for _, root := range roots {
			command := slices.Clone(args[i+1:])
			for k := range command {
				command[k] = strings.ReplaceAll(command[k], "{}", root)
			}
			if err := j.handed(s, command); err != nil {
				return err
			}
		}
	}
	return nil
}

// findRoots are the folders that find looks through: what is before its expression.
func findRoots(args []string) []string {
	var roots []string
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w == "-H" || w == "-L" || w == "-P" || strings.HasPrefix(w, "-O"):
		case w == "-D":
			i++
		case w == "(" || w == "!" || strings.HasPrefix(w, "-"):
			i = len(args)
		case len(roots) < 10:
			roots = append(roots, w)
		}
	}
	if roots == nil {
		return []string{"."}
	}
	return roots
}

// handed judges words that are a command without a shell.
func (j *judge) handed(s segment, words []string) error {
	if len(words) == 0 {
		return nil
	}
	if s.depth >= maxDepth {
		return errDeep
	}
	return j.segment(segment{raw: strings.Join(words, " "), words: words, depth: s.depth + 1})
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

// bare leaves out what is before the command itself: assignments, and programs that start
// another one. sudo reports whether it would change the user.
func bare(words []string) (rest []string, sudo bool) {
	for len(words) > 0 {
		name := path.Base(words[0])
		switch {
		case assignment.MatchString(words[0]):
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
		case name == "stdbuf" || name == "ionice" || name == "exec":
			words = afterOptions(words[1:], "ioecnpa")
		case name == "nohup" || name == "time" || name == "command" || name == "builtin" || name == "setsid" || name == "busybox":
			words = afterOptions(words[1:], "")
		default:
			return words, sudo
		}
	}
	return words, sudo
}

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*\+?=`)

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

// downloads reports whether a command gets something from elsewhere, or unpacks it: what it
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
