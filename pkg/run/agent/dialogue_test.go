package agent

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// spoken is a shell with words for a program that follows claude's dialogue: hear takes a message and repeats it, work is a call of a
// tool, and done the last word.
const spoken = `
hear() { read -r line || { echo '{"type":"result","result":"no input"}'; exit 7; }; printf '%s\n' "$line" | sed 's/}$/,"isReplay":true}/'; }
work() { echo '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"make"}}]}}'; }
done_() { printf '{"type":"result","subtype":"success","result":"%s"}\n' "$1"; }
`

// claudeLike is the adapter of such a program.
type claudeLike string

func (c claudeLike) Info() Info                          { return Info{Name: "fake"} }
func (c claudeLike) Interactive(s Spec) (Command, error) { return c.Command(s) }

func (c claudeLike) Command(Spec) (Command, error) {
	return Command{Argv: []string{"sh", "-c", spoken + string(c)}, Stdin: true, dialogue: dialogues["claude-stream-json"](Spec{}), EndGrace: 20 * time.Second}, nil
}

func (c claudeLike) Reader(s Spec) Reader {
	return newReader("claude-stream-json", builtin().common, readerOptions{listen: s.Event})
}

// listening says each text of its list when the program calls a tool, and keeps what it hears.
type listening struct {
	mu   sync.Mutex
	say  func(Text) error
	at   EventKind // when the texts are said
	text []Text
	errs []error
	all  []Event
}

func (l *listening) spec() Spec {
	ready := make(chan struct{})
	return Spec{Prompt: "Do it.\n", Stall: 20 * time.Second,
		Spoken: func(say func(Text) error) { l.say = say; close(ready) },
		Event: func(e Event) {
			<-ready
			l.mu.Lock()
			defer l.mu.Unlock()
			l.all = append(l.all, e)
			if e.Kind == l.at && len(l.text) > 0 {
				l.errs = append(l.errs, l.say(l.text[0]))
				l.text = l.text[1:]
			}
		}}
}

func (l *listening) heard() (ids []string) {
	for _, e := range l.all {
		if e.Kind == EventHeard {
			ids = append(ids, e.Text)
		}
	}
	return ids
}

func TestATextReachesTheRunningTurnAndItsEchoIsTheReceipt(t *testing.T) {
	t.Parallel()
	l := &listening{at: EventTool, text: []Text{{"note-7", "Use argparse.\nPlease."}}}
	res := Run(t.Context(), claudeLike(`hear; work; hear; case "$line" in *'Use argparse.\nPlease.'*) done_ taken;; *) done_ "$line";; esac; cat >/dev/null`), l.spec())
	if res.Outcome != Finished || res.Final != "taken" {
		t.Errorf("got %s %q %s, want that the program got the text", res.Outcome, res.Final, res.Error)
	}
	if got := l.heard(); !slices.Equal(got, []string{"note-7"}) || errors.Join(l.errs...) != nil {
		t.Errorf("heard %v, %v; want note-7 once: the echo of the prompt is no receipt of a text", got, l.errs)
	}
	if err := l.say(Text{"note-8", "Too late."}); !errors.Is(err, ErrSilent) {
		t.Errorf("after the end: %v, want %v", err, ErrSilent)
	}
}

func TestAProgramWithoutTextsGetsItsPromptAndTheEndOfItsInput(t *testing.T) {
	t.Parallel()
	l := &listening{}
	res := Run(t.Context(), claudeLike(`hear; case "$line" in *'"content":"Do it.\n"'*) done_ good;; *) done_ "$line";; esac; cat; echo '{"type":"assistant"}'; done_ closed`), l.spec())
	if res.Outcome != Finished || res.Final != "closed" {
		t.Errorf("got %s %q: its input stayed open after its last word", res.Outcome, res.Final)
	}
}

// A text that comes with the last word is on its way: the program gets another turn for it, and then ends.
func TestATextThatIsOnItsWayKeepsTheInputOpen(t *testing.T) {
	t.Parallel()
	l := &listening{at: EventFinal, text: []Text{{"note-1", "One thing more."}}}
	res := Run(t.Context(), claudeLike(`hear; done_ first; hear; done_ second; cat >/dev/null`), l.spec())
	if res.Outcome != Finished || res.Final != "second" || !slices.Equal(l.heard(), []string{"note-1"}) {
		t.Errorf("got %s %q, heard %v", res.Outcome, res.Final, l.heard())
	}
}

func TestAProgramThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	l := &listening{}
	spec := l.spec()
	said := make(chan error, 1)
	spec.Spoken = func(say func(Text) error) {
		for range 2 * mostLines {
			if err := say(Text{"n", strings.Repeat("x", 4096)}); err != nil {
				said <- err
				return
			}
		}
		said <- nil
	}
	spec.Event, spec.Timeout = nil, 300*time.Millisecond
	res := Run(t.Context(), claudeLike(`exec sleep 60`), spec)
	if err := <-said; res.Outcome != TimedOut || !errors.Is(err, ErrSilent) {
		t.Errorf("got %s, %v", res.Outcome, err)
	}
}

func TestAProjectsOwnCommandHasTheDialogueThatItNames(t *testing.T) {
	t.Parallel()
	own := Entry{Command: []string{"/opt/claude", "-p"}}
	for name, c := range map[string]struct {
		entry Entry
		want  bool
	}{
		"as it is":       {Entry{}, true},
		"another model":  {Entry{Model: []string{"-m", "{{.Model}}"}}, true},
		"own command":    {own, false},
		"and a dialogue": {Entry{Command: own.Command, Dialogue: "claude-stream-json"}, true},
	} {
		a, err := Lookup("claude", Options{Custom: map[string]Entry{"claude": c.entry}})
		if err != nil || a.Info().Dialogue != c.want {
			t.Errorf("%s: dialogue %v, %v; want %v", name, a.Info().Dialogue, err, c.want)
		}
	}
	if _, err := Lookup("x", Options{Custom: map[string]Entry{"x": {Command: []string{"x"}, Dialogue: "morse"}}}); err == nil || !strings.Contains(err.Error(), `dialogue: "morse" is not known; known are claude-stream-json`) {
		t.Errorf("got %v", err)
	}
}
