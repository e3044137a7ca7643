package agent

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// sign is something that may tell how a run ended: an error of the program, or a line.
type sign struct {
	line   int    // of stdout; 0 = elsewhere
	text   string // the message
	word   string
	status int
	after  time.Duration
	reset  time.Time
}

func (e *Event) sign() sign {
	return sign{line: e.Line, text: e.Text, word: e.Word, status: e.Status, after: e.RetryAfter, reset: e.ResetAt}
}

// longestPatience is the longest wait that is a rate limit; a longer one is a quota window, so
// that nothing waits with a claim in its hands (specs/protocol.md#13.3: the longest backoff).
const longestPatience = 5 * time.Minute

// End judges the run: the program's last word if there is one, else its last refusal, else
// what it printed besides, else its exit code.
func (f *follower) End(e Exit) Result {
	res := Result{Session: f.session, Final: f.text.String(), Usage: f.usage, Tools: f.tools, Unknown: f.unknown}
	if f.final != nil && f.final.Text != "" && !f.final.Failed {
		res.Final = f.final.Text
	}
	if f.final != nil && !f.final.Failed {
		f.answered(&res)
		return res
	}
	signs := f.signs(e)
	for _, s := range signs {
		if f.rules.noSession(s.text) {
			res.Session, res.NoSession = "", true
		}
		if res.Outcome == "" {
			f.rules.judge(&res, s, e)
		}
	}
	f.fallBack(&res, e)
	f.windowed(&res, e)
	res.Error = f.reason(e, res)
	f.refused(&res)
	if res.Evidence == "" {
		res.Evidence = res.Error
	}
	return res
}

// answered judges a last word that reports no failure.
func (f *follower) answered(res *Result) {
	res.Outcome, res.Signature, res.EvidenceLine = Finished, "end event", f.final.Line
	res.Evidence = oneLine(res.Final)
	switch {
	case certain(words[strings.ToLower(f.final.Word)]):
		res.Outcome, res.Signature = words[strings.ToLower(f.final.Word)], "word "+f.final.Word
		res.Error = "the answer is not complete: " + f.final.Word
		if res.Outcome == Reask {
			res.Error = "the answer was cut off at the limit of output tokens (" + f.final.Word + ")"
		}
		f.refused(res)
	case strings.TrimSpace(res.Final) == "" && f.tools == 0:
		res.Outcome, res.Signature, res.Error = Reask, "end event without an answer", "ended without an answer"
	}
}

// refused makes a question of a refusal: the same prompt would be refused again.
func (f *follower) refused(res *Result) {
	if res.Outcome != Refused {
		return
	}
	said := oneLine(res.Final)
	if f.final != nil && f.final.Failed && strings.TrimSpace(f.final.Text) != "" {
		said = oneLine(f.final.Text)
	}
	res.Error = strings.TrimSuffix("the model refuses: "+said, ": ")
	res.Question = &Question{Type: "input", Text: res.Error}
}

// signs lists what may tell why the run failed, the most certain first.
func (f *follower) signs(e Exit) []sign {
	var signs []sign
	if f.final != nil {
		signs = append(signs, f.final.sign())
	}
	if f.pending != nil {
		signs = append(signs, f.pending.sign())
	}
	// What was printed besides is about the end of the run when the run failed by itself, or
	// when nothing else ever happened. Of a run that was stopped it may be long past, but for
	// what came last.
	ownFailure := !e.Unknown && e.Code > 0 && e.Code < 128
	switch {
	case f.final != nil:
	case ownFailure || !f.worked:
		signs = append(signs, lineSigns(lastLines(string(e.Stderr), stderrLines))...)
		signs = append(signs, lineSigns(f.plainText())...)
	default:
		signs = append(signs, lineSigns(lastLines(string(e.After), stderrLines))...)
	}
	return signs
}

// stderrLines is how many of the last lines of stderr are looked at.
const stderrLines = 60

// aboutCode is a line that a compiler, a test, git or a stack trace prints: its words are those
// of the project, not of a provider.
var aboutCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\s*at |^remote: |\.git\b|\bcurl\b|\d tests?\b|\.[a-z]{1,5}[:(]\d+|\bline \d+|\b(?:cannot|could not|can't) find (?:module|name|package|symbol)|\bundefined\b|\bassert|no such file|\bexpected\b.*\b(?:got|equal|received|but)\b`)
})

// lineSigns makes signs of lines, the last one first. A time may be in the next line.
func lineSigns(lines []string) []sign {
	var signs []sign
	for i := len(lines) - 1; i >= 0; i-- {
		if aboutCode().MatchString(lines[i]) {
			continue
		}
		s := sign{text: lines[i]}
		if i+1 < len(lines) {
			s.after, _ = parseDelay(lines[i+1])
		}
		signs = append(signs, s)
	}
	return signs
}

// judge sets the outcome by one sign, if it tells one: a word that leaves no doubt, then the
// signatures, then other words, then the status.
func (r *rules) judge(res *Result, s sign, e Exit) {
	word := words[strings.ToLower(s.word)]
	sig, _, found := r.match(s.text)
	switch {
	case certain(word):
		res.Outcome, res.Signature = word, "word "+s.word
	case found:
		res.Outcome, res.Signature = Outcome(sig.class), fmt.Sprintf("%s: /%s/", sig.class, sig.source)
	case word != "":
		res.Outcome, res.Signature = word, "word "+s.word
	case statusOutcome(s.status) != "":
		res.Outcome, res.Signature = statusOutcome(s.status), fmt.Sprintf("status %d", s.status)
	default:
		return
	}
	res.Evidence, res.EvidenceLine = oneLine(s.text), s.line
	when(res, s, e.At)
}

// shortWindow is in what tells that the quota of a minute, not that of a plan, is used up.
var shortWindow = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bper[ _-]?(?:minute|second)\b|\b(?:rpm|tpm)\b`) })

// when finds out until when a refusal holds. A message that says when to come again is no
// refusal for good, and one that says to come again much later is a window.
func when(res *Result, s sign, now time.Time) {
	switch res.Outcome {
	case Unusable, QuotaWindow, RateLimited, Overloaded:
	default:
		return
	}
	delay, at := s.after, s.reset
	if delay == 0 {
		delay, _ = parseDelay(s.text)
	}
	if at.IsZero() {
		at, _ = parseReset(s.text, now)
	}
	if delay == 0 && at.After(now) {
		delay = at.Sub(now)
	}
	if res.Outcome == Unusable && s.status != 401 && s.status != 403 && (delay > 0 || !at.IsZero()) {
		res.Outcome = RateLimited
	}
	if res.Outcome == QuotaWindow && shortWindow().MatchString(s.text) {
		res.Outcome = RateLimited
	}
	if res.Outcome == RateLimited && delay > longestPatience {
		res.Outcome = QuotaWindow
	}
	switch res.Outcome {
	case QuotaWindow:
		res.RetryAfter, res.ResetAt = delay, at
		if at.IsZero() && delay > 0 {
			res.ResetAt = now.Add(delay)
		}
	case RateLimited, Overloaded:
		res.RetryAfter = min(delay, longestPatience)
	}
}

// fallBack judges a run without a sign by its exit code.
func (f *follower) fallBack(res *Result, e Exit) {
	class, known := f.rules.exitCodes[e.Code]
	switch {
	case res.Outcome != "":
	case e.Unknown && f.final == nil:
		res.Outcome, res.Signature = Stalled, "no end event, and the exit code is not known"
	case !e.Unknown && known:
		res.Outcome, res.Signature = class, fmt.Sprintf("exit code %d", e.Code)
	case f.final != nil:
		res.Outcome, res.Signature, res.EvidenceLine = Crashed, "end event that reports a failure", f.final.Line
	case e.Code == 0 && f.loose && f.pending == nil && (f.worked || f.text.Len() > 0):
		res.Outcome, res.Signature = Finished, "exit code 0 after an answer"
	case e.Code == 0:
		res.Outcome, res.Signature = Crashed, "no end event"
	default:
		res.Outcome, res.Signature = Crashed, howEnded(e)
	}
}

// windowed makes a quota window of a refusal after the program has told that a plan's limit is
// used up.
func (f *follower) windowed(res *Result, e Exit) {
	if f.limit == nil || res.Outcome != RateLimited && res.Outcome != QuotaWindow {
		return
	}
	if res.Outcome == RateLimited {
		res.Outcome, res.Signature = QuotaWindow, "limit event"
		res.Evidence, res.EvidenceLine = oneLine(f.limit.Text), f.limit.Line
	}
	if !f.limit.ResetAt.IsZero() {
		res.ResetAt = f.limit.ResetAt
	}
}

// reason says in a line for people why the run failed.
func (f *follower) reason(e Exit, res Result) string {
	switch {
	case res.Outcome == Finished:
		return ""
	case f.final != nil && strings.TrimSpace(f.final.Text) != "":
		return oneLine(f.final.Text)
	case f.pending != nil && strings.TrimSpace(f.pending.Text) != "":
		return oneLine(f.pending.Text)
	case e.Unknown:
		return res.Signature
	case e.Code == 0 && f.final == nil:
		return "ended without its end event"
	}
	e.Stdout = []byte(strings.Join(f.plainText(), "\n"))
	return describeExit(e)
}
