//go:build linux && !race

package power

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"liza/pkg/base/norace"
)

// TestMain runs the tests in a mount namespace of their own: a sandbox that something else starts would hold their disks.
func TestMain(m *testing.M) {
	const inside = "POWER_INSIDE"
	if os.Getenv(inside) == "" && os.Getuid() == 0 {
		cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
		if cmd.Start() == nil {
			_ = cmd.Wait()
			os.Exit(cmd.ProcessState.ExitCode())
		}
	}
	os.Exit(m.Run())
}

// lossesOfTrain is how often the power goes in one repository.
const lossesOfTrain = 12

// TestNothingAcknowledgedIsLostWithThePower lets the power go 60 times. POWER_LOSSES=N does so more often, from seed POWER_FIRST on, and
// POWER_SEED=N rides one train. POWER_FORGETS=PATTERN leaves out the fsyncs of what fits, which has to be noticed; POWER_KEEP=FOLDER keeps the disk of a failure.
func TestNothingAcknowledgedIsLostWithThePower(t *testing.T) {
	bin := programs(t)
	number := func(name string, usual int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return usual
	}
	losses := 60
	if testing.Short() {
		losses = 2 * lossesOfTrain
	}
	var seeds []uint64
	for i := range (number("POWER_LOSSES", losses) + lossesOfTrain - 1) / lossesOfTrain {
		seeds = append(seeds, uint64(number("POWER_FIRST", 0)+i+1))
	}
	if n, err := strconv.ParseUint(os.Getenv("POWER_SEED"), 10, 64); err == nil {
		seeds = []uint64{n}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if lost := ride(t, bin, seed, os.Getenv("POWER_FORGETS")); lost != "" {
				t.Fatal(lost)
			}
		})
	}
}

// Each of these stands for an fsync that is left out. The first train in which that does harm has to notice it.
func TestAnFsyncThatIsLeftOutIsNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	bin := programs(t)
	for _, forgotten := range []string{`\.liza/log\.yaml$`, `\.liza/\.state\.yaml`, `\.git/objects/`} {
		t.Run(forgotten, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20) {
				if lost := ride(t, bin, seed+1, forgotten); lost != "" {
					t.Logf("%.300s", lost)
					return
				}
			}
			t.Errorf("20 trains did not notice that %s is not synced", forgotten)
		})
	}
}

// A branch that `liza sync --restore` has put back is there after a loss of the next moment: its last write is the branch.
func TestABranchThatWasPutBackIsDurable(t *testing.T) {
	tr := &train{r: rand.New(rand.NewPCG(1, 29)), bin: programs(t), dir: t.TempDir(), boards: map[int]map[string]bool{}, stories: map[string]int{}}
	defer func() {
		if err := tr.halt(); err != nil {
			t.Error(err)
		}
	}()
	if err := tr.boot(newDisk(strict)); err != nil {
		t.Fatal(err)
	}
	if err := tr.begin(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"liza init Power", `git update-ref refs/heads/integration "$(echo mine | git commit-tree integration^{tree} -p integration)"`, "liza sync --restore --reason lost"} {
		if a := tr.run("sh", "-c", command); a.code != 0 {
			t.Fatalf("%s: %s", command, a.text)
		}
	}
	restored := tr.refs(tr.disk)["refs/heads/integration"]
	after := tr.disk.after(nothing, tr.r)
	if err := tr.halt(); err != nil {
		t.Fatal(err)
	}
	if err := tr.boot(after); err != nil {
		t.Fatal(err)
	}
	if found := tr.refs(tr.disk)["refs/heads/integration"]; found != restored || restored == "" {
		t.Errorf("integration was restored to %s, and is at %s", restored, found)
	}
}

// programs builds what runs on the disk, or skips the test where there can be no such disk.
func programs(t *testing.T) (bin string) {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("NOT RUN: /dev/fuse cannot be opened: %v", err)
	}
	f.Close()
	probe := t.TempDir()
	server, err := newDisk(strict).mount(probe)
	if err != nil {
		t.Skipf("NOT RUN: no file system can be mounted: %v", err)
	}
	if err := server.Unmount(); err != nil {
		t.Fatal(err)
	}
	if bin = os.Getenv("POWER_BIN"); bin != "" { // they are there
		return bin
	}
	bin = t.TempDir()
	if err := norace.Build(bin, "liza/cmd/liza", "liza/cmd/liza-agent", "liza/cmd/liza-spawn"); err != nil {
		t.Fatal(err)
	}
	return bin
}

// ride drives one train to its end, or to the first thing that is lost, which it returns.
func ride(t *testing.T, bin string, seed uint64, forgotten string) string {
	tr := &train{seed: seed, r: rand.New(rand.NewPCG(seed, 29)), bin: bin, dir: t.TempDir(), boards: map[int]map[string]bool{}, stories: map[string]int{}}
	defer func() {
		if err := tr.halt(); err != nil {
			t.Error(err)
		}
	}()
	d := newDisk(strict)
	if forgotten != "" {
		d.forgets = regexp.MustCompile(forgotten).MatchString
	}
	if err := tr.boot(d); err != nil {
		t.Fatal(err)
	}
	if err := tr.begin(); err != nil {
		t.Fatal(err)
	}
	for n := range lossesOfTrain {
		kind, where := tr.lose()
		if tr.broken != "" {
			return fmt.Sprintf("POWER_SEED=%d, loss %d (%s) in %s: %s\n%s%s", seed, n+1, kind, where, tr.broken, strings.Join(tr.trail, "\n"), tr.keep())
		}
	}
	t.Logf("seed %d: %d losses, %d worktrees set aside, checkout repaired %d times, steps that were answered: %v", seed, lossesOfTrain, tr.aside, tr.helped, tr.stories)
	return ""
}

// lose goes some steps on, lets the power go, and looks at what is left.
func (t *train) lose() (loss, string) {
	for range t.r.IntN(7) {
		if s, a := t.step(false); a.dark {
			t.fail("the power went by itself in %s", s.kind)
		}
		if t.broken != "" {
			return "", ""
		}
	}
	kind := losses[t.r.IntN(len(losses))]
	s, a := t.step(true)
	under := t.refs(t.disk)
	where, underWay := s.kind+", under way", s.kind
	if !a.dark {
		where, underWay = "after "+s.kind, ""
	}
	t.trail = append(t.trail, fmt.Sprintf("--- the power goes: %s (%s)", where, kind))
	after := t.disk.after(kind, t.r)
	if err := t.halt(); err != nil {
		t.fail("%v", err)
		return kind, where
	}
	if err := t.boot(after); err != nil {
		t.fail("%v", err)
		return kind, where
	}
	t.check(underWay, under)
	if t.broken == "" {
		entries := t.acked.journal // there may be entries of a write that was not finished, which the next one cuts
		t.ack()
		t.acked.journal, t.edited = entries, false
	}
	return kind, where
}

// step does something. In a dark one the power may go.
func (t *train) step(dark bool) (step, answer) {
	s := t.choose()
	if dark {
		t.disk.mu.Lock()
		t.disk.limit = t.disk.count + 1 + t.r.IntN(s.span*5/4)
		t.disk.mu.Unlock()
	}
	before := t.disk.count
	a := s.do(t)
	t.trail = append(t.trail, fmt.Sprintf("%s: exit %d, dark %v, %d calls: %s", s.kind, a.code, a.dark, t.disk.count-before, strings.TrimSpace(a.text)))
	if !a.dark && (a.code == 1 || a.code == 3) {
		t.fail("%s: exit code %d: %s", s.kind, a.code, a.text)
	}
	if !a.dark {
		t.stories[s.kind]++
		was := t.acked
		t.ack()
		if t.acked.revision == was.revision { // nothing was written: the journal may still end with an entry that the next write cuts
			t.acked.journal = was.journal
		} else {
			t.said, t.edited = t.acked.revision, false // a write of Liza's takes an edit in
		}
	}
	return s, a
}

// keep copies what was found to a folder that stays.
func (t *train) keep() string {
	dir, err := os.MkdirTemp(os.Getenv("POWER_KEEP"), fmt.Sprintf("power-%d-", t.seed))
	if err != nil || os.Getenv("POWER_KEEP") == "" {
		return "\n(POWER_KEEP=folder keeps the disk)"
	}
	a := t.run("cp", "-a", t.mnt(), dir)
	return fmt.Sprintf("\nkept in %s %s", filepath.Join(dir, "mnt"), a.text)
}
