package agent

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

// claudeReader reads the stream-json output of Claude Code (agents 4 and 5). The result line is
// the truth: its subtype says "success" also when is_error is set. Lines that are not known,
// and fields of an unexpected type, are passed over.
type claudeReader struct {
	session string
	text    string       // last text of the main conversation
	failure string       // error word of the last synthetic answer, e.g. rate_limit
	result  *claudeEnd   // the last result line
	window  claudeWindow // a plan's limit that was reported as hit
	ended   bool

	// Sums of what the result lines report since the result before. Only these are of this run
	// alone: total_cost_usd goes on counting when a conversation is resumed.
	since   bool
	cost    float64
	in, out int
	cached  int
}

type claudeEvent struct {
	Type          string          `json:"type"`
	SessionID     string          `json:"session_id"`
	ParentToolUse *string         `json:"parent_tool_use_id"` // set on lines of a sub-agent
	Message       json.RawMessage `json:"message"`
	Error         json.RawMessage `json:"error"`
	RateLimit     claudeWindow    `json:"rate_limit_info"`
}

type claudeWindow struct {
	Status   string `json:"status"`
	ResetsAt int64  `json:"resetsAt"` // Unix seconds
}

type claudeEnd struct {
	IsError        bool     `json:"is_error"`
	TerminalReason string   `json:"terminal_reason"`
	Status         int      `json:"api_error_status"`
	APIError       string   `json:"api_error"`
	Result         string   `json:"result"`
	Errors         []string `json:"errors"`
	Queued         int      `json:"queued_turn_count"`

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

func (r *claudeReader) Line(line []byte) bool {
	var e claudeEvent
	if !decode(line, &e) {
		return r.ended
	}
	if e.SessionID != "" {
		r.session = e.SessionID
	}
	switch e.Type {
	case "assistant":
		r.ended = false
		r.answer(e)
	case "user":
		r.ended = false
	case "rate_limit_event":
		if e.RateLimit.Status == "rejected" {
			r.window = e.RateLimit
		}
	case "result":
		var end claudeEnd
		decode(line, &end)
		r.result, r.ended = &end, end.Queued == 0
		r.count(end.Since)
	}
	return r.ended
}

// answer remembers the last text, and the error word of an answer that the program made up
// because the provider gave none.
func (r *claudeReader) answer(e claudeEvent) {
	r.failure = ""
	decode(e.Error, &r.failure)
	if e.ParentToolUse != nil {
		return
	}
	var m struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	decode(e.Message, &m)
	for _, c := range m.Content {
		if c.Type == "text" && c.Text != "" {
			r.text = c.Text
		}
	}
}

func (r *claudeReader) count(figures json.RawMessage) {
	var since map[string]claudeModel
	if !figure(figures, &since) {
		return
	}
	r.since = true
	for _, m := range since {
		r.cost += m.Cost
		r.in += m.In + m.CacheRead + m.CacheWrite
		r.out += m.Out
		r.cached += m.CacheRead
	}
}

func (r *claudeReader) End(e Exit) Result {
	res := Result{Session: r.session, Final: r.text, Usage: r.usage()}
	if r.result == nil {
		return r.noResult(e, res)
	}
	if r.result.Result != "" {
		res.Final = r.result.Result
	}
	if !r.result.IsError {
		res.Outcome = Finished
		return res
	}
	res.Error = oneLine(r.result.Result)
	if res.Error == "" {
		res.Error = oneLine(strings.Join(r.result.Errors, "; "))
	}
	if strings.HasPrefix(res.Error, "No conversation found") {
		res.Session = ""
	}
	res.Outcome = r.failed(res.Error)
	if res.Outcome == QuotaWindow {
		res.ResetAt = r.resetAt(res.Error, e.At)
	}
	return res
}

// failed classifies a result line that reports an error.
func (r *claudeReader) failed(text string) Outcome {
	end := r.result
	lower := strings.ToLower(text)
	switch {
	case end.TerminalReason == "prompt_too_long" || end.Status == 413:
		return ContextFull
	case end.Status == 402, contains(lower, "credit balance", "billing"):
		return Unusable
	case r.window.Status != "" && r.providerSaysNo(), planLimit(lower):
		return QuotaWindow
	case end.Status == 401, end.Status == 403, end.Status == 404,
		r.failure == "authentication_failed", r.failure == "billing_error", r.failure == "model_not_found",
		contains(lower, "invalid api key", "please run /login", "not logged in"):
		return Unusable
	case end.Status == 429 || r.failure == "rate_limit":
		return RateLimited
	case end.APIError == "connection_failed" || end.Status == 408:
		return Network
	case end.Status >= 500:
		return Overloaded
	}
	return Crashed
}

func (r *claudeReader) providerSaysNo() bool {
	return r.result.Status == 429 || r.failure == "rate_limit" || r.result.TerminalReason == "api_error"
}

// planLimit recognises the sentences for a plan whose limit is used up, e.g. "You've hit your
// limit · resets 7pm (UTC)" and the older "Claude AI usage limit reached|1760000400".
func planLimit(lower string) bool {
	return contains(lower, "hit your limit", "hit your session limit", "hit your weekly limit", "hit your usage limit",
		"usage limit reached", "out of extra usage")
}

func (r *claudeReader) resetAt(text string, now time.Time) time.Time {
	if r.window.ResetsAt > 0 {
		return time.Unix(r.window.ResetsAt, 0)
	}
	at, _ := parseReset(text, now)
	return at
}

// noResult judges a run without a result line: it refused to start, died, or was killed.
func (r *claudeReader) noResult(e Exit, res Result) Result {
	res.Outcome, res.Error = Crashed, describeExit(Exit{Code: e.Code, Signal: e.Signal, Stderr: e.Stderr})
	if e.Code == 0 {
		res.Error = "ended without a result line"
	}
	lower := strings.ToLower(string(e.Stderr))
	if e.Code != 0 && contains(lower, "cannot be used with root/sudo", "please run /login", "invalid api key", "unknown option") {
		res.Outcome = Unusable
	}
	return res
}

func (r *claudeReader) usage() Usage {
	switch {
	case r.since:
		return Usage{CostKnown: true, CostCents: cents(r.cost), TokensKnown: true, TokensIn: r.in, TokensOut: r.out, TokensCached: r.cached}
	case r.result == nil:
		return Usage{}
	}
	var u Usage
	var usd float64
	if figure(r.result.Cost, &usd) {
		u.CostKnown, u.CostCents = true, cents(usd)
	}
	var t claudeTokens
	if figure(r.result.Usage, &t) {
		u.TokensKnown, u.TokensIn, u.TokensOut, u.TokensCached = true, t.In+t.CacheRead+t.CacheWrite, t.Out, t.CacheRead
	}
	return u
}

// cents rounds up, but not for the dust that binary fractions leave (0.07 * 100).
func cents(usd float64) int { return int(math.Ceil(usd*100 - 1e-6)) }

// decode reads JSON and keeps what fits; a field of another type stays empty.
func decode(data []byte, v any) bool {
	if len(data) == 0 {
		return false
	}
	err := json.Unmarshal(data, v)
	if _, ok := err.(*json.UnmarshalTypeError); ok {
		return true
	}
	return err == nil
}

// figure reads JSON and tells whether all of it could be read.
func figure(data json.RawMessage, v any) bool {
	return len(data) > 0 && string(data) != "null" && json.Unmarshal(data, v) == nil
}

func contains(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
