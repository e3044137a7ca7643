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

// ParseRole accepts the spellings of specs/protocol.md#0.4 and returns the identifier.
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

// IDPrefix is the part of an agent id before its number: "code-reviewer-".
func (r Role) IDPrefix() string { return strings.ReplaceAll(string(r), "_", "-") + "-" }

// UnmarshalText normalises the spellings of specs/protocol.md#0.4; an unknown role is kept for rule V42.
func (r *Role) UnmarshalText(text []byte) error {
	*r = Role(text)
	if known, ok := ParseRole(string(text)); ok {
		*r = known
	}
	return nil
}

// ParseAgentID splits an agent id into its role and number; ok is false when it
// does not match ^(coder|code-reviewer|planner)-[0-9]+$ (specs/decisions.md#D4).
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

// TimeOf writes t as the protocol does: UTC, whole seconds. The zero time is "".
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return ""
	}
	return Time(t.UTC().Format("2006-01-02T15:04:05Z"))
}

// At reads the time; ok is false when there is none or it is not RFC 3339.
func (t Time) At() (time.Time, bool) {
	if t.None() {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, string(t))
	return at, err == nil
}

// None reports whether no time is given.
func (t Time) None() bool { return t == "" || t == "null" || t == "~" }

// Plain lets a writer put the scalar into the file without quotes.
func (t Time) Plain() string { return string(t) }

// Plain lets a writer put the scalar into the file without quotes.
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

// CompareAgentIDs puts coder-2 before coder-10, and malformed ids last.
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

// Raw is a scalar that is kept exactly as it is written in the file.
type Raw string

// Time is a point in time as it is written in the file (specs/protocol.md#0.1); At reads
// it. A malformed one is kept, and rule V39 reports it.
type Time string

// List is a list of strings; a scalar is accepted when read (specs/decisions.md#D18).
type List []string

// Settings is an open map of values, as in config and limits.
type Settings map[string]any

// Amount is a figure that may have a fraction: cents, above all. It is kept to four decimals,
// so that the sum of many runs is the same in every order.
type Amount float64

// AmountOf rounds to the decimals that are kept. What is above zero stays above zero.
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

// Plus is the sum without the dust that binary fractions leave.
func (a Amount) Plus(b Amount) Amount { return AmountOf(float64(a) + float64(b)) }

// String is the figure for people: one decimal, and more only where nothing would be left.
func (a Amount) String() string { return rounded(float64(a), 1, 4) }

// Dollars is an amount of cents for people: "$0.17".
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

// Reaches reports whether a limit leaves no room: it is used up, or reserve would go beyond it.
// 0 means no limit.
func (a Amount) Reaches(limit int, reserve Amount) bool {
	return limit > 0 && (a >= Amount(limit) || a.Plus(reserve) > Amount(limit))
}

// Is reports whether the amount is that part of a whole.
func (a Amount) Is(percent, whole int) bool { return 100*a >= Amount(percent)*Amount(whole) }

// OrList is "a, b or c".
func OrList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// ShortCommit is a commit as people read it: nine digits.
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

// A Violation is one thing in a state that breaks a rule of specs/protocol.md#9.
type Violation struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"` // SeverityError or SeverityWarning

	// OnWrite tells that a write is refused which would create or keep the
	// violation in what it touches (column W).
	OnWrite bool `json:"on_write"`

	// Fixable tells that Repair may be able to repair it (mark F).
	Fixable bool `json:"fixable,omitempty"`

	// Subjects are the ids of the tasks and agents, and the names of the sections,
	// that the violation concerns. An id that is named but does not exist is one
	// of them, so that a write which removes the entry is seen to create it.
	Subjects []string `json:"subjects,omitempty"`

	// Path is where in state.yaml it is: "tasks[task-3].priority",
	// "agents[coder-1].role", "config.lease_duration". An entry without a usable id
	// is named by its position, counted from 1: "tasks[#2].id". Path is empty for
	// what is not in the file.
	Path string `json:"path,omitempty"`

	Line    int    `json:"line,omitempty"` // filled in by who knows the file
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Next    string `json:"next,omitempty"` // the command that helps, where one is known
}

// Text is the message with the command that helps.
func (v Violation) Text() string { return v.Message + prose.After("; next: ", v.Next) }

// String is one line for people: line, rule, severity when it is a warning, message, and the command that helps.
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

// Advise names the command that helps.
func (v *Violation) Advise(next string) *Violation {
	v.Next = next
	return v
}

// Concerns adds subjects that the violation does not name yet.
func (v *Violation) Concerns(subjects ...string) *Violation {
	for _, subject := range subjects {
		if subject != "" && !List(v.Subjects).Has(subject) {
			v.Subjects = append(v.Subjects, subject)
		}
	}
	return v
}

// Lenient makes a warning of the violation when mild holds.
func (v *Violation) Lenient(mild bool) *Violation {
	if mild {
		v.Severity = SeverityWarning
	}
	return v
}
