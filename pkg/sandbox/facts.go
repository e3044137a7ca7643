package sandbox

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// Detect finds the facts of this machine, once for each process.
func Detect(ctx context.Context) Facts {
	detected.Do(func() { facts = thisMachine().Detect(ctx) })
	return facts
}

var (
	detected sync.Once
	facts    Facts
)

// Detect finds the facts.
func (m Machine) Detect(ctx context.Context) Facts {
	f := Facts{Seatbelt: m.Seatbelt != nil && m.Seatbelt(), Landlock: m.Landlock(), Seccomp: m.Seccomp(), LimitsOwn: !m.Root(), Cgroups: m.Cgroups()}
	path, err := m.Find("bwrap")
	if err != nil {
		return f
	}
	f.Bwrap = path
	for _, f.DisablesUserns = range []bool{true, false} { // bubblewrap before 0.8 cannot; the filter of system calls does it too
		if err = m.Try(ctx, path, append(Spec{}.namespaces(f), "--", "/usr/bin/env", "true")...); err == nil {
			f.Namespaces = true
			return f
		}
		if !strings.Contains(err.Error(), "disable-userns") {
			break
		}
	}
	f.DisablesUserns, f.BwrapError, f.Hint = false, err.Error(), m.Hint()
	return f
}

// Strongest is the strongest level that can be had.
func (f Facts) Strongest() Level {
	switch {
	case f.Landlock < minLandlock || !f.Seccomp:
		return Open
	case f.Namespaces:
		return Closed
	}
	return Partial
}

// Unavailable says that a level cannot be had here.
type Unavailable struct {
	Want, Have Level
	Why, Next  string // a sentence without its end; the command that helps
	Chosen     bool   // Have is what somebody has set
}

func (u *Unavailable) Error() string { return u.Sentence() + "\nnext: " + u.Next }

// Sentence is the error without the command that helps.
func (u *Unavailable) Sentence() string {
	if u.Chosen {
		return fmt.Sprintf("the sandbox level '%s' is required, but %s", u.Want, u.Why)
	}
	return fmt.Sprintf("the sandbox level '%s' is required, but '%s' is the strongest here: %s", u.Want, u.Have, u.Why)
}

// Choose settles the level: level is what was asked for ("" and auto: the strongest that can be had), require the
// weakest that will do ("": any). The reason says in one line, ready to be shown, why it is not closed; it is empty when it is,
// and when a person chose otherwise.
func Choose(level, require Level, f Facts) (Level, string, error) {
	have := f.Strongest()
	why, next := f.missing()
	rank := map[Level]int{Open: 1, Partial: 2, Wrapped: 3, Closed: 4} // what a wrapping command keeps apart, a person has seen to
	auto := level == "" || level == "auto"
	if auto {
		level = have
	}
	switch {
	case rank[level] == 0:
		return "", "", fmt.Errorf("sandbox.level '%s' is not valid: it must be auto, closed, partial, wrap or open", level)
	case rank[require] > rank[level] && !auto:
		return "", "", &Unavailable{Want: require, Have: level, Why: "sandbox.level is " + string(level), Next: "liza config set sandbox.level auto", Chosen: true}
	case rank[require] > rank[level]:
		return "", "", &Unavailable{Want: require, Have: have, Why: why, Next: next}
	case level == Partial && f.Seatbelt:
		return Partial, "", nil
	case level != Wrapped && rank[level] > rank[have]:
		return "", "", &Unavailable{Want: level, Have: have, Why: why, Next: next}
	case auto && level == Partial:
		return Partial, fmt.Sprintf("agents run partly contained (partial): files and system calls are, network and other processes are not, because %s; to contain them: %s", why, next), nil
	case auto && level == Open:
		return Open, fmt.Sprintf("agents run uncontained (open), with everything that you may do yourself, because %s; to contain them: %s", why, next), nil
	}
	return level, "", nil
}

// installBwrap is the command that helps on most systems.
const installBwrap = "apt-get install bubblewrap (or dnf, pacman -S, zypper, apk add)"

// missing says what keeps this machine from closed, and what helps.
func (f Facts) missing() (why, next string) {
	switch {
	case f.Seatbelt:
		return "macOS has no namespaces and no Landlock, and Liza's profile for its sandbox has not been tried by anybody yet", "liza config set sandbox.level partial, to try it, or run the agents in a Linux container (sandbox.wrap)"
	case !f.Seccomp:
		return "this system has no filters of system calls that Liza knows (seccomp on amd64 or arm64)", "run the agents on such a system"
	case f.Landlock == 0:
		return "the kernel has no Landlock", "boot Linux 6.2 or newer with landlock in the kernel parameter lsm="
	case f.Landlock < minLandlock:
		return fmt.Sprintf("the kernel's Landlock is version %d, and only version %d guards files against being emptied", f.Landlock, minLandlock), "boot Linux 6.2 or newer"
	case f.Bwrap == "":
		return "bubblewrap is not installed", installBwrap
	case !f.Namespaces:
		why = "bubblewrap cannot make namespaces here: " + strings.TrimSpace(f.BwrapError)
		if f.Hint == "" {
			return why, "allow user namespaces on this machine, or in the container that this is"
		}
		return why, f.Hint
	}
	return "", ""
}
