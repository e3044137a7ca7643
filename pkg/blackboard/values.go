package blackboard

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
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

// Terminal reports whether no event leaves the status.
func (s Status) Terminal() bool { return s == Merged || s == Abandoned || s == Superseded }

// Known reports whether s is one of the eleven statuses.
func (s Status) Known() bool {
	for _, x := range Statuses {
		if s == x {
			return true
		}
	}
	return false
}

// Active reports whether work on the task is under way (specs/protocol.md#0).
func (s Status) Active() bool {
	switch s {
	case Claimed, ReadyForReview, Rejected, Approved, IntegrationFailed:
		return true
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

// Status of a task (specs/protocol.md#4).
type Status string

// The eleven statuses; MERGED, ABANDONED and SUPERSEDED are terminal.
const (
	Draft             Status = "DRAFT"
	Unclaimed         Status = "UNCLAIMED"
	Claimed           Status = "CLAIMED"
	ReadyForReview    Status = "READY_FOR_REVIEW"
	Rejected          Status = "REJECTED"
	Approved          Status = "APPROVED"
	Merged            Status = "MERGED"
	Blocked           Status = "BLOCKED"
	Abandoned         Status = "ABANDONED"
	Superseded        Status = "SUPERSEDED"
	IntegrationFailed Status = "INTEGRATION_FAILED"
)

// Statuses lists all statuses of a task in the order of a task's life.
var Statuses = []Status{Draft, Unclaimed, Claimed, ReadyForReview, Rejected, Approved,
	IntegrationFailed, Blocked, Merged, Abandoned, Superseded}

// List is a list of strings; a scalar is accepted when read (specs/decisions.md#D18).
type List []string

// Settings is an open map of values, as in config and limits.
type Settings map[string]any
