package wall

import (
	"context"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"liza/pkg/board/config"
	"liza/pkg/run/agent"
	"liza/pkg/run/sandbox"
)

// A machine may hand settings to git in the environment of the person; what Liza adds for a run is counted after them.
func TestSettingsOfGitAreNumberedWithoutThoseOfThePerson(t *testing.T) {
	t.Parallel()
	person := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraheader", "GIT_CONFIG_VALUE_0=token"}
	w := &Wall{Plan: Plan{Wall: sandbox.Wall{}}, maker: &Maker{Environ: person}}
	got := w.environment(append(slices.Clone(person), "GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_1=user.name", "GIT_CONFIG_VALUE_1=Ada=L", "GIT_CONFIG_KEY_2=user.email", "GIT_CONFIG_VALUE_2=ada@example.com"))
	want := []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=Ada=L", "GIT_CONFIG_KEY_1=user.email", "GIT_CONFIG_VALUE_1=ada@example.com", "GIT_CONFIG_COUNT=2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := w.environment(person); !slices.Equal(got, want[:1]) {
		t.Errorf("without settings of its own: %q", got)
	}
}

// lockOf is the UDP port that holds a band.
func lockOf(first int) int { return firstLock + (first-firstPort)/portsOfRun }

func isFree(lock int) bool {
	held, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: lock})
	if err == nil {
		held.Close()
	}
	return err == nil
}

func TestNoTwoRunsHaveTheSamePorts(t *testing.T) {
	t.Parallel()
	one, first := takePorts()
	two, second := takePorts()
	if one == 0 || two == 0 || one == two || (one-firstPort)%portsOfRun != 0 {
		t.Fatalf("the bands are %d and %d", one, two)
	}
	defer second.Close()
	passed, err := syscall.Dup(int(first.Fd())) // as a reaper has it
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	if isFree(lockOf(one)) {
		t.Errorf("band %d is free although a process has its lock", one)
	}
	syscall.Close(passed)
	if isFree(lockOf(two)) {
		t.Errorf("band %d is free although it was not given back", two)
	}
}

func TestPortsOnWhichSomethingListensAreNotGiven(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1", "0.0.0.0"} {
		first, lock := takePorts()
		if first == 0 {
			t.Fatal("no band is free")
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(first+portsOfRun-1)))
		if err != nil {
			t.Logf("NOT RUN for %s: %v", host, err)
			lock.Close()
			continue
		}
		if free(first) {
			t.Errorf("band %d counts as free with a server at %s", first, listener.Addr())
		}
		listener.Close()
		if !free(first) {
			t.Errorf("band %d is not free without it", first)
		}
		lock.Close()
	}
}

// At closed the run has its own loopback device, on which ports of the machine's are Liza's.
func TestARunWithItsOwnLoopbackHasTheFirstPortsThatAreNotLizas(t *testing.T) {
	t.Parallel()
	for want, local := range map[int][]int{firstPort: {11434, firstPort - 1, firstPort + 20}, firstPort + 40: {firstPort + 19, firstPort + 20}} {
		if got := ownPorts(local); got != want {
			t.Errorf("beside %v: %d, want %d", local, got, want)
		}
	}
	if w := (&Wall{ports: 21000}); !slices.Equal(w.Variables(), []string{"LIZA_PORT=21000", "LIZA_PORTS=21000-21019"}) {
		t.Errorf("a run is told %v", w.Variables())
	}
	if none := (*Wall)(nil); none.Ports() != "" || none.Variables() != nil || (&Wall{}).Variables() != nil {
		t.Error("a run without ports is told some")
	}
}

// Ports stay those of a run whose supervisor died.
func TestPortsOfARunAreAdopted(t *testing.T) {
	t.Parallel()
	for _, level := range []sandbox.Level{sandbox.Open, sandbox.Partial} {
		first, lock := takePorts()
		w := &Wall{band: lock, ports: first}
		if level == sandbox.Partial {
			held, err := os.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			w.held = held
		}
		kept, copies, err := w.Kept()
		if err != nil || len(copies) > 0 || kept[len(kept)-1] != lock {
			t.Fatalf("%s: kept are %v %v %v", level, kept, copies, err)
		}
		r := contained(t, "claude")
		m := &Maker{Project: r.Project, Environ: r.Person.Environ, Home: r.Person.Home, Config: func() *config.Config { return &config.Config{Sandbox: config.Sandbox{Level: string(level)}} },
			Facts:   func(context.Context) sandbox.Capabilities { return sandbox.Capabilities{Landlock: 9, Seccomp: true} },
			Program: func(string) (agent.Needs, error) { return agent.CommonNeeds(), nil }}
		adopted, err := m.Adopt(t.Context(), Use{Name: "coder-1", Program: "claude", Dir: r.Dir, Write: true}, kept)
		if err != nil {
			t.Fatal(err)
		}
		if isFree(lockOf(first)) {
			t.Errorf("%s: band %d is free during the adopted run", level, first)
		}
		if err := adopted.Close(); err != nil {
			t.Error(err)
		}
		if _, err := lock.Stat(); err == nil {
			t.Errorf("%s: the lock of band %d is open after the run", level, first)
		}
	}
}
