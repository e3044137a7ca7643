package cli_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liza/pkg/verb/verb/verbtest"
)

// written is what a terminal shows after a program wrote to it that adds lines and takes the last rows away again.
type written struct {
	lines   []string // whole ones; a long one takes several rows
	wrapped bool     // rows of lines that the window had become too narrow for were taken away
	wrong   string   // what does not fit
}

var upAndClear = regexp.MustCompile(`\x1b\[(\d+)A\r\x1b\[J`)

// shown reads what a terminal got that had one of these widths at a time: when rows are taken away, they have to be
// whole lines of the block at one of the widths.
func shown(text string, widths ...int) written {
	var p written
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for at := 0; ; {
		next := upAndClear.FindStringSubmatchIndex(text[at:])
		end := len(text)
		if next != nil {
			end = at + next[0]
		}
		lines := strings.Split(text[at:end], "\n")
		if p.lines = append(p.lines, lines[:len(lines)-1]...); next == nil {
			return p
		}
		rows, _ := strconv.Atoi(text[at+next[2] : at+next[3]])
		n := taken(p.lines, rows, widths)
		if n < 0 {
			p.wrong = "it takes " + strconv.Itoa(rows) + " rows away from\n" + strings.Join(p.lines, "\n")
			return p
		}
		p.lines, p.wrapped = p.lines[:len(p.lines)-n], p.wrapped || rows > n
		at += next[1]
	}
}

// taken is how many lines, the whole block, take these rows at one of the widths, -1 when none fits. A terminal has a window of one width
// when a program asks for it, and may have another one a moment later.
func taken(lines []string, rows int, widths []int) int {
	for _, width := range widths {
		left := rows
		for n, line := range slices.Backward(lines) {
			if !ofBlock(line) {
				break
			}
			if left -= max(1, (len([]rune(line))+width-1)/width); left == 0 && (n == 0 || !ofBlock(lines[n-1])) {
				return len(lines) - n
			}
		}
	}
	return -1
}

// ofBlock reports whether a line is one of the block below a run.
func ofBlock(line string) bool { return strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "? ") }

// block are the lines of the block that is shown now.
func (p written) block() string {
	i := len(p.lines)
	for i > 0 && ofBlock(p.lines[i-1]) {
		i--
	}
	return strings.Join(p.lines[i:], "\n")
}

// has waits until the block, as it is shown now, has all texts.
func (x *tty) has(widths []int, texts ...string) {
	x.t.Helper()
	x.until("the block has "+strings.Join(texts, ", "), func() bool {
		block := shown(x.text(), widths...).block()
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(block, text) })
	})
}

// gated is a project with three tasks: two coders go on when a file is there, and the third one is stuck.
func gated(t *testing.T) *verbtest.Place {
	t.Helper()
	p := verbtest.New(t)
	for _, id := range []string{"task-1", "task-2", "task-3"} {
		p.AddTask(id)
	}
	verbtest.Write(t, filepath.Join(p.Project.Liza, "agent.sh"), `
answer() { echo '{"action": "'$1'", "evidence_files": [], "summary_for_supervisor": "'"$2"'"'"$3"'}'; exit; }
say() { echo "$1"; until test -e "$LIZA_ROOT/.liza/$2"; do sleep 0.05; done; }
case $LIZA_ROLE-$LIZA_TASK_ID in
code*reviewer*) answer COMPLETED fine ', "review": {"status": "ok"}' ;;
*task-1) say 'I look around' go-1 ;;
*task-2) say 'I read the vision' go-2 ;;
*) answer STUCK 'the key is missing' ;;
esac
echo hello > $LIZA_TASK_ID.md
git add -A && git commit -qm "Say hello in $LIZA_TASK_ID"
answer COMPLETED done
`)
	verbtest.Write(t, filepath.Join(p.Project.Liza, "config.yaml"), "agents:\n  gated: {command: [sh, "+filepath.Join(p.Project.Liza, "agent.sh")+"], prompt: file}\n")
	return p
}

// A person follows a sprint on a terminal, makes the window narrower and wider, and leaves with Ctrl-C.
func TestTheBlockOfARunFollowsASprintAndLeavesAUsableTerminal(t *testing.T) {
	t.Parallel()
	p := gated(t)
	x := openTTY(t)
	widths := []int{100}
	x.resize(100, 30)
	before := x.mode()
	cmd := x.run(p, "env", "TERM=xterm", "CI=", "liza", "run", "--cli", "gated", "--planners", "0")
	x.has(widths, "coder-1  task-", "I look around", "coder-2  task-", "I read the vision", "merged 0 of 3")

	// In a narrow window each line of the block is cut to it, and what was drawn for the wide one is taken away.
	widths = append(widths, 30, 140)
	x.until("the rows of a block that became too wide are taken away", func() bool {
		x.resize(100, 30)
		x.has(widths, "I look around", "I read the vision")
		x.resize(30, 30)
		x.until("a block for 30 columns", func() bool {
			block := shown(x.text(), widths...).block()
			return strings.Contains(block, "merged 0 of 3") && !slices.ContainsFunc(strings.Split(block, "\n"), func(line string) bool { return len([]rune(line)) >= 30 })
		})
		return shown(x.text(), widths...).wrapped
	})
	x.resize(140, 30)

	verbtest.Write(t, filepath.Join(p.Project.Liza, "go-1"), "")
	x.has(widths, "merged 1 of 3", "I read the vision", "? liza answer q-1", "the key is missing")

	// The first Ctrl-C begins nothing new, and what runs goes on; the second one stops it.
	x.types("\x03")
	x.wait("Interrupt again to stop them now")
	x.has(widths, "I read the vision")
	x.types("\x03")
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("liza run ended with %v, want exit code 130", err)
	}
	x.wait("stopped before the goal was complete")
	if x.mode() != before {
		t.Errorf("the mode of the terminal is %+v, was %+v", x.mode(), before)
	}
	text := x.text()
	if again := regexp.MustCompile(`\x1b\[[^AJm]*[A-LN-Za-ln-z]`).FindString(upAndClear.ReplaceAllString(text, "")); again != "" {
		t.Errorf("the terminal got %q, which nothing takes back", again)
	}
	end := shown(text, widths...)
	if end.wrong != "" {
		t.Error(end.wrong)
	}
	all := strings.Join(end.lines, "\n")
	for _, line := range []string{"task-1 +claimed", "task-1 +submitted", "task-1 +approved", "task-1 +merged as", "task-3 +blocked"} {
		if n := len(regexp.MustCompile(line).FindAllString(all, -1)); n != 1 {
			t.Errorf("%q is said %d times, want once", line, n)
		}
	}
	if strings.Contains(all, "merged 1 of 3") || strings.Contains(all, "waits: ") || len(end.lines) > 40 {
		t.Errorf("%d lines stay, some of the block or of waits:\n%s", len(end.lines), all)
	}
}
