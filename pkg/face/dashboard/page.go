package dashboard

import (
	"fmt"
	"strings"

	"liza/pkg/board/blackboard"
)

// colour is an ANSI colour; "" is none.
type colour string

const (
	none   colour = ""
	faint  colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	blue   colour = "34"
	cyan   colour = "36"
	bold   colour = "1"
)

// toneColours are the colours of statuses.
var toneColours = map[blackboard.Tone]colour{blackboard.ToneBad: red, blackboard.ToneWait: yellow, blackboard.ToneWork: blue, blackboard.ToneReview: cyan,
	blackboard.ToneGood: green, blackboard.ToneQuiet: faint}

// goalColours are the colours of a goal's status; other statuses have none.
var goalColours = map[string]colour{blackboard.AtCheckpoint: yellow, blackboard.Aborted: red, blackboard.Completed: green}

// page collects lines of at most width columns.
type page struct {
	b      strings.Builder
	width  int
	colour bool
}

func (p *page) line(text string) { p.b.WriteString(text + "\n") }

func (p *page) paint(c colour, text string) string {
	if !p.colour || c == none || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// title opens a part of the page.
func (p *page) title(text string) {
	if p.b.Len() > 0 {
		p.line("")
	}
	p.line(p.paint(bold, text))
}

// cut writes a line that is cut at the edge of the page.
func (p *page) cut(indent int, c colour, text string) {
	p.line(strings.Repeat(" ", indent) + p.paint(c, Fit(plain(text), max(minWidth/2, p.width-indent))))
}

// wrap writes a text over as many lines as it takes.
func (p *page) wrap(indent int, c colour, text string) {
	for _, l := range wrapText(plain(text), max(minWidth/2, p.width-indent)) {
		p.line(strings.Repeat(" ", indent) + p.paint(c, l))
	}
}

func wrapText(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case WidthOf(line)+1+WidthOf(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		for WidthOf(line) > width { // a word that is longer than a line
			head := strings.TrimSuffix(Fit(line, width+1), "…")
			if head == "" {
				break
			}
			lines = append(lines, head)
			line = line[len(head):]
		}
	}
	return append(lines, line)
}

// wrapItems writes a list over as many lines as it takes; no item is broken.
func wrapItems(items []string, width int) []string {
	if len(items) == 0 {
		return []string{"none yet"}
	}
	lines := []string{items[0]}
	for _, item := range items[1:] {
		last := &lines[len(lines)-1]
		*last += ","
		if WidthOf(*last)+1+WidthOf(item)+1 <= width {
			*last += " " + item
		} else {
			lines = append(lines, item)
		}
	}
	return lines
}

// age is a duration for people: 45s, 12m, 3h, 2d.
func age(seconds int) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%dh", seconds/3600)
	}
	return fmt.Sprintf("%dd", seconds/86400)
}

// near is the colour of a task's cost by how much of its limit is used (specs/roles-and-knowledge.md#8.2).
func near(t Task) colour {
	switch {
	case t.CostPercent >= 100:
		return red
	case t.CostPercent >= 75:
		return yellow
	case t.CostPercent > 0:
		return green
	}
	return none
}

// money is a cost for people: "$1.23", "≥ $1.23 ?" when some runs are of unknown cost, and
// "?" when all are. Where nothing ran there is none.
func money(c Cost) string {
	switch {
	case c.Runs == 0 && c.Cents == 0:
		return ""
	case c.UnknownRuns > 0 && c.Cents == 0:
		return "?"
	case c.UnknownRuns > 0:
		return "≥ " + c.Cents.Dollars() + " ?"
	}
	return c.Cents.Dollars()
}

// The widths of a page, and the number of task rows that fit one screen.
const (
	minWidth = 40
	maxRows  = 20
)

// What pages show besides the View. Every view (terminal, page, report, JSON) draws from these.

// TaskPage has all facts about one task.
type TaskPage struct {
	Task        Task        `json:"task"` // its row
	Description string      `json:"description"`
	DoneWhen    string      `json:"done_when"`
	Criteria    []string    `json:"criteria"`
	Scope       string      `json:"scope"`
	SpecRef     string      `json:"spec_ref,omitempty"`
	Spec        string      `json:"spec,omitempty"`   // the section of its spec_ref
	Intent      []string    `json:"intent,omitempty"` // the coder's intent, in lines
	DependsOn   []Link      `json:"depends_on"`
	Dependents  []Link      `json:"dependents"`
	Attempts    []Attempt   `json:"attempts"`
	Findings    []Remark    `json:"findings"` // remarks of the last review, and comments of people
	Rejection   string      `json:"rejection,omitempty"`
	Checks      []string    `json:"checks,omitempty"` // one line each
	Questions   []Question  `json:"questions"`
	Told        []string    `json:"told,omitempty"` // texts of people to its agents, and where each is
	History     []Happening `json:"history"`
	Waits       []Waiting   `json:"waits_for_person"` // those about this task
	Base        string      `json:"base,omitempty"`
	Commit      string      `json:"commit,omitempty"`
	MergeCommit string      `json:"merge_commit,omitempty"`
	Archived    bool        `json:"archived"`
	Fields      any         `json:"fields"` // the entry on the board
}

// Link names another task.
type Link struct {
	ID     string            `json:"id"`
	Title  string            `json:"title,omitempty"`
	Status blackboard.Status `json:"status"`
}

// Attempt is one run for a task. Prompt and Answer are filled on request only.
type Attempt struct {
	Seq       int                `json:"seq"`
	Agent     string             `json:"agent"`
	Kind      string             `json:"kind"`
	CLI       string             `json:"cli,omitempty"`
	Outcome   string             `json:"outcome"`
	Summary   string             `json:"summary,omitempty"`
	Ended     blackboard.Time    `json:"ended,omitempty"`
	Seconds   int                `json:"seconds"`
	CostCents *blackboard.Amount `json:"cost_cents"`
	Commit    string             `json:"commit,omitempty"`
	Sandbox   string             `json:"sandbox,omitempty"`
	Rung      string             `json:"rung,omitempty"` // of the ladder of models, and why it is not the one before
	Prompt    string             `json:"prompt,omitempty"`
	Answer    string             `json:"answer,omitempty"`
}

// Remark is a finding of a check, a reviewer or a person at a place of a change.
type Remark struct {
	Severity string `json:"severity"`
	By       string `json:"by"` // the check, the reviewer or the author
	Path     string `json:"path,omitempty"`
	Line     int    `json:"line,omitempty"` // line of the new file; 0: the whole file, or the whole change
	Text     string `json:"text"`
	Fix      string `json:"fix,omitempty"`
	Person   bool   `json:"person,omitempty"` // a comment of a person
}

// Happening is one entry of a history or of the journal.
type Happening struct {
	At     blackboard.Time `json:"at"`
	Rev    int             `json:"rev,omitempty"`
	Who    string          `json:"who"`
	Action string          `json:"action"`
	Task   string          `json:"task,omitempty"`
	Text   string          `json:"text,omitempty"`
}

// Diff is the change of a task against its base.
type Diff struct {
	Base     string     `json:"base"`
	Commit   string     `json:"commit"`         // tip of the task's branch
	Live     bool       `json:"live,omitempty"` // of the present worktree, with uncommitted changes
	Merged   bool       `json:"merged"`
	Added    int        `json:"added"`
	Removed  int        `json:"removed"`
	Files    []DiffFile `json:"files"`
	Findings []Remark   `json:"findings"` // those without a place in a file of the change
	Cut      bool       `json:"cut,omitempty"`
}

// DiffFile is one file of a Diff.
type DiffFile struct {
	Path     string   `json:"path"`
	From     string   `json:"from,omitempty"` // former name of a renamed file
	Status   string   `json:"status"`         // added, modified, deleted, renamed, copied or mode
	Added    int      `json:"added"`
	Removed  int      `json:"removed"`
	Binary   bool     `json:"binary,omitempty"`
	Mode     string   `json:"mode,omitempty"`     // mode in git: 100644, 100755, 120000, 160000
	OldMode  string   `json:"old_mode,omitempty"` // former mode, if it changed
	Patch    string   `json:"patch"`              // its hunks as git writes them, from the first @@ on
	Cut      bool     `json:"cut,omitempty"`      // the patch is incomplete
	Findings []Remark `json:"findings"`
}

// DiffLine is one line of a patch. Old and New are line numbers, 0 where the side has no such line.
type DiffLine struct {
	Kind byte // ' ', '+', '-', '@' for the head of a hunk, '\\' for git's remark about the end of a file
	Old  int
	New  int
	Text string // without Kind
}

// Timeline has the runs of each agent, and the events of the sprint.
type Timeline struct {
	From  blackboard.Time `json:"from"`
	To    blackboard.Time `json:"to"`
	Lanes []Lane          `json:"lanes"` // one for each agent, in the order of a team
	Marks []Mark          `json:"marks"`
}

// Lane has the runs of one agent.
type Lane struct {
	Agent string `json:"agent"`
	Role  string `json:"role"`
	Spans []Span `json:"spans"`
}

// Span is one run. Until is empty while the run lasts.
type Span struct {
	Task    string          `json:"task,omitempty"`
	Kind    string          `json:"kind"` // plan, work or review
	From    blackboard.Time `json:"from"`
	Until   blackboard.Time `json:"until,omitempty"`
	Outcome string          `json:"outcome,omitempty"`
}

// Mark is an event: submitted, rejected, approved, merged, blocked, answered, checkpoint, goal and others.
type Mark struct {
	At   blackboard.Time `json:"at"`
	Kind string          `json:"kind"`
	Task string          `json:"task,omitempty"`
	Text string          `json:"text,omitempty"`
}

// GraphView has the tasks with their dependencies, laid out from left to right in pixels.
type GraphView struct {
	Width    int      `json:"width"`
	Height   int      `json:"height"`
	Nodes    []Node   `json:"nodes"`
	Edges    []Edge   `json:"edges"`
	Critical []string `json:"critical"` // ids of the longest chain of open tasks, in order
}

// Node is a task of the graph.
type Node struct {
	ID       string            `json:"id"`
	Title    string            `json:"title"`
	Status   blackboard.Status `json:"status"`
	Depth    int               `json:"depth"`
	X        int               `json:"x"`
	Y        int               `json:"y"`
	W        int               `json:"w"`
	H        int               `json:"h"`
	Critical bool              `json:"critical,omitempty"`
}

// Edge leads from a dependency to the task that waits for it, or from a task to its replacement.
type Edge struct {
	From       string `json:"from"`
	To         string `json:"to"`
	Superseded bool   `json:"superseded,omitempty"`
	Critical   bool   `json:"critical,omitempty"`
}

// Figures has costs, throughput and quality of reviews.
type Figures struct {
	Spent   []Point    `json:"spent"`  // cents, summed up
	Merged  []Point    `json:"merged"` // tasks, summed up
	ByTask  []Spending `json:"by_task"`
	ByAgent []Spending `json:"by_agent"`
	Total   Cost       `json:"total"`
	Quality []Figure   `json:"quality"` // "approved at the first review: 7 of 9"
}

// Point is a value at a moment.
type Point struct {
	At    blackboard.Time `json:"at"`
	Value float64         `json:"value"`
}

// Spending is the cost of a task or an agent.
type Spending struct {
	Name    string `json:"name"`
	Cost    Cost   `json:"cost"`
	Seconds int    `json:"seconds"`
	Tokens  int    `json:"tokens"`
}

// Figure is one figure in words.
type Figure struct {
	Name string `json:"name"`
	Text string `json:"text"`
}
