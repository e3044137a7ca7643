package agent

import "time"

// EventKind says what an Event tells.
type EventKind string

const (
	EventSession EventKind = "session" // Session: the conversation that can be resumed
	EventText    EventKind = "text"    // Text: what the model said
	EventTool    EventKind = "tool"    // Text: the name of the tool that is called; Input: what it was given
	EventResult  EventKind = "result"  // Text: what a tool answered, shortened
	EventOutput  EventKind = "output"  // Text: a line of a program that prints text
	EventUsage   EventKind = "usage"   // Usage: what the run has consumed so far
	EventLimit   EventKind = "limit"   // a plan's limit is used up; ResetAt when it is told
	EventError   EventKind = "error"   // the provider or the program refused; Retry when it tries again by itself
	EventTurn    EventKind = "turn"    // the work goes on
	EventFinal   EventKind = "final"   // the last word; Failed when the program calls it a failure
	EventOther   EventKind = "other"   // a line of JSON that the reader does not know
)

// Event is one thing that an agent program tells while it runs. The readers of all programs
// make the same events, so nobody else has to know a program's format.
type Event struct {
	Kind EventKind
	Line int    // of stdout, from 1
	Text string // the words, at most MaxFinal bytes
	More bool   // text: goes on where the text before ended

	Input string // of a tool, in one line; paths below the working folder are relative to it

	Session string
	Usage   Usage

	Failed     bool
	Retry      bool
	Word       string // the program's own word for what is wrong, e.g. rate_limit
	Status     int    // of the provider's HTTP answer
	RetryAfter time.Duration
	ResetAt    time.Time
}

// Usage is what a run consumed, as far as the program tells. Unknown is never shown as zero (specs/decisions.md#D25).
type Usage struct {
	CostKnown    bool
	CostCents    float64 // to four decimals
	TokensKnown  bool
	TokensIn     int // all of them, those read from a cache or written to it included
	TokensOut    int
	TokensCached int // the part of TokensIn that was read from a cache

	// WholeSession: these are the figures of the resumed conversation from its beginning, not
	// of this run. What was recorded for its earlier runs has to be taken off.
	WholeSession bool
}
