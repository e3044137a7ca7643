package watch

import (
	"slices"
	"time"

	"liza/pkg/board/blackboard"
)

// mostInvalid is how many subjects get an alert of their own before one stands for all.
const mostInvalid = 20

// ruleForged has an alert of its own.
const ruleForged = "V66"

func forgedApproval(c *check) { c.raiseRule(ruleForged) }

// ruleJournal has one as well.
const ruleJournal = "V68"

func journalBroken(c *check) {
	for _, v := range c.Violations {
		if v.Rule == ruleJournal && v.Severity != blackboard.SeverityWarning {
			c.raise(v.Subjects[0], "line %d: %s; next: liza validate", v.Line, v.Message)
		}
	}
}

// raiseRule raises one alert for each subject of the errors of a rule.
func (c *check) raiseRule(rule string) {
	raised := map[string]bool{}
	for _, v := range c.Violations {
		if v.Rule != rule || v.Severity == blackboard.SeverityWarning || len(v.Subjects) == 0 || raised[v.Subjects[0]] {
			continue
		}
		raised[v.Subjects[0]] = true
		c.raise(v.Subjects[0], "%s; next: liza validate", v.Message)
	}
}

func invalidState(c *check) {
	var subjects []string
	texts := map[string]string{}
	for _, v := range c.Violations {
		if v.Severity == blackboard.SeverityWarning || v.Rule == "V58" || v.Rule == ruleForged || v.Rule == ruleJournal || c.Moved != nil && v.Path == "integration.tip" {
			continue // they have alerts of their own
		}
		subject := stateFile
		if len(v.Subjects) > 0 && v.Subjects[0] != "file" {
			subject = v.Subjects[0]
		}
		if !slices.Contains(subjects, subject) {
			subjects = append(subjects, subject)
			texts[subject] = v.String()
		} else {
			texts[subject] += "; " + v.String()
		}
	}
	if len(subjects) > mostInvalid {
		c.raise(stateFile, "%d entries are not valid; next: liza validate", len(subjects))
		return
	}
	for _, subject := range subjects {
		c.raise(subject, "%s; next: liza validate", texts[subject])
	}
}

// stateFile is what an alert about the whole state is about.
const stateFile = "state.yaml"

func stateWentBack(c *check) {
	for _, v := range c.Violations {
		if v.Rule == "V58" {
			c.raise(stateFile, "%s", v.Message)
		}
	}
}

func integrationMoved(c *check) {
	if m := c.Moved; m != nil {
		c.raise(c.State.IntegrationBranch(), "%s; merges wait; next: %s", m.Text, m.Next)
	}
}

// mostBehind is how many commits the integration branch may lack.
const mostBehind = 50

func integrationStale(c *check) {
	if c.Behind > mostBehind {
		branch := c.State.IntegrationBranch()
		c.raise(branch, "%s has %d commits that %s lacks; next: liza sync", c.State.Text("base_ref"), c.Behind, branch)
	}
}

func diskLow(c *check) {
	if c.FreeMB > 0 && c.FreeMB < c.MinFreeMB {
		c.raise("disk", "only %d MB are free, %d are needed (policy.min_free_mb): no program and no worktree is started", c.FreeMB, c.MinFreeMB)
	}
}

func clockJump(c *check) {
	if c.Process.ClockJumped {
		c.raise("clock", "the clock of this machine jumped by %s; for a while nothing is given away", c.ClockJump.Round(time.Second))
	}
}

// clockOff is about the hosts of a team on several.
func clockOff(c *check) {
	for name, h := range c.State.Hosts {
		if h != nil && c.State.ClockOff(h) {
			off := time.Duration(h.ClockOffset) * time.Second
			c.raise(name, "the clock of host %s is off by %s from that of the board, by which leases go; next: set it", name, off)
		}
	}
}

// lockBusyAfter is how long one holder may keep the lock of the state.
const lockBusyAfter = 5 * time.Second

func lockBusy(c *check) {
	if l := c.Lock; l != nil && c.Now.Sub(l.Since) > lockBusyAfter {
		c.raise("state.yaml.lock", "held by %s since %s", l.Holder, blackboard.TimeOf(l.Since))
	}
}

// Clock notices when the wall clock jumps against the monotonic clock (specs/protocol.md#6.3).
type Clock struct {
	wall    time.Time
	elapsed time.Duration
	jumped  time.Time
	by      time.Duration
}

// clockSlack is by how much the two clocks may drift apart between two looks.
const clockSlack = 30 * time.Second

// Look compares the time by the wall clock with the time that the process measured since
// it began. It tells by how much the clock jumped less than hold ago, 0 if it did not.
func (c *Clock) Look(wall time.Time, elapsed, hold time.Duration) time.Duration {
	wall = wall.Round(0)
	if !c.wall.IsZero() {
		if by := wall.Sub(c.wall) - (elapsed - c.elapsed); by.Abs() > clockSlack {
			c.jumped, c.by = wall, by
		}
	}
	c.wall, c.elapsed = wall, elapsed
	if c.jumped.IsZero() || wall.Sub(c.jumped) >= hold {
		return 0
	}
	return c.by
}
