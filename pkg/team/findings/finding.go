// Package findings lists what is or may be wrong with a project, and what waits for a person. Each thing is found by one
// function and worded once; alerts, doctor, status, top, page and report choose which findings they show, and in what form.
//
// Observation holds everything that a finding depends on; the package has no effects. A fact that is not known has its zero value,
// and what needs it is not found:
//
//	alerts := findings.Alerts(facts)     // what the watcher raises, in the order of Kinds
//	waits, warns := findings.Board(facts) // what a view of the board shows
//	found := findings.Examined(facts)    // what the doctor says of the board
package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
)

// Severities of a finding. OK is for the doctor alone, which also says what is well.
const (
	OK      = "ok"
	Info    = "info"
	Warning = "warning"
	Error   = "error"
)

// A Finding is one thing that is or may be wrong, or that waits for a person. Kind and Subject identify an alert; Kind is empty
// for what no alert is raised for.
type Finding struct {
	Kind      blackboard.AlertKind `json:"-"`
	Check     string               `json:"check"` // what the doctor calls its kind: git, registration, claim, …
	Severity  string               `json:"severity"`
	Subject   string               `json:"subject"`            // a task, an agent, a file, a branch
	Text      string               `json:"message"`            // one sentence, without its subject and the command
	Evidence  string               `json:"evidence,omitempty"` // how that is known
	Next      string               `json:"next,omitempty"`     // the command that helps
	Show      string               `json:"-"`                  // the command that shows all of it, where a line cannot
	Questions []Question           `json:"-"`                  // open questions that it waits for

	faces face
	wait  string
}

// A Question is an open question of an agent, with its choices, and the command that answers it.
type Question struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Next string `json:"next"`
}

// Line is the finding on one line without its subject: text, questions and the next command.
func (f Finding) Line() string {
	text, mark := f.Text, " / "
	if f.Kind == blackboard.AlertQuestionOpen {
		mark = ": "
	}
	for _, q := range f.Questions {
		text += mark + q.Text
	}
	if next := cmp.Or(f.Show, f.Next); next != "" {
		text += "; next: " + next
	}
	return text
}

// String is Line after the subject, unless the text names it.
func (f Finding) String() string {
	if strings.Contains(f.Text, f.Subject) {
		return f.Line()
	}
	return f.Subject + ": " + f.Line()
}

// Wait is the kind of something that waits for a person, as status, page and report know it: control, integration, goal,
// breaker, question, blocked, merge_approval, hold or draft.
func (f Finding) Wait() string { return f.wait }

// A face is where a finding is shown.
type face uint8

const (
	alert face = 1 << iota // the watcher raises it
	wait                   // views of the board: only a person can move it
	warn                   // views of the board: odd, but it stops nothing
	exam                   // the doctor
)

// Observation is everything that findings depend on.
type Observation struct {
	Now        time.Time
	State      *blackboard.State // with the configuration's defaults; the last valid one when the file is damaged
	Violations []blackboard.Violation

	Process     blackboard.ProcessFacts
	Triggers    transition.TriggerFacts
	Input       transition.Input // what the guards of claims need
	ReviewMode  blackboard.ReviewMode
	HumanReview bool // plans wait for a person's review

	Orders []project.Order // the control files that are there, the one that wins first

	LastActivity time.Time                     // of the journal, and of the output of agent programs
	Left         map[blackboard.Role]time.Time // when the last agent of a role that is not registered any more left
	GaveUp       []GaveUp
	Unusable     []Unusable                  // roles that work waits for
	SpecHash     func(specRef string) string // "" when the file cannot be read
	Red          []Red                       // checks that fail on the base of the work
	CheckedOutAt string                      // where the integration branch is checked out
	FiltersOff   []string                    // filters of .gitattributes that git.filters does not allow
	SettingsHeld []string                    // see config.Config.Held
	Behind       Behind                      // what the integration branch lacks of its base branch
	Tip          *string                     // where the integration branch is, "" when it does not exist
	FreeMB       int
	MinFreeMB    int
	Lock         *Lock         // of the state
	NoProgram    bool          // no agent program is installed
	ClockJump    time.Duration // of this machine's clock, while Process.ClockJumped holds
}

// A Lock says who holds the lock of the state, and since when.
type Lock struct {
	Holder string
	Since  time.Time
}

// Behind says in Text that the integration branch lacks so many commits of its base branch.
type Behind struct {
	Commits int
	Text    string
}

// A Red check fails on Commit without any change of an agent.
type Red struct{ Check, Command, Commit, Tail, Log string }

// An Unusable role cannot be used, and Why says why.
type Unusable struct{ Role, Why string }

// GaveUp is a supervisor that ended by itself: on which task, why, and what a person can do.
type GaveUp struct {
	Agent string          `json:"agent"`
	Task  string          `json:"task,omitempty"`
	Why   string          `json:"why"`
	At    blackboard.Time `json:"at"`
	Next  string          `json:"next"`
}

// GaveUps returns the supervisors that gave up and have not registered again, from the journal entries agent_gave_up and
// registered, oldest first.
func GaveUps(entries []blackboard.Entry) (list []GaveUp) {
	last := map[string]int{} // index of the newest entry agent_gave_up, by agent
	for i, e := range entries {
		switch e.Action {
		case blackboard.ActionRegistered:
			delete(last, e.Agent)
		case blackboard.ActionAgentGaveUp:
			last[e.Agent] = i
		}
	}
	for _, i := range slices.Sorted(maps.Values(last)) {
		e := entries[i]
		next, _ := e.Extra["next"].(string)
		list = append(list, GaveUp{Agent: e.Agent, Task: e.Task, Why: e.Detail, At: e.Timestamp, Next: cmp.Or(next, "liza status")})
	}
	return list
}

// Alerts returns what the watcher raises, in the order of Kinds.
func Alerts(f Observation) []Finding { return newLook(f).all(alert) }

// Board returns what a view of the board shows: what waits for a person, what stops everything first and then by task, and
// warnings.
func Board(f Observation) (waits, warns []Finding) {
	l := newLook(f)
	for _, x := range l.all(wait | warn) {
		if x.faces&wait != 0 {
			waits = append(waits, x)
		} else {
			warns = append(warns, x)
		}
	}
	place := map[string]int{}
	for t := range l.State.Tasks() {
		place[t.ID] = len(place) + 1
	}
	rank := func(x Finding) int {
		if i := slices.Index([]string{"control", "breaker", "integration", "goal", "question"}, x.wait); i >= 0 {
			return i - 10
		}
		return cmp.Or(place[x.Subject], len(place)+1)
	}
	slices.SortStableFunc(waits, func(a, b Finding) int { return cmp.Compare(rank(a), rank(b)) })
	return waits, warns
}

// Examined returns what the doctor says of the board, from facts about the board and processes alone.
func Examined(f Observation) []Finding { return newLook(f).all(exam) }

// A look is one search for findings.
type look struct {
	Observation
	kind  Kind
	faces face // those that are asked for
	tasks map[string]*blackboard.Task
	found []Finding
	told  map[string]bool // subjects of the kind, with their faces
}

func newLook(f Observation) *look {
	if f.State == nil {
		f.State = &blackboard.State{}
	}
	l := &look{Observation: f, tasks: map[string]*blackboard.Task{}}
	for t := range l.State.Tasks() {
		l.tasks[t.ID] = t
	}
	return l
}

func (l *look) all(faces face) []Finding {
	l.faces = faces
	for _, list := range [][]Kind{Kinds, boardKinds} {
		for _, k := range list {
			if k.find != nil && k.faces&faces != 0 {
				l.kind, l.told = k, map[string]bool{}
				k.find(l)
			}
		}
	}
	return l.found
}

// add keeps a finding of the kind that is looked for, once for each subject. Its faces are those of the kind, unless it has its own.
func (l *look) add(f Finding) {
	f.Kind, f.wait, f.Check = l.kind.Name, l.kind.wait, cmp.Or(f.Check, l.kind.check)
	f.faces, f.Severity = cmp.Or(f.faces, l.kind.faces), cmp.Or(f.Severity, l.kind.Severity, Warning)
	id := fmt.Sprint(f.faces, f.Subject)
	if f.faces&l.faces == 0 || l.told[id] {
		return
	}
	l.told[id] = true
	l.found = append(l.found, f)
}

// raise is add for a text and the next command.
func (l *look) raise(subject, next, format string, args ...any) {
	l.add(Finding{Subject: subject, Next: next, Text: fmt.Sprintf(format, args...)})
}

// AgentIDs returns the ids of the registrations of s, sorted by role and number.
func AgentIDs(s *blackboard.State) []string {
	return slices.SortedFunc(maps.Keys(s.Agents), func(x, y string) int {
		rx, nx, _ := blackboard.ParseAgentID(x)
		ry, ny, _ := blackboard.ParseAgentID(y)
		return cmp.Or(cmp.Compare(rx, ry), cmp.Compare(nx, ny), cmp.Compare(x, y))
	})
}

func (l *look) agents() []string { return AgentIDs(l.State) }

// live reports whether an agent of the role may be alive: unknown is not dead.
func (l *look) live(role blackboard.Role) bool {
	return slices.ContainsFunc(l.agents(), func(id string) bool { return l.State.Agents[id].Role == role && l.maybeAlive(id) })
}

func (l *look) maybeAlive(id string) bool {
	v, _ := l.State.Liveness(id, l.Now, l.Process)
	return v == blackboard.Alive || v == blackboard.Unknown
}

// age is the time since at, negative when at is not known.
func (l *look) age(at time.Time) time.Duration {
	if at.IsZero() {
		return -1
	}
	return l.Now.Sub(at)
}

// LastChange returns the time of the newest history entry of t that has one, else of its creation.
func LastChange(t *blackboard.Task) time.Time {
	for h := range t.Backwards() {
		if at, ok := h.Time.At(); ok {
			return at
		}
	}
	at, _ := t.Created.At()
	return at
}

// Short is a duration for people: 31m, 2h5m, 8h.
func Short(d time.Duration) string {
	d = d.Round(time.Second)
	switch h, m := int(d.Hours()), int(d.Minutes())%60; {
	case d < time.Minute:
		return d.String()
	case h == 0:
		return fmt.Sprintf("%dm", m)
	case m == 0:
		return fmt.Sprintf("%dh", h)
	default:
		return fmt.Sprintf("%dh%dm", h, m)
	}
}

// few names the first ids of a list.
func few(ids []string) string { return prose.Few(ids, 5) }
