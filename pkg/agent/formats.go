package agent

import (
	"maps"
	"slices"
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
