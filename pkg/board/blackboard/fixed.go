package blackboard

import "time"

// fixed are the times (seconds) and numbers of the protocol that no project has had a reason to change, so that they are no
// settings. The overrides of a state replace them for tests.
var fixed = map[string]int{
	"heartbeat_interval": 60,  // a team of sixteen writes the board once a minute, not more
	"lease_grace":        60,  // covers clocks of hosts that differ, and a disk that hangs
	"lock_timeout":       10,  // a write takes milliseconds; who waits longer has a program that hangs before it
	"claim_reserve":      120, // a worktree of a large repository is made in a minute
	"reassign_after":     300, // a coder that lives takes its rejected task within one poll
	"aging_step":         1800,
	"kill_grace":         10, // programs save their conversation on TERM
	"max_wait":           1800,

	"max_handoffs":       5,  // of an attempt: a context that is full five times is a task that is too large
	"max_agent_runs":     50, // of a task, reviews included: above all that max_iterations and max_review_cycles allow by default
	"max_review_retries": 2,
	"crash_limit":        3, // crashes within crash_window end a supervisor: its program is broken, not its task
	"crash_window":       300,
	"planner_retries":    2, // launches for one unchanged reason

	"alert_checkpoint_stale":     1800,
	"alert_checkpoint_stuck":     7200,
	"alert_checkpoint_abandoned": 28800, // a working day
	"alert_stalled":              1800,  // longer than the longest run by default
	"alert_stale_draft":          1800,
	"alert_orphaned_rejected":    1800,
	"alert_pause_stale":          1800,
	"alert_pause_forgotten":      7200,
}

// Fixed returns a constant of the protocol.
func Fixed(name string) (value int, is bool) {
	value, is = fixed[name]
	return value, is
}

// Heartbeat is the interval at which leases are extended: three fit into a lease, so that one that is lost does no harm.
func (s *State) Heartbeat() time.Duration {
	return max(time.Second, min(s.Duration("heartbeat_interval"), s.Duration("lease_duration")/3))
}

// MergeCheckTimeout is the time of all commands of a merge together: a merge runs what three checks of a review run.
func (s *State) MergeCheckTimeout() time.Duration { return 3 * s.Duration("check_timeout") }
