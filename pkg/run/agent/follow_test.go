package agent

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func writeScript(t *testing.T, path, text string) {
	t.Helper()
	// Replaced, not written over: another test may just have started the old one.
	if err := os.WriteFile(path+".new", []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// All programs tell the same work by the same events.
func TestTheSameWorkGivesTheSameEvents(t *testing.T) {
	t.Parallel()
	c := readCorpus(t)
	for _, name := range []string{"claude", "codex", "gemini", "opencode", "pi"} {
		var said, tools []string
		var kinds []EventKind
		var usage Usage
		r := catalogued(t, name).Reader(Spec{Event: func(e Event) {
			switch e.Kind {
			case EventText:
				said = append(said, e.Text)
			case EventTool:
				tools = append(tools, e.Text)
			case EventUsage:
				usage = e.Usage
			case EventError, EventLimit, EventOther:
				t.Errorf("%s: unexpected %+v", name, e)
			}
			if e.Line == 0 {
				t.Errorf("%s: %+v has no line", name, e)
			}
			kinds = append(kinds, e.Kind)
		}})
		res := Explain(r, c.recording(t, name+"/hello"))
		if !slices.Equal(said, []string{"I will create the file.", "DONE: hello.txt is committed."}) || len(tools) != 2 || tools[0] == "" {
			t.Errorf("%s: said %q, called %q", name, said, tools)
		}
		last := slices.DeleteFunc(kinds, func(k EventKind) bool { return k == EventTurn })
		if last[0] != EventSession || last[len(last)-1] != EventFinal || usage != res.Usage || usage.TokensIn != 5540 {
			t.Errorf("%s: events are %q, usage %+v", name, kinds, usage)
		}
	}
}

// pi says in an event how long it waits for its provider, gemini in words on stderr.
func TestHowLongAProgramWaitsForItsProviderIsHeard(t *testing.T) {
	t.Parallel()
	var waits []time.Duration
	hear := func(e Event) {
		if e.Kind == EventError && e.Retry {
			waits = append(waits, e.RetryAfter)
		}
	}
	Explain(catalogued(t, "pi").Reader(Spec{Event: hear}), readCorpus(t).recording(t, "pi/429"))
	if want := []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}; !slices.Equal(waits, want) {
		t.Errorf("pi waits %v, want %v", waits, want)
	}
	waits = nil
	recorded, err := filepath.Abs("testdata/corpus/gemini/429.err")
	if err != nil {
		t.Fatal(err)
	}
	Run(t.Context(), script("cat '"+recorded+"' >&2; echo 'Retrying after lunch; it retried in 9s' >&2"), Spec{Event: hear})
	if want := []time.Duration{5552 * time.Millisecond, 10559 * time.Millisecond, 20389 * time.Millisecond}; !slices.Equal(waits, want) {
		t.Errorf("gemini waits %v, want %v", waits, want)
	}
}

func TestUsageIsToldWhileAProgramRuns(t *testing.T) {
	t.Parallel()
	c := readCorpus(t)
	for name, want := range map[string]int{"claude": 3, "opencode": 3, "pi": 3, "codex": 1, "gemini": 1} {
		var seen []int
		r := catalogued(t, name).Reader(Spec{Event: func(e Event) {
			if e.Kind == EventUsage {
				seen = append(seen, e.Usage.TokensIn)
			}
		}})
		Explain(r, c.recording(t, name+"/hello"))
		seen = slices.Compact(seen)
		if len(seen) < want || !slices.IsSorted(seen) {
			t.Errorf("%s told %v, want at least %d growing figures", name, seen, want)
		}
	}
}

// A run that is stopped before its program tells its cost has an unknown cost, not none (specs/decisions.md#D25).
func TestWhatIsNotToldIsUnknown(t *testing.T) {
	t.Parallel()
	c := readCorpus(t)
	for name, known := range map[string]bool{"codex/stall": false, "gemini/stall": false, "pi/stall": false, "claude/stall": false, "claude/term-tool": true, "pi/term-tool": true} {
		program, _, _ := strings.Cut(name, "/")
		u := Explain(catalogued(t, program).Reader(Spec{}), c.recording(t, name)).Usage
		if u.TokensKnown != known || u.TokensKnown == (u.TokensIn == 0) {
			t.Errorf("%s: usage is %+v, known should be %v", name, u, known)
		}
		if program == "claude" && u.CostKnown {
			t.Errorf("%s: cost is %+v, and was never told", name, u)
		}
	}
	if u := Explain(catalogued(t, "codex").Reader(Spec{}), c.recording(t, "codex/hello")).Usage; u.CostKnown {
		t.Errorf("codex tells no cost, and it is %v cents", u.CostCents)
	}
}

func TestFiguresOfAWholeConversationAreMarked(t *testing.T) {
	t.Parallel()
	c := readCorpus(t)
	for _, session := range []string{"", "S"} {
		u := Explain(catalogued(t, "codex").Reader(Spec{Session: session}), c.recording(t, "codex/resume")).Usage
		if u.WholeSession != (session != "") || u.TokensIn != 8580 {
			t.Errorf("session %q: usage is %+v", session, u)
		}
	}
	if u := Explain(catalogued(t, "claude").Reader(Spec{Session: "S"}), c.recording(t, "claude/resume")).Usage; u.WholeSession {
		t.Errorf("claude counts each run alone, and it is %+v", u)
	}
}

// qwen tells the figures of the conversation after each resume, as codex does; a run that
// begins one has its own.
func TestTokensThatQwenTellsAfterAResumeAreThoseOfTheConversation(t *testing.T) {
	t.Parallel()
	said := []byte(`{"type":"system","subtype":"init","session_id":"S"}
{"type":"result","subtype":"success","is_error":false,"session_id":"S","result":"ok","usage":{"input_tokens":3600,"output_tokens":102,"cache_read_input_tokens":0}}
`)
	for _, session := range []string{"", "S"} {
		u := Explain(catalogued(t, "qwen").Reader(Spec{Session: session}), Recording{Stdout: said}).Usage
		if u.WholeSession != (session != "") || u.TokensIn != 3600 || u.TokensOut != 102 {
			t.Errorf("session %q: usage is %+v", session, u)
		}
	}
}

// A program that waits in silence for its provider is not a program that hangs.
func TestSilenceAfterARefusalIsTheRefusal(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("testdata/corpus/codex/R429-LONG.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	reader := func() Reader { return catalogued(t, "codex").Reader(Spec{}) }
	res := Run(t.Context(), fakeAdapter{script: "cat '" + file + "'; sleep 1000", reader: reader}, Spec{Stall: 200 * time.Millisecond})
	if res.Outcome != RateLimited || !strings.Contains(res.Error, "no output and no change for 200ms") || !strings.Contains(res.Error, "429 Too Many Requests") {
		t.Errorf("got %s %q, want a rate limit", res.Outcome, res.Error)
	}
	res = Run(t.Context(), fakeAdapter{script: "head -3 '" + file + "'; sleep 1000", reader: reader}, Spec{Stall: 200 * time.Millisecond})
	if res.Outcome != Stalled {
		t.Errorf("without a refusal got %+v, want stalled", res)
	}
	res = Run(t.Context(), fakeAdapter{script: "cat '" + file + "'; sleep 1000", reader: reader}, Spec{Timeout: 200 * time.Millisecond})
	if res.Outcome != TimedOut {
		t.Errorf("at the time limit got %+v, want timeout", res)
	}
}

func TestLinesThatNobodyKnowsAreCounted(t *testing.T) {
	t.Parallel()
	noise := strings.Join([]string{`{"type":"news","x":1}`, `{"no":"type"}`, `{broken`, `plain words`, ``, `{"type":7}`, `[1,2]`}, "\n") + "\n"
	for name, info := range formats {
		if info.make == nil {
			continue
		}
		heard := 0
		r := newReader(name, builtin().common, readerOptions{listen: func(e Event) {
			if e.Kind == EventOther {
				heard++
			}
		}})
		res, _ := read(r, noise, Exit{})
		if res.Unknown < 3 || heard != res.Unknown || res.Outcome != Crashed {
			t.Errorf("%s: %d unknown, %d heard, %s", name, res.Unknown, heard, res.Outcome)
		}
	}
}

// What a reader keeps does not grow with what the program prints.
func TestWhatAReaderKeepsIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 1<<18)
	text, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader("gemini-stream-json", builtin().common, readerOptions{}).(*follower)
	for range 8 {
		r.Line([]byte(`{"type":"message","role":"assistant","delta":true,"content":` + string(text) + `}`))
		r.Line([]byte(long))
	}
	if n := r.text.Len(); n > 3*MaxFinal {
		t.Errorf("%d bytes of text are kept", n)
	}
	for _, line := range r.plainText() {
		if len(line) > maxMessage {
			t.Errorf("a line of %d bytes is kept", len(line))
		}
	}
	if got := r.End(Exit{Unknown: true}); !strings.HasSuffix(got.Final, "word ") {
		t.Errorf("the end of the text is lost")
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"Suggested retry after 7200s.":             2 * time.Hour,
		"retry-after: 30":                          30 * time.Second,
		"Retry after 12 seconds":                   12 * time.Second,
		"Please try again in 11.054s.":             11054 * time.Millisecond,
		"Please retry in 35.5s.":                   35500 * time.Millisecond,
		"try again in 1 hour 5 minutes":            65 * time.Minute,
		"Try again in 7h12m.":                      7*time.Hour + 12*time.Minute,
		"resets in 2h 10m":                         2*time.Hour + 10*time.Minute,
		"Your quota will reset after 8h41m2s.":     8*time.Hour + 41*time.Minute + 2*time.Second,
		"try again in 3 days 4 hours":              76 * time.Hour,
		"try again in 500ms":                       500 * time.Millisecond,
		"  retryDelayMs: 7200000,":                 2 * time.Hour,
		`"retryDelay": "42s"`:                      42 * time.Second,
		"try again later":                          0,
		"try again at 4:16 AM":                     0,
		"retry after 0s":                           0,
		"retry after 99999999999999999999 seconds": 0,
		"try again in 400 days":                    0,
		"attempt 3, retrying":                      0,
	} {
		if got, ok := parseDelay(text); got != want || ok != (want > 0) {
			t.Errorf("%q gives %s, %v, want %s", text, got, ok, want)
		}
	}
}

func FuzzReaders(f *testing.F) {
	c := readCorpus(f)
	for _, name := range slices.Sorted(maps.Keys(c.Cases)) {
		r := c.recording(f, name)
		f.Add(r.Stdout[:min(len(r.Stdout), 2000)], r.Stderr[:min(len(r.Stderr), 500)], 1)
	}
	f.Add([]byte(`{"type":"result","usage":{"input_tokens":9223372036854775807,"output_tokens":-5},"total_cost_usd":1e308}`), []byte("\x1b[91m\x1b]0;x"), -1)
	f.Add([]byte(`{"type":"step_finish","part":{"tokens":{"input":-1e18},"cost":-1}}`), []byte("resets 12am (../../etc)"), 300)
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, code int) {
		for name := range formats {
			for _, unknown := range []bool{false, true} {
				r := newReader(name, builtin().common, readerOptions{})
				for line := range strings.Lines(string(stdout)) {
					r.Line([]byte(strings.TrimRight(line, "\n")))
				}
				res := r.End(Exit{Code: code, Unknown: unknown, Stdout: stdout, Stderr: stderr, At: c.At})
				u := res.Usage
				switch {
				case res.Outcome == "", res.Signature == "":
					t.Fatalf("%s: no outcome or signature: %+v", name, res)
				case u.CostCents < 0 || u.TokensIn < 0 || u.TokensOut < 0 || u.TokensCached < 0:
					t.Fatalf("%s: usage is %+v", name, u)
				case res.RetryAfter < 0 || res.RetryAfter > longestDelay:
					t.Fatalf("%s: retry after %s", name, res.RetryAfter)
				case len(res.Error) > 600 || len(res.Evidence) > 600 || strings.ContainsAny(res.Evidence, "\n\x1b"):
					t.Fatalf("%s: error %q, evidence %q", name, res.Error, res.Evidence)
				}
			}
		}
	})
}
