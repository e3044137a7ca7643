package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"liza/pkg/base/prose"
)

// formatInfo is how a format is read.
type formatInfo struct {
	make func() format
	// loose: there is no end event, and exit code 0 with an answer is success.
	loose bool
}

// formats are the readers by name.
var formats = map[string]formatInfo{
	formatText:           {},
	formatObject:         {},
	"claude-stream-json": {make: func() format { return &claudeFormat{} }},
	"qwen-stream-json":   {make: func() format { return &claudeFormat{cachedWithin: true} }},
	"codex-json":         {make: func() format { return &codexFormat{} }},
	"gemini-stream-json": {make: func() format { return &geminiFormat{} }},
	"opencode-json":      {make: func() format { return &opencodeFormat{} }},
	"pi-json":            {make: func() format { return &piFormat{} }},
	"cline-json":         {make: func() format { return &clineFormat{} }},
	formatACP:            {make: func() format { return &acpFormat{} }},
	"json-lines":         {make: func() format { return &linesFormat{} }, loose: true},
}

// Formats are the names of the readers that an entry may name.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

func newReader(name string, r *rules, o readerOptions) Reader {
	if name == formatText {
		return &textReader{rules: r, lineTeller: lineTeller{listen: o.listen}}
	}
	if name == formatObject {
		return &objectReader{follower: &follower{rules: r, options: o}, answer: o.answer}
	}
	info := formats[name]
	return &follower{rules: r, format: info.make(), loose: info.loose, options: o}
}

// A format knows how one program family writes its events. It translates; what the events
// mean for the run is the follower's.
type format interface {
	// decode translates one line of JSON. It reports whether it knows the line.
	decode(line []byte, emit func(Event)) (known bool)
}

// Names of the readers, as `output` of an entry.
const (
	formatText     = "text"
	formatScripted = "scripted"
)

type readerOptions struct {
	listen       func(Event) // may be nil
	dir          string      // that the program works in
	wholeSession bool
	partialUsage bool
	answer       string // the field of formatObject
}

// classNoSession marks a conversation that the program does not know; it is not an outcome.
const classNoSession = "no_session"

// classes are what a signature can stand for, in the order in which they are looked for: what
// needs another prompt or a person first, what passes by itself last.
var classes = []string{
	string(ContextFull), string(Stopped), string(Reask), string(Unusable), string(QuotaWindow),
	string(RateLimited), string(Overloaded), string(Network), classNoSession,
}

// rules are the signatures and exit codes of one program.
type rules struct {
	signatures []signature
	exitCodes  map[int]Outcome
}

type signature struct {
	class   string
	source  string // as it is written
	pattern *regexp.Regexp
}

// newRules compiles signatures and exit codes; those of more come after the program's own.
func newRules(codes map[int]Outcome, signatures map[string][]string, more *rules) (*rules, error) {
	r := &rules{exitCodes: map[int]Outcome{}}
	var errs []error
	for _, class := range classes {
		for _, source := range signatures[class] {
			pattern, err := regexp.Compile("(?i)" + source)
			if err != nil || source == "" {
				errs = append(errs, fmt.Errorf("signatures.%s: %q is not a regular expression (RE2)", class, source))
				continue
			}
			r.signatures = append(r.signatures, signature{class, source, pattern})
		}
	}
	for _, class := range slices.Sorted(maps.Keys(signatures)) {
		if !slices.Contains(classes, class) {
			errs = append(errs, fmt.Errorf("signatures.%s is not known; known are %s", class, strings.Join(classes, ", ")))
		}
	}
	if more != nil {
		r.signatures = append(r.signatures, more.signatures...)
		maps.Copy(r.exitCodes, more.exitCodes)
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		class := codes[code]
		if code < 1 || code > 255 || class == "" || class != Finished && class != Crashed && !slices.Contains(classes[:len(classes)-1], string(class)) {
			errs = append(errs, fmt.Errorf("exit_codes.%d: %s is none of finished, crashed, %s", code, cmp.Or(string(class), "nothing"), strings.Join(classes[:len(classes)-1], ", ")))
			continue
		}
		r.exitCodes[code] = class
	}
	return r, errors.Join(errs...)
}

// match finds the first signature in a text, which is one message of a program. Only the
// beginning of a long one counts.
func (r *rules) match(text string) (s signature, at int, ok bool) {
	text = text[:min(len(text), maxMessage)]
	for _, s := range r.signatures {
		if s.class == classNoSession {
			continue
		}
		if loc := s.pattern.FindStringIndex(text); loc != nil {
			return s, loc[0], true
		}
	}
	return signature{}, 0, false
}

// noSession reports whether a text says that the conversation is not known.
func (r *rules) noSession(text string) bool {
	text = text[:min(len(text), maxMessage)]
	return slices.ContainsFunc(r.signatures, func(s signature) bool {
		return s.class == classNoSession && s.pattern.MatchString(text)
	})
}

// words are what programs call a failure themselves, in lower case: the most certain sign.
var words = map[string]Outcome{
	"prompt_too_long": ContextFull, "context_length_exceeded": ContextFull, "contextoverflowerror": ContextFull, "contextwindowoverflowerror": ContextFull,
	"max_turns": Stopped, "error_max_turns": Stopped, "budget_exhausted": Stopped, "error_max_budget_usd": Stopped, "fatalturnlimitederror": Stopped, "aborted": Stopped,
	"refusal": Refused, "content_filter": Refused,
	"max_output_tokens": Reask, "length": Reask,
	"authentication_failed": Unusable, "authentication_error": Unusable, "billing_error": Unusable, "model_not_found": Unusable,
	"permission_error": Unusable, "insufficient_quota": Unusable, "providerautherror": Unusable,
	"usage_limit_reached": QuotaWindow,
	"rate_limit":          RateLimited, "rate_limit_error": RateLimited, "rate_limit_exceeded": RateLimited,
	"server_error": Overloaded, "overloaded": Overloaded, "overloaded_error": Overloaded,
	"connection_failed": Network, "stream_cut": Network,
}

// certain are the outcomes of words that no sentence overrules.
func certain(o Outcome) bool { return o == ContextFull || o == Stopped || o == Reask || o == Refused }

// statusOutcome is what an HTTP status stands for; "" when it tells nothing.
func statusOutcome(status int) Outcome {
	switch {
	case status == 401, status == 402, status == 403, status == 404:
		return Unusable
	case status == 408:
		return Network
	case status == 413:
		return ContextFull
	case status == 429:
		return RateLimited
	case status >= 500:
		return Overloaded
	}
	return ""
}

// maxMessage is how much of one message signatures are looked for in.
const maxMessage = 4 << 10

// oneLine makes one line of a text: its first 500 bytes.
func oneLine(s string) string {
	return prose.Cut(strings.Join(strings.Fields(prose.Plain(s[:min(len(s), maxMessage)])), " "), 500+len("…"))
}
