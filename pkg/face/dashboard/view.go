// Package dashboard formats a project for people.
//
// Build makes a View of a state: goal, sprint, tasks, agents, points that wait for a person, and problems. Text draws it for
// a terminal, and its JSON tags are the output of --json. Graph, TaskText, PlanText and LogLine draw other views. All of them
// are pure: time and facts about processes are arguments, nothing is changed, and a state with strange edits of a person is
// shown, never a reason to panic.
//
// Texts from outside (titles, reasons, questions) lose their control characters before they reach a terminal, and are cut by
// columns, not by bytes.
package dashboard

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/review"
	"liza/pkg/team/findings"
	"liza/pkg/verb/integration"
)

// Input has what a view needs besides the state.
type Input struct {
	Now         time.Time
	Control     []Control                // the control files that are there, the one that wins first
	Process     blackboard.ProcessFacts  // what is known about processes of this machine
	ReviewMode  blackboard.ReviewMode    // review.mode of the configuration
	HumanReview bool                     // plan.human_review of the configuration
	Tip         *string                  // where the integration branch is, "" when it does not exist; nil: not looked at
	Wrong       []string                 // why the board is invalid, where the state is not that of the file
	Warnings    []string                 // warnings of the caller, for example about the configuration
	GaveUp      []GaveUp                 // supervisors that ended by themselves and did not return
	Doing       map[string]Doing         // present activity of programs, by agent
	Offline     *Offline                 // the state is a copy of the board
	Checking    map[string]time.Duration // time since the checks of a task's merge began
	NoProgram   bool                     // no agent program is installed

	CheckedOutAt string                // where the integration branch is checked out
	FiltersOff   []string              // filters of .gitattributes that are not in force
	Branch       *integration.Standing // the integration branch against where Liza left it; nil: not looked at
	SettingsHeld []string              // settings that the team keeps although the file has weaker ones
}

// Offline is set if the board's database cannot be reached: the view is of this host's copy, and no decision can be made.
type Offline struct {
	Since   blackboard.Time `json:"since"`   // last time when the copy was up to date
	Seconds int             `json:"seconds"` // seconds since then
	Why     string          `json:"why"`
}

// GaveUp is a supervisor that ended by itself.
type GaveUp = findings.GaveUp

// Control is a control file: PAUSE, CHECKPOINT or ABORT (specs/protocol.md#13.5).
type Control struct {
	Name   string    `json:"name"`
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"`
}

// View is the board as shown to a person.
type View struct {
	At        blackboard.Time `json:"at"`
	Revision  int             `json:"revision"`
	Offline   *Offline        `json:"offline,omitempty"` // nil: the view is of the board
	Goal      Goal            `json:"goal"`
	Sprint    Sprint          `json:"sprint"`
	Control   []Control       `json:"control"`
	Counts    []Count         `json:"counts"`
	Tasks     []Task          `json:"tasks"`
	Agents    []Agent         `json:"agents"`          // by host, if there are several
	Hosts     []Host          `json:"hosts,omitempty"` // hosts of a team; empty: the board is a file of this host
	Waiting   []Waiting       `json:"waits_for_person"`
	GaveUp    []GaveUp        `json:"gave_up,omitempty"`
	Wrong     []string        `json:"wrong,omitempty"`    // why the board is invalid
	Requests  []string        `json:"requests,omitempty"` // requests on the forge, one line each
	Warnings  []string        `json:"warnings"`
	Cost      Cost            `json:"cost"`
	Completed bool            `json:"completed"` // the goal is reached

	Branch *integration.Standing `json:"integration,omitempty"` // the integration branch, where it was looked at
}

// Goal of the project.
type Goal struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Status      string `json:"status"`
	SpecRef     string `json:"spec_ref,omitempty"`
	Plan        string `json:"plan,omitempty"`
}

// Sprint is the present sprint.
type Sprint struct {
	ID         string          `json:"id"`
	Status     string          `json:"status"`
	Started    blackboard.Time `json:"started,omitempty"`
	Deadline   blackboard.Time `json:"deadline,omitempty"`
	Ended      blackboard.Time `json:"ended,omitempty"`
	AgeSeconds int             `json:"age_seconds,omitempty"`
}

// Count is the number of tasks with a status.
type Count struct {
	Status blackboard.Status `json:"status"`
	N      int               `json:"n"`
}

// Cost is the cost of runs. Runs with unknown cost are counted, never taken as zero.
type Cost struct {
	Cents       blackboard.Amount `json:"cents"`
	Runs        int               `json:"runs"`
	UnknownRuns int               `json:"unknown_runs"`
}

// Task is one row of the board.
type Task struct {
	ID            string            `json:"id"`
	Title         string            `json:"title"`
	Status        blackboard.Status `json:"status"`
	Kind          string            `json:"kind"`
	Priority      int               `json:"priority"`
	Who           string            `json:"who,omitempty"`
	Iteration     int               `json:"iteration"`
	Rejections    int               `json:"rejections"`
	AgeSeconds    int               `json:"age_seconds"` // seconds since the last entry of its history
	Cost          Cost              `json:"cost"`
	CostPercent   int               `json:"cost_percent,omitempty"` // percent of its limit
	WaitsFor      []string          `json:"waits_for,omitempty"`
	Hold          string            `json:"hold,omitempty"`
	BlockedKind   string            `json:"blocked_kind,omitempty"`
	BlockedReason string            `json:"blocked_reason,omitempty"`
	Note          string            `json:"note,omitempty"`  // one line that says why it does not continue
	Tries         []Try             `json:"tries,omitempty"` // all attempts at its work, itself too, if there are several
	Told          []string          `json:"told,omitempty"`  // where each text is that people told its agents

	merges bool // the checks of its merge run
}

// A Try is one of several attempts at the same work.
type Try struct {
	ID     string            `json:"id"`
	Status blackboard.Status `json:"status"`
	CLI    string            `json:"cli,omitempty"` // program that it was made for
	Cost   Cost              `json:"cost"`
	Pick   bool              `json:"pick,omitempty"` // a person can let it go on
}

// Agent is one row of the agents.
type Agent struct {
	ID               string `json:"id"`
	Role             string `json:"role"`
	Status           string `json:"status"`
	Liveness         string `json:"liveness"`
	Why              string `json:"liveness_reason,omitempty"`
	Task             string `json:"task,omitempty"`
	LeaseLeftSeconds int    `json:"lease_left_seconds"`
	CLI              string `json:"cli,omitempty"`
	Sandbox          string `json:"sandbox,omitempty"` // sandbox of the present run
	WaitsFor         string `json:"waits_for,omitempty"`
	Stopped          string `json:"stopped,omitempty"` // by whom, since when and why; it takes no work
	Host             string `json:"host,omitempty"`    // its host, if there are several
	ContextPercent   int    `json:"context_percent,omitempty"`
	// ProviderWait is the wait that its program reports; WaitsFor has it too.
	ProviderWait *blackboard.ProviderWait `json:"provider_wait,omitempty"`
	Doing        *Doing                   `json:"doing,omitempty"` // nil: it runs no program
}

// Waiting is a point that only a person can settle, with the command for that. Kind is control, integration, goal, breaker,
// question, blocked, merge_approval, hold or draft.
type Waiting struct {
	Kind      string     `json:"kind"`
	Task      string     `json:"task,omitempty"`
	Text      string     `json:"text"`
	Questions []Question `json:"questions,omitempty"`
	Next      string     `json:"next"`
}

// Picks reports whether the decision is which of several attempts goes on.
func (w Waiting) Picks() bool {
	return strings.HasPrefix(w.Next, "liza approve ") && strings.HasSuffix(w.Next, " --reason TEXT")
}

// Question is an open question of an agent.
type Question = findings.Question

// Host is a host of a team on several of them.
type Host struct {
	Name        string `json:"name"`
	Here        bool   `json:"here,omitempty"` // the view is of this one
	Agents      int    `json:"agents"`
	SeenSeconds int    `json:"seen_seconds"`        // seconds since its last contact
	Silent      bool   `json:"silent,omitempty"`    // for longer than a lease and its grace: its claims are free
	ClockOffset int    `json:"clock_offset"`        // how far its clock is ahead of the board's, in seconds
	ClockOff    bool   `json:"clock_off,omitempty"` // further than lease_grace
	Version     string `json:"version,omitempty"`
	Load        string `json:"load,omitempty"` // processes that want to run, per processor
}

// Doing is the present activity of an agent's program.
type Doing struct {
	Kind      string             `json:"kind"` // as activity.Kind: text, tool, output, wait, error; "" before its first event
	Tool      string             `json:"tool,omitempty"`
	Text      string             `json:"text,omitempty"` // one line
	At        blackboard.Time    `json:"at,omitempty"`   // time of that event
	Started   blackboard.Time    `json:"started"`        // start of the run
	Seconds   int                `json:"seconds"`        // seconds of the run so far
	TokensIn  int                `json:"tokens_in,omitempty"`
	TokensOut int                `json:"tokens_out,omitempty"`
	Cents     *blackboard.Amount `json:"cents,omitempty"` // nil: not reported (yet)
}

// BuildTask returns the page of a task of the board or of the archive, without the content of files: the text of the spec,
// prompts and answers.
func BuildTask(s *blackboard.State, t *blackboard.Task, f Input) TaskPage {
	if s == nil {
		s = &blackboard.State{}
	}
	b := builder{s: s, f: f}
	p := TaskPage{Task: b.task(t), Description: t.Description, DoneWhen: t.DoneWhen, Criteria: append([]string{}, t.AcceptanceCriteria...), Scope: t.Scope,
		SpecRef: t.SpecRef, Intent: intentOf(t), DependsOn: []Link{}, Dependents: []Link{}, Attempts: AttemptsOf(t), Findings: FindingsOf(s, t),
		Checks: checksOf(t), Questions: append([]Question{}, findings.QuestionsOf(s, t)...), Told: texts(s, t), History: []Happening{}, Waits: []Waiting{},
		Base: t.BaseCommit, Commit: cmp.Or(t.ReviewCommit, t.ApprovedCommit), MergeCommit: t.MergeCommit, Archived: s.Find(t.ID) == nil, Fields: Plain(t)}
	for _, id := range t.DependsOn {
		p.DependsOn = append(p.DependsOn, b.link(id))
	}
	for o := range s.Tasks() {
		if o.DependsOn.Has(t.ID) {
			p.Dependents = append(p.Dependents, b.link(o.ID))
		}
	}
	if r := t.RejectionReason; r != nil {
		p.Rejection = r.Summary
	}
	for _, h := range t.History {
		p.History = append(p.History, happening(t.ID, h))
	}
	waits, _ := b.board()
	for _, w := range waits {
		if w.Task == t.ID {
			p.Waits = append(p.Waits, w)
		}
	}
	return p
}

func (b builder) link(id string) Link {
	l := Link{ID: id}
	if o := b.s.Find(id); o != nil {
		l.Title = o.TitleText()
	}
	l.Status, _ = b.s.StatusOf(id)
	return l
}

// intentOf returns the coder's last intent.
func intentOf(t *blackboard.Task) []string {
	for _, h := range slices.Backward(t.History) {
		if h.Checkpoint == nil {
			continue
		}
		c := h.Checkpoint
		list := []string{c.Intent}
		add := func(label, text string) { list = append(list, label+": "+text) }
		if c.Validation != "" {
			add("checked by", c.Validation)
		}
		for _, a := range c.Assumptions {
			add("takes for granted", a)
		}
		for _, r := range c.Risks {
			add("risk", r)
		}
		if len(c.FilesToModify) > 0 {
			add("files", strings.Join(c.FilesToModify, ", "))
		}
		return list
	}
	return nil
}

// AttemptsOf returns the finished runs of t, the oldest first.
func AttemptsOf(t *blackboard.Task) []Attempt {
	list := []Attempt{}
	for i, a := range t.Attempts {
		list = append(list, Attempt{Seq: a.Seq, Agent: a.Agent, Kind: cmp.Or(a.Kind, a.Role), CLI: a.CLI, Outcome: cmp.Or(a.Outcome, a.Action), Summary: a.Summary,
			Ended: a.Ended, Seconds: a.Seconds, CostCents: a.CostCents, Commit: a.Commit, Sandbox: a.Sandbox, Rung: rungOf(t, i)})
	}
	return list
}

// rungOf is the rung of the ladder of models of attempt i, with the end that led to it; "" without one.
func rungOf(t *blackboard.Task, i int) string {
	a := t.Attempts[i]
	if a.Rung == 0 {
		return ""
	}
	text := fmt.Sprintf("rung %d", a.Rung) + prose.After(" after ", transition.Climbed(t, i))
	if a.Rung > 1 && a.Kind == string(blackboard.RoleCoder) && transition.RungBefore(t, i) == 0 {
		text += ", where others of its kind ended"
	}
	return text
}

// happening returns an entry of a task's history in words.
func happening(task string, h *blackboard.HistoryEntry) Happening {
	var parts []string
	add := func(mark, text string) {
		if text != "" {
			parts = append(parts, mark+text)
		}
	}
	if h.Via != "" {
		add("by a person for ", h.Agent)
	}
	if h.Checkpoint != nil {
		add("", h.Checkpoint.Intent)
	}
	add("", h.What)
	add("", h.Kind.Words())
	if h.Iteration > 0 {
		add("iteration ", fmt.Sprint(h.Iteration))
	}
	add("", h.Reason)
	add("", h.Cause)
	add("replaced by ", strings.Join(h.By, ", "))
	add("taken over from ", h.PreviousAssignee)
	add("held by ", h.Holder)
	add("commit ", blackboard.ShortCommit(h.Commit))
	add("merge commit ", blackboard.ShortCommit(h.MergeCommit))
	add("files ", strings.Join(h.Files, ", "))
	add("without tests: ", h.NoTests)
	add("work saved in ", h.Attic)
	add("log ", h.Log)
	return Happening{At: h.Time, Who: h.Agent, Action: string(h.Event), Task: task, Text: strings.Join(parts, "; ")}
}

// reviewOf is the verdict of the latest review.
func reviewOf(t *blackboard.Task) []string {
	r := t.WholeReview()
	var list []string
	if text := t.ApprovalsText(); text != "" {
		list = append(list, text)
	}
	if r == nil || r.Status == "" {
		return list
	}
	list = append(list, r.Status+prose.After(" by ", r.By)+prose.After(" at ", string(r.At))+prose.After(" on ", blackboard.ShortCommit(r.Commit))+prose.After(", review.mode ", string(r.Mode))+prose.After(": ", r.Reason))
	for _, s := range r.Suggestions {
		list = append(list, "suggestion: "+s)
	}
	return list
}

// checksOf returns the results of the checks of the submission.
func checksOf(t *blackboard.Task) []string {
	var list []string
	if t.Review == nil {
		return nil
	}
	for _, c := range t.WholeReview().Checks {
		line := checkLine(c)
		if c.Name == review.Exhibits && (c.Status == review.Passed || c.Status == review.Failed) {
			line += "; next: liza output " + t.ID + " --evidence"
		}
		list = append(list, line)
	}
	return list
}

func checkLine(c *blackboard.Check) string {
	text := c.Name + ": " + string(c.Status)
	if c.Status == blackboard.CheckFailed {
		text += aside("", c.Severity)
	}
	if c.Seconds > 0 {
		text += fmt.Sprintf(", %d s", c.Seconds)
	}
	return text + prose.After("; ", c.Message) + prose.After("; log: ", c.Log)
}

// findingsOf returns the findings against the work, with their places.
func findingsOf(t *blackboard.Task) []string {
	var list []string
	if t.Review == nil {
		return nil
	}
	for _, f := range t.Review.Findings {
		list = append(list, findingLine(f))
	}
	return list
}

// findingLine is a finding as compilers write theirs.
func findingLine(f *blackboard.Finding) string {
	return placeOf(f) + ": " + cmp.Or(f.Severity, "warning") + aside("", f.Check) + ": " + f.Message + prose.After("; fix: ", f.Fix)
}

// aside returns mark and text in parentheses behind a space, or "" for an empty text.
func aside(mark, text string) string {
	if text == "" {
		return ""
	}
	return " (" + mark + text + ")"
}

// placeOf is file and line of a finding.
func placeOf(f *blackboard.Finding) string {
	switch {
	case f.File == "":
		return "-"
	case f.Line > 0:
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.File
}

// ReportAnnotation is a finding of the latest review of a task, at its place in the code.
type ReportAnnotation struct {
	Task     string `json:"task"`
	Commit   string `json:"commit,omitempty"`
	Severity string `json:"severity"`
	Check    string `json:"check,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"`
}

// Place returns file and line of the annotation.
func (a ReportAnnotation) Place() string {
	return placeOf(&blackboard.Finding{File: a.File, Line: a.Line})
}

// annotationsOf are those of the latest review of a task.
func annotationsOf(t *blackboard.Task) (list []ReportAnnotation) {
	if t.Review == nil {
		return nil
	}
	for _, f := range t.Review.Findings {
		list = append(list, ReportAnnotation{Task: t.ID, Commit: t.WholeReview().Commit, Severity: cmp.Or(f.Severity, "warning"), Check: f.Check, File: f.File, Line: f.Line, Message: f.Message, Fix: f.Fix})
	}
	return list
}

// forges are the hosts with known commit pages, and the part between the address of the repository and the commit.
var forges = []struct{ host, between string }{
	{"github.com", "/commit/"}, {"gitlab.com", "/-/commit/"}, {"codeberg.org", "/commit/"}, {"bitbucket.org", "/commits/"}, {"git.sr.ht", "/commit/"},
}

// CommitPages returns the address of the forge's commit pages, without the hash, for the address of a remote; "" for an unknown host.
// User names and passwords are left out.
func CommitPages(remote string) string {
	if !strings.Contains(remote, "://") { // git@host:owner/name.git
		host, path, ok := strings.Cut(remote, ":")
		if !ok || strings.Contains(host, "/") {
			return ""
		}
		remote = "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(remote)
	if err != nil {
		return ""
	}
	path := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	for _, f := range forges {
		if f.host == strings.ToLower(u.Hostname()) && strings.Contains(path, "/") {
			return (&url.URL{Scheme: "https", Host: f.host, Path: "/" + path + f.between}).String()
		}
	}
	return ""
}
