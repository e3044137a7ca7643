package role

// Kind is the kind of agent of a role (specs/roles-and-knowledge.md#0.2).
type Kind string

// The kinds.
const (
	Planner    Kind = "planner"
	Coder      Kind = "coder"
	Reviewer   Kind = "code_reviewer"
	Messenger  Kind = "messenger"
	Summarizer Kind = "summarizer"
)

// Kinds lists them in the order of the matrix.
var Kinds = []Kind{Planner, Coder, Reviewer, Messenger, Summarizer}

// A Piece is one kind of context that an agent may get (specs/roles-and-knowledge.md#2.4).
type Piece string

// Access is the access of a kind of agent to a piece.
type Access byte

// The values of the matrix. An Optional piece is given unless the context_requirements of the role omit it.
const (
	Never    Access = '-'
	Given    Access = 'Y'
	Optional Access = 'O'
	OnReplan Access = 'R'
)

// Row is one line of the matrix; Access has one letter for each of Kinds.
type Row struct {
	Piece  Piece
	Access string
	About  string
}

// Matrix has the access of each kind to each piece. No kind gets a piece that is not in it.
var Matrix = []Row{
	{"goal", "YYY--", "the plan's goal"},
	{"request", "--Y--", "the original words of the user"},
	{"new_message", "Y----", "what a person wrote since the planner's last run"},
	{"messages", "Y--Y-", "the last messages of the conversation"},
	{"summary", "Y--YY", "the summary of what was said before; for the summarizer the old one"},
	{"facts", "YO-Y-", "lasting facts about the project"},
	{"skills", "Y----", "skills with the schemas of their arguments"},
	{"caller_role", "Y----", "who asks, with which rights, and the names of secrets"},
	{"board", "Y----", "all tasks by status"},
	{"wake", "Y----", "why the planner runs, and the causes"},
	{"replan", "R----", "completed and remaining tasks, the failure, earlier plans"},
	{"task", "-YYY-", "id, title, description, type and scope; for the messenger the description"},
	{"criteria", "-YY--", "done_when and the acceptance criteria"},
	{"spec", "YYY--", "path, excerpt, and what changed since the task was made"},
	{"output", "--Y--", "diff or output, the coder's summary and evidence"},
	{"checks", "--Y--", "results of the deterministic checks"},
	{"intent", "--Y--", "the pre-execution checkpoint"},
	{"rejection", "-YY--", "the last rejection with its findings and fixes"},
	{"prior_attempts", "-O---", "earlier runs on the task"},
	{"session_context", "-O---", "other tasks in work"},
	{"related_tasks", "-O---", "tasks before, behind and replaced by this one"},
	{"repo_structure", "OO---", "the tree of the repository"},
	{"relevant_files", "-O---", "files that the task is probably about"},
	{"task_notes", "-YY--", "human notes for the task"},
	{"answers", "-Y---", "answers to the task's questions"},
	{"handoff", "YYY--", "what an agent of the same kind left for its successor"},
	{"custom_instructions", "YYYY-", "instructions of the project"},
	{"compress", "----Y", "entries or facts to shorten"},
	{"verbs", "YYY--", "commands of the kind"},
	{"run", "YYY--", "identity, paths, commits, iteration"},
}

// column is the kind's place in a row of the matrix, -1 for an unknown kind.
func (k Kind) column() int {
	for i, known := range Kinds {
		if known == k {
			return i
		}
	}
	return -1
}

// Known reports whether k is one of the kinds.
func (k Kind) Known() bool { return k.column() >= 0 }

// For returns the access of a kind of agent to the piece.
func (p Piece) For(k Kind) Access {
	at := k.column()
	for _, row := range Matrix {
		if row.Piece == p && at >= 0 {
			return Access(row.Access[at])
		}
	}
	return Never
}

// known reports whether the matrix has the piece.
func (p Piece) known() bool {
	for _, row := range Matrix {
		if row.Piece == p {
			return true
		}
	}
	return false
}

func pieceNames() []string {
	var names []string
	for _, row := range Matrix {
		names = append(names, string(row.Piece))
	}
	return names
}

// alias is another name of a role (specs/roles-and-knowledge.md#1.6), with exact case.
type alias struct {
	name, role string
	kind       Kind
}

var aliases = []alias{
	{"Worker", "implement", Coder}, {"coder", "implement", Coder}, {"Coder", "implement", Coder},
	{"Supervisor", "review", Reviewer}, {"reviewer", "review", Reviewer}, {"code_reviewer", "review", Reviewer},
	{"code-reviewer", "review", Reviewer}, {"Code Reviewer", "review", Reviewer},
	{"worker", "messenger", Messenger}, {"Planner", "planner", Planner},
}

// Canonical returns the role of an alias; any other name is its own.
func Canonical(name string) string {
	for _, a := range aliases {
		if a.name == name {
			return a.role
		}
	}
	return name
}

// KindOf returns the kind of a kind's name or alias.
func KindOf(name string) (Kind, bool) {
	if k := Kind(name); k.Known() {
		return k, true
	}
	for _, a := range aliases {
		if a.name == name {
			return a.kind, true
		}
	}
	return "", false
}
