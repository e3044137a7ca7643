package agent

import (
	"regexp"
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

// onlyNames reports whether the text before a phrase is empty, or the name of a program or
// a provider ("Claude AI usage limit reached"): a sentence of a model begins otherwise.
func onlyNames(before string) bool { return names().MatchString(before) }

var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[A-Z][A-Za-z0-9.]+ ){0,3}$`) })

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
		if _, at, ok := t.rules.match(s.text); looksLikeError(s.text) || ok && onlyNames(s.text[:at]) && !e.Unknown {
			signs = append(signs, s)
		}
	}
	return signs
}
