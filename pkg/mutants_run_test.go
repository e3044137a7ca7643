package pkg_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// coveredTest is a test with the places that it passes when nothing is wrong.
type coveredTest struct {
	name   string
	took   time.Duration
	passes []byte // by place: 1
}

// build makes the test binary of the package. The tree is not touched: the compiler reads the
// changed files through an overlay.
func (m *mutated) build(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for path, text := range m.files {
		changed := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(changed, text, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = changed
	}
	overlay := filepath.Join(dir, "overlay.json")
	list, _ := json.Marshal(map[string]any{"Replace": replace})
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	m.binary = filepath.Join(dir, m.name+".test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", m.binary, "./pkg/"+m.name)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the switches of %s do not compile: %v\n%s", m.name, err, out)
	}
}

// jail starts a command where it sees no processes but its own: a fault in code that ends processes
// must not end those of the machine. The shell waits for what loses its parent.
var jail = []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", `"$0" "$@"; exit $?`}

// canJail reports whether this machine lets the user do that.
func canJail(t *testing.T) bool {
	t.Helper()
	return exec.Command(jail[0], slices.Concat(jail[1:], []string{"true"})...).Run() == nil
}

// noFault is the fault of a run without one.
const noFault = -1

// run starts the package's tests in a group of their own, which is ended with all that they left.
// Each run has a link to the binary in a folder of its own, with its switches beside it.
func (m *mutated) run(t *testing.T, limit time.Duration, fault int, seen []byte, args ...string) ([]byte, error) {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(m.binary), "run-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, m.name+".test")
	err = errors.Join(os.Link(m.binary, binary), os.WriteFile(filepath.Join(dir, "mutant"), fmt.Append(nil, fault), 0o600))
	if seen != nil {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "seen"), seen, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	cmd := exec.CommandContext(ctx, jail[0], slices.Concat(jail[1:], []string{binary}, args)...)
	cmd.Dir = m.name
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // usually there is no such group any more
	}
	if seen != nil {
		passes, failed := os.ReadFile(filepath.Join(dir, "seen"))
		if failed != nil {
			t.Fatal(failed)
		}
		copy(seen, passes)
	}
	return out.Bytes(), err
}

// cover runs each test alone, without a fault.
func (m *mutated) cover(t *testing.T) {
	t.Helper()
	out, err := m.run(t, time.Minute, noFault, nil, "-test.list", ".")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range strings.Fields(string(out)) {
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") && !strings.HasPrefix(name, "Example") {
			continue
		}
		began, passes := time.Now(), make([]byte, len(m.places)+1)
		out, err := m.run(t, 5*time.Minute, noFault, passes, "-test.run", exactly(name))
		if err != nil {
			t.Logf("%s fails without a fault and is left out: %v\n%s", name, err, out)
			continue
		}
		m.tests = append(m.tests, coveredTest{name, time.Since(began), passes})
	}
	slices.SortFunc(m.tests, func(a, b coveredTest) int { return int(a.took - b.took) })
}

// testsOf returns the tests that pass a place, the quickest first.
func (m *mutated) testsOf(p fault) []coveredTest {
	var tests []coveredTest
	for _, c := range m.tests {
		if c.passes[p.id] == 1 {
			tests = append(tests, c)
		}
	}
	return tests
}

// unreached is the verdict on a fault in a place that no test passes.
const unreached = "no test is here"

// tryAll returns the verdict on each fault. As many are tried at once as there are processors.
func (m *mutated) tryAll(t *testing.T, faults []fault) []string {
	t.Helper()
	verdicts := make([]string, len(faults))
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for i, p := range faults {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			verdicts[i] = m.try(t, p)
		})
	}
	all.Wait()
	return verdicts
}

// try switches one fault on. The tests run in groups that grow, the quickest first: most faults are seen
// by the first few. What hangs is seen as well.
func (m *mutated) try(t *testing.T, p fault) string {
	tests := m.testsOf(p)
	if len(tests) == 0 {
		return unreached
	}
	for size := 2; len(tests) > 0; size *= 3 {
		group := tests[:min(size, len(tests))]
		tests = tests[len(group):]
		limit := 20 * time.Second
		var names []string
		for _, c := range group {
			limit += 5 * c.took
			names = append(names, exactly(c.name))
		}
		_, err := m.run(t, limit, p.id, nil, "-test.failfast", "-test.run", strings.Join(names, "|"))
		if err != nil {
			return killed
		}
	}
	return survived
}

func exactly(name string) string { return "^" + regexp.QuoteMeta(name) + "$" }
