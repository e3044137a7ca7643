package review

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
)

// Failures returns the names of failures in the output of a check: tests, and lines that report a failure. It removes numbers
// of lines, times, addresses and temporary paths from lines, so that two runs of the same tree give the same names. The names
// are sorted; the result is empty for an output without failures.
func Failures(output string) []string {
	s := scan{names: map[string]bool{}, times: map[string]int{}, packages: map[string]bool{}}
	output = prose.Plain(output)
	if begin, end := strings.Index(output, "<testsuite"), strings.LastIndex(output, "</testsuite"); begin >= 0 && end > begin {
		for _, name := range junit(output[begin:end]) {
			s.names[name] = true
		}
		for line := range strings.Lines(output[begin:end]) { // a test that prints such words hides nothing
			s.named(strings.TrimSuffix(line, "\n"))
		}
		output = output[:strings.LastIndexByte(output[:begin], '\n')+1] + output[end+len("</testsuite"):]
	}
	for line := range strings.Lines(output) {
		s.line(strings.TrimSuffix(line, "\n"))
	}
	s.close("")
	lines := s.loose
	switch {
	case len(s.names) == 0 && len(lines) == 0 && len(s.indented) == 0 && s.last != "":
		lines = []string{s.last} // a script that ends at its first failure says there what it was
	case len(s.names) == 0:
		lines = append(lines, s.indented...)
	}
	for _, line := range lines {
		s.names[line] = true
	}
	return slices.Sorted(maps.Keys(s.names))
}

// A CompileError is an error of a compiler in a file, with the path that the compiler printed.
type CompileError struct{ File, Text string }

// CompileErrors returns the errors of compilers: of Go, C, Rust, TypeScript, Java and Python.
func CompileErrors(output string) []CompileError {
	var list []CompileError
	inGo, text := false, ""
	for line := range strings.Lines(prose.Plain(output)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "# "): // the package whose errors follow
			inGo = true
			continue
		case strings.HasPrefix(line, "error"), strings.HasPrefix(line, "warning"), strings.Contains(line, ` File "`):
			text = line // the place or the message follows
		}
		for _, c := range compilers() {
			m := c.pattern.FindStringSubmatch(line)
			if m == nil || c.headed && !inGo && !strings.HasPrefix(line, "vet: ") || absent().MatchString(line) {
				continue
			}
			file, message := m[1], line
			if c.before != nil { // half of it is in a line before
				half := c.before.FindStringSubmatch(text)
				if half == nil {
					continue
				}
				if message = strings.TrimSpace(text) + " " + strings.TrimSpace(line); len(half) > 1 {
					file = half[1]
				}
			}
			list = append(list, CompileError{File: file, Text: strings.TrimSpace(message)})
			break
		}
		if inGo && line != "" && line[0] != '\t' && !goPlace().MatchString(line) {
			inGo = false
		}
	}
	return list
}

// compileErrorsIn lists the errors that name one of files, which are paths from the root of the repository. A name that is the end of
// one may be that of another file, whose error is there before, too.
func compileErrorsIn(output, before string, files []string) []string {
	var list []string
	old := map[string]bool{}
	for _, e := range CompileErrors(before) {
		old[normal(e.Text)] = true
	}
	for _, e := range CompileErrors(output) {
		name := strings.TrimPrefix(unplaced(e.File), "./")
		if slices.Contains(files, name) || !old[normal(e.Text)] && slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+name) }) {
			list = append(list, e.Text)
		}
	}
	return list
}

// NewFailures compares a command that failed as ran, with output, with its result on the base of the work. red reports that
// it fails there too, with comparable failures. isNew are the failures that the work caused: those that the base does not
// have, and errors of compilers in files of changed, even if the base has them.
func (e End) NewFailures(ran Ran, command, output string, changed []string) (red bool, isNew []string) {
	before := ""
	if e.Failed {
		before = OutputOf(e.Log, command)
	}
	if broken := compileErrorsIn(output, before, changed); len(broken) > 0 {
		return e.Failed, broken
	}
	if !e.Failed || e.TimedOut || ran.TimedOut {
		return false, nil
	}
	base := Failures(before)
	here := Failures(output)
	for _, name := range here {
		if _, there := slices.BinarySearch(base, name); !there {
			isNew = append(isNew, name)
		}
	}
	// Nothing else can be compared, or it was ended by a signal and has not said all.
	if e.ExitCode != ran.ExitCode && (len(here) == 0 || len(isNew) == 0 && (ran.ExitCode < 0 || ran.ExitCode > 128)) {
		isNew = []string{fmt.Sprintf("exit code %d, not %d", ran.ExitCode, e.ExitCode)}
	}
	return true, isNew
}

// OutputOf returns the output of command from a log whose last command it was.
func OutputOf(log, command string) string {
	text := outputFrom(log, max(0, sizeOf(log)-maxOutput))
	header := "$ " + command + "\n"
	if i := strings.Index("\n"+text, "\n"+header); i >= 0 { // the first: the command may print the like
		return text[i+len(header):]
	}
	return text
}

// Names joins some of a list of failures for a sentence.
func Names(failures []string) string { return listed(failures) }

// scan gathers names and lines of an output.
type scan struct {
	names    map[string]bool
	pending  []string        // failed tests of a Go package or a file of jest whose name is not known yet
	file     string          // file of jest, whose name comes first
	loose    []string        // lines at the left edge that report a failure
	indented []string        // indented lines that report a failure
	times    map[string]int  // number of occurrences of a line with a place
	packages map[string]bool // packages of go test -json with a failed test
	last     string          // last line that is not blank
}

func (s *scan) line(line string) {
	if line == "" || strings.HasPrefix(line, "liza: ") {
		return
	}
	if line[0] == '{' && s.json(line) || s.named(line) {
		return
	}
	text := normal(line)
	if strings.TrimSpace(text) == "" {
		return
	}
	s.last = strings.TrimSpace(text)
	if !fails(line) && !finding().MatchString(line) {
		return
	}
	text = s.counted(s.last)
	if line[0] == ' ' || line[0] == '\t' || strings.HasPrefix(line, "E  ") { // pytest's own mark
		s.indented = append(s.indented, text)
		return
	}
	s.loose = append(s.loose, text)
}

// named takes a line in which a test runner names a test.
func (s *scan) named(line string) bool {
	for _, f := range formats() {
		if m := f.pattern.FindStringSubmatch(line); m != nil {
			f.take(s, m)
			return true
		}
	}
	return false
}

// counted numbers findings of a file with the same words.
func (s *scan) counted(text string) string {
	if !strings.Contains(text, ":N") {
		return text
	}
	if s.times[text]++; s.times[text] > 1 {
		return fmt.Sprintf("%s (%d)", text, s.times[text])
	}
	return text
}

// json takes a line of go test -json.
func (s *scan) json(line string) bool {
	var e struct{ Action, Package, Test, ImportPath, Output string }
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		return false
	}
	switch {
	case e.Action == "build-output":
		s.line(strings.TrimRight(e.Output, "\n"))
	case e.Action == "fail" && e.Test != "":
		s.names[e.Test+" of "+e.Package], s.packages[e.Package] = true, true
	case e.Action == "fail" && !s.packages[e.Package]:
		s.names[e.Package] = true
	}
	return true
}

// close names the pending tests by their package or file.
func (s *scan) close(of string) {
	for _, name := range s.pending {
		s.names[strings.TrimSuffix(name+" of "+of, " of ")] = true
	}
	if of != "" && len(s.pending) == 0 {
		s.names[of] = true
	}
	s.pending = nil
}

func (s *scan) name(m []string) { s.names[strings.TrimSpace(m[1])] = true }

// A format recognises a line of a test runner.
type format struct {
	pattern *regexp.Regexp
	take    func(*scan, []string)
}

var formats = sync.OnceValue(func() []format {
	nothing := func(*scan, []string) {}
	list := []format{
		// Go: tests first, then their package
		{regexp.MustCompile(`^\s*--- FAIL: (\S+)`), func(s *scan, m []string) { s.pending = append(s.pending, m[1]) }},
		{regexp.MustCompile(`^FAIL\t(\S+)(?: \[\w+ failed\])?`), func(s *scan, m []string) { s.close(m[1]) }},
		{regexp.MustCompile(`^(?:ok  \t|\?   \t|PASS$|FAIL$|exit status \d+$|=== |\s*--- (?:PASS|SKIP))`), nothing},
		// TAP
		{regexp.MustCompile(`(?i)^\s*(?:ok|not ok)\b.*#\s*(?:todo|skip)`), nothing},
		{regexp.MustCompile(`^\s*ok \d+`), nothing},
		{regexp.MustCompile(`^\s*not ok \d+\s*(?:- )?(\S.*?)\s*$`), (*scan).name},
		{regexp.MustCompile(`^\s*(not ok(?: \d+)?)\s*$`), (*scan).name},
		// pytest and unittest
		{regexp.MustCompile(`^(?:FAILED|ERROR) (\S+(?:\.py|::).*?)(?: - .*)?$`), (*scan).name},
		{regexp.MustCompile(`^(?:FAIL|ERROR): (\S+ \(.+\))$`), (*scan).name},
		// jest, vitest and node: the file first
		{regexp.MustCompile(`^\s*FAIL\s+(\S+\.\w+)(?: \([\d.]+ m?s\))?$`), func(s *scan, m []string) { s.file = m[1]; s.names[m[1]] = true }},
		{regexp.MustCompile(`^\s*FAIL\s+(\S+\.\w+ > .+)$`), (*scan).name},
		{regexp.MustCompile(`^\s+● (.+?)$`), func(s *scan, m []string) { s.names[strings.TrimSuffix(m[1]+" of "+s.file, " of ")] = true }},
		{regexp.MustCompile(`^\s*[✖✗×✕] (.+?)(?: \([\d.]+ ?m?s\)| [\d.]+m?s)?$`), (*scan).name},
		// cargo
		{regexp.MustCompile(`^test (.+) \.\.\. FAILED$`), (*scan).name},
		{regexp.MustCompile(`^test .+ \.\.\. (?:ok|ignored)`), nothing},
	}
	return list
})

// junit names the failed cases of a report in XML.
func junit(report string) []string {
	var names []string
	d := xml.NewDecoder(strings.NewReader(report))
	d.Strict = false
	name := ""
	for {
		token, err := d.Token()
		if err != nil {
			return names
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "testcase":
			of := ""
			for _, a := range start.Attr {
				switch a.Name.Local {
				case "name":
					name = a.Value
				case "classname":
					of = a.Value
				}
			}
			name = strings.TrimSuffix(name+" of "+of, " of ")
		case "failure", "error":
			names = append(names, name)
		}
	}
}

// A compiler recognises the line of an error.
type compiler struct {
	pattern *regexp.Regexp
	headed  bool           // counts only below the name of a package, because linters write the same
	before  *regexp.Regexp // earlier line with the message or the file
}

var compilers = sync.OnceValue(func() []compiler {
	return []compiler{
		{pattern: regexp.MustCompile(`^(?:vet: )?(\S+\.go):\d+:\d+: \S`), headed: true},
		{pattern: regexp.MustCompile(`^(\S+\.\w+):\d+(?::\d+)?: (?:fatal )?error: \S`)},                  // C, Java, Swift
		{pattern: regexp.MustCompile(`^\s+--> (\S+\.rs):\d+:\d+`), before: regexp.MustCompile(`^error`)}, // Rust
		{pattern: regexp.MustCompile(`^(\S+\.[cm]?tsx?)(?:\(\d+,\d+\)|:\d+:\d+).*\berror TS`)},           // TypeScript
		{pattern: regexp.MustCompile(`^(?:E\s+)?((?:Syntax|Indentation|Tab)Error): `), before: regexp.MustCompile(`File "([^"]+)"`)},
	}
})

var (
	goPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:vet: )?\S+\.go:\d+:\d+: `) })
	// absent: the tree needs something that is missing, which no compiler has seen yet
	absent = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`replacement directory|no required module provides|is not in std|cannot find (?:module|package)|missing go\.sum entry|updates to go\.mod needed`)
	})
	finding  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\S+\.\w+:\d+:\d+:? `) })
	checkout = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\s"'(=:]*/[^/\s]*\.worktrees/[^/\s]+/?`) })
	bad      = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[\s\["'(*:])(?:errors?|err|fail(?:s|ed|ing|ure|ures)?|fatal|panic(?:ked)?|exception|traceback|undefined|unresolved|unexpected|expected|mismatch|missing|denied|refused|abort(?:ed)?|crash(?:ed)?|cannot|can't|couldn't|could not|no such|not found|not ok|does not|segmentation fault|core dumped|assert(?:ion)?)(?:$|[\s:!,;\])"'=]|\.(?:$|\s))` +
			`|(?-i:\w(?:Error|Exception)\b)|[✖✗×✕❌]`)
	})
	good = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\s*(?:✓|✔|√|pass(?:ed)?\b|ok\b)|(?:\bok|\bpassed|✓)\s*$`)
	})
	none = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:0|no) (?:errors?|fail(?:ed|ures?|ing)|warnings?|problems?)\b`)
	})
)

// fails reports whether a line says that something failed.
func fails(line string) bool {
	return !good().MatchString(line) && bad().MatchString(none().ReplaceAllString(line, ""))
}

// A rule removes from a line the text that differs from run to run.
type rule struct {
	pattern *regexp.Regexp
	with    string
}

var unstable = sync.OnceValue(func() []rule {
	return []rule{
		{regexp.MustCompile(`(?:/private)?(?:/var/folders/[\w+/]+/T|/var/tmp|/tmp)/[^\s"':)]*`), "TMP"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?`), "TIME"},
		{regexp.MustCompile(`\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b`), "TIME"},
		{regexp.MustCompile(`\b0x[0-9a-fA-F]+\b`), "ADDR"},
		{regexp.MustCompile(`\b[0-9a-f]{7,64}\b`), "HASH"},
		{regexp.MustCompile(`\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|min|minutes?)\b`), "DURATION"},
		{regexp.MustCompile(`(?:\bline |:|\()\d+(?:[:,]\d+)*\b`), ":N"},
		{regexp.MustCompile(`\b(pid|goroutine|process|thread|port)([ =:]+)\d+`), "$1$2:N"},
		{regexp.MustCompile(`\b\d+ (passed|failed|passing|failing|errors?|warnings?|failures?|total|tests?|specs?|suites?|problems?|skipped|files?)\b`), "N $1"},
	}
})

// normal returns a line without the text that differs from run to run.
func normal(line string) string {
	line = unplaced(line)
	for _, r := range unstable() {
		line = r.pattern.ReplaceAllString(line, r.with)
	}
	const most = 300
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "")
	}
	return line
}

// unplaced leaves out the folder that a tree was checked out in.
func unplaced(text string) string { return checkout().ReplaceAllString(text, "") }

// tailLines is how many of the last lines of a check are handed on, tailBytes how much of them.
const (
	tailLines = 40
	tailBytes = 4000
	maxOutput = 20 << 20 // most bytes of a log that are read
)

// Tail returns the end of an output, without control characters, as a person or an agent reads it first.
func Tail(output string) string {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	text := prose.Plain(strings.Join(lines[max(0, len(lines)-tailLines):], "\n"))
	if len(text) > tailBytes {
		text = "…" + strings.ToValidUTF8(text[len(text)-tailBytes:], "")
	}
	return text
}

// TailOf returns the end of a log.
func TailOf(log string) string { return Tail(outputFrom(log, max(0, sizeOf(log)-64<<10))) }

// Failure describes how a command of a check failed, or returns "". output is its output.
func Failure(check, command string, ran Ran, output string, limit time.Duration) string {
	switch {
	case ran.TimedOut:
		return fmt.Sprintf("%q did not end within %s", command, limit)
	case ran.ExitCode != 0:
		return fmt.Sprintf("%q ended with exit code %d", command, ran.ExitCode)
	case check == Tests && noTests(output):
		return fmt.Sprintf("%q found no tests", command)
	}
	return ""
}

// End is the result of a command on the base of the work.
type End struct {
	Failed   bool   `json:"failed"`
	ExitCode int    `json:"exit_code"`
	TimedOut bool   `json:"timed_out,omitempty"`
	Setup    string `json:"setup,omitempty"`  // the command of worktree.setup that failed, so that nothing was run
	Unable   string `json:"unable,omitempty"` // why it could not run here; it is neither failed nor passed then
	Next     string `json:"next,omitempty"`   // what helps it to run, as far as that is known
	After    string `json:"after,omitempty"`  // a command before it in the list that is red: what failed has no result of its own
	Log      string `json:"log"`

	Lacks           []string `json:"lacks,omitempty"`             // files of the person's checkout that the worktree lacks
	GreenInCheckout bool     `json:"green_in_checkout,omitempty"` // the same command passes there
}

// Ran reports whether the command ran, so that its end says something of the tree.
func (e End) Ran() bool { return e.Setup == "" && e.Unable == "" }

// noTests recognises runs of Go, pytest, cargo and jest that ended well without a test.
func noTests(output string) bool {
	none, some := false, false
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(line, "[no test files]"), strings.HasSuffix(line, "[no tests to run]"), strings.HasPrefix(line, "No tests found"),
			strings.HasPrefix(line, "no tests ran"), line == "running 0 tests":
			none = true
		case strings.HasPrefix(line, "ok "), strings.HasPrefix(line, "ok\t"), strings.HasPrefix(line, "running ") && strings.Contains(line, " test"):
			some = true
		}
	}
	return none && !some
}

func sizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// outputFrom is a log from that byte on, its end if it is very long.
func outputFrom(log string, from int64) string {
	const most = maxOutput
	f, err := safefile.Open(log)
	if err != nil {
		return ""
	}
	defer f.Close()
	if size := sizeOf(log); size-from > most && from > 0 {
		from = size - most
	}
	data, err := io.ReadAll(io.NewSectionReader(f, from, most))
	if err != nil {
		return ""
	}
	return string(data)
}
