package agent

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/prose"
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
		if s.word == classNoSession || f.rules.noSession(s.text) {
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
	case f.silent():
		res.Outcome, res.Signature, res.Error = Crashed, "end event without a call of the model", "ended without a call of its model"
	case strings.TrimSpace(res.Final) == "" && f.tools == 0:
		res.Outcome, res.Signature, res.Error = Reask, "end event without an answer", "ended without an answer"
	}
}

// silent reports whether the program says that its model has said nothing and used no tokens: what it ends with is not the model's.
func (f *follower) silent() bool {
	return !f.worked && f.usage.TokensKnown && f.usage.TokensOut == 0 && strings.TrimSpace(f.final.Text) != ""
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
		if line = strings.TrimSpace(prose.Plain(line[:min(len(line), maxMessage)])); line != "" {
			lines = append(lines, line)
		}
	}
	slices.Reverse(lines)
	return lines
}

// Question is what a program asked on its terminal, where nobody is (specs/roles-and-knowledge.md#9.2).
type Question struct {
	Type    string // confirmation, permission, choice, input
	Text    string // one line
	Options []string
}

const (
	// askSilence is how long an unfinished line has to be there before it is taken for a question.
	askSilence = 5 * time.Second
	// askGrace is what a program that asks gets between TERM and KILL: it is killed at once.
	askGrace = 300 * time.Millisecond
)

// questions are the forms of questions, the more certain first.
var questions = sync.OnceValue(func() []question {
	return []question{
		{"confirmation", regexp.MustCompile(`(?i)\[?\by(?:es)?/no?\b\]?`)},
		{"confirmation", regexp.MustCompile(`(?i)(?:proceed|continue|confirm|apply|overwrite).*\?\s*$`)},
		{"permission", regexp.MustCompile(`(?i)(?:allow|authorize|approve|permit|grant).*\?`)},
		{"choice", regexp.MustCompile(`\?.*[\[(](.+[/|,].+)[\])]`)},
		{"input", regexp.MustCompile(`(?i)(?:password|passphrase|token).*:\s*$`)},
	}
})

type question struct {
	kind string
	form *regexp.Regexp
}

var betweenOptions = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[/|,]`) })

// asked reads an unfinished line. The beginning of an event is none: it is data on its way.
func asked(line string) *Question {
	if i := strings.LastIndexByte(strings.TrimRight(line, "\r"), '\r'); i >= 0 {
		line = line[i+1:] // it was redrawn
	}
	text := strings.TrimSpace(prose.Plain(line))
	if text == "" || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{") {
		return nil
	}
	for _, q := range questions() {
		found := q.form.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		out := &Question{Type: q.kind, Text: oneLine(text)}
		if len(found) > 1 {
			for _, o := range betweenOptions().Split(found[1], -1) {
				if o = strings.TrimSpace(o); o != "" {
					out.Options = append(out.Options, o)
				}
			}
		}
		return out
	}
	return nil
}

// Programs tell the end of a quota window in words at best (specs/agents.md#exit-codes-and-failures): as a clock time, with a
// zone or in the local one ("resets 7pm (UTC)", "try again at 4:16 AM", "resets at 19:30"), with a date ("resets
// Nov 24, 5pm", "try again at Nov 24th, 2026 5:00 PM"), as a time of RFC 3339, or as Unix
// seconds ("limit reached|1760000400").
var (
	resetClock = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:resets?|try again)(?: (?:at|on))? (?:([a-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?(?:,| at|, at)? )?(\d{1,2})(?::(\d{2}))? ?([ap])m(?: \(([A-Za-z_/+-]+)\)| (utc|gmt)\b)?`)
	})
	resetHours = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:resets?|try again)(?: at)? (\d{1,2}):(\d{2})(?::\d{2})?(?: \(([A-Za-z_/+-]+)\)| (utc|gmt)\b)?`)
	})
	resetDay = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:resets?|try again) on (jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?\b`)
	})
	resetUnix  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`limit reached\|(\d{10})\b`) })
	resetStamp = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:resets?|try again|retry|until|available)[a-z ]{0,12}[ :=]{1,3}(\d{4}-\d\d-\d\dt\d\d:\d\d:\d\d(?:\.\d+)?(?:z|[+-]\d\d:\d\d))`)
	})
)

// resetDate is a day and a time of UTC: "You will regain access on 2026-12-01 at 00:00 UTC".
var resetDate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:resets?|try again|access|available|until)[a-z ]{0,8} (\d{4}-\d\d-\d\d)(?: at)? (\d\d:\d\d)(?::\d\d)? ?(?:utc|gmt|z)\b`)
})

// justPassed is how long after a clock time a message that names it still means today.
const justPassed = 10 * time.Minute

// parseReset finds the time at which a quota window ends. A clock time without a date is the
// next one, or one that has just passed.
func parseReset(text string, now time.Time) (time.Time, bool) {
	if m := resetUnix().FindStringSubmatch(text); m != nil {
		seconds, err := strconv.ParseInt(m[1], 10, 64)
		return time.Unix(seconds, 0), err == nil
	}
	if m := resetStamp().FindStringSubmatch(text); m != nil {
		at, err := time.Parse(time.RFC3339, strings.ToUpper(m[1]))
		return at, err == nil
	}
	if m := resetDate().FindStringSubmatch(text); m != nil {
		at, err := time.Parse("2006-01-02 15:04", m[1]+" "+m[2])
		return at, err == nil
	}
	c, ok := findClock(text)
	if !ok || c.hour > 23 || c.minute > 59 {
		return time.Time{}, false
	}
	zone := now.Location()
	if c.zone != "" {
		var err error
		if zone, err = time.LoadLocation(c.zone); err != nil {
			return time.Time{}, false
		}
	}
	here := now.In(zone)
	if c.month == "" {
		at := time.Date(here.Year(), here.Month(), here.Day(), c.hour, c.minute, 0, 0, zone)
		if now.Sub(at) > justPassed {
			at = at.AddDate(0, 0, 1)
		}
		return at, true
	}
	month, err := time.Parse("Jan", strings.ToUpper(c.month[:1])+strings.ToLower(c.month[1:]))
	if err != nil {
		return time.Time{}, false
	}
	day, _ := strconv.Atoi(c.day)
	if year, err := strconv.Atoi(c.year); err == nil {
		return time.Date(year, month.Month(), day, c.hour, c.minute, 0, 0, zone), true
	}
	at := time.Date(here.Year(), month.Month(), day, c.hour, c.minute, 0, 0, zone)
	if at.Before(now.AddDate(0, -1, 0)) { // in December a window may end in January
		at = at.AddDate(1, 0, 0)
	}
	return at, true
}

// clock is a time as people write it; month is empty when no day is named.
type clock struct {
	month, day, year string
	hour, minute     int
	zone             string // "" = the local one
}

// findClock reads a clock time of 12 hours, one of 24, or a day alone, which begins at midnight.
func findClock(text string) (c clock, ok bool) {
	if m := resetClock().FindStringSubmatch(text); m != nil {
		c = clock{month: m[1], day: m[2], year: m[3], zone: m[7] + strings.ToUpper(m[8])}
		c.hour, _ = strconv.Atoi(m[4])
		c.minute, _ = strconv.Atoi(m[5])
		if c.hour < 1 || c.hour > 12 {
			return clock{}, false
		}
		if c.hour %= 12; strings.EqualFold(m[6], "p") {
			c.hour += 12
		}
		return c, true
	}
	if m := resetHours().FindStringSubmatch(text); m != nil {
		c = clock{zone: m[3] + strings.ToUpper(m[4])}
		c.hour, _ = strconv.Atoi(m[1])
		c.minute, _ = strconv.Atoi(m[2])
		return c, true
	}
	if m := resetDay().FindStringSubmatch(text); m != nil {
		return clock{month: m[1], day: m[2], year: m[3]}, true
	}
	return clock{}, false
}

// Providers tell how long to wait as "retry after 30s", "try again in 1 hour 5 minutes",
// "Please retry in 35.5s", "resets in 2h 10m", or as a header with seconds.
var (
	delayWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:retry[ -]?after|(?:try again|retry|resets?|available)(?: \w+)? (?:in|after))\W{0,3}((?:\d+(?:\.\d+)?\s*(?:days?|d|hours?|hrs?|h|milliseconds?|ms|minutes?|mins?|m|seconds?|secs?|s)[ ,]*(?:and )?)+\b|\d+(?:\.\d+)?\b)`)
	})
	delayFields = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)retry_?(?:delay|after)_?(ms)?"?\s*[:=]\s*"?(\d+(?:\.\d+)?)(m?s)?\b`)
	})
	delayPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*([a-z]*)`) })
)

// longestDelay is the longest wait that is believed; a longer one is taken for another number.
const longestDelay = 32 * 24 * time.Hour

// parseDelay finds how long a provider asks to wait.
func parseDelay(text string) (time.Duration, bool) {
	var total time.Duration
	if m := delayWords().FindStringSubmatch(text); m != nil {
		for _, part := range delayPart().FindAllStringSubmatch(m[1], -1) {
			total += duration(part[1], part[2])
		}
	} else if m := delayFields().FindStringSubmatch(text); m != nil {
		unit := m[3]
		if m[1] != "" {
			unit = "ms"
		}
		total = duration(m[2], unit)
	}
	if total <= 0 || total > longestDelay {
		return 0, false
	}
	return total, true
}

// Programs that try again by themselves say so on stderr as "Retrying after 5552ms..." or "retrying in 8s".
var waitWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bretrying (?:after|in) (\d+(?:\.\d+)?)\s*(m?s|seconds?|m|minutes?)?\b`)
})

// waits reads a line of stderr that says that the program waits for its provider, and for how long.
func waits(line []byte) (Event, bool) {
	if len(line) > maxMessage || !bytes.Contains(line, []byte("etrying ")) {
		return Event{}, false
	}
	m := waitWords().FindSubmatch(line)
	if m == nil {
		return Event{}, false
	}
	d := duration(string(m[1]), string(m[2]))
	return Event{Kind: EventError, Retry: true, Text: prose.Plain(string(line)), RetryAfter: d}, d > 0 && d <= longestDelay
}

// duration reads a number with a unit; without one it is seconds.
func duration(number, unit string) time.Duration {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n > 1e9 {
		return 0
	}
	unit = strings.ToLower(unit)
	per := time.Second
	switch {
	case unit == "ms" || strings.HasPrefix(unit, "milli"):
		per = time.Millisecond
	case strings.HasPrefix(unit, "m"):
		per = time.Minute
	case strings.HasPrefix(unit, "h"):
		per = time.Hour
	case strings.HasPrefix(unit, "d"):
		per = 24 * time.Hour
	}
	d := n * float64(per)
	if d > float64(2*longestDelay) {
		return 2 * longestDelay
	}
	return time.Duration(d)
}
