package role

import "slices"

// Field is one name that templates may use (specs/roles-and-knowledge.md#2.3). A kind of agent has a field only if the matrix
// gives it the field's piece.
type Field struct {
	Name   string
	Piece  Piece // "": every kind has it
	Sample any   // value for trial renderings, with the field's type
}

// Fix is one item of .Fixes.
type Fix struct {
	N      int
	Kind   string
	Detail string
	Expect string
	Done   bool
	Output string
}

// Fields is the table of 2.3.
var Fields = []Field{
	{"Instructions", "", "Work well."}, {"RoleName", "", "implement"}, {"Kind", "", "coder"},
	{"ID", "task", "task-3"}, {"Title", "task", "Greet by name"}, {"Description", "task", "Greet the person by name."},
	{"Type", "task", "feature"}, {"Scope", "task", "IN: the greeting."}, {"Priority", "task", 1},
	{"DoneWhen", "criteria", "it prints Hello, Bob!"}, {"AcceptanceCriteria", "criteria", []string{"it exits 0", "names have blanks"}},
	{"SpecRef", "spec", "specs/vision.md#name"}, {"Spec", "spec", "## Name"},
	{"DependsOn", "related_tasks", []string{"task-1"}}, {"RelatedTasks", "related_tasks", "- depends on task-1"},
	{"RepoContext", "repo_structure", "cmd/\npkg/"}, {"RelevantFiles", "relevant_files", []string{"hello.go"}},
	{"SessionContext", "session_context", "- task-2 (CLAIMED, coder-2)"}, {"CustomInstructions", "custom_instructions", "Use tabs."},
	{"Goal", "goal", "A greeting program"}, {"Summary", "summary", "It was asked for a greeting."}, {"Facts", "facts", []string{"Tests run with go test."}},
	{"PriorAttempts", "prior_attempts", "1. coder-1: rejected"}, {"PriorRejection", "rejection", "1. hello.go:3 lacks the name"},
	{"Fixes", "rejection", []Fix{{N: 1, Kind: "code", Detail: "add the name", Expect: "it is printed", Done: true, Output: "ok"}}},
	{"HumanNotes", "task_notes", "- note-1: be brief"}, {"Messages", "messages", "- ada: hello"}, {"NewMessage", "new_message", "Greet people."},
	{"Handoff", "handoff", "Summary: half done"}, {"Answers", "answers", "- yes"},
	{"Diff", "output", "diff --git a/x b/x"}, {"DiffStat", "output", " x | 1 +"}, {"Output", "output", "ok"},
	{"Checks", "checks", "- build_passes: passed"}, {"Intent", "intent", "Intent: add the name"},
	{"Request", "request", "Please greet people."}, {"CallerRole", "caller_role", "admin"}, {"SecretNames", "caller_role", []string{"github_token"}},
	{"Completed", "replan", "- task-1"}, {"Remaining", "replan", "- task-4"}, {"Failure", "replan", "task-3: no"}, {"ReplanHistory", "replan", "- plan-1"},
	{"Board", "board", "1 CLAIMED"}, {"Wake", "wake", "- HUMAN_NOTE"}, {"Skills", "skills", "search: looks for it"},
	{"AgentID", "run", "coder-1"}, {"Worktree", "run", "/project/.worktrees/task-3"}, {"Iteration", "run", 1},
	{"BaseCommit", "run", "6f0c0a5b"}, {"ReviewCommit", "run", "9a1d2e3f"}, {"ToCompress", "compress", "- ada: hello"},
}

// neverEmpty are fields that have a value in every run.
var neverEmpty = []string{"RoleName", "Kind", "ID", "Description", "AgentID", "Worktree", "Iteration"}

// For reports whether templates of a kind may use the field. Of its task the messenger gets the description only.
func (f Field) For(k Kind) bool {
	if f.Piece == "task" && k == Messenger {
		return f.Name == "Description"
	}
	return f.Piece == "" || f.Piece.For(k) != Never
}

// Empty returns the field's value without data.
func (f Field) Empty() any {
	switch f.Sample.(type) {
	case int:
		return 0
	case []string:
		return []string(nil)
	case []Fix:
		return []Fix(nil)
	}
	return ""
}

func fieldNamed(name string) (Field, bool) {
	i := slices.IndexFunc(Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return Fields[i], true
}

// samples is the data of a trial rendering: every field that the kind has, with a value or
// as empty as it can be.
func samples(k Kind, full bool) map[string]any {
	data := map[string]any{}
	for _, f := range Fields {
		if !f.For(k) {
			continue
		}
		data[f.Name] = f.Empty()
		if full || slices.Contains(neverEmpty, f.Name) {
			data[f.Name] = f.Sample
		}
	}
	return data
}

func fieldNames(k Kind) []string {
	var names []string
	for _, f := range Fields {
		if f.For(k) {
			names = append(names, f.Name)
		}
	}
	return names
}
