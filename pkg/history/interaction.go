package history

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// Interaction is one run of an agent program (roles and knowledge 7.1). An entry with
// Liza.Event is not a run: something that people or the supervisor did between two.
type Interaction struct {
	Sequence      int             `json:"sequence"` // from 1, over all runs of the task
	Timestamp     blackboard.Time `json:"timestamp"`
	StateBefore   string          `json:"state_before"` // as JobState names it
	WorkspacePath string          `json:"workspace_path"`
	Request       Request         `json:"request"`
	Response      Response        `json:"response"`
	Liza          RunFacts        `json:"liza"`
}

// Request is what the program was given.
type Request struct {
	Prompt       string   `json:"prompt"`
	FilesContext []string `json:"files_context"` // that the prompt names, relative to the workspace
	Metadata     Metadata `json:"metadata"`
}

// Metadata says under which conditions a run took place.
type Metadata struct {
	Role         string   `json:"role"`
	Phase        string   `json:"phase"` // as StateBefore
	Model        string   `json:"model"`
	Temperature  *float64 `json:"temperature,omitempty"` // when the program was given one
	Kind         string   `json:"kind"`
	Agent        string   `json:"agent"`
	Adapter      string   `json:"adapter"`
	Iteration    int      `json:"iteration"`
	Reask        int      `json:"reask"` // which re-ask of its unit of work; 0: none
	Cuts         []string `json:"cuts"`  // what was left out of the prompt
	PromptSHA256 string   `json:"prompt_sha256"`
}

// What Response.Status may be.
const (
	Success  = "SUCCESS" // a valid outcome, by exit command or by verbs
	Failed   = "ERROR"
	TimedOut = "TIMEOUT"
)

// Response is what came of it.
type Response struct {
	Status        string   `json:"status"`
	Actions       []string `json:"actions"` // of the exit command
	EvidenceFiles []string `json:"evidence_files"`
	Summary       string   `json:"summary_for_supervisor"`
	RawResponse   string   `json:"raw_response"` // in which the exit command was looked for
}

// RunFacts are Liza's own facts about a run.
type RunFacts struct {
	StatusBefore string             `json:"status_before"`
	StatusAfter  string             `json:"status_after"`
	Simulated    bool               `json:"is_simulated"`
	Event        string             `json:"event,omitempty"`   // RESTEP, RERUN, AUTOMATIC_RECOVERY: no run
	Outcome      string             `json:"outcome,omitempty"` // how the program ended
	Effect       string             `json:"effect,omitempty"`  // what came of its answer; "": the answer did not count
	Seconds      int                `json:"seconds"`
	CostCents    *blackboard.Amount `json:"cost_cents"` // nil: unknown, never zero
	TokensIn     int                `json:"tokens_in"`
	TokensOut    int                `json:"tokens_out"`
	ExitCode     int                `json:"exit_code"`
	Error        string             `json:"error,omitempty"`
	CommitBefore string             `json:"commit_before,omitempty"`
	CommitAfter  string             `json:"commit_after,omitempty"`
	Epoch        int                `json:"epoch"`
	ID           string             `json:"id,omitempty"`            // of the run, also in the journal
	RefusedHosts []string           `json:"refused_hosts,omitempty"` // that it tried to reach and may not
}

// Events of entries that are not runs.
const (
	Restep   = "RESTEP"
	Rerun    = "RERUN"
	Recovery = "AUTOMATIC_RECOVERY"
)

// Happened is an entry for something that is not a run.
func Happened(event string, in Interaction) Interaction {
	in.Liza.Event = event
	in.Response.Status = Success
	zero := blackboard.Amount(0)
	in.Liza.CostCents = &zero
	return in
}

// masked is the interaction as it may be written: without secrets, and with lists that are
// never null.
func (in Interaction) masked(mask func(string) string) Interaction {
	if mask == nil {
		mask = func(s string) string { return s }
	}
	list := func(texts []string) []string {
		out := make([]string, len(texts))
		for i, t := range texts {
			out[i] = mask(t)
		}
		return out
	}
	in.Request.Prompt = mask(in.Request.Prompt)
	in.Request.FilesContext = list(in.Request.FilesContext)
	in.Request.Metadata.Cuts = list(in.Request.Metadata.Cuts)
	in.Response.Actions = list(in.Response.Actions)
	in.Response.EvidenceFiles = list(in.Response.EvidenceFiles)
	in.Response.Summary = mask(in.Response.Summary)
	in.Response.RawResponse = mask(in.Response.RawResponse)
	in.Liza.Error = mask(in.Liza.Error)
	return in
}

// jobStates are the names that the Logist document has for statuses (roles and knowledge 11).
var jobStates = map[blackboard.Status]string{
	blackboard.Draft:             "DRAFT",
	blackboard.Unclaimed:         "PENDING",
	blackboard.Claimed:           "RUNNING",
	blackboard.ReadyForReview:    "REVIEW_REQUIRED",
	blackboard.Rejected:          "PENDING",
	blackboard.Approved:          "RUNNING",
	blackboard.Merged:            "SUCCESS",
	blackboard.Blocked:           "INTERVENTION_REQUIRED",
	blackboard.IntegrationFailed: "INTERVENTION_REQUIRED",
	blackboard.Superseded:        "CANCELED",
	blackboard.Abandoned:         "CANCELED",
}

// JobState is the status of a task in the words of the Logist document. reviewed tells
// that somebody has the review. Without a task, for a planner, it is PENDING.
func JobState(t *blackboard.Task, reviewed bool) string {
	switch {
	case t == nil:
		return jobStates[blackboard.Unclaimed]
	case t.Hold != nil && !t.Status.Terminal():
		return "SUSPENDED"
	case t.Status == blackboard.ReadyForReview && reviewed:
		return "REVIEWING"
	case t.Status == blackboard.Approved && t.MergeApproval != nil && t.MergeApproval.Required && t.MergeApproval.Decision == "":
		return "APPROVAL_REQUIRED"
	case t.Status == blackboard.Blocked && t.Halt != nil && haltStates[t.Halt.Kind] != "":
		return haltStates[t.Halt.Kind]
	}
	return jobStates[t.Status]
}

var haltStates = map[string]string{"cost": "HALTED_COST", "time": "HALTED_TIME", "iteration": "HALTED_ITERATION"}

// maxUnpacked bounds what is read of one compressed file.
const maxUnpacked = 1 << 30

// ReadInteractions reads a jobHistory.json, also a compressed one, or a file with a single
// interaction. The end that a killed writer left in half is left out.
func ReadInteractions(path string) ([]Interaction, error) {
	data, err := safefile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the history: %w", err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("cannot read the history %s: %v", path, err)
		}
		if data, err = io.ReadAll(io.LimitReader(z, maxUnpacked)); err != nil {
			return nil, fmt.Errorf("cannot read the history %s: %v", path, err)
		}
	}
	list, ok := parseInteractions(data)
	if !ok {
		return nil, fmt.Errorf("cannot read the history %s: it is not a list of interactions", path)
	}
	return list, nil
}

// parseInteractions reads whatever is whole. ok is false for a text that is not a history.
func parseInteractions(data []byte) (list []Interaction, ok bool) {
	var whole struct {
		Interactions *[]Interaction `json:"interactions"`
		Interaction
	}
	if json.Unmarshal(data, &whole) == nil {
		if whole.Interactions != nil {
			return *whole.Interactions, true
		}
		return []Interaction{whole.Interaction}, whole.Sequence > 0
	}
	rest, ours := bytes.CutPrefix(data, []byte(opening))
	if !ours && !strings.HasPrefix(opening, string(data)) {
		return nil, false
	}
	for line := range bytes.Lines(rest) {
		var in Interaction
		if json.Unmarshal(bytes.TrimRight(line, ",\r\n "), &in) == nil && in.Sequence > 0 {
			list = append(list, in)
		}
	}
	return list, true
}

const (
	historyFile = "jobHistory.json"
	opening     = `{"interactions":[` + "\n"
	closing     = "\n]}\n"
	lockWait    = 10 * time.Second
)
