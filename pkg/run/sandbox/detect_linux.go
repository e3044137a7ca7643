package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func thisMachine() Machine {
	return Machine{
		Find: exec.LookPath, Try: try, Hint: namespaceHint, Landlock: landlockVersion, Seccomp: canFilter,
		Root:    func() bool { return os.Getuid() == 0 },
		Cgroups: func() Cgroups { return findCgroups("/proc/self/cgroup", "/proc/self/mountinfo") },
	}
}

// try runs bubblewrap with nothing of our environment.
func try(ctx context.Context, bwrap string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bwrap, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if text := bytes.TrimSpace(out); err != nil && len(text) > 0 {
		return errors.New(string(text))
	}
	return err
}

// namespaceHint names the setting that forbids namespaces of users, as the command that changes it.
func namespaceHint() string {
	for _, s := range []struct{ file, bad, command string }{
		{"kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap that allows userns"},
		{"kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"},
	} {
		if value, err := os.ReadFile("/proc/sys/" + s.file); err == nil && strings.TrimSpace(string(value)) == s.bad {
			return s.command
		}
	}
	return ""
}

// landlockVersion is that of the kernel's interface, 0 without one.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// canFilter reports whether filters of system calls are known to the kernel, and this processor to us.
func canFilter() bool {
	if auditArch == 0 {
		return false
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	return seccomp(unix.SECCOMP_GET_ACTION_AVAIL, 0, &action) == nil
}
