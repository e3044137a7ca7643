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
	pkg    string // below pkg/
	name   string
	took   time.Duration
	passes []byte // by place: 1
}

// write prepares the overlay through which the compiler reads the changed files: the tree is not touched.
func (m *mutated) write(t *testing.T) {
	t.Helper()
	replace := map[string]string{}
	for path, text := range m.files {
		changed := filepath.Join(m.dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(changed, text, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = changed
	}
	m.overlay = filepath.Join(m.dir, "overlay.json")
	list, _ := json.Marshal(map[string]any{"Replace": replace})
	if err := errors.Join(os.WriteFile(m.overlay, list, 0o600), os.Mkdir(m.current, 0o755)); err != nil {
		t.Fatal(err)
	}
}

// build makes the test binary of a package.
func (m *mutated) build(t *testing.T, name string) {
	t.Helper()
	binary := filepath.Join(m.dir, strings.ReplaceAll(name, "/", "-")+".test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", m.overlay, "-o", binary, "./pkg/"+name)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the tests of %s do not compile with the switches: %v\n%s", name, err, out)
	}
	m.binaries[name] = binary
}

// jail starts a command where it sees no processes but its own, because a fault in code that ends processes
// must not end those of the machine, and where the folder of its fault ($0) is at the place ($1) that the
// switches read. The shell waits for what loses its parent.
var jail = []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", `mount --bind "$0" "$1" || exit 1; shift; "$@"; exit $?`}

// canJail reports whether this machine lets the user do that.
func canJail(t *testing.T) bool {
	t.Helper()
	return exec.Command(jail[0], slices.Concat(jail[1:], []string{t.TempDir(), t.TempDir(), "true"})...).Run() == nil
}

// noFault is the fault of a run without one.
const noFault = -1

// run starts tests of a package in a group of their own, which is ended with all that they left.
func (m *mutated) run(t *testing.T, pkg string, limit time.Duration, fault int, seen []byte, args ...string) ([]byte, error) {
	t.Helper()
	dir, err := os.MkdirTemp(m.dir, "run-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "mutant"), fmt.Append(nil, fault), 0o644))
	if seen != nil {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "seen"), seen, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	cmd := exec.CommandContext(ctx, jail[0], slices.Concat(jail[1:], []string{dir, m.current, m.binaries[pkg]}, args)...)
	cmd.Dir = filepath.FromSlash(pkg)
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

// names returns the tests of a package; the scripts are one each.
func (m *mutated) names(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := m.run(t, pkg, time.Minute, noFault, nil, "-test.list", ".")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var names []string
	for _, name := range strings.Fields(string(out)) {
		if name == "TestScript" {
			scripts, err := filepath.Glob("../testdata/script/*.txtar")
			if err != nil {
				t.Fatal(err)
			}
			for _, script := range scripts {
				names = append(names, name+"/"+strings.TrimSuffix(filepath.Base(script), ".txtar"))
			}
		} else if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Example") {
			names = append(names, name)
		}
	}
	return names
}

// cover runs each test of a package alone, without a fault, as many at once as there are processors.
func (m *mutated) cover(t *testing.T, pkg string) {
	t.Helper()
	var lock sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for _, name := range m.names(t, pkg) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			began, passes := time.Now(), make([]byte, len(m.places)+1)
			out, err := m.run(t, pkg, 5*time.Minute, noFault, passes, "-test.run", exactly(name))
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				t.Logf("%s: %s fails without a fault and is left out: %v\n%s", pkg, name, err, out)
				return
			}
			m.tests = append(m.tests, coveredTest{pkg, name, time.Since(began), passes})
		})
	}
	all.Wait()
	slices.SortFunc(m.tests, func(a, b coveredTest) int { return int(a.took - b.took) })
}

// testsOf returns the tests that pass a place, those of its own package first, the quickest first.
func (m *mutated) testsOf(p fault) []coveredTest {
	var own, others []coveredTest
	for _, c := range m.tests {
		switch {
		case c.passes[p.id] != 1:
		case c.pkg == p.pkg:
			own = append(own, c)
		default:
			others = append(others, c)
		}
	}
	return append(own, others...)
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

// byOthers is the verdict on a fault that only tests of other packages see.
const byOthers = "killed by tests of other packages"

// try switches one fault on. The tests run in groups that grow, the quickest first: most faults are seen
// by the first few. What hangs is seen as well.
func (m *mutated) try(t *testing.T, p fault) string {
	tests := m.testsOf(p)
	if len(tests) == 0 {
		return unreached
	}
	size := 2
	for len(tests) > 0 {
		pkg, group := tests[0].pkg, tests[:1]
		for len(group) < min(size, len(tests)) && tests[len(group)].pkg == pkg {
			group = tests[:len(group)+1]
		}
		tests = tests[len(group):]
		size *= 3
		limit := 20 * time.Second
		var names []string
		for _, c := range group {
			limit += 5 * c.took
			names = append(names, exactly(c.name))
		}
		_, err := m.run(t, pkg, limit, p.id, nil, "-test.failfast", "-test.run", strings.Join(names, "|"))
		switch {
		case err == nil:
		case pkg == p.pkg:
			return killed
		default:
			return byOthers
		}
	}
	return survived
}

func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
