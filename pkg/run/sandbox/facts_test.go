package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// machine is one that has everything, with what a test takes away.
func machine(change func(*Machine)) Machine {
	m := Machine{
		Find: func(string) (string, error) { return "/usr/bin/bwrap", nil },
		Try:  func(context.Context, string, ...string) error { return nil },
		Hint: func() string { return "" }, Landlock: func() int { return 7 }, Seccomp: func() bool { return true },
		Root: func() bool { return false }, Cgroups: func() Cgroups { return Cgroups{} },
	}
	change(&m)
	return m
}

func TestTheLevelIsTheStrongestThatTheMachineCanHave(t *testing.T) {
	t.Parallel()
	refuses := func(text string) func(*Machine) {
		return func(m *Machine) {
			m.Try = func(context.Context, string, ...string) error { return errors.New(text) }
		}
	}
	whole := func(*Machine) {}
	noBwrap := func(m *Machine) { m.Find = func(string) (string, error) { return "", exec.ErrNotFound } }
	noNamespaces := refuses("bwrap: No permissions to create new namespace")
	noLandlock := func(m *Machine) { m.Landlock = func() int { return 0 } }
	for name, tt := range map[string]struct {
		machine        func(*Machine)
		level, require Level
		want           Level
		says           string // in the reason or in the error
	}{
		"everything is there":         {machine: whole, want: Closed},
		"auto by its name":            {machine: whole, level: "auto", want: Closed},
		"less was asked for":          {machine: whole, level: Partial, want: Partial},
		"nothing was asked for":       {machine: whole, level: Open, want: Open},
		"a command of the person's":   {machine: noLandlock, level: Wrapped, require: Partial, want: Wrapped},
		"no bubblewrap":               {machine: noBwrap, want: Partial, says: "bubblewrap is not installed; to contain them: apt-get install bubblewrap"},
		"no namespaces":               {machine: noNamespaces, want: Partial, says: "bubblewrap cannot make namespaces here: bwrap: No permissions"},
		"an older bubblewrap":         {machine: func(m *Machine) { m.Try = olderBwrap }, want: Closed},
		"no Landlock":                 {machine: noLandlock, want: Open, says: "uncontained (open), with everything that you may do yourself, because the kernel has no Landlock"},
		"an old Landlock":             {machine: func(m *Machine) { m.Landlock = func() int { return 2 } }, want: Open, says: "Landlock is version 2"},
		"no filters":                  {machine: func(m *Machine) { m.Seccomp = func() bool { return false } }, want: Open, says: "seccomp"},
		"enough is required":          {machine: noBwrap, require: Partial, want: Partial, says: "bubblewrap is not installed"},
		"more is required":            {machine: noBwrap, require: Closed, says: "the sandbox level 'closed' is required, but 'partial' is the strongest here: bubblewrap is not installed\nnext: apt-get install bubblewrap"},
		"more is required than asked": {machine: whole, level: Partial, require: Closed, says: "sandbox.level is partial\nnext: liza config sandbox.level auto"},
		"required, but open":          {machine: whole, level: Open, require: Partial, says: "sandbox.level is open"},
		"more is asked than there is": {machine: noNamespaces, level: Closed, says: "the sandbox level 'closed' is required"},
		"nothing, and it is required": {machine: noLandlock, require: Partial, says: "the sandbox level 'partial' is required, but 'open' is the strongest here: the kernel has no Landlock\nnext: boot Linux 6.2"},
		"an unknown level":            {machine: whole, level: "high", says: "sandbox.level 'high' is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			level, reason, err := Choose(tt.level, tt.require, machine(tt.machine).Detect(t.Context()))
			if err != nil {
				reason = err.Error()
			}
			if level != tt.want || !strings.Contains(reason, tt.says) || tt.says == "" && reason != "" {
				t.Errorf("got '%s', %q", level, reason)
			}
		})
	}
}

func olderBwrap(_ context.Context, _ string, args ...string) error {
	if strings.Contains(strings.Join(args, " "), "--disable-userns") {
		return errors.New("bwrap: Unknown option --disable-userns")
	}
	return nil
}

func TestTheSettingThatForbidsNamespacesIsNamed(t *testing.T) {
	t.Parallel()
	f := machine(func(m *Machine) {
		m.Try = func(context.Context, string, ...string) error {
			return errors.New("setting up uid map: Permission denied")
		}
		m.Hint = func() string { return "sysctl -w user.max_user_namespaces=10000" }
	}).Detect(t.Context())
	if _, reason, err := Choose("", "", f); err != nil || !strings.Contains(reason, "to contain them: sysctl -w user.max_user_namespaces=10000") {
		t.Errorf("got %q, %v", reason, err)
	}
}
