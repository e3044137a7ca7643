package history

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
)

// Interaction is one run of an agent program (roles and knowledge 7.1). An entry with Liza.Event is not a run, but an event
// between two runs.
type Interaction struct {
	Sequence      int             `json:"sequence"` // from 1, over all runs of the task
	Timestamp     blackboard.Time `json:"timestamp"`
	StateBefore   string          `json:"state_before"` // status of the task, by JobState
	WorkspacePath string          `json:"workspace_path"`
	Request       Request         `json:"request"`
	Response      Response        `json:"response"`
	Liza          RunFacts        `json:"liza"`
}

// Request is the input of a run.
type Request struct {
	Prompt       string   `json:"prompt"`
	FilesContext []string `json:"files_context"` // files that the prompt names, relative to the workspace
	Metadata     Metadata `json:"metadata"`
}

// Metadata holds the conditions of a run.
type Metadata struct {
	Role         string   `json:"role"`
	Phase        string   `json:"phase"` // status of the task, by JobState
	Model        string   `json:"model"`
	Temperature  *float64 `json:"temperature,omitempty"` // if one was set for the program
	Kind         string   `json:"kind"`
	Agent        string   `json:"agent"`
	Adapter      string   `json:"adapter"`
	Iteration    int      `json:"iteration"`
	Reask        int      `json:"reask"` // number of the re-ask of its unit of work; 0: none
	Cuts         []string `json:"cuts"`  // parts that the prompt lacks
	PromptSHA256 string   `json:"prompt_sha256"`
}

// The values of Response.Status.
const (
	Success  = "SUCCESS" // a valid outcome, by exit command or by verbs
	Failed   = "ERROR"
	TimedOut = "TIMEOUT"
)

// Response is the answer of a run.
type Response struct {
	Status        string   `json:"status"`
	Actions       []string `json:"actions"` // actions of the exit command
	EvidenceFiles []string `json:"evidence_files"`
	Summary       string   `json:"summary_for_supervisor"`
	RawResponse   string   `json:"raw_response"` // text with the exit command
}

// RunFacts are Liza's own facts about a run.
type RunFacts struct {
	StatusBefore string             `json:"status_before"`
	StatusAfter  string             `json:"status_after"`
	Simulated    bool               `json:"is_simulated"`
	Event        string             `json:"event,omitempty"`   // AUTOMATIC_RECOVERY: no run
	Outcome      string             `json:"outcome,omitempty"` // end of the program
	Effect       string             `json:"effect,omitempty"`  // effect of its answer; "": the answer did not count
	Seconds      int                `json:"seconds"`
	CostCents    *blackboard.Amount `json:"cost_cents"` // nil: unknown, never zero
	TokensIn     int                `json:"tokens_in"`
	TokensOut    int                `json:"tokens_out"`
	ExitCode     int                `json:"exit_code"`
	Error        string             `json:"error,omitempty"`
	CommitBefore string             `json:"commit_before,omitempty"`
	CommitAfter  string             `json:"commit_after,omitempty"`
	ID           string             `json:"id,omitempty"`            // id of the run, also in the journal
	Session      string             `json:"session,omitempty"`       // conversation of the program, which a later run may resume
	RefusedHosts []string           `json:"refused_hosts,omitempty"` // hosts that it tried to reach and may not
}

// Recovery is the event of an entry that is not a run: a supervisor goes on by itself.
const Recovery = "AUTOMATIC_RECOVERY"

// Happened returns in as the entry of an event that is not a run.
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

// JobState returns the status of a task in the words of the Logist document. reviewed means that a reviewer has claimed it.
// Without a task, for a planner, it is PENDING.
func JobState(t *blackboard.Task, reviewed bool) string {
	switch {
	case t == nil:
		return blackboard.Unclaimed.Info().Job
	case t.Hold != nil && !t.Status.Terminal():
		return "SUSPENDED"
	case t.Status == blackboard.ReadyForReview && reviewed:
		return "REVIEWING"
	case t.Status == blackboard.Approved && t.MergeApproval != nil && t.MergeApproval.Required && t.MergeApproval.Decision == "":
		return "APPROVAL_REQUIRED"
	case t.Status == blackboard.Blocked && t.Halt != nil && haltStates[t.Halt.Kind] != "":
		return haltStates[t.Halt.Kind]
	}
	return t.Status.Info().Job
}

var haltStates = map[string]string{"cost": "HALTED_COST", "time": "HALTED_TIME", "iteration": "HALTED_ITERATION"}

// maxUnpacked is the most that is read of one compressed file, in bytes.
const maxUnpacked = 1 << 30

// ReadInteractions reads a jobHistory.json, also a compressed one, or a file with a single interaction. It omits the
// incomplete end of a killed writer.
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

// Owner is the process that supervises a run.
type Owner struct {
	PID      int    `json:"pid"`
	PIDStart int64  `json:"pid_start"`
	Host     string `json:"host"`
	BootID   string `json:"boot_id"`
}

// pending is a request whose response is still to come.
type pending struct {
	Owner       Owner       `json:"owner"`
	Interaction Interaction `json:"interaction"`
}

// Begin writes the request of a run to disk before the program starts, and returns the number that its interaction will have
// unless another run of the same folder ends first.
func (h Interactions) Begin(ctx context.Context, in Interaction, owner Owner) (sequence int, err error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	_, last, err := h.settle()
	if err != nil {
		return 0, err
	}
	waiting, err := h.pending()
	if err != nil {
		return 0, err
	}
	for _, n := range waiting {
		last = max(last, n)
	}
	in.Sequence = last + 1
	data, err := json.Marshal(pending{Owner: owner, Interaction: in.masked(h.Mask)})
	if err != nil {
		return 0, fmt.Errorf("cannot write the history: %v", err)
	}
	return in.Sequence, safefile.Replace(h.pendingFile(in.Sequence), data, 0o600)
}

// Own makes owner the one who supervises the run that Begin wrote under the number begun. It returns what was written, nil
// when the run was ended meanwhile.
func (h Interactions) Own(ctx context.Context, begun int, owner Owner) (*Interaction, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	p, err := h.readPending(begun)
	if err != nil || p == nil {
		return nil, err
	}
	p.Owner = owner
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("cannot write the history: %v", err)
	}
	return &p.Interaction, safefile.Replace(h.pendingFile(begun), data, 0o600)
}

// Finish appends in as the interaction of the request that Begin wrote under the number begun.
func (h Interactions) Finish(ctx context.Context, begun int, in Interaction) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := h.append(in); err != nil {
		return err
	}
	return h.forget(begun)
}

// Recover turns the requests of processes that are not alive into failed interactions, and returns
// the ids of their runs, "" for one that has none.
func (h Interactions) Recover(ctx context.Context, alive func(Owner) bool) (runs []string, err error) {
	if waiting, err := h.pending(); err != nil || len(waiting) == 0 {
		return nil, err
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	waiting, err := h.pending()
	if err != nil {
		return nil, err
	}
	for _, number := range waiting {
		p, err := h.readPending(number)
		if err != nil {
			return runs, err
		}
		if p == nil || alive(p.Owner) {
			continue
		}
		p.Interaction.Response.Status = Failed
		p.Interaction.Liza.Error = "its supervisor ended before the run did"
		if _, err := h.append(p.Interaction); err != nil {
			return runs, err
		}
		if err := h.forget(number); err != nil {
			return runs, err
		}
		runs = append(runs, p.Interaction.Liza.ID)
	}
	return runs, nil
}

func (h Interactions) pendingFile(n int) string {
	return filepath.Join(h.Dir, fmt.Sprintf("pending-%d.json", n))
}

func (h Interactions) forget(n int) error {
	if err := os.Remove(h.pendingFile(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write the history: %v", err)
	}
	return nil
}

// pending lists the numbers of the requests that wait.
func (h Interactions) pending() ([]int, error) { return h.numbered("pending-", ".json") }

// readPending reads a request; one that is no longer there, or is damaged, is nil. A
// damaged one is renamed, so that it is not met again.
func (h Interactions) readPending(n int) (*pending, error) {
	data, err := safefile.Read(h.pendingFile(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the history: %v", err)
	}
	var p pending
	if json.Unmarshal(data, &p) != nil {
		return nil, os.Rename(h.pendingFile(n), h.pendingFile(n)+".corrupt")
	}
	return &p, nil
}

// Read returns all interactions, compressed ones first, and none if there is no history. It changes
// no file.
func (h Interactions) Read() ([]Interaction, error) {
	var all []Interaction
	last := 0
	add := func(path string) error {
		list, err := ReadInteractions(path)
		for _, in := range list {
			if in.Sequence > last { // a writer that was killed leaves what it put away in both files
				all, last = append(all, in), in.Sequence
			}
		}
		return err
	}
	for _, n := range h.away() {
		if err := add(h.awayFile(n)); err != nil {
			return all, err
		}
	}
	if err := add(h.File()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return all, err
	}
	return all, nil
}
