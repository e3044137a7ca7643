package project

import (
	"fmt"
	"path/filepath"
)

// The paths of specs/protocol.md#1.1. Names of tasks and agents have been checked by the caller.

func (p *Project) in(elem ...string) string {
	return filepath.Join(append([]string{p.Liza}, elem...)...)
}

func (p *Project) inGit(elem ...string) string {
	return filepath.Join(append([]string{p.GitDir, "liza"}, elem...)...)
}

// State is the blackboard.
func (p *Project) State() string { return p.in("state.yaml") }

// Lock is the file whose lock guards writes of the state.
func (p *Project) Lock() string { return p.in("state.yaml.lock") }

// Journal is the log of every transition.
func (p *Project) Journal() string { return p.in("log.yaml") }

// Alerts is the log of alerts raised and cleared.
func (p *Project) Alerts() string { return p.in("alerts.log") }

// OpenAlerts has the alerts that are open, a cache.
func (p *Project) OpenAlerts() string { return p.in("alerts.json") }

// AlertsLock guards OpenAlerts.
func (p *Project) AlertsLock() string { return p.in("alerts.lock") }

// Escalation tells people that a checkpoint waits for too long.
func (p *Project) Escalation() string { return p.in("ESCALATION") }

// Roles is the folder of the project's role files.
func (p *Project) Roles() string { return p.in("roles") }

// Skills is the folder of the project's skills.
func (p *Project) Skills() string { return p.in("skills") }

// Instructions is a person's text for every prompt.
func (p *Project) Instructions() string { return p.in("instructions.md") }

// ArchiveDir holds what left the state and the journal.
func (p *Project) ArchiveDir() string { return p.in("archive") }

// Archive has the terminal tasks of a sprint.
func (p *Project) Archive(sprint string) string { return p.in("archive", sprint+".yaml") }

// HistoryDir holds the interactions of a task, of _planner or of _summarizer.
func (p *Project) HistoryDir(task string) string { return p.in("history", task) }

// Prompt is the exact text that an agent program got.
func (p *Project) Prompt(task string, seq int) string {
	return p.in("prompts", task, fmt.Sprintf("%d.txt", seq))
}

// Output is the raw output of the programs that worked on a task.
func (p *Project) Output(task string) string { return p.in("output", task+".log") }

// OutputAgent is the raw output of an agent's programs that had no task (planner).
func (p *Project) OutputAgent(agent string) string { return p.in("output", agent+".log") }

// RunEnd is how the last run of an agent ended, until the board has it.
func (p *Project) RunEnd(agent string) string { return p.in("output", agent+".ended.json") }

// Activity is what the runs for a task, or of an agent that had none, do (package activity).
func (p *Project) Activity(name string) string { return p.in("output", name+".events") }

// PanicLog has the stacks of what went wrong inside Liza itself while it worked for an agent.
func (p *Project) PanicLog(agent string) string { return p.in("output", agent+".panic.log") }

// CheckLog is the output of a review check.
func (p *Project) CheckLog(task, check string) string {
	return p.in("output", fmt.Sprintf("%s.check-%s.log", task, check))
}

// Baseline has what checks gave on the trees that work began with.
func (p *Project) Baseline() string { return p.in("baseline.json") }

// BaselineLog is the output of a command on such a tree.
func (p *Project) BaselineLog(key string) string { return p.in("output", "baseline-"+key+".log") }

// BaselineLock lets one command at a time run on a base.
func (p *Project) BaselineLock() string { return p.inGit("baseline.lock") }

// SetupLog is the output of the commands that prepare a worktree.
func (p *Project) SetupLog(task string) string { return p.in("output", task+".setup.log") }

// IntegrationLog is the output of the n-th run of a task's integration checks.
func (p *Project) IntegrationLog(task string, n int) string {
	return p.in("output", fmt.Sprintf("integration-%s-%d.log", task, n))
}

// Checkpoints is the folder of the checkpoints' summaries.
func (p *Project) Checkpoints() string { return p.in("checkpoints") }

// SprintSummary is a copy of the newest summary.
func (p *Project) SprintSummary() string { return p.in("sprint_summary.md") }

// BreakerReport says why the circuit breaker tripped.
func (p *Project) BreakerReport() string { return p.in("circuit_breaker_report.md") }

// Usage has one line for each run.
func (p *Project) Usage() string { return p.in("usage.jsonl") }

// TelemetryLock is held by the process that exports telemetry.
func (p *Project) TelemetryLock() string { return p.inGit("telemetry.lock") }

// TelemetryMark says until when telemetry was exported.
func (p *Project) TelemetryMark() string { return p.inGit("telemetry") }

// Notifications is the outbox.
func (p *Project) Notifications() string { return p.in("notifications.jsonl") }

// NotifyLock guards the delivery of the outbox.
func (p *Project) NotifyLock() string { return p.in("notify.lock") }

// SummarizeLock lets one summarizer run at a time.
func (p *Project) SummarizeLock() string { return p.in("summarize.lock") }

// Tmp holds scratch folders.
func (p *Project) Tmp() string { return p.in("tmp") }

// ExitSchema has the JSON Schema of the exit command, for programs that are told of it.
func (p *Project) ExitSchema() string { return p.in("tmp", "exit-schema.json") }

// StrictSchema has that of one kind of agent in the strict form.
func (p *Project) StrictSchema(kind string) string {
	return p.in("tmp", "exit-schema-"+kind+".json")
}

// Secrets is the folder of secrets (mode 0700).
func (p *Project) Secrets() string { return p.in("secrets") }

// Worktrees is the folder of the tasks' worktrees.
func (p *Project) Worktrees() string { return filepath.Join(p.Root, ".worktrees") }

// Worktree is where a task is worked on.
func (p *Project) Worktree(task string) string { return filepath.Join(p.Worktrees(), task) }

// ReviewWorktree is where a submission is checked before its review.
func (p *Project) ReviewWorktree(task string) string {
	return filepath.Join(p.Worktrees(), ".review-"+task)
}

// Snapshots holds the last states; it survives `git clean`.
func (p *Project) Snapshots() string { return p.inGit("snapshots") }

// Committed names the last state that Liza itself wrote.
func (p *Project) Committed() string { return p.inGit("committed") }

// Mirror names the board in a database whose copy .liza/state.yaml is.
func (p *Project) Mirror() string { return p.inGit("mirror") }

// GitLock serialises worktree commands and changes of refs.
func (p *Project) GitLock() string { return p.inGit("git.lock") }

// MergeLock serialises merges. It is taken before GitLock, and that before Lock.
func (p *Project) MergeLock() string { return p.inGit("merge.lock") }

// LandLock serialises landing. It is taken before MergeLock.
func (p *Project) LandLock() string { return p.inGit("land.lock") }

// ImportLock serialises what goes back to trackers and files.
func (p *Project) ImportLock() string { return p.inGit("import.lock") }

// Scripted is where the scripted agent counts its attempts.
func (p *Project) Scripted() string { return p.in("tmp", "scripted") }

// Cache has the caches of toolchains and programs that contained runs share.
func (p *Project) Cache() string { return p.in("cache") }

// Project is one repository with the folder .liza in its main checkout.
type Project struct {
	Root   string // the main checkout, without symbolic links
	GitDir string // git's common dir, also seen from a linked worktree
	Liza   string // Root/.liza; it may be a link to a folder elsewhere

	Mask func(text string) string // takes secrets out of the reasons in control files; nil: they stay
}
