package agent

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

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
	text := strings.TrimSpace(clean(line))
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
