package findings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

const (
	validate  = "liza validate"
	stateFile = "state.yaml" // subject of findings about the whole state

	mostInvalid   = 20 // subjects that get a finding of their own before one stands for all
	mostBehind    = 50 // commits that the integration branch may lack
	lockBusyAfter = 5 * time.Second
)

// The rules that have a kind of their own.
const (
	ruleForged   = "V66"
	ruleJournal  = "V68"
	ruleWentBack = "V58"
)

// broken yields the errors among the violations, those of one rule or, for "", of every rule without a kind of its own.
func (l *look) broken(rule string) func(func(blackboard.Violation) bool) {
	moved := l.Tip != nil
	return func(yield func(blackboard.Violation) bool) {
		for _, v := range l.Violations {
			own := v.Rule == ruleForged || v.Rule == ruleJournal || v.Rule == ruleWentBack || moved && v.Path == "integration.tip"
			if (rule == "" && !own || v.Rule == rule) && v.Severity != blackboard.SeverityWarning && !yield(v) {
				return
			}
		}
	}
}

func forgedApproval(l *look) {
	for v := range l.broken(ruleForged) {
		if len(v.Subjects) > 0 {
			l.raise(v.Subjects[0], validate, "%s", v.Text())
		}
	}
}

func journalBroken(l *look) {
	for v := range l.broken(ruleJournal) {
		l.raise(v.Subjects[0], validate, "line %d: %s", v.Line, v.Text())
	}
}

func stateWentBack(l *look) {
	for _, v := range l.Violations {
		if v.Rule == ruleWentBack {
			l.raise(stateFile, "", "%s", v.Text())
		}
	}
}

func invalidState(l *look) {
	var subjects []string
	texts := map[string][]string{}
	for v := range l.broken("") {
		subject := stateFile
		if len(v.Subjects) > 0 && v.Subjects[0] != "file" {
			subject = v.Subjects[0]
		}
		if texts[subject] == nil {
			subjects = append(subjects, subject)
		}
		texts[subject] = append(texts[subject], v.String())
	}
	if len(subjects) > mostInvalid {
		l.raise(stateFile, validate, "%d entries are not valid", len(subjects))
		return
	}
	for _, subject := range subjects {
		l.raise(subject, validate, "%s", strings.Join(texts[subject], "; "))
	}
}

// UnknownStatuses names the statuses of s that Liza does not know: with one of them, nothing else that is shown can be relied
// on. The rest is what `liza validate` is for.
func UnknownStatuses(s *blackboard.State) (list []string) {
	look := func(what, status string, known ...string) {
		if status == "" || slices.Contains(known, status) {
			return
		}
		list = append(list, fmt.Sprintf("%s has the unknown status '%s'", what, status)+prose.After("; nearest: ", blackboard.Nearest(status, known)))
	}
	var statuses []string
	for _, st := range blackboard.Statuses {
		statuses = append(statuses, string(st))
	}
	for t := range s.Tasks() {
		if !t.Status.Known() {
			look("task "+t.ID, string(t.Status), statuses...)
		}
	}
	if g := s.Goal; g != nil {
		look("the goal", g.Status, blackboard.InProgress, blackboard.Completed, blackboard.Aborted)
	}
	if sp := s.Sprint; sp != nil {
		look("the sprint", sp.Status, blackboard.InProgress, blackboard.Completed, blackboard.Aborted, blackboard.AtCheckpoint)
	}
	return list
}

func integrationMoved(l *look) {
	tip := l.Tip
	if i := l.State.Integration; tip == nil && i != nil && i.Moved != nil {
		tip = &i.Moved.Tip
	}
	if tip != nil && l.State.ForeignTip(*tip) {
		l.raise(l.State.IntegrationBranch(), blackboard.DecideTip(*tip), "%s; merges wait", blackboard.MovedText(l.State, *tip))
	}
}

func integrationStale(l *look) {
	if l.Behind.Commits > mostBehind {
		l.raise(l.State.IntegrationBranch(), "liza sync", "%s", l.Behind.Text)
	}
}

// CheckedOut says that the integration branch is checked out at path, and which command changes that.
func CheckedOut(branch, path string) (text, next string) {
	return branch + " is checked out in " + path + "; nothing is merged as long as it is", "git -C " + path + " switch --detach"
}

func integrationCheckedOut(l *look) {
	if l.CheckedOutAt == "" {
		return
	}
	text, next := CheckedOut(l.State.IntegrationBranch(), l.CheckedOutAt)
	for t := range l.State.Tasks() {
		a := t.MergeApproval
		waits := t.Hold != nil || a != nil && a.Required && a.Decision != blackboard.GateApproved
		if t.Status == blackboard.Approved && t.ChangesFiles() && !waits {
			l.raise(t.ID, next, "%s", text)
		}
	}
}

// FiltersOff is the finding about filters of .gitattributes that nobody allowed.
func FiltersOff(names []string) (f Finding, off bool) {
	all := strings.Join(names, ",")
	return Finding{Subject: ".gitattributes", Next: "liza config git.filters " + all,
		Text: fmt.Sprintf("it names the filter %s, which git.filters does not allow: it does not run, and a changed file that has it is not merged", all)}, len(names) > 0
}

func filtersOff(l *look) {
	if f, off := FiltersOff(l.FiltersOff); off {
		l.raise(f.Subject, f.Next, "%s", f.Text)
	}
}

// settingsHeld asks for the settings that git has made weaker, or taken away.
func settingsHeld(l *look) {
	const file = ".liza/config.yaml"
	switch {
	case len(l.SettingsHeld) == 0:
	case l.SettingsHeld[0] == "":
		l.raise(file, "liza config", "this checkout has no file of settings any more; the team keeps those that it had, until the file is back or you write a new one")
	default:
		l.raise(file, "liza config "+l.SettingsHeld[0]+" VALUE", "git has put a version into this checkout that is weaker than what the team works with: %s; the team keeps its own until you set them", strings.Join(l.SettingsHeld, ", "))
	}
}

// baselineRed has the last lines, so that people see at once what it is.
func baselineRed(l *look) {
	for _, r := range l.Red {
		lines := strings.Split(strings.TrimSpace(r.Tail), "\n")
		lines = lines[max(0, len(lines)-5):]
		for i := range lines {
			lines[i] = prose.OneLine(lines[i], 0)
		}
		l.raise(r.Check, "", "%q fails on %.9s without any change of an agent: %s; the log is %s", r.Command, r.Commit, strings.Join(lines, " / "), r.Log)
	}
}

// MergesWait returns the command that lets work be merged although a check verifies nothing; "" where nobody is asked or has said stop.
func MergesWait(s *blackboard.State) string {
	for _, q := range s.Questions {
		if q.OfCheck() && (q.Status == blackboard.QuestionOpen || q.Status == blackboard.QuestionAnswered && q.Answer == blackboard.AnswerStop) {
			return question(q).Next
		}
	}
	return ""
}

// unverified tells what a person has to decide, or has decided, about checks that are red without any work, or cannot run. An open
// question is among the questions of a board as well.
func unverified(l *look) {
	for _, q := range l.State.Questions {
		if !q.OfCheck() {
			continue
		}
		what := fmt.Sprintf("%q fails without the work too, and verifies nothing", q.Check)
		if q.Kind == blackboard.QuestionUnable {
			what = fmt.Sprintf("%q cannot run here, and verifies nothing", q.Check)
		}
		f := Finding{Subject: q.ID, Next: "liza answer " + q.ID + " '" + blackboard.AnswerGoOn + "'", faces: exam}
		switch {
		case q.Status == blackboard.QuestionOpen:
			f.Text = fmt.Sprintf("merges wait: %s; go on without it, or stop?", what)
		case q.Status == blackboard.QuestionAnswered && q.Answer == blackboard.AnswerStop:
			f.Text, f.faces = fmt.Sprintf("merges wait until %q passes: %s said %s", q.Check, q.By, q.Answer), wait|exam
		case q.Status == blackboard.QuestionAnswered:
			f.Text, f.Next = fmt.Sprintf("work is merged unchecked: %s; %s said %s", what, q.By, q.Answer), "liza check"
		default:
			continue
		}
		l.add(f)
	}
}

// DiskLow says that free MB are too few.
func DiskLow(free, need int) string {
	return fmt.Sprintf("only %d MB are free, %d are needed (policy.min_free_mb): no program and no worktree is started", free, need)
}

func diskLow(l *look) {
	if l.FreeMB > 0 && l.FreeMB < l.MinFreeMB {
		l.raise("disk", "", "%s", DiskLow(l.FreeMB, l.MinFreeMB))
	}
}

func clockJump(l *look) {
	if l.Process.ClockJumped {
		l.raise("clock", "", "the clock of this machine jumped by %s; for a while nothing is given away", l.ClockJump.Round(time.Second))
	}
}

// clockOff is about the hosts of a team on several.
func clockOff(l *look) {
	for name, h := range l.State.Hosts {
		if l.State.ClockOff(h) {
			off, way := time.Duration(h.ClockOffset)*time.Second, "ahead of"
			if off < 0 {
				off, way = -off, "behind"
			}
			l.raise(name, "set it", "the clock of host %s is %s %s that of the board; leases go by the board's, but times in its logs are wrong", name, off, way)
		}
	}
}

func lockBusy(l *look) {
	if x := l.Lock; x != nil && l.Now.Sub(x.Since) > lockBusyAfter {
		l.raise("state.yaml.lock", "", "held by %s since %s", x.Holder, blackboard.TimeOf(x.Since))
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

// Look compares the wall clock with the time that the process measured since it began. It returns by how much the clock jumped
// less than hold ago, 0 if it did not.
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
