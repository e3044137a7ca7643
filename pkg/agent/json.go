package agent

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

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

// counts adds figures of single calls of the model up to those of a run.
type counts struct {
	known           bool
	in, out, cached int
	costKnown       bool
	cost            float64
}

// largest is the largest number of tokens that is believed, so that nothing overflows.
const largest = 1 << 40

func (c *counts) add(in, out, cached int) {
	c.known = true
	c.in, c.out, c.cached = plus(c.in, in), plus(c.out, out), plus(c.cached, cached)
}

func plus(a, b int) int { return min(a+min(max(b, 0), largest), largest) }

func (c *counts) pay(usd float64) {
	c.costKnown = true
	c.cost = min(c.cost+min(max(usd, 0), 1e9), 1e9)
}

func (c *counts) usage() Usage {
	u := Usage{CostKnown: c.costKnown, TokensKnown: c.known, TokensIn: c.in, TokensOut: c.out, TokensCached: c.cached}
	if u.CostKnown {
		u.CostCents = math.Round(c.cost*1e6) / 1e4
	}
	return u
}

// tellTokens tells the tokens of a whole run, where those of the input have the cached ones in
// them. Two programs have one name each for the cached ones.
func tellTokens(data json.RawMessage, emit func(Event)) {
	var t struct {
		In     int `json:"input_tokens"`
		Out    int `json:"output_tokens"`
		Codex  int `json:"cached_input_tokens"`
		Gemini int `json:"cached"`
	}
	if figure(data, &t) {
		var c counts
		c.add(t.In, t.Out, t.Codex+t.Gemini)
		emit(Event{Kind: EventUsage, Usage: c.usage()})
	}
}

// content is what a message says: a text, or parts of which some are text.
type content struct {
	text    string
	tools   []call
	results []string // what tools answered
}

func (c *content) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
		Name json.RawMessage `json:"name"`

		Input     json.RawMessage `json:"input"`
		Arguments json.RawMessage `json:"arguments"`
		Content   json.RawMessage `json:"content"`
	}
	if decode(data, &c.text) && c.text != "" || !decode(data, &parts) {
		return nil
	}
	var said []string
	for _, p := range parts {
		var text, name string
		switch p.Type {
		case "text", "output_text", "":
			if decode(p.Text, &text) && text != "" {
				said = append(said, text)
			}
		case "tool_use", "toolCall", "tool_call", "function_call":
			decode(p.Name, &name)
			given := p.Input
			if given == nil {
				given = p.Arguments
			}
			c.tools = append(c.tools, call{name, given})
		case "tool_result":
			var answer content
			decode(p.Content, &answer)
			c.results = append(c.results, answer.text)
		}
	}
	c.text = strings.Join(said, "\n")
	return nil
}

// tell emits what a message of the model says and calls.
func (c content) tell(emit func(Event)) {
	if c.text != "" {
		emit(Event{Kind: EventText, Text: c.text})
	}
	for _, t := range c.tools {
		emit(t.event())
	}
}

// tellResults emits what tools answered.
func (c content) tellResults(emit func(Event)) {
	for _, text := range c.results {
		emit(answered(text))
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// firstWord is the first that is known to be one for a failure.
func firstWord(candidates ...string) string {
	for _, w := range candidates {
		if _, ok := words[strings.ToLower(w)]; ok {
			return w
		}
	}
	return ""
}

// message is the text of an error that is a string, or a map with a message.
func message(data json.RawMessage) string {
	var text string
	var e struct {
		Message string `json:"message"`
	}
	if decode(data, &text); text == "" {
		decode(data, &e)
		text = e.Message
	}
	return text
}
