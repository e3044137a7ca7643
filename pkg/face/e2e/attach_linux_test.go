//go:build e2e

package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"liza/pkg/run/sandbox"
)

// A person takes the work over in a terminal: the program shows the same conversation, hears them, and what is done is handed in under the same claim.
func TestAPersonGoesOnWithAConversationInATerminal(t *testing.T) {
	t.Parallel()
	for _, p := range installed(t) {
		if p.name != "claude" && p.name != "codex" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			held, heard, end := make(chan struct{}), make(chan ask, 1), make(chan struct{})
			hold := sync.OnceFunc(func() { close(held); <-end })
			s := newServer(t, func(a ask) answerOrCommand {
				switch {
				case strings.Contains(a.words, "Please write the rest"):
					select {
					case heard <- a:
					default:
					}
					return answerOrCommand{text: "It is written."}
				case strings.Contains(a.words, "a person works with you"):
					return answerOrCommand{text: "One half is there."}
				case a.step == 0:
					return answerOrCommand{command: work["readme"][0]}
				}
				hold()
				return answerOrCommand{text: "Too late."}
			})
			t.Cleanup(sync.OnceFunc(func() { close(end) }))
			pr, ended := startReadme(t, s, p)
			<-held
			before := pr.board(t).Tasks[0]
			x := openScreen(t)
			attach := x.run(t, pr, liza, "attach", "coder-1")
			x.waitTrusting(t, p, "One half is there.")
			if text := x.text(); !strings.Contains(text, "sh hello.sh Ada") {
				t.Errorf("the conversation is not that of the run:\n%s", text)
			}
			x.enters(t, "Please write the rest")
			x.wait(t, "It is written.")
			b, said := pr.board(t), <-heard
			if now := b.Tasks[0]; now.Holder != "coder-1" || now.ClaimSeq != before.ClaimSeq || now.Status != "CLAIMED" || said.step != 1 {
				t.Errorf("got %+v after %+v, and %+v of the conversation", now, before, said)
			}
			if all := <-ended; !strings.Contains(all, "a person goes on with its work in a terminal") {
				t.Errorf("its supervisor said\n%s", all)
			}
			x.enters(t, "/exit")
			x.wait(t, "[g]ive it back")
			x.types(t, "s\r")
			if err := attach.Wait(); err != nil {
				t.Errorf("liza attach ended with %v:\n%s", err, x.text())
			}
			b = pr.board(t)
			if n := len(b.Tasks[0].Attempts); n != 2 || b.Tasks[0].Attempts[1].Sandbox != string(level) || !slices.Contains(b.events("readme"), "ready_for_review") || len(b.Anomalies) > 0 {
				t.Errorf("got %+v, anomalies %+v\n%s", b.Tasks[0], b.Anomalies, x.text())
			}
			if left := pr.processesLeft(); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}

// A screen is a terminal with a person before it.
type screen struct {
	person, line *os.File
	mu           sync.Mutex
	seen         bytes.Buffer
}

func openScreen(t *testing.T) *screen {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	for _, e := range []error{err, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 120})} {
		if e != nil {
			t.Fatal(e)
		}
	}
	line, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &screen{person: person, line: line}
	t.Cleanup(func() { line.Close(); person.Close() })
	go x.read()
	return x
}

// read keeps what is shown, and says where the cursor is to a program that asks.
func (x *screen) read() {
	for buffer := make([]byte, 1<<16); ; {
		n, err := x.person.Read(buffer)
		if err != nil {
			return
		}
		x.mu.Lock()
		x.seen.Write(buffer[:n])
		x.mu.Unlock()
		if bytes.Contains(buffer[:n], []byte("\x1b[6n")) {
			_, _ = x.person.WriteString("\x1b[1;1R")
		}
	}
}

func (x *screen) run(t *testing.T, pr *project, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = pr.dir, append(slices.Clone(pr.env), "TERM=xterm-256color"), x.line, x.line, x.line
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("%q", x.text())
		}
	})
	return cmd
}

// escapes are movements and colours; a program may move where it means a space.
var escapes = regexp.MustCompile(`(\x1b\[[0-9;?]*[A-Za-z]|\s)+`)

func (x *screen) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return escapes.ReplaceAllString(x.seen.String(), " ")
}

func (x *screen) wait(t *testing.T, text string) {
	t.Helper()
	waitFor(t, func() bool { return strings.Contains(x.text(), text) })
}

// waitTrusting is wait, and answers the question whether the folder is trusted, which a program asks at the level open. What claude suggests is no.
func (x *screen) waitTrusting(t *testing.T, p program, text string) {
	t.Helper()
	before := 0
	waitFor(t, func() bool {
		all := x.text()
		still := len(all) == before // what is typed while it draws may be lost
		before = len(all)
		choice := all[max(0, strings.LastIndex(all, "❯")):]
		switch {
		case level != sandbox.Open || !still:
		case strings.HasPrefix(choice, "❯ No, exit"):
			x.types(t, "\x1b[B")
		case strings.HasPrefix(choice, "❯ Yes, I trust"), p.name == "codex" && strings.Contains(all, "Trust"):
			x.types(t, "\r")
		}
		return strings.Contains(all, text)
	})
}

func (x *screen) types(t *testing.T, text string) {
	t.Helper()
	if _, err := x.person.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// enters types a line as a person does: the key comes when the words are there.
func (x *screen) enters(t *testing.T, text string) {
	t.Helper()
	before := len(x.text())
	x.types(t, text)
	word := text[strings.LastIndexAny(text, " /")+1:]
	waitFor(t, func() bool { return strings.Contains(x.text()[before:], word) })
	x.types(t, "\r")
}
