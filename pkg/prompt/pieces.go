package prompt

// sections are all parts of a prompt in the order of specs/roles-and-knowledge.md#2.2: what stays
// the same longest is first. One without lead and text leaves no heading.
var sections = []section{
	// The same for every task of a role.
	{name: "role", from: "role file", text: (*Input).roleText},
	{name: "rules", heading: "Rules", from: "Liza", text: (*Input).rules},
	{name: "verbs", piece: "verbs", heading: "Commands", from: "Liza", text: (*Input).commands},
	{name: "finish", heading: "How to finish", from: "Liza", text: (*Input).finish},
	{name: "custom_instructions", piece: "custom_instructions", field: "CustomInstructions", heading: "Project instructions", limit: 4000, from: "context.custom_instructions, .liza/instructions.md",
		text: (*Input).instructions, hint: constant(".liza/instructions.md")},
	{name: "skills", piece: "skills", field: "Skills", heading: "Skills", limit: 3000, fenced: true, from: ".liza/skills", text: (*Input).skills, hint: constant("ls .liza/skills")},

	// The same for a sprint, or as long as the integration branch does not move.
	{name: "goal", piece: "goal", field: "Goal", heading: "Goal", from: "plan", text: (*Input).goal},
	{name: "summary", piece: "summary", field: "Summary", heading: "Summary", limit: 3000, fenced: true, from: "goal.summary", text: (*Input).summary, hint: constant("$LIZA_BIN show goal")},
	{name: "facts", piece: "facts", field: "Facts", heading: "Known facts", limit: 3000, from: "facts", text: (*Input).facts, hint: constant("$LIZA_BIN facts list"), fit: (*Input).fitFacts},
	{name: "repo_structure", piece: "repo_structure", field: "RepoContext", heading: "Repository", limit: 3000, fenced: true, from: "git ls-files", text: (*Input).repository, hint: constant("git ls-files")},

	// The task.
	{name: "task", piece: "task", heading: "Task", from: "task", text: (*Input).task},
	{name: "criteria", piece: "criteria", heading: "Done when", from: "task", text: (*Input).criteria},
	{name: "spec", piece: "spec", field: "Spec", heading: "Spec", limit: 4000, fenced: true, from: "spec file, spec_changes", lead: (*Input).specLead, text: (*Input).spec, hint: (*Input).specPath},
	{name: "request", piece: "request", field: "Request", heading: "Request of the user", limit: 4000, fenced: true, from: "plan", text: (*Input).request, hint: constant("$LIZA_BIN plan show")},
	{name: "related_tasks", piece: "related_tasks", field: "RelatedTasks", heading: "Related tasks", limit: 1500, from: "tasks", text: (*Input).relatedTasks, hint: (*Input).show},
	{name: "relevant_files", piece: "relevant_files", field: "RelevantFiles", heading: "Relevant files", limit: 1500, fenced: true, from: "git ls-files, words of the task", text: (*Input).relevant, hint: constant("git ls-files")},
	{name: "session_context", piece: "session_context", field: "SessionContext", heading: "Who else is at work", limit: 1000, from: "tasks", text: (*Input).sessionContext, hint: constant("$LIZA_BIN status")},

	// The run.
	{name: "run", piece: "run", heading: "This run", from: "claim", text: (*Input).run},
	{name: "caller_role", piece: "caller_role", field: "CallerRole", heading: "Caller", from: "plan, notes", text: (*Input).caller},
	{name: "new_message", piece: "new_message", field: "NewMessage", heading: "New message", limit: 6000, fenced: true, from: "goal, notes", text: (*Input).newMessage, hint: constant("$LIZA_BIN log --action note")},
	{name: "wake", piece: "wake", field: "Wake", heading: "Why you run", from: "triggers", text: (*Input).wake},
	{name: "causes", piece: "wake", heading: "Causes", fenced: true, from: "tasks, discoveries, anomalies", text: (*Input).causes, hint: constant("$LIZA_BIN status")},
	{name: "board", piece: "board", field: "Board", heading: "Board", limit: 3000, fenced: true, from: "tasks", text: (*Input).board, hint: constant("$LIZA_BIN status")},
	{name: "messages", piece: "messages", field: "Messages", heading: "Messages so far", limit: 3000, fenced: true, from: "notes, msg tasks", text: (*Input).messages, hint: constant("$LIZA_BIN log --action note")},
	{name: "completed", piece: "replan", field: "Completed", heading: "Completed", limit: 3000, fenced: true, from: "plans", text: (*Input).completed, hint: constant("$LIZA_BIN status")},
	{name: "remaining", piece: "replan", field: "Remaining", heading: "Remaining", limit: 1500, fenced: true, from: "plans", text: (*Input).remaining, hint: constant("$LIZA_BIN status")},
	{name: "failure", piece: "replan", field: "Failure", heading: "Failure", limit: 2500, fenced: true, from: "plans", text: (*Input).failure, hint: constant("$LIZA_BIN status")},
	{name: "replan_history", piece: "replan", field: "ReplanHistory", heading: "Earlier plans", limit: 2000, fenced: true, from: "plans", text: (*Input).replanHistory, hint: constant("$LIZA_BIN plan show")},
	{name: "handoff", piece: "handoff", field: "Handoff", heading: "Handoff", limit: 2000, fenced: true, from: "handoff", lead: (*Input).handoffLead, text: (*Input).handoff, hint: (*Input).show},
	{name: "answers", piece: "answers", field: "Answers", heading: "Answers to earlier questions", limit: 2000, fenced: true, from: "questions", text: (*Input).answers, hint: (*Input).show},
	{name: "task_notes", piece: "task_notes", field: "HumanNotes", heading: "Notes of people", limit: 2000, fenced: true, from: "notes", text: (*Input).taskNotes, hint: (*Input).show},
	{name: "prior_attempts", piece: "prior_attempts", field: "PriorAttempts", heading: "Earlier attempts", limit: 3000, fenced: true, from: "attempts", text: (*Input).priorAttempts, hint: (*Input).show},
	{name: "rejection", piece: "rejection", field: "PriorRejection", heading: "Prior rejection", limit: 4000, from: "rejection", lead: (*Input).rejectionLead, text: (*Input).rejection, hint: (*Input).show},
	{name: "intent", piece: "intent", field: "Intent", heading: "Intent of the coder", limit: 1500, fenced: true, from: "checkpoint", lead: (*Input).intentLead, text: (*Input).intent, hint: (*Input).show},
	{name: "checks", piece: "checks", field: "Checks", heading: "Checks", limit: 3000, fenced: true, from: "review checks", text: (*Input).checks, hint: (*Input).show},
	{name: "output", piece: "output", field: "Output", heading: "Submission", limit: 8000, fenced: true, from: "submission", text: (*Input).output, hint: (*Input).show},
	{name: "diff", piece: "output", field: "Diff", heading: "Diff", limit: 10000, fenced: true, from: "git diff", text: (*Input).diff, hint: (*Input).diffCommand, fit: fitDiff},
	{name: "compress", piece: "compress", field: "ToCompress", heading: "Text to shorten", fenced: true, from: "notes, facts", text: (*Input).compress, hint: constant("$LIZA_BIN log")},
	{name: "checklist", piece: "run", heading: "Checklist", from: "Liza", text: (*Input).checklist},
}

func constant(text string) func(*Input) string { return func(*Input) string { return text } }
