package review

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"liza/pkg/safefile"
)

// tailLines is how many of the last lines of a check are handed on, tailBytes how much of them.
const (
	tailLines = 40
	tailBytes = 4000
	maxOutput = 20 << 20 // bytes of a log that are looked at
)

// Tail is the end of an output, without control characters: what a person or an agent reads first.
func Tail(output string) string {
	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(output, "\uFFFD"), "\n"), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	text := strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.Join(lines, "\n"))
	if len(text) > tailBytes {
		text = "…" + strings.ToValidUTF8(text[len(text)-tailBytes:], "")
	}
	return text
}

// TailOf is the end of a log.
func TailOf(log string) string { return Tail(outputFrom(log, max(0, sizeOf(log)-64<<10))) }

// Failure says how a command of a check failed, "" when it did not. output is what it printed.
func Failure(check, command string, ran Ran, output string, limit time.Duration) string {
	switch {
	case ran.TimedOut:
		return fmt.Sprintf("%q did not end within %s", command, limit)
	case ran.ExitCode == 127:
		return "" // the tool is not there
	case ran.ExitCode != 0:
		return fmt.Sprintf("%q ended with exit code %d", command, ran.ExitCode)
	case check == Tests && noTests(output):
		return fmt.Sprintf("%q found no tests", command)
	}
	return ""
}

// End is how a command ended on the base of the work.
type End struct {
	Failed   bool   `json:"failed"`
	ExitCode int    `json:"exit_code"`
	TimedOut bool   `json:"timed_out,omitempty"`
	Setup    string `json:"setup,omitempty"` // the command of worktree.setup that failed, so that nothing was run
	Log      string `json:"log"`

	Lacks           []string `json:"lacks,omitempty"`             // what the person's checkout has, and the worktree has not
	GreenInCheckout bool     `json:"green_in_checkout,omitempty"` // the same command passes there
}

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
