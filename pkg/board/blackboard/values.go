package blackboard

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/prose"
)

// Role of a registered agent: planner, coder or code_reviewer.
type Role string

// The three roles (specs/protocol.md#0.4).
const (
	RolePlanner  Role = "planner"
	RoleCoder    Role = "coder"
	RoleReviewer Role = "code_reviewer"
)

// Human and System are the reserved names of actors that have no registration.
const (
	Human  = "human"
	System = "system"
)

// ParseRole converts a spelling of specs/protocol.md#0.4 to the role.
func ParseRole(s string) (Role, bool) {
	switch strings.ToLower(strings.NewReplacer(" ", "_", "-", "_").Replace(strings.TrimSpace(s))) {
	case "planner":
		return RolePlanner, true
	case "coder":
		return RoleCoder, true
	case "code_reviewer":
		return RoleReviewer, true
	}
	return "", false
}

// IDPrefix returns the part of an agent id before its number: "code-reviewer-".
func (r Role) IDPrefix() string { return strings.ReplaceAll(string(r), "_", "-") + "-" }

// UnmarshalText normalises the spellings of specs/protocol.md#0.4; an unknown role is kept for rule V42.
func (r *Role) UnmarshalText(text []byte) error {
	*r = Role(text)
	if known, ok := ParseRole(string(text)); ok {
		*r = known
	}
	return nil
}

// ParseAgentID splits an agent id into role and number; ok is false unless it matches ^(coder|code-reviewer|planner)-[0-9]+$
// (specs/decisions.md#D4).
func ParseAgentID(id string) (role Role, number int, ok bool) {
	i := strings.LastIndexByte(id, '-')
	if i < 0 || i == len(id)-1 || strings.Trim(id[i+1:], "0123456789") != "" {
		return "", 0, false
	}
	switch id[:i] {
	case "planner":
		role = RolePlanner
	case "coder":
		role = RoleCoder
	case "code-reviewer":
		role = RoleReviewer
	default:
		return "", 0, false
	}
	n, err := strconv.Atoi(id[i+1:])
	return role, n, err == nil
}

var TaskIDPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// ValidTaskID reports whether id may name a task (specs/protocol.md#0.3).
func ValidTaskID(id string) bool {
	return TaskIDPattern().MatchString(id) && !strings.Contains(id, "..") &&
		!strings.HasSuffix(id, ".") && !strings.HasSuffix(strings.ToLower(id), ".lock")
}

// TimeOf converts t to the form of the protocol: UTC, whole seconds. The zero time is "".
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return ""
	}
	return Time(t.UTC().Format("2006-01-02T15:04:05Z"))
}

// At parses the time; ok is false if it is empty or not RFC 3339.
func (t Time) At() (time.Time, bool) {
	if t.None() {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, string(t))
	return at, err == nil
}

// None reports whether the time is empty.
func (t Time) None() bool { return t == "" || t == "null" || t == "~" }

// Plain lets a writer omit the quotes of the scalar.
func (t Time) Plain() string { return string(t) }

// Plain lets a writer omit the quotes of the scalar.
func (r Raw) Plain() string { return string(r) }

// UnmarshalYAML accepts a list or a single scalar (specs/decisions.md#D18).
func (l *List) UnmarshalYAML(decode func(any) error) error {
	var many []string
	if err := decode(&many); err == nil {
		*l = many
		return nil
	}
	var one string
	if err := decode(&one); err != nil {
		return decode(&many) // the error about the list is the one that helps
	}
	*l = nil
	if one != "" {
		*l = List{one}
	}
	return nil
}

// Has reports whether the list contains s.
func (l List) Has(s string) bool {
	for _, x := range l {
		if x == s {
			return true
		}
	}
	return false
}

// CompareAgentIDs orders ids by role and number, coder-2 before coder-10, with malformed ids last.
func CompareAgentIDs(a, b string) int {
	roleA, numberA, okA := ParseAgentID(a)
	roleB, numberB, okB := ParseAgentID(b)
	switch {
	case okA && okB:
		return cmp.Or(cmp.Compare(roleA, roleB), cmp.Compare(numberA, numberB), cmp.Compare(a, b))
	case okA:
		return -1
	case okB:
		return 1
	}
	return cmp.Compare(a, b)
}

// Raw is a scalar with exactly its text in the file.
type Raw string

// Time is a point in time as written in the file (specs/protocol.md#0.1); At parses it. A malformed one is kept, and rule V39
// reports it.
type Time string

// List is a list of strings; a scalar is accepted when read (specs/decisions.md#D18).
type List []string

// Settings is an open map of values, as in config and limits.
type Settings map[string]any

// Amount is a figure that may have a fraction, mostly cents. It has four decimals, so that the sum of many runs is the same
// in every order.
type Amount float64

// AmountOf rounds n to four decimals. A value above zero stays above zero.
func AmountOf(n float64) Amount {
	kept := math.Round(n*1e4) / 1e4
	switch {
	case kept == 0 && n > 0:
		kept = 1e-4
	case kept == 0:
		return 0 // never the negative zero
	}
	return Amount(kept)
}

// Plus returns the sum, rounded to four decimals.
func (a Amount) Plus(b Amount) Amount { return AmountOf(float64(a) + float64(b)) }

// String returns the figure for people, with one decimal, or more for a small one.
func (a Amount) String() string { return rounded(float64(a), 1, 4) }

// Dollars returns an amount of cents as dollars: "$0.17".
func (a Amount) Dollars() string {
	text := rounded(float64(a)/100, 2, 6)
	whole, part, _ := strings.Cut(text, ".")
	if len(part) < 2 {
		part += "00"[len(part):]
	}
	return "$" + whole + "." + part
}

// rounded rounds to some decimals, or to most of them when zero would be shown for something else.
func rounded(n float64, decimals, most int) string {
	text := strconv.FormatFloat(n, 'f', decimals, 64)
	if n != 0 && strings.Trim(text, "-0.") == "" {
		text = strconv.FormatFloat(n, 'f', most, 64)
	}
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Reaches reports whether the amount has reached limit, or would exceed it with reserve. A limit of 0 means none.
func (a Amount) Reaches(limit int, reserve Amount) bool {
	return limit > 0 && (a >= Amount(limit) || a.Plus(reserve) > Amount(limit))
}

// Left returns what the amount leaves of limit.
func (a Amount) Left(limit int) Amount { return AmountOf(max(0, float64(limit)-float64(a))) }

// Is reports whether the amount is at least percent of whole.
func (a Amount) Is(percent, whole int) bool { return 100*a >= Amount(percent)*Amount(whole) }

// OrList returns names as "a, b or c".
func OrList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// ShortCommit returns the first nine digits of a commit.
func ShortCommit(commit string) string {
	if len(commit) > 9 {
		return commit[:9]
	}
	return commit
}

// Severities of a Violation.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// A Violation is a breach of a rule of specs/protocol.md#9 in a state.
type Violation struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"` // SeverityError or SeverityWarning

	// OnWrite marks a violation that refuses each write which creates it or touches its subject (column W).
	OnWrite bool `json:"on_write"`

	// Fixable marks a violation that Repair may be able to repair (mark F).
	Fixable bool `json:"fixable,omitempty"`

	// Subjects are the tasks, agents and sections that the violation concerns. The id of a missing entry is one of them, so
	// that a write which removes the entry is seen to create the violation.
	Subjects []string `json:"subjects,omitempty"`

	// Path is the place in state.yaml: "tasks[task-3].priority", "agents[coder-1].role", "config.lease_duration". An entry
	// without a usable id is named by its position, counted from 1: "tasks[#2].id". It is empty for problems outside of the
	// file.
	Path string `json:"path,omitempty"`

	Line    int    `json:"line,omitempty"` // set by a reader of the file
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Next    string `json:"next,omitempty"` // the next command, or ""
}

// Text returns the message and the next command.
func (v Violation) Text() string { return v.Message + prose.After("; next: ", v.Next) }

// String returns one line for people: line, rule, severity of a warning, message, and the next command.
func (v Violation) String() string {
	text := v.Rule + " " + v.Text()
	if v.Severity == SeverityWarning {
		text = v.Rule + " warning: " + v.Text()
	}
	if v.Line > 0 {
		return fmt.Sprintf("line %d: %s", v.Line, text)
	}
	return text
}

// Advise sets the next command.
func (v *Violation) Advise(next string) *Violation {
	v.Next = next
	return v
}

// Concerns adds missing subjects.
func (v *Violation) Concerns(subjects ...string) *Violation {
	for _, subject := range subjects {
		if subject != "" && !List(v.Subjects).Has(subject) {
			v.Subjects = append(v.Subjects, subject)
		}
	}
	return v
}

// Lenient makes the violation a warning if mild holds.
func (v *Violation) Lenient(mild bool) *Violation {
	if mild {
		v.Severity = SeverityWarning
	}
	return v
}
