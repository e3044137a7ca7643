package cli_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/sandbox"
	"liza/pkg/verb/verb/verbtest"
)

// tty is a terminal with somebody before it.
type tty struct {
	t      *testing.T
	person *os.File // the person's side
	line   *os.File // the program's side, kept open so that its mode can be looked at

	mu   sync.Mutex
	seen strings.Builder
}

func openTTY(t *testing.T) *tty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &tty{t: t, person: master, line: slave}
	t.Cleanup(func() { master.Close(); slave.Close() })
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			x.mu.Lock()
			x.seen.Write(buffer[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return x
}

// run starts a program of the project's person as the leader of a session on the terminal.
func (x *tty) run(p *verbtest.Place, name string, args ...string) *exec.Cmd {
	x.t.Helper()
	return x.runAt(sandbox.Open, p, name, args...)
}

// runAt is run with another level of the sandbox.
func (x *tty) runAt(level sandbox.Level, p *verbtest.Place, name string, args ...string) *exec.Cmd {
	x.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Dir, x.line, x.line, x.line
	cmd.Env = append(os.Environ(), "LIZA_AGENT_ID=", "LIZA_ROOT=", "XDG_STATE_HOME="+p.StateHome(), "LIZA_SANDBOX="+string(level))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// wait waits until the terminal shows a text.
func (x *tty) wait(text string) {
	x.t.Helper()
	x.until("the terminal shows "+text, func() bool { return strings.Contains(x.text(), text) })
}

func (x *tty) until(what string, done func() bool) {
	x.t.Helper()
	for limit := time.Now().Add(3 * time.Minute); !done(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(limit) {
			x.t.Fatalf("%s: not within 3 minutes; it shows:\n%s", what, x.text())
		}
	}
}

func (x *tty) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

func (x *tty) types(text string) {
	x.t.Helper()
	if _, err := x.person.WriteString(text); err != nil {
		x.t.Fatal(err)
	}
}

func (x *tty) mode() unix.Termios {
	x.t.Helper()
	mode, err := unix.IoctlGetTermios(int(x.line.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *mode
}

// front is the process group that reads the terminal.
func (x *tty) front() int {
	group, _ := unix.IoctlGetInt(int(x.person.Fd()), unix.TIOCGPGRP)
	return group
}

// talks is a project whose agent program talks to the person at its terminal.
func talks(t *testing.T, script string) *verbtest.Place {
	t.Helper()
	p := verbtest.New(t)
	p.AddTask("task-1")
	verbtest.Write(t, filepath.Join(p.Project.Liza, "talk.sh"), script)
	verbtest.Write(t, filepath.Join(p.Project.Liza, "config.yaml"),
		"agents:\n  talk:\n    command: [sh, talk.sh]\n    prompt: stdin\n    interactive: [sh, "+filepath.Join(p.Project.Liza, "talk.sh")+", '{{.Prompt}}']\n")
	return p
}

func TestAPersonWorksWithAnAgentProgramInTheTerminal(t *testing.T) {
	t.Parallel()
	p := talks(t, `
stty -echo
case "$1" in *task-1*) echo "the prompt is ready" ;; esac
printf 'what now? '
read -r answer
echo "$answer" > hello.txt
git add hello.txt
git commit -q -m 'Say hello'
"$LIZA_BIN" submit task-1 --summary 'Says hello' --no-tests 'a text file'
`)
	x := openTTY(t)
	before := x.mode()
	cmd := x.run(p, "liza-agent", "-i", "--cli", "talk", "--once", "coder")
	x.wait("the prompt is ready")
	x.wait("what now? ")
	if x.front() == cmd.Process.Pid || x.mode() == before {
		t.Errorf("the program has not the terminal: group %d is in front", x.front())
	}
	x.until("the board has the program as the agent's child", func() bool {
		got := p.State().Agents["coder-1"]
		return got != nil && got.Child != nil && got.Child.PID == x.front()
	})
	if strings.Contains(x.text(), "READY_FOR_REVIEW") {
		t.Error("something was shown over the program's shoulder")
	}
	x.types("hello\r")
	if err := cmd.Wait(); err != nil {
		t.Errorf("liza-agent ended with %v; the terminal shows\n%s", err, x.text())
	}
	if task := p.State().Task("task-1"); task.Status != blackboard.ReadyForReview {
		t.Errorf("task-1 is %s, want READY_FOR_REVIEW; the terminal shows\n%s", task.Status, x.text())
	}
	if after := x.mode(); after != before {
		t.Errorf("the mode of the terminal is\n%+v, was\n%+v", after, before)
	}
}

// A run in a terminal is not kept, and its servers can be opened all the same.
func TestAServerOfARunInATerminalIsOpened(t *testing.T) {
	t.Parallel()
	if sandbox.Detect(t.Context()).Strongest() != sandbox.Closed {
		t.Skip("NOT RUN: this machine cannot make a closed sandbox")
	}
	p := talks(t, "")
	verbtest.Write(t, filepath.Join(p.Project.Liza, "config.yaml"), "agents: {talk: {command: [sh, talk.sh], prompt: stdin, interactive: [devserver, '3000', sh, -c, 'echo it serves; read -r answer', '{{.Prompt}}']}}\n")
	x := openTTY(t)
	x.runAt(sandbox.Closed, p, "liza-agent", "-i", "--cli", "talk", "coder", "task-1")
	x.wait("it serves")
	opened := exec.Command("liza", "open", "task-1")
	opened.Dir, opened.Env = p.Dir, append(os.Environ(), "LIZA_AGENT_ID=", "LIZA_ROOT=")
	out, err := opened.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := new(bytes.Buffer)
	opened.Stderr = said
	if err := opened.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	address, _, ok := strings.Cut(line, " leads to port 3000 of task-1 (coder-1)")
	if !ok {
		t.Fatalf("it says %q, %s", line, said)
	}
	if seen, err := exec.Command("surf", address, "/a").Output(); err != nil || !strings.Contains(string(seen), "200 server of task-1 at /a") {
		t.Errorf("the server says %q, %v", seen, err)
	}
	x.types("bye\r")
	if err := opened.Wait(); err == nil || !strings.Contains(said.String(), "the run of task-1 (coder-1) has ended") {
		t.Errorf("at the end of the run: %v, %s", err, said)
	}
}

func TestWhoClosesTheProgramDecidesWhatBecomesOfTheClaim(t *testing.T) {
	t.Parallel()
	const commit = "echo hello > hello.txt\ngit add hello.txt\ngit commit -q -m 'Say hello'\n"
	for name, c := range map[string]struct {
		script, keys, shows string
		answers             []string // to one question after the other
		status              blackboard.Status
		held                string // by whom
	}{
		"given back":             {"", "\x03", "closed before the work was handed in", []string{"g\r"}, blackboard.Unclaimed, ""}, // Ctrl-C is the program's
		"submitted":              {commit, "/exit\r", "task-1 is not handed in: it has commits.", []string{"s\r"}, blackboard.ReadyForReview, ""},
		"kept":                   {commit, "/exit\r", "next: liza resume task-1, then liza-agent -i coder task-1", []string{"what?\r", "k\r"}, blackboard.Unclaimed, blackboard.Human},
		"a refused submission":   {commit + "echo more >> hello.txt\n", "/exit\r", "cannot submit: ", []string{"s\r", "g\r"}, blackboard.Unclaimed, ""},
		"a program that fails":   {commit + "exit 3\n", "", "it has commits", []string{"k\r"}, blackboard.Unclaimed, blackboard.Human},
		"no answer with commits": {commit, "/exit\r", "kept: no other coder takes it", []string{"\r"}, blackboard.Unclaimed, blackboard.System},
		"no answer without any":  {"", "/exit\r", "released: the program was closed", nil, blackboard.Unclaimed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := talks(t, c.script+"printf 'what now? '\nread -r answer\n")
			x := openTTY(t)
			cmd := x.run(p, "liza-agent", "-i", "--cli", "talk", "coder", "task-1")
			if c.keys != "" {
				x.wait("what now? ")
				x.types(c.keys)
			}
			x.wait("[g]ive it back")
			if c.answers == nil {
				x.types("\r")
			}
			for i, a := range c.answers {
				if i > 0 {
					x.until("it asks again", func() bool { return strings.Count(x.text(), "[g]ive") > i })
				}
				x.types(a)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("liza-agent ended with %v; the terminal shows\n%s", err, x.text())
			}
			task := p.State().Task("task-1")
			if held := ""; task.Hold != nil && task.Hold.By != c.held || task.Hold == nil && c.held != held {
				t.Errorf("task-1 is held: %+v, want by %q", task.Hold, c.held)
			}
			if task.Status != c.status {
				t.Errorf("task-1 is %s, want %s; the terminal shows\n%s", task.Status, c.status, x.text())
			}
			x.until("the terminal shows "+c.shows, func() bool { return strings.Contains(x.text(), c.shows) })
		})
	}
}

// A person's program is told the verbs, and of no exit command: nobody reads one.
func TestTheProgramInATerminalIsToldOfVerbsOnly(t *testing.T) {
	t.Parallel()
	p := talks(t, "printf '%s' \"$1\" > \"$LIZA_ROOT/prompt.txt\"\n")
	x := openTTY(t)
	cmd := x.run(p, "liza-agent", "-i", "--cli", "talk", "coder", "task-1")
	x.wait("[g]ive it back")
	x.types("g\r")
	_ = cmd.Wait()
	data, err := os.ReadFile(filepath.Join(p.Dir, "prompt.txt"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, want := range []string{"A person works with you in this terminal", "$LIZA_BIN submit task-3", "submitted, kept, or given back"} {
		if !strings.Contains(text, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
	for _, not := range []string{"exit command", "nobody reads while you run", "summary_for_supervisor", `"action"`} {
		if strings.Contains(text, not) {
			t.Errorf("the prompt says %q", not)
		}
	}
}

func TestAShellHaltsAndContinuesAProgramInTheTerminal(t *testing.T) {
	t.Parallel()
	p := talks(t, "printf 'what now? '\nread -r answer\necho \"got $answer\"\n")
	x := openTTY(t)
	// Job control is the shell's: Ctrl-Z stops the program and liza-agent, fg brings both back.
	shell := x.run(p, "bash", "--norc", "--noprofile", "-i")
	x.types("PS1='$ '; liza-agent -i --cli talk --once coder; echo \"status $?.\"\r")
	x.wait("what now? ")
	program := x.front()
	x.types("\x1a")
	x.wait("Stopped")
	x.until("the shell has the terminal", func() bool { return x.front() == shell.Process.Pid })
	x.types("fg\r")
	x.until("the program has the terminal", func() bool { return x.front() == program })
	x.types("this\r")
	x.wait("got this")
	x.wait("[g]ive it back")
	x.types("g\r")
	x.wait("closed before the work was handed in")
	x.types("exit\r")
	if err := shell.Wait(); err != nil {
		t.Log(err) // the status of its last command
	}
}

func TestInteractiveNeedsATerminalAndAProgramThatOpensInOne(t *testing.T) {
	t.Parallel()
	p := talks(t, "true\n")
	refused := func(want string, out []byte, err error) {
		t.Helper()
		if err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "next: liza-agent coder") {
			t.Errorf("got %v and %s, want %q", err, out, want)
		}
		if n := len(p.State().Agents); n != 0 {
			t.Errorf("%d agents are registered, want none", n)
		}
	}
	cmd := exec.Command("liza-agent", "-i", "--cli", "talk", "coder")
	cmd.Dir = p.Dir
	out, err := cmd.CombinedOutput()
	refused("-i needs a terminal", out, err)

	x := openTTY(t)
	inTTY := x.run(p, "liza-agent", "-i", "--scenario", "none.yaml", "coder")
	if err := inTTY.Wait(); err == nil {
		t.Error("a scenario that is not there was accepted")
	}
	verbtest.Write(t, filepath.Join(p.Project.Liza, "config.yaml"), "agents: {plain: {command: [sh, -c, 'true']}}\n")
	inTTY = x.run(p, "liza-agent", "-i", "--cli", "plain", "coder")
	err = inTTY.Wait()
	x.wait("set agents.plain.interactive")
	refused("", []byte(x.text()), err)
}

// P-186: the run of a coder ends, and its conversation goes on in the terminal of a person, under the same claim; its supervisor takes
// other work. Who leaves decides what becomes of the claim.
func TestAPersonGoesOnWithTheConversationOfAnAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		types  string
		status blackboard.Status
		held   bool
	}{
		"submitted":  {"s\r", blackboard.ReadyForReview, false},
		"kept":       {"k\r", blackboard.Unclaimed, true},
		"given back": {"g\r", blackboard.Unclaimed, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.AddTask("task-1")
			verbtest.Write(t, filepath.Join(p.Project.Liza, "talk.sh"), `
case "$*" in
*"--again talk-1 From here on a person works with you"*)
  echo "the talk goes on"
  read -r answer
  echo "$answer" > hello.txt
  git add -A
  git commit -q -m 'Say hello' ;;
*)
  echo '{"type":"start","session_id":"talk-1"}'
  echo half > half.txt
  git add -A
  git commit -q -m 'Half of it'
  touch "$LIZA_ROOT/.liza/begun"
  exec tail -f /dev/null ;;
esac
`)
			script := filepath.Join(p.Project.Liza, "talk.sh")
			verbtest.Write(t, filepath.Join(p.Project.Liza, "config.yaml"), "agents:\n  default: talk\n  talk: {command: [sh, "+script+"], output: json-lines, resume: [--again, '{{.Session}}'], "+
				"interactive: [sh, "+script+", '{{.Prompt}}'], interactive_resume: [sh, "+script+", --again, '{{.Session}}', '{{.Prompt}}']}\n")
			first := openTTY(t)
			supervisor := first.run(p, "liza-agent", "coder")
			first.until("the run begins", func() bool {
				_, err := os.Stat(filepath.Join(p.Project.Liza, "begun"))
				return err == nil && p.State().Agents["coder-1"].Child != nil
			})
			before := p.State().Task("task-1")
			x := openTTY(t)
			cmd := x.run(p, "liza", "attach", "coder-1")
			x.wait("with you, until you leave talk.")
			x.wait("the talk goes on")
			x.until("the run is on the board", func() bool { return p.State().Agents["coder-1"].Child != nil })
			first.wait("a person goes on with its work in a terminal")
			st := p.State()
			if now := st.Task("task-1"); now.Status != blackboard.Claimed || now.AssignedTo != "coder-1" || now.ClaimSeq != before.ClaimSeq || now.ClaimGeneration != before.ClaimGeneration || len(st.Stopped) > 0 {
				t.Errorf("it is not the same claim: %s of %s, %d after %d, stopped %v", now.Status, now.AssignedTo, now.ClaimSeq, before.ClaimSeq, st.Stopped)
			}
			if e := st.Agents["coder-1"]; e.PID != cmd.Process.Pid {
				t.Errorf("coder-1 is process %d, want %d", e.PID, cmd.Process.Pid)
			}
			first.until("its supervisor is another agent", func() bool { e := p.State().Agents["coder-2"]; return e != nil && e.PID == supervisor.Process.Pid })
			_ = supervisor.Process.Signal(os.Interrupt) // it would take what is given back
			_ = supervisor.Wait()
			x.types("hello\r")
			x.wait("[g]ive it back")
			x.types(c.types)
			if err := cmd.Wait(); err != nil {
				t.Errorf("liza attach ended with %v; the terminal shows\n%s", err, x.text())
			}
			task := p.State().Task("task-1")
			if task.Status != c.status || (task.Hold != nil) != c.held {
				t.Errorf("task-1 is %s, held: %+v\n%s", task.Status, task.Hold, x.text())
			}
			if log := p.Git(p.Dir, "log", "--all", "--format=%s"); !strings.Contains(log, "Half of it") || !strings.Contains(log, "Say hello") {
				t.Errorf("these commits are there: %s", log)
			}
		})
	}
}

// Who attaches to an agent whose supervisor does not answer changes nothing.
func TestNobodyAttachesToWhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	p := talks(t, "read -r answer\n")
	p.Must(p.Service("coder-1").Claim(t.Context(), "task-1"))
	x := openTTY(t)
	cmd := x.run(p, "liza", "attach", "coder-1") // it runs no program
	x.wait("Following coder-1")
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	if st := p.State(); len(st.Stopped) > 0 || st.Task("task-1").AssignedTo != "coder-1" {
		t.Errorf("got %+v", st.Task("task-1"))
	}
}
