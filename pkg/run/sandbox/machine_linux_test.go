package sandbox

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"

	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every program finds in /etc, /opt and /srv what all users of the machine may read, and nothing else.
func TestWhatAllUsersMayReadOfTheMachineIsThere(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, p place) {
		const find = "find -L /etc /opt /srv -xdev -type f -size -1024k -readable 2>/dev/null | LC_ALL=C sort"
		out, code := p.sh(find + " | while read -r file; do head -c 1 \"$file\" >/dev/null 2>&1 && echo \"$file\"; done")
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		inside := map[string]bool{}
		for file := range strings.Lines(out) {
			inside[strings.TrimSpace(file)] = true
		}
		for _, file := range []string{"/etc/passwd", "/etc/services", "/etc/mime.types", "/etc/profile"} {
			if _, err := os.Stat(file); err == nil && !inside[file] {
				t.Errorf("%s is not there", file)
			}
		}
		for file := range inside {
			at := file
			if real, err := filepath.EvalSymlinks(file); err == nil {
				at = real
			}
			if !forAll(at) {
				t.Errorf("%s is there, and not all users may read it", file)
			}
			if strings.HasPrefix(at, "/etc/") && slices.ContainsFunc(secrets, func(name string) bool { return within(at, "/etc/"+name) }) {
				t.Errorf("%s is there, a secret", file)
			}
		}
		_ = filepath.WalkDir("/etc", func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || !forAll(path) || inside[path] {
				return nil
			}
			if info, err := e.Info(); err != nil || info.Size() == 0 || info.Size() > 1<<20 {
				return nil
			}
			if path != "/etc/resolv.conf" && !slices.ContainsFunc(secrets, func(name string) bool { return within(path, "/etc/"+name) }) {
				t.Errorf("%s is not there, and all users may read it", path)
			}
			return nil
		})
	})
}

// forAll reports whether all users may read a file, by the rights of it and of the folders around it.
func forAll(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&0o004 == 0 {
		return false
	}
	for at := filepath.Dir(path); at != "/"; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || info.Mode()&0o001 == 0 {
			return false
		}
	}
	return true
}

func TestWhatIsNotForAllIsPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, modes := range map[string][2]os.FileMode{
		"open/file": {0o755, 0o644}, "open/key": {0o755, 0o640}, "closed/file": {0o750, 0o644}, "entered/file": {0o711, 0o644}, "listed/file": {0o744, 0o644},
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at, modes[1]); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Dir(at), modes[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/root", dir+"/open/link"); err != nil {
		t.Fatal(err)
	}
	got := private([]string{dir + "/open", dir + "/closed", dir + "/entered", dir + "/listed", dir + "/none"})
	if want := []string{dir + "/open/key", dir + "/closed", dir + "/entered", dir + "/listed"}; !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// What the Spec names is shown, whatever its rights.
func TestWhatASpecNamesOfTheMachineIsNotHidden(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/etc/ssh", "/etc/sudoers.d"} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if s := (Spec{Level: Closed}).withMachine(); !slices.Contains(s.Hide, path) {
			t.Errorf("%s is not hidden", path)
		}
		if s := (Spec{Level: Closed, Read: []string{path}}).withMachine(); slices.Contains(s.Hide, path) {
			t.Errorf("%s is hidden", path)
		}
	}
}

// Agents start login shells, and /etc/profile sets a PATH of its own.
func TestALoginShellKeepsThePathOfTheRun(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, p place) {
		out, code := p.sh(`sh -lc 'echo "$PATH"'; bash -lc 'echo "$PATH"'`)
		if want := strings.Repeat("/usr/local/bin:/usr/bin:/bin\n", 2); code != 0 || out != want {
			t.Errorf("exit code %d, PATH is %q", code, out)
		}
	})
}

// A run that sees its own processes alone may do to them what debuggers and sanitizers do; one that judges others' work may not.
func TestARunTracesAndSchedulesItsOwnProcesses(t *testing.T) {
	t.Parallel()
	for _, level := range []Level{Closed, Partial} {
		for _, traces := range []bool{true, false} {
			t.Run(fmt.Sprint(level, " traces ", traces), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, level)
				p.spec.Traces = traces
				out, _ := p.run(p.spec.Liza, "own")
				for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
					what, refused, ok := strings.Cut(line, ": ")
					if want := traces && level == Closed; !ok || (refused == "<nil>") != want {
						t.Errorf("%s: %s, want it allowed: %t", what, refused, want)
					}
				}
			})
		}
	}
}

// own does to processes of its own what debuggers, sanitizers and runtimes do.
func own() {
	runtime.LockOSThread()
	child := exec.Command("/usr/bin/sleep", "60")
	if err := child.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = child.Process.Kill() }()
	var set unix.CPUSet
	_ = unix.SchedGetaffinity(0, &set)
	fmt.Println("the processors of a thread:", unix.SchedSetaffinity(unix.Gettid(), &set))
	fmt.Println("the priority of a child:", unix.Setpriority(unix.PRIO_PROCESS, child.Process.Pid, 5))
	fmt.Println("its order to be killed:", os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0))
	fmt.Println("its name:", os.WriteFile("/proc/self/comm", []byte("worker"), 0))
	fmt.Println("a trace of a child:", unix.PtraceAttach(child.Process.Pid))
}
