package prompt

// A Piece is one kind of context that an agent may get (roles-and-knowledge 2.4).
type Piece string

// Access says whether a kind of agent gets a piece.
type Access byte

// The three answers of the matrix. What a role file may leave out is Given as well.
const (
	Never    Access = '-'
	Given    Access = 'Y'
	OnReplan Access = 'R'
)

// Row is one line of the matrix; Access has one letter for each of Kinds.
type Row struct {
	Piece  Piece
	Access string
}

// Matrix says who gets what. A piece that is not in it is given to nobody.
var Matrix = []Row{
	{"role", "YYYY"}, // role, rules and finish are no pieces of 2.4: every agent has them
	{"rules", "YYYY"},
	{"finish", "YYYY"},

	{"goal", "YYY-"},
	{"request", "--Y-"},
	{"new_message", "Y---"},
	{"messages", "Y--Y"},
	{"caller_role", "Y---"},
	{"board", "Y---"},
	{"wake", "Y---"},
	{"replan", "R---"},
	{"task", "-YYY"},
	{"criteria", "-YY-"},
	{"spec", "YYY-"},
	{"output", "--Y-"},
	{"checks", "--Y-"},
	{"intent", "--Y-"},
	{"rejection", "-YY-"},
	{"prior_attempts", "-Y--"},
	{"session_context", "-Y--"},
	{"related_tasks", "-Y--"},
	{"repo_structure", "YY--"},
	{"task_notes", "-YY-"},
	{"answers", "-Y--"},
	{"handoff", "-YY-"},
	{"custom_instructions", "YYYY"},
	{"verbs", "YYY-"},
	{"run", "YYY-"},
}

// For is what the matrix says about the piece and a kind of agent.
func (p Piece) For(k Kind) Access {
	for _, row := range Matrix {
		if row.Piece != p {
			continue
		}
		for i, kind := range Kinds {
			if kind == k {
				return Access(row.Access[i])
			}
		}
	}
	return Never
}

// section is one part of a prompt.
type section struct {
	name    string
	piece   Piece // who gets it
	heading string
	limit   int  // bytes of its text; 0: none
	fenced  bool // the text comes from people or programs outside of Liza

	lead func(*Input) string // what Liza says about the text, before the fence; may be nil
	text func(*Input) string // may be nil when there is a lead
	hint func(*Input) string // path or command that shows what was left out
	fit  func(text string, limit int, hint string) string
}

// sections are all parts of a prompt in the order of roles-and-knowledge 2.2: what stays
// the same longest stands first. One without lead and text leaves no heading.
var sections = []section{
	// The same for every task of a role.
	{name: "role", piece: "role", text: (*Input).role},
	{name: "rules", piece: "rules", heading: "Rules", text: (*Input).rules},
	{name: "verbs", piece: "verbs", heading: "Commands", text: (*Input).commands},
	{name: "finish", piece: "finish", heading: "How to finish", text: (*Input).finish},
	{name: "custom_instructions", piece: "custom_instructions", heading: "Project instructions", limit: 4000, text: (*Input).instructions, hint: constant(".liza/instructions.md")},

	// The same for a sprint, or as long as the integration branch does not move.
	{name: "goal", piece: "goal", heading: "Goal", text: (*Input).goal},
	{name: "repo_structure", piece: "repo_structure", heading: "Repository", limit: 3000, fenced: true, text: (*Input).repository, hint: constant("git ls-files")},

	// The task.
	{name: "task", piece: "task", heading: "Task", text: (*Input).task},
	{name: "criteria", piece: "criteria", heading: "Done when", text: (*Input).criteria},
	{name: "spec", piece: "spec", heading: "Spec", limit: 4000, fenced: true, lead: (*Input).specLead, text: (*Input).spec, hint: (*Input).specPath},
	{name: "request", piece: "request", heading: "Request of the user", limit: 4000, fenced: true, text: (*Input).request, hint: constant("$LIZA_BIN plan show")},
	{name: "related_tasks", piece: "related_tasks", heading: "Related tasks", limit: 1500, text: (*Input).relatedTasks, hint: (*Input).show},
	{name: "session_context", piece: "session_context", heading: "Who else is at work", limit: 1000, text: (*Input).sessionContext, hint: constant("$LIZA_BIN status")},

	// The run.
	{name: "run", piece: "run", heading: "This run", text: (*Input).run},
	{name: "caller_role", piece: "caller_role", heading: "Caller", text: (*Input).caller},
	{name: "new_message", piece: "new_message", heading: "New message", limit: 6000, fenced: true, text: (*Input).newMessage, hint: constant("$LIZA_BIN log --action note")},
	{name: "wake", piece: "wake", heading: "Why you run", text: (*Input).wake},
	{name: "causes", piece: "wake", heading: "Causes", fenced: true, text: (*Input).causes, hint: constant("$LIZA_BIN status")},
	{name: "board", piece: "board", heading: "Board", limit: 3000, fenced: true, text: (*Input).board, hint: constant("$LIZA_BIN status")},
	{name: "messages", piece: "messages", heading: "Messages so far", limit: 3000, fenced: true, text: (*Input).messages, hint: constant("$LIZA_BIN log --action note")},
	{name: "completed", piece: "replan", heading: "Completed", limit: 3000, fenced: true, text: (*Input).completed, hint: constant("$LIZA_BIN status")},
	{name: "remaining", piece: "replan", heading: "Remaining", limit: 1500, fenced: true, text: (*Input).remaining, hint: constant("$LIZA_BIN status")},
	{name: "failure", piece: "replan", heading: "Failure", limit: 2500, fenced: true, text: (*Input).failure, hint: constant("$LIZA_BIN status")},
	{name: "replan_history", piece: "replan", heading: "Earlier plans", limit: 2000, fenced: true, text: (*Input).replanHistory, hint: constant("$LIZA_BIN plan show")},
	{name: "handoff", piece: "handoff", heading: "Handoff", limit: 2000, fenced: true, lead: (*Input).handoffLead, text: (*Input).handoff, hint: (*Input).show},
	{name: "answers", piece: "answers", heading: "Answers to earlier questions", limit: 2000, fenced: true, text: (*Input).answers, hint: (*Input).show},
	{name: "task_notes", piece: "task_notes", heading: "Notes of people", limit: 2000, fenced: true, text: (*Input).taskNotes, hint: (*Input).show},
	{name: "prior_attempts", piece: "prior_attempts", heading: "Earlier attempts", limit: 3000, fenced: true, text: (*Input).priorAttempts, hint: (*Input).show},
	{name: "rejection", piece: "rejection", heading: "Prior rejection", limit: 4000, lead: (*Input).rejectionLead, text: (*Input).rejection, hint: (*Input).show},
	{name: "intent", piece: "intent", heading: "Intent of the coder", limit: 1500, fenced: true, lead: (*Input).intentLead, text: (*Input).intent, hint: (*Input).show},
	{name: "checks", piece: "checks", heading: "Checks", limit: 3000, fenced: true, text: (*Input).checks, hint: (*Input).show},
	{name: "output", piece: "output", heading: "Submission", limit: 8000, fenced: true, text: (*Input).output, hint: (*Input).show},
	{name: "diff", piece: "output", heading: "Diff", limit: 10000, fenced: true, text: (*Input).diff, hint: (*Input).diffCommand, fit: fitDiff},
	{name: "checklist", piece: "run", heading: "Checklist", text: (*Input).checklist},
}

func constant(text string) func(*Input) string { return func(*Input) string { return text } }

// show is the command that shows the task whole.
func (in *Input) show() string {
	return "$LIZA_BIN show " + in.Task.ID
}
