// Package norace builds binaries without the race detector for tests that start them as other processes: such a process takes
// a third of the time, and does not wait for a second at its end. The race detector still watches the process of the tests.
package norace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

var built struct {
	sync.Mutex
	dir string
}

// Run runs the tests of a package (m is its *testing.M), and removes what Program has built.
func Run(m interface{ Run() int }) int {
	defer func() { _ = os.RemoveAll(built.dir) }()
	return m.Run()
}

// Program returns the path of the binary of the present tests, without the race detector. It builds it on first use, in the
// folder of the package. A package whose tests call it runs them with Run.
func Program() (string, error) {
	if !Raced {
		return os.Executable()
	}
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		return filepath.Join(built.dir, "plain"), nil
	}
	dir, err := os.MkdirTemp("", "liza-plain-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "plain")
	if err := run("test", "-race=false", "-vet=off", "-c", "-o", program, "."); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	built.dir = dir
	return program, nil
}

// Build builds programs, named by their import paths, into the folder dir, without the race detector. The flags are those of
// the Makefile, so that targets share compiled packages.
func Build(dir string, programs ...string) error {
	return run(append([]string{"build", "-o", dir + string(filepath.Separator)}, programs...)...)
}

func run(args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	flags := ""
	for _, pair := range cmd.Env {
		if value, ok := strings.CutPrefix(pair, "GOFLAGS="); ok {
			flags = value
		}
	}
	cmd.Env = append(cmd.Env, "GOFLAGS=-trimpath "+flags)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build without the race detector: %v\n%s", err, out)
	}
	return nil
}
