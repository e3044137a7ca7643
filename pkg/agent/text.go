package agent

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// textReader is for programs that print text: what the model says and what the program says
// are one stream, so only what looks like an error at its end is read for signs.
type textReader struct {
	rules *rules
	lineTeller
}

// lineTeller tells the lines of a program that prints no events.
type lineTeller struct {
	listen func(Event) // may be nil
	line   int
}

func (t *lineTeller) Line(line []byte) bool {
	t.line++
	if text := clean(string(line[:min(len(line), maxMessage)])); t.listen != nil && strings.TrimSpace(text) != "" {
		t.listen(Event{Kind: EventOutput, Line: t.line, Text: text})
	}
	return false
}

func (t *textReader) End(e Exit) Result {
	res := Result{Final: string(e.Stdout)}
	for _, s := range t.signs(e) {
		if t.rules.noSession(s.text) {
			res.NoSession = true
		}
		if res.Outcome == "" {
			t.rules.judge(&res, s, e)
		}
	}
	class, known := t.rules.exitCodes[e.Code]
	switch {
	case res.Outcome != "":
	case e.Unknown:
		res.Outcome, res.Signature = Finished, "text without an error at its end"
	case known:
		res.Outcome, res.Signature = class, howEnded(e)
	case e.Code == 0:
		res.Outcome, res.Signature = Finished, howEnded(e)
	default:
		res.Outcome, res.Signature = Crashed, howEnded(e)
	}
	if res.Outcome != Finished {
		res.Error = describeExit(e)
	}
	return res
}

// textLines is how many of the last lines of a text may be the program's own.
const textLines = 5

// signs are the lines that may be diagnostic: all of stderr and errors at the end of stdout
// when the program failed; after a success only an error that is its very last word.
func (t *textReader) signs(e Exit) []sign {
	if !e.Unknown && e.Code == 0 {
		last := lastLines(string(e.Stdout), 1)
		if len(last) == 1 && looksLikeError(last[0]) {
			return lineSigns(last)
		}
		return nil
	}
	var signs []sign
	if !e.Unknown {
		signs = lineSigns(lastLines(string(e.Stderr), stderrLines))
	}
	for _, s := range lineSigns(lastLines(string(e.Stdout), textLines)) {
		if _, at, ok := t.rules.match(s.text); looksLikeError(s.text) || ok && at == 0 && !e.Unknown {
			signs = append(signs, s)
		}
	}
	return signs
}

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

var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|.)")
})

// clean takes the colours and control characters of terminals out of a text.
func clean(s string) string {
	s = escapes().ReplaceAllString(strings.ToValidUTF8(s, ""), "")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// oneLine makes a line of at most 500 bytes out of a text.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(clean(s[:min(len(s), maxMessage)])), " ")
	if len(s) <= 500 {
		return s
	}
	return strings.ToValidUTF8(s[:500], "") + "…"
}
