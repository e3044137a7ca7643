package project

import (
	"fmt"
	"path/filepath"

	"liza/pkg/code/git"
)

// The paths of specs/protocol.md#1.1. Names of tasks and agents have been checked by the caller.

func (p *Project) in(elem ...string) string {
	return filepath.Join(append([]string{p.Liza}, elem...)...)
}

func (p *Project) inGit(elem ...string) string {
	return filepath.Join(append([]string{p.GitDir, "liza"}, elem...)...)
}

// State returns the file of the blackboard.
func (p *Project) State() string { return p.in("state.yaml") }

// Lock returns the file whose lock guards writes of the state.
func (p *Project) Lock() string { return p.in("state.yaml.lock") }

// Journal returns the log of every transition.
func (p *Project) Journal() string { return p.in("log.yaml") }

// Alerts returns the log of alerts raised and cleared.
func (p *Project) Alerts() string { return p.in("alerts.log") }

// OpenAlerts returns the cache of open alerts.
func (p *Project) OpenAlerts() string { return p.in("alerts.json") }

// AlertsLock returns the lock file that guards OpenAlerts.
func (p *Project) AlertsLock() string { return p.in("alerts.lock") }

// Escalation returns the file that reports a checkpoint which waits too long.
func (p *Project) Escalation() string { return p.in("ESCALATION") }

// Roles returns the folder of the project's role files.
func (p *Project) Roles() string { return p.in("roles") }

// Skills returns the folder of the project's skills.
func (p *Project) Skills() string { return p.in("skills") }

// Instructions returns the file with a person's text for every prompt.
func (p *Project) Instructions() string { return p.in("instructions.md") }

// ArchiveDir returns the folder of archived tasks and journal entries.
func (p *Project) ArchiveDir() string { return p.in("archive") }

// Archive returns the file of the archived tasks of a sprint.
func (p *Project) Archive(sprint string) string { return p.in("archive", sprint+".yaml") }

// HistoryDir returns the folder of the interactions of a task, of _planner or of _summarizer.
func (p *Project) HistoryDir(task string) string { return p.in("history", task) }

// Prompt returns the file with the exact prompt of a run.
func (p *Project) Prompt(task string, seq int) string {
	return p.in("prompts", task, fmt.Sprintf("%d.txt", seq))
}

// Output returns the file with the raw output of the programs that worked on a task.
func (p *Project) Output(task string) string { return p.in("output", task+".log") }

// OutputAgent returns the file with the raw output of an agent's programs without a task (planner).
func (p *Project) OutputAgent(agent string) string { return p.in("output", agent+".log") }

// RunEnd returns the file with the end of an agent's last run, until the board has it.
func (p *Project) RunEnd(agent string) string { return p.in("output", agent+".ended.json") }

// Activity returns the file with the activity of the runs for a task, or of an agent without one (package activity).
func (p *Project) Activity(name string) string { return p.in("output", name+".events") }

// PanicLog returns the file with the stacks of panics inside Liza while it worked for an agent.
func (p *Project) PanicLog(agent string) string { return p.in("output", agent+".panic.log") }

// CheckLog returns the file with the output of a review check.
func (p *Project) CheckLog(task, check string) string {
	return p.in("output", fmt.Sprintf("%s.check-%s.log", task, check))
}

// Baseline returns the file with the results of checks on the base trees of work.
func (p *Project) Baseline() string { return p.in("baseline.json") }

// BaselineLog returns the file with the output of a command on such a tree.
func (p *Project) BaselineLog(key string) string { return p.in("output", "baseline-"+key+".log") }

// BaselineLock returns the lock file that lets one command at a time run on a base.
func (p *Project) BaselineLock() string { return p.inGit("baseline.lock") }

// SetupLog returns the file with the output of the commands that prepare a worktree.
func (p *Project) SetupLog(task string) string { return p.in("output", task+".setup.log") }

// ServiceLog is what a service has printed for a task.
func (p *Project) ServiceLog(task, service string) string {
	return p.in("output", task+".service-"+service+".log")
}

// TemplatesLock is held while one of them is made or removed.
func (p *Project) TemplatesLock() string { return p.inGit("services.lock") }

// IntegrationLog returns the file with the output of the n-th run of a task's integration checks.
func (p *Project) IntegrationLog(task string, n int) string {
	return p.in("output", fmt.Sprintf("integration-%s-%d.log", task, n))
}

// Checkpoints returns the folder of the checkpoints' summaries.
func (p *Project) Checkpoints() string { return p.in("checkpoints") }

// SprintSummary returns the file with a copy of the newest summary.
func (p *Project) SprintSummary() string { return p.in("sprint_summary.md") }

// BreakerReport returns the report of the circuit breaker.
func (p *Project) BreakerReport() string { return p.in("circuit_breaker_report.md") }

// Usage returns the file with one line for each run.
func (p *Project) Usage() string { return p.in("usage.jsonl") }

// TelemetryLock returns the lock file of the process that exports telemetry.
func (p *Project) TelemetryLock() string { return p.inGit("telemetry.lock") }

// TelemetryMark returns the file with the time up to which telemetry was exported.
func (p *Project) TelemetryMark() string { return p.inGit("telemetry") }

// Notifications returns the file of the outbox.
func (p *Project) Notifications() string { return p.in("notifications.jsonl") }

// NotifyLock returns the lock file that guards the delivery of the outbox.
func (p *Project) NotifyLock() string { return p.in("notify.lock") }

// SummarizeLock returns the lock file that lets one summarizer run at a time.
func (p *Project) SummarizeLock() string { return p.in("summarize.lock") }

// Tmp returns the folder for scratch folders.
func (p *Project) Tmp() string { return p.in("tmp") }

// ExitSchema returns the file with the JSON Schema of the exit command, for programs that accept one.
func (p *Project) ExitSchema() string { return p.in("tmp", "exit-schema.json") }

// StrictSchema has that of one kind of agent in the strict form.
func (p *Project) StrictSchema(kind string) string {
	return p.in("tmp", "exit-schema-"+kind+".json")
}

// Secrets returns the folder of secrets (mode 0700).
func (p *Project) Secrets() string { return p.in("secrets") }

// Worktrees returns the folder of the tasks' worktrees.
func (p *Project) Worktrees() string { return git.WorktreesOf(p.Root) }

// Worktree returns the worktree of a task.
func (p *Project) Worktree(task string) string { return filepath.Join(p.Worktrees(), task) }

// ReviewWorktree returns the worktree in which a submission is checked before its review.
func (p *Project) ReviewWorktree(task string) string {
	return filepath.Join(p.Worktrees(), ".review-"+task)
}

// Snapshots returns the folder of the last states; it survives `git clean`.
func (p *Project) Snapshots() string { return p.inGit("snapshots") }

// Committed returns the file that names the last state that Liza wrote.
func (p *Project) Committed() string { return p.inGit("committed") }

// Mirror returns the file that names the board in a database whose copy .liza/state.yaml is.
func (p *Project) Mirror() string { return p.inGit("mirror") }

// GitLock returns the lock file that serialises worktree commands and changes of refs.
func (p *Project) GitLock() string { return p.inGit("git.lock") }

// MergeLock returns the lock file that serialises merges. It is taken before GitLock, and that before Lock.
func (p *Project) MergeLock() string { return p.inGit("merge.lock") }

// LandLock returns the lock file that serialises landing. It is taken before MergeLock.
func (p *Project) LandLock() string { return p.inGit("land.lock") }

// ImportLock returns the lock file that serialises reports to trackers and files.
func (p *Project) ImportLock() string { return p.inGit("import.lock") }

// Scripted returns the folder in which the scripted agent counts its attempts.
func (p *Project) Scripted() string { return p.in("tmp", "scripted") }

// Cache returns the folder of the caches of toolchains and programs that contained runs share.
func (p *Project) Cache() string { return p.in("cache") }

// Things that Liza makes once and copies, each kind in a folder of its own below Cache.
const (
	Seeds     = "seeds"    // what worktree.setup made, for many worktrees
	Templates = "services" // data folders with which services begin, each in a folder NAME-KEY
)

// Made returns the folder of Seeds or Templates.
func (p *Project) Made(kind string) string { return p.in("cache", kind) }

// SeedLock returns the lock file that lets one seed be made at a time.
func (p *Project) SeedLock() string { return p.inGit("seed.lock") }

// Slots returns the folder of the lock files that bound how many commands of the project run at one time.
func (p *Project) Slots() string { return p.inGit() }

// Project is one repository with the folder .liza in its main checkout.
type Project struct {
	Root   string // the main checkout, without symbolic links
	GitDir string // git's common folder, also seen from a linked worktree
	Liza   string // Root/.liza; it may be a link to a folder elsewhere

	Mask func(text string) string // masks secrets in the reasons of control files; nil: nothing is masked
}
