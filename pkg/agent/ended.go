package agent

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var errorPrefix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\W*(?:[a-z0-9_.-]{1,24}: ?)?\W*(?:ran into (?:this|an) |(?:api|fatal|http|stream|request) )?(?:error|fatal|exception|failed|failure|unauthorized|denied|[a-z._]{1,60}(?:error|exception))\b`)
})

// looksLikeError tells a line that a program writes when it fails from one that a model writes
// about failures.
func looksLikeError(line string) bool {
	return len(line) <= maxMessage && errorPrefix().MatchString(line)
}

// wrapperTimeout is the exit code of timeout(1) and wrappers like it: counted as transient
// (specs/roles-and-knowledge.md#8.4).
const wrapperTimeout = 124

func plainOutcome(e Exit) Outcome {
	switch e.Code {
	case 0:
		return Finished
	case wrapperTimeout:
		return Overloaded
	}
	return Crashed
}

// describeExit says in one line how a process ended, with the last thing that it printed.
func describeExit(e Exit) string {
	how := howEnded(e)
	last := lastWord(e.Stderr)
	if last == "" {
		last = lastWord(e.Stdout)
	}
	if last == "" {
		return how
	}
	return how + ": " + last
}

// adviceLines is how far above the advice of a refusal its reason is looked for.
const adviceLines = 20

// lastWord is the last line, or the reason above it: refusals of Liza and of other programs say in
// the last line what helps (`next: …`), and what happened in a line `error: …` before it.
func lastWord(text []byte) string {
	last := lastLine(text)
	if !strings.HasPrefix(last, "next: ") {
		return last
	}
	for _, line := range slices.Backward(lastLines(string(text), adviceLines)) {
		if strings.HasPrefix(line, "error: ") {
			return oneLine(line)
		}
	}
	return last
}

func howEnded(e Exit) string {
	if e.Signal != "" {
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// lastLine returns the last line that is not blank, shortened for people.
func lastLine(text []byte) string {
	text = bytes.TrimRight(text, " \t\r\n")
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return oneLine(string(text))
}

// lastLines returns the last n lines that are not blank, cleaned and shortened.
func lastLines(text string, n int) []string {
	var lines []string
	for len(lines) < n && text != "" {
		i := strings.LastIndexByte(text, '\n')
		line := text[i+1:]
		text = text[:max(i, 0)]
		if line = strings.TrimSpace(clean(line[:min(len(line), maxMessage)])); line != "" {
			lines = append(lines, line)
		}
	}
	slices.Reverse(lines)
	return lines
}
