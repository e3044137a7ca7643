package blackboard

import (
	"slices"
	"strings"
)

// Status of a task (specs/protocol.md#4).
type Status string

// The statuses; MERGED, ABANDONED and SUPERSEDED are terminal.
const (
	Draft             Status = "DRAFT"
	Unclaimed         Status = "UNCLAIMED"
	Claimed           Status = "CLAIMED"
	ReadyForReview    Status = "READY_FOR_REVIEW"
	Rejected          Status = "REJECTED"
	Approved          Status = "APPROVED"
	Merged            Status = "MERGED"
	Blocked           Status = "BLOCKED"
	Abandoned         Status = "ABANDONED"
	Superseded        Status = "SUPERSEDED"
	IntegrationFailed Status = "INTEGRATION_FAILED"
)

// Statuses lists all statuses of a task in the order of a task's life.
var Statuses = []Status{Draft, Unclaimed, Claimed, ReadyForReview, Rejected, Approved,
	IntegrationFailed, Blocked, Merged, Abandoned, Superseded}

// A Tone is the degree of attention that a status asks for. Each view has a colour for it.
type Tone string

// The tones, the most urgent first.
const (
	ToneBad    Tone = "bad"    // a person or a planner has to act
	ToneWait   Tone = "wait"   // the task goes back to a coder
	ToneWork   Tone = "work"   // an agent works on it
	ToneReview Tone = "review" // the task is under review
	ToneGood   Tone = "good"
	ToneCalm   Tone = "calm"
	ToneQuiet  Tone = "quiet"
)

// Lanes are the columns of the board in the order in which work passes them.
var Lanes = []string{"To do", "In progress", "In review", "Approved", "Blocked", "Done"}

// statusInfo has the texts and colours of a status for views, and its name in other vocabularies.
type statusInfo struct {
	Status   Status `json:"status"`
	Title    string `json:"title"` // heading of a list of such tasks
	Words    string `json:"words"` // for readers who do not know Liza
	Glyph    string `json:"glyph"` // one column wide, for readers who cannot see the colour
	Tone     Tone   `json:"tone"`
	Lane     string `json:"lane"`
	Fill     string `json:"fill"` // background in drawings
	Terminal bool   `json:"terminal"`

	Waits bool `json:"-"` // the task does not go on before a person or a planner acts

	Job string `json:"-"` // in the history of a task (specs/roles-and-knowledge.md#7.1)
}

// StatusTable has each status once, in the order in which views with too little room prefer its tasks.
var StatusTable = []statusInfo{
	{Blocked, "Blocked", "blocked", "✗", ToneBad, "Blocked", "#f8d7da", false, true, "INTERVENTION_REQUIRED"},
	{IntegrationFailed, "Could not be merged", "merge failed", "!", ToneBad, "In progress", "#f8d7da", false, false, "INTERVENTION_REQUIRED"},
	{Claimed, "In progress", "in work", "▸", ToneWork, "In progress", "#cfe2ff", false, false, "RUNNING"},
	{ReadyForReview, "In review", "in review", "◎", ToneReview, "In review", "#cff4fc", false, false, "REVIEW_REQUIRED"},
	{Rejected, "Rejected", "sent back", "↺", ToneWait, "In progress", "#fff3cd", false, false, "PENDING"},
	{Approved, "Approved", "approved", "●", ToneGood, "Approved", "#d1e7dd", false, false, "RUNNING"},
	{Unclaimed, "To do", "not begun", "○", ToneCalm, "To do", "#ffffff", false, false, "PENDING"},
	{Draft, "Drafts", "draft", "·", ToneQuiet, "To do", "#eeeeee", false, true, "DRAFT"},
	{Merged, "Merged", "merged", "✓", ToneGood, "Done", "#a3cfbb", true, false, "SUCCESS"},
	{Superseded, "Replaced", "replaced", "»", ToneQuiet, "Done", "#dddddd", true, false, "CANCELED"},
	{Abandoned, "Given up", "given up", "–", ToneQuiet, "Done", "#dddddd", true, false, "CANCELED"},
}

// Rank returns the index of s in StatusTable, or its length for an unknown status.
func (s Status) Rank() int {
	for i := range StatusTable {
		if StatusTable[i].Status == s {
			return i
		}
	}
	return len(StatusTable)
}

// Info returns the entry of s in StatusTable. An unknown status is shown by its name.
func (s Status) Info() statusInfo {
	if at := s.Rank(); at < len(StatusTable) {
		return StatusTable[at]
	}
	words := strings.ToLower(strings.ReplaceAll(string(s), "_", " "))
	return statusInfo{Status: s, Title: string(s), Words: words, Glyph: "○", Tone: ToneCalm, Lane: Lanes[0], Fill: "#ffffff",
		Job: string(s)}
}

// Terminal reports whether no event leaves the status.
func (s Status) Terminal() bool { return s == Merged || s == Abandoned || s == Superseded }

// Known reports whether s is one of the statuses above.
func (s Status) Known() bool { return slices.Contains(Statuses, s) }

// Active reports whether work on the task is under way (specs/protocol.md#0).
func (s Status) Active() bool {
	switch s {
	case Claimed, ReadyForReview, Rejected, Approved, IntegrationFailed:
		return true
	}
	return false
}
