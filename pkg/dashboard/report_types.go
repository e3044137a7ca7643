package dashboard

import (
	"liza/pkg/blackboard"
	"liza/pkg/history"
)

// ReportFacts is what a report tells besides the state.
type ReportFacts struct {
	Facts
	Tasks   []*blackboard.Task         // all of the sprint, archived ones included
	Journal []blackboard.Entry         // of the sprint: the entries run_failed
	Runs    []history.UsageLine        // the ledger
	Link    func(commit string) string // the page of a commit, "" when there is none; may be nil
}

// Report is what a sprint did (specs/cli.md#2, report).
type Report struct {
	At          blackboard.Time    `json:"at"`
	Revision    int                `json:"revision"`
	Headline    string             `json:"headline"` // what came of it, in one or two sentences
	Goal        Goal               `json:"goal"`
	Sprint      Sprint             `json:"sprint"`
	Counts      []Count            `json:"counts"`
	Metrics     Metrics            `json:"metrics"`
	Tasks       []ReportTask       `json:"tasks"`
	Rejections  []ReportRejection  `json:"rejections"`
	Annotations []ReportAnnotation `json:"annotations"`
	Anomalies   []ReportAnomaly    `json:"anomalies"`
	Discoveries []ReportDiscovery  `json:"discoveries"`
	Checkpoints []ReportCheckpoint `json:"checkpoints"`
	LookAt      []Hint             `json:"look_at"`
	Timeline    Timeline           `json:"timeline"`
	Graph       GraphView          `json:"graph"`
	Figures     Figures            `json:"figures"`
	Retro       any                `json:"retrospective"`

	graph *graph
}

// ReportTask is one task of the sprint. Times are in seconds; what does not apply is null.
type ReportTask struct {
	ID            string            `json:"id"`
	Title         string            `json:"title"`
	Status        blackboard.Status `json:"status"`
	Archived      bool              `json:"archived"`
	Who           string            `json:"who,omitempty"`
	Iteration     int               `json:"iteration"`
	Rejections    int               `json:"rejections"`
	LeadSeconds   *int              `json:"lead_seconds"`
	WorkSeconds   int               `json:"work_seconds"`
	ReviewSeconds int               `json:"review_seconds"`
	WaitSeconds   *int              `json:"wait_seconds"`
	Spent         string            `json:"spent"` // time in each status, in words
	Cost          Cost              `json:"cost"`
	MergeCommit   string            `json:"merge_commit,omitempty"`
	Sandbox       string            `json:"sandbox,omitempty"`   // the weakest level of its runs
	Outcome       string            `json:"outcome,omitempty"`   // why it ended without a merge, or does not go on
	Summary       string            `json:"summary,omitempty"`   // what its coder said last
	Link          string            `json:"link,omitempty"`      // of the page of its merge commit
	Approvals     string            `json:"approvals,omitempty"` // of a quorum, in words
	files         bool              // its work is a change of files
}

// ReportRejection is one rejection of the sprint.
type ReportRejection struct {
	Task   string          `json:"task"`
	At     blackboard.Time `json:"at"`
	By     string          `json:"by"`
	Commit string          `json:"commit,omitempty"`
	Reason string          `json:"reason"`
}

// ReportAnomaly is one anomaly of the sprint.
type ReportAnomaly struct {
	ID       string          `json:"id"`
	At       blackboard.Time `json:"at"`
	Type     string          `json:"type"`
	Task     string          `json:"task,omitempty"`
	Reporter string          `json:"reporter,omitempty"`
	Details  string          `json:"details,omitempty"`
}

// ReportDiscovery is a discovery that no task came of.
type ReportDiscovery struct {
	ID          string `json:"id"`
	Severity    string `json:"severity"`
	Urgency     string `json:"urgency"`
	Description string `json:"description"`
	Deferred    string `json:"deferred,omitempty"`
}

// ReportCheckpoint is one stop for people and what they decided.
type ReportCheckpoint struct {
	N         int             `json:"n"`
	At        blackboard.Time `json:"at"`
	By        string          `json:"by"`
	Message   string          `json:"message,omitempty"`
	Decision  string          `json:"decision,omitempty"`
	DecidedBy string          `json:"decided_by,omitempty"`
}

// Hint is something that a person should look at, and the command that shows or does it.
type Hint struct {
	Text string `json:"text"`
	Next string `json:"next,omitempty"`
}
