package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// claudeFormat is the stream-json output of Claude Code (specs/agents.md#what-programs-print and specs/agents.md#exit-codes-and-failures) and of the programs
// that follow it. The result line is the truth: its subtype says "success" also when is_error
// is set. Lines that are not known, and fields of an unexpected type, are passed over.
type claudeFormat struct {
	cachedWithin bool // input_tokens has the cached ones in it

	seen  []string // messages that were counted; a message comes in several lines
	guess counts   // by the messages, until a result line tells better
	since counts   // sums of what each result line reports since the one before
	told  bool

	cut bool // qwen has asked the model to go on with an answer that was cut off, and no tool was called since
}

type claudeLine struct {
	Type          string          `json:"type"`
	Subtype       string          `json:"subtype"`
	SessionID     string          `json:"session_id"`
	ParentToolUse *string         `json:"parent_tool_use_id"` // set on lines of a sub-agent
	Message       json.RawMessage `json:"message"`
	Error         json.RawMessage `json:"error"`
	ErrorStatus   int             `json:"error_status"`
	RetryDelay    float64         `json:"retry_delay_ms"`
	ToolCall      json.RawMessage `json:"tool_call"` // of cursor-agent
	Data          struct {
		PreserveText bool `json:"preserveText"`
	} `json:"data"` // of qwen
	RateLimit struct {
		Status   string `json:"status"`
		ResetsAt int64  `json:"resetsAt"` // Unix seconds
	} `json:"rate_limit_info"`
}

type claudeMessage struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content content         `json:"content"`
	Usage   json.RawMessage `json:"usage"`
}

type claudeEnd struct {
	IsError        bool            `json:"is_error"`
	Subtype        string          `json:"subtype"`
	TerminalReason string          `json:"terminal_reason"`
	StopReason     string          `json:"stop_reason"`
	Status         int             `json:"api_error_status"`
	APIError       string          `json:"api_error"`
	ErrorType      string          `json:"api_error_type"`
	Result         string          `json:"result"`
	Errors         []string        `json:"errors"`
	Error          json.RawMessage `json:"error"`
	Queued         int             `json:"queued_turn_count"`

	// Read only when they are what they should be: a figure that cannot be read is unknown.
	Cost  json.RawMessage `json:"total_cost_usd"`
	Usage json.RawMessage `json:"usage"`
	Since json.RawMessage `json:"model_usage_since_last_result"`
}

type claudeTokens struct {
	In         int `json:"input_tokens"`
	Out        int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
}

type claudeModel struct {
	In         int     `json:"inputTokens"`
	Out        int     `json:"outputTokens"`
	CacheRead  int     `json:"cacheReadInputTokens"`
	CacheWrite int     `json:"cacheCreationInputTokens"`
	Cost       float64 `json:"costUSD"`
}

func (f *claudeFormat) decode(line []byte, emit func(Event)) bool {
	var l claudeLine
	if !decode(line, &l) {
		return false
	}
	if l.SessionID != "" {
		emit(Event{Kind: EventSession, Session: l.SessionID})
	}
	switch l.Type {
	case "system":
		f.system(l, emit)
	case "assistant":
		f.answer(l, emit)
	case "user", "tool_call":
		if l.Type == "tool_call" && l.Subtype == "started" {
			emit(namedCall(l.ToolCall).event())
		}
		f.cut = false
		emit(Event{Kind: EventTurn})
		var m claudeMessage
		decode(l.Message, &m)
		m.Content.tellResults(emit)
	case "rate_limit_event":
		if l.RateLimit.Status == "rejected" {
			e := Event{Kind: EventLimit, Text: "the limit of the plan is used up"}
			if l.RateLimit.ResetsAt > 0 {
				e.ResetAt = time.Unix(l.RateLimit.ResetsAt, 0)
			}
			emit(e)
		}
	case "result":
		f.end(line, emit)
	default:
		return l.Type == "stream_event" || l.Type == "tool_progress" || l.Type == "command_lifecycle" || l.Type == "thinking"
	}
	return true
}

// namedCall reads {"shellToolCall": {"args": {…}}}.
func namedCall(data json.RawMessage) call {
	var calls map[string]struct {
		Args json.RawMessage `json:"args"`
	}
	decode(data, &calls)
	for name, c := range calls {
		return call{strings.TrimSuffix(name, "ToolCall"), c.Args}
	}
	return call{}
}

func (f *claudeFormat) system(l claudeLine, emit func(Event)) {
	if l.Subtype != "api_retry" && l.Subtype != "retry" {
		return
	}
	f.cut = l.Data.PreserveText
	e := Event{Kind: EventError, Retry: true, Status: l.ErrorStatus, RetryAfter: seconds(min(l.RetryDelay, 1e9) / 1000)}
	decode(l.Error, &e.Word)
	e.Text = "tries again: " + e.Word
	emit(e)
}

// answer tells what the model said, or the error word of an answer that the program made up
// because the provider gave none.
func (f *claudeFormat) answer(l claudeLine, emit func(Event)) {
	var m claudeMessage
	decode(l.Message, &m)
	var word string
	if decode(l.Error, &word); word != "" || m.Model == "<synthetic>" {
		emit(Event{Kind: EventError, Word: word, Text: m.Content.text})
		return
	}
	emit(Event{Kind: EventTurn})
	if l.ParentToolUse != nil {
		m.Content.text = ""
	}
	m.Content.tell(emit)
	f.estimate(m, emit)
}

// estimate counts what single messages report: too little, but better than nothing for a run
// that is stopped before its result line.
func (f *claudeFormat) estimate(m claudeMessage, emit func(Event)) {
	var t claudeTokens
	if m.ID == "" || f.told || slices.Contains(f.seen, m.ID) || !figure(m.Usage, &t) {
		return
	}
	if f.seen = append(f.seen, m.ID); len(f.seen) > 16 {
		f.seen = f.seen[1:]
	}
	f.count(&f.guess, t)
	emit(Event{Kind: EventUsage, Usage: f.guess.usage()})
}

func (f *claudeFormat) count(c *counts, t claudeTokens) {
	in := plus(t.In, plus(t.CacheRead, t.CacheWrite))
	if f.cachedWithin {
		in = t.In
	}
	c.add(in, t.Out, t.CacheRead)
}

func (f *claudeFormat) end(line []byte, emit func(Event)) {
	var end claudeEnd
	decode(line, &end)
	f.told = true
	emit(Event{Kind: EventUsage, Usage: f.usage(end)})
	e := Event{Kind: EventFinal, Text: end.Result, Failed: end.IsError, Status: end.Status}
	if end.StopReason == "refusal" {
		e.Word = end.StopReason
	} else if f.cut && !end.IsError { // it calls that a success
		e.Word = "max_output_tokens"
	} else if end.IsError {
		e.Word = firstWord(end.TerminalReason, end.APIError, end.Subtype, end.ErrorType)
	}
	if e.Text == "" && end.IsError {
		e.Text = cmp.Or(strings.Join(end.Errors, "; "), message(end.Error))
	}
	emit(e)
	if end.Queued > 0 {
		emit(Event{Kind: EventTurn})
	}
}

// usage prefers the figures since the result before: total_cost_usd goes on counting when a
// conversation is resumed.
func (f *claudeFormat) usage(end claudeEnd) Usage {
	var since map[string]claudeModel
	if figure(end.Since, &since) {
		f.since.add(0, 0, 0)
		f.since.pay(0)
		for _, m := range since {
			f.since.add(plus(m.In, plus(m.CacheRead, m.CacheWrite)), m.Out, m.CacheRead)
			f.since.pay(m.Cost)
		}
	}
	if f.since.known {
		return f.since.usage()
	}
	var c counts
	var usd float64
	var t claudeTokens
	if figure(end.Cost, &usd) {
		c.pay(usd)
	}
	if figure(end.Usage, &t) {
		f.count(&c, t)
	}
	return c.usage()
}
