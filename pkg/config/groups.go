package config

// A Group is settings that people look for together.
type Group struct {
	Name, About string
	Sections    []string
}

// Groups has each section of the file once, in the order in which projects come to need them.
var Groups = []Group{
	{"programs", "agent programs, their models and roles, and how many run at one time", []string{"agents", "models", "roles", "orchestration", "prices"}},
	{"checks", "review and merge: who decides, and what runs before", []string{"review", "integration", "merge", "worktree", "hooks", "git"}},
	{"landing", "pull and merge requests on a forge, what comes from there, and imports", []string{"land", "import"}},
	{"containment", "what programs and commands may read, write and reach", []string{"sandbox"}},
	{"limits", "cost, time, iterations and sizes", []string{"limits"}},
	{"plans", "what a plan must have, and what prompts are made of", []string{"plan", "context", "facts", "messenger", "exit"}},
	{"rights", "who may do what, commands, secrets", []string{"policy", "exec", "secrets"}},
	{"notices", "messages to people", []string{"notify"}},
	{"timing", "leases, waiting times and alerts of the protocol; the defaults suit nearly everybody", []string{"protocol"}},
	{"hosts", "where the board is, for a team on several hosts", []string{"store"}},
	{"files", "form and size of files", []string{"version", "history"}},
}

// First are the settings that a project should look at; all others can wait.
var First = []string{
	"agents.default", "models.default", "orchestration.max_concurrent_agents",
	"worktree.setup", "review.checks.tests_pass.command", "integration.checks", "review.mode",
	"limits.cost_cents", "limits.time_minutes", "limits.max_iterations", "limits.max_review_cycles",
	"notify.webhook_url",
}
