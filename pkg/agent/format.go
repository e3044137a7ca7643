package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

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
	"json-lines":         {make: func() format { return &linesFormat{} }, loose: true},
}

// Formats are the names of the readers that an entry may name.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

type readerOptions struct {
	listen       func(Event) // may be nil
	dir          string      // that the program works in
	wholeSession bool
	answer       string // the field of formatObject
}

// NewReader returns a reader by name, with the signatures that all programs share; "" is text,
// and scripted is that of the scripted agent.
func NewReader(name string) (Reader, error) {
	if name == "" {
		name = formatText
	}
	if name == formatScripted {
		return &scriptedReader{}, nil
	}
	if _, ok := formats[name]; !ok {
		return nil, fmt.Errorf("cannot read output of the form %q; known are %s", name, strings.Join(Formats(), ", "))
	}
	return newReader(name, builtin().common, readerOptions{}), nil
}

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
