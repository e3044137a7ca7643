package sandbox

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestEachLimitHolds(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, p place) {
		p.spec.Limits = Limits{File: 1 << 20, Files: 40, Disk: 4 << 20}
		for script, want := range map[string]string{
			"dd if=/dev/zero of=big bs=64k count=32; stat -c %s big": "1048576\n",
			"ulimit -n; ulimit -c":          "40\n0\n",
			"ulimit -n 100 || echo refused": "refused\n",
		} {
			if out, _ := p.sh("exec 2>/dev/null; " + script); out != want {
				t.Errorf("%s: got %q, want %q", script, out, want)
			}
		}
		if p.spec.Level == Closed {
			for _, dir := range []string{"/tmp", "/dev/shm"} {
				out, _ := p.sh("for i in 1 2 3 4 5 6; do dd if=/dev/zero of=" + dir + "/big$i bs=64k count=16 2>&1 | grep -o 'No space'; done; true")
				if !strings.Contains(out, "No space") {
					t.Errorf("%s takes more than its size: %q", dir, out)
				}
			}
		}
	})
}

func TestTheNumberOfProcessesIsLimited(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, p place) {
		if p.uid == 0 && Detect(t.Context()).Cgroups.Pids == "" {
			t.Skip("NOT RUN: no control groups, and no limit binds root")
		}
		if p.uid > 0 { // whose processes count where users are not namespaces: nobody else's here
			p = p.as(p.uid + 1 + len(p.spec.Level))
		}
		p.spec.Limits = Limits{Processes: 60}
		out, code := p.sh(`for i in $(seq 400); do echo $i > n; sleep 20 & done >/dev/null 2>&1; echo all`)
		text, _ := os.ReadFile(p.path("repo/.worktrees/one/n"))
		n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		if n < 20 || n > 200 {
			t.Errorf("%d processes were started, exit code %d: %s", n, code, out)
		}
	})
}

// Two containers, or one and its machine, can have one tree of control groups and cannot see each other's processes.
func TestControlGroupsOfAnotherNamespaceAreNotRemoved(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	if c := Detect(t.Context()).Cgroups; c.Pids != "" { // the real thing, in a group of our own
		parent = filepath.Join(c.Pids, "test-"+rand.Text())
		if err := os.Mkdir(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			list, _ := filepath.Glob(parent + "/liza-*")
			for _, dir := range append(list, parent) {
				if err := os.Remove(dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ours, err := groups{parent: nil}.make()
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(parent, fmt.Sprintf("liza-%d-x", time.Now().Add(-2*time.Hour).Unix()))
	if err := os.Mkdir(left, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second has the same pid there
		out, err := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", self, "group", parent).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "1 [") || !strings.Contains(string(out), "<nil>") {
			t.Fatalf("the group of another namespace: %v: %s", err, out)
		}
	}
	if _, err := os.Stat(ours[0]); err != nil {
		t.Errorf("another namespace has removed the group of a run: %v", err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Errorf("the group that a killed process left is still there")
	}
}

func TestTheWayToTheProxyHoldsWhenTheRunHasAllItsProcesses(t *testing.T) {
	t.Parallel()
	p := newPlace(t, Closed).as(1000)
	p.spec.Limits = Limits{Processes: 80}
	p.proxy("of the proxy")
	out, code := p.run(p.spec.Liza, "attack", `{"crowd": ["crowd", "`+ForwardAddress+`"]}`)
	if code != 0 || strings.TrimSpace(out) != `{"crowd":""}` {
		t.Errorf("got exit code %d and %q", code, out)
	}
}

// proxy makes one that answers each connection with a text and what it got.
func (p *place) proxy(text string) {
	p.t.Helper()
	p.spec.Proxy = p.path("run/proxy.sock")
	l, err := net.Listen("unix", p.spec.Proxy)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.uid > 0 {
		p.own(p.spec.Proxy)
	}
	p.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				got := make([]byte, 100)
				n, _ := c.Read(got)
				fmt.Fprintf(c, "%s: %s", text, got[:n])
			}()
		}
	}()
}

func TestAProgramReachesTheProxyAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, uid := range []int{0, 1000} {
		p := newPlace(t, Closed)
		if uid > 0 {
			p = p.as(uid)
		}
		p.proxy("of the proxy")
		out, code := p.sh(`python3 - <<'END'
import os, socket
host, port = os.environ["https_proxy"].removeprefix("http://").split(":")
c = socket.create_connection((host, int(port)))
c.sendall(b"CONNECT"); c.shutdown(socket.SHUT_WR)
print(c.makefile().read())
END
`)
		if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
			t.Skip("NOT RUN: no python3 in /usr/bin")
		}
		if code != 0 || out != "of the proxy: CONNECT\n" {
			t.Errorf("got exit code %d and %q", code, out)
		}
		if out, _ := p.run(p.spec.Liza, "attack", `{"out": ["tcp", "192.0.2.1:80"]}`); !strings.Contains(out, "unreachable") {
			t.Errorf("got %q, want no way out", out)
		}
	}
}

func TestMemoryIsLimited(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		t.Skip("NOT RUN: no python3 in /usr/bin")
	}
	levels(t, func(t *testing.T, p place) {
		p.spec.Limits = Limits{Memory: 1 << 30} // the launcher of a test with the race detector needs some of it
		if out, code := p.run(python, "-c", "x = bytearray(64 << 20); print(len(x))"); code != 0 {
			t.Errorf("less than the limit: exit code %d: %s", code, out)
		}
		if out, code := p.run(python, "-c", "x = bytearray(3 << 30); print(len(x))"); code == 0 {
			t.Errorf("more than the limit: exit code %d: %s", code, out)
		}
	})
}
