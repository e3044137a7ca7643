//go:build !linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
)

// thisMachine can enforce nothing that Liza knows.
func thisMachine() Machine {
	return Machine{
		Find:     func(string) (string, error) { return "", errors.ErrUnsupported },
		Landlock: func() int { return 0 }, Seccomp: func() bool { return false },
		Root: func() bool { return os.Getuid() == 0 }, Cgroups: func() Cgroups { return Cgroups{} },
	}
}

// Enter exists on Linux only.
func Enter([]string) int {
	fmt.Fprintln(os.Stderr, "programs can be contained on Linux only\nnext: liza config sandbox.level open")
	return CannotEnter
}
