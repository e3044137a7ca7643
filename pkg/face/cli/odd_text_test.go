package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/verb/verbtest"
)

// evil is a text that clears the screen, sets the title, writes to the clipboard, turns the direction of writing, and hides what
// it says: as an agent might write it, and as JSON has it.
const (
	evil = "odd\x1b[2J\x1b]0;title\x07\x1b]52;c;b3du\x1b\\ \u202etxet\u2066 zero\u200bwidth\u2060 \u009b31m\u0085 \x7f end"
)

// evilAgent says it everywhere.
const evilAgent = `#!/bin/sh
odd=$(cat "$LIZA_ROOT/odd")
printf '%s\n' "$odd"; printf '%s\n' "$odd" >&2
case $LIZA_ROLE in
coder)
  printf '%s\n' "$odd" > "file-$LIZA_TASK_ID"; printf '%s\n' "$odd" > "$(printf 'name \033[2J\342\200\256')"
  git add -A && git -c user.name="$odd" -c user.email=test@localhost commit -q -m "$odd"
  liza discover --task "$LIZA_TASK_ID" --recommend "$odd" "$odd"; liza anomaly --type tool_failure --task "$LIZA_TASK_ID" --detail "tool=$odd" --detail "what=$odd"
  liza handoff "$LIZA_TASK_ID" --summary "$odd" --next-action "$odd"
  if [ "$LIZA_TASK_ID" = asks ]; then liza block asks --reason "$odd" --question "$odd"; exit; fi
  liza submit "$odd"; liza submit "$LIZA_TASK_ID" --summary "$odd" --no-tests "$odd" ;;
*)
  liza verdict "$LIZA_TASK_ID" stuck --reason "$odd" --finding "error|review|file-$LIZA_TASK_ID:1|$odd|$odd" ;;
esac
`

// oddIn says what of a text would do something to a terminal; "" for nothing.
func oddIn(text string) string {
	for line := range strings.Lines(text) {
		if strings.ContainsFunc(strings.Trim(line, "\n"), func(r rune) bool {
			return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r))
		}) {
			return line
		}
	}
	return ""
}

func TestWhatAgentsWriteDoesNothingToATerminal(t *testing.T) {
	t.Parallel()
	s := &sprint{Place: verbtest.New(t), liza: lizaProgram(t)}
	verbtest.Write(t, filepath.Join(s.Dir, "odd"), evil)
	verbtest.Write(t, filepath.Join(s.Dir, "evil.sh"), evilAgent)
	verbtest.Write(t, filepath.Join(s.Dir, ".liza", "config.yaml"), "agents:\n  default: evil\n  evil: {command: [sh, "+s.Dir+"/evil.sh], prompt: stdin, output: text}\n")
	s.AddTask("task-1")
	s.AddTask("asks")
	var said bytes.Buffer
	team := s.command(t.Context(), &said, "run", "--plain", "--planners", "0", "--coders", "1", "--reviewers", "1", "--timeout", "200s")
	if err := team.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 3*time.Minute; <-time.After(20 * time.Millisecond) {
		if st := s.State(); st.Task("asks").Status == blackboard.Blocked && st.Task("task-1").Hold != nil {
			break
		}
	}
	_ = team.Process.Signal(os.Interrupt)
	_ = team.Wait()
	if line := oddIn(said.String()); line != "" || !strings.Contains(said.String(), "task-1") {
		t.Errorf("liza run says %q in\n%s", line, said.String())
	}
	for _, line := range [][]string{
		{"tell", "task-1", evil}, {"add-task", "--id", "task-9", "--description", evil, "--spec", "specs/vision.md", "--done", evil, "--scope", evil},
		{"status"}, {"show", "task-1"}, {"show", "asks"}, {"diff", "--stat", "task-1"}, {"output", "task-1"}, // a diff, a prompt and what is raw are as they are in a pipe
		{"log"}, {"log", "-n", "500"}, {"status", "--graph"}, {"report"}, {"usage"}, {"validate"}, {"answer"}, {"facts"}, {"show", "task-1", "--runs"}, {"log", "--task", "task-1"}, {"doctor"},
		{"claim", evil}, {"show", evil}, {"answer", "asks", evil}, {"retry", evil}, {"retry", "--reason", evil, "task-1"}, {"merge", evil}, {"output", evil}, {"diff", evil},
		{"-C", evil, "status"}, {"config", evil, "1"}, {"gc"}, {"show", "plan"}, {"goal"}, {"sync"},
	} {
		var out bytes.Buffer
		cmd := s.command(t.Context(), &out, line...)
		_ = cmd.Run()
		if odd := oddIn(out.String()); odd != "" {
			t.Errorf("liza %.60q prints %.300q", line, odd)
		}
		if !slices.Contains([]string{"--graph", "--runs", "plan"}, line[len(line)-1]) && slices.Contains([]string{"status", "show", "log", "answer", "report", "output"}, line[0]) && !strings.Contains(out.String()+line[len(line)-1], "zero") {
			t.Errorf("liza %q does not show the text: the test tries nothing\n%s", line, &out)
		}
	}
}
