package agent

import (
	"strings"
	"testing"
	"time"
)

const helloSession = "f7e71b48-5c6c-4bdf-9bd9-fc7124d5898d"

// hello returns the recorded run without its result line, and the last text before it.
func hello(t *testing.T) string {
	lines := strings.SplitAfter(strings.TrimSpace(string(sample(t, "corpus/claude/hello.jsonl"))), "\n")
	return strings.Join(lines[:len(lines)-1], "")
}

func TestTheLimitOfAPlanIsAQuotaWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	rejected := `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795300000,"rateLimitType":"five_hour"}}` + "\n"
	allowed := strings.Replace(rejected, "rejected", "allowed_warning", 1)
	result := func(text string) string {
		return `{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429,"result":"` + text + `"}` + "\n"
	}
	for name, c := range map[string]struct {
		stdout string
		want   Outcome
		reset  time.Time
	}{
		"an event":           {rejected + result("Request rejected"), QuotaWindow, time.Unix(1795300000, 0)},
		"a warning only":     {allowed + result("Request rejected"), RateLimited, time.Time{}},
		"a sentence":         {result("You've hit your limit · resets 7pm (UTC)"), QuotaWindow, time.Date(2026, 11, 21, 19, 0, 0, 0, time.UTC)},
		"the older sentence": {result("Claude AI usage limit reached|1795300000"), QuotaWindow, time.Unix(1795300000, 0)},
		"no time":            {result("You're out of extra usage"), QuotaWindow, time.Time{}},
		"no credit":          {result("Your credit balance is too low"), Unusable, time.Time{}},
		"talk about a limit": {rejected + `{"type":"result","is_error":false,"result":"usage limit reached"}` + "\n", Finished, time.Time{}},
	} {
		res, _ := read(reader("claude-stream-json"), hello(t)+c.stdout, Exit{Code: 1, At: now})
		if res.Outcome != c.want || !res.ResetAt.Equal(c.reset) {
			t.Errorf("%s: got %s until %v, want %s until %v", name, res.Outcome, res.ResetAt, c.want, c.reset)
		}
	}
}

func TestLinesThatAreNotKnownDoNoHarm(t *testing.T) {
	t.Parallel()
	noise := strings.Join([]string{
		"plain words", "{", `{"type":"news"}`, `[1]`, `{"type":7}`, "", `{"type":"assistant","message":"words"}`,
		`{"type":"assistant","message":{"content":"words"},"error":{"a":1}}`, `{"type":"system","subtype":"init","session_id":5}`, "\x00\xff",
	}, "\n") + "\n"
	res, _ := read(reader("claude-stream-json"), noise+string(sample(t, "corpus/claude/hello.jsonl"))+noise, Exit{})
	if res.Outcome != Finished || res.Session != helloSession || res.Usage.CostCents != 1.796 {
		t.Errorf("got %+v, want finished", res)
	}
	odd := `{"type":"result","is_error":true,"api_error_status":"529","result":{"a":1},"errors":"x","usage":[],"total_cost_usd":"y"}` + "\n"
	if res, _ = read(reader("claude-stream-json"), odd, Exit{Code: 1}); res.Outcome != Crashed || res.Usage.CostKnown {
		t.Errorf("a result of other types got %+v, want crashed", res)
	}
}

func TestAResultIsTheEndUnlessTheProgramGoesOn(t *testing.T) {
	t.Parallel()
	r := reader("claude-stream-json")
	result := `{"type":"result","is_error":false,"result":"%","queued_turn_count":0,"model_usage_since_last_result":{"m":{"inputTokens":10,"outputTokens":1,"costUSD":0.07}}}`
	for _, c := range []struct {
		line  string
		ended bool
	}{
		{`{"type":"system","subtype":"init"}`, false},
		{strings.Replace(result, `count":0`, `count":1`, 1), false},
		{strings.Replace(result, "%", "first", 1), true},
		{`{"type":"system","subtype":"task_notification"}`, true},
		{`{"type":"assistant","message":{"content":[]}}`, false},
		{strings.Replace(result, "%", "second", 1), true},
	} {
		if got := r.Line([]byte(c.line)); got != c.ended {
			t.Errorf("after %s it has ended: %v, want %v", c.line, got, c.ended)
		}
	}
	if res := r.End(Exit{}); res.Final != "second" || res.Usage.CostCents != 21 || res.Usage.TokensIn != 30 {
		t.Errorf("got %+v, want the last message and the sum of three", res)
	}
}

func TestOlderResultLinesTellCostAndTokensOnce(t *testing.T) {
	t.Parallel()
	line := `{"type":"result","is_error":false,"result":"ok","total_cost_usd":0.07,"usage":{"input_tokens":5,"output_tokens":6,"cache_read_input_tokens":7,"cache_creation_input_tokens":8}}`
	res, _ := read(reader("claude-stream-json"), line, Exit{})
	want := Usage{CostKnown: true, CostCents: 7, TokensKnown: true, TokensIn: 20, TokensOut: 6, TokensCached: 7}
	if res.Usage != want {
		t.Errorf("got %+v, want %+v", res.Usage, want)
	}
}

// What is used up is the quota of a minute: the claim is kept, and the program is not paused.
func TestTheQuotaOfAMinuteIsARateLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Outcome{
		"Quota exceeded for requests per minute. Suggested retry after 20s.":                RateLimited,
		"Quota exceeded for quota metric 'Generate Content API requests per minute'":        RateLimited,
		"You have exhausted your daily quota on this model. Your quota will reset after 6h": QuotaWindow,
	} {
		line := `{"type":"result","status":"error","error":{"type":"X","message":"` + text + `"}}`
		if res, _ := read(reader("gemini-stream-json"), line, Exit{Code: 173}); res.Outcome != want {
			t.Errorf("%q is %s, want %s", text, res.Outcome, want)
		}
	}
}

func TestResetTimes(t *testing.T) {
	t.Parallel()
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 12, 30, 15, 4, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"You've hit your limit · resets 7pm (UTC)":      time.Date(2026, 12, 30, 19, 0, 0, 0, time.UTC),
		"hit your limit · resets 7:30pm (Europe/Paris)": time.Date(2026, 12, 30, 19, 30, 0, 0, paris),
		"usage limit. Try again at 4:16 AM.":            time.Date(2026, 12, 31, 4, 16, 0, 0, time.UTC),
		"resets 12am":                                   time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC),
		"resets 3pm":                                    time.Date(2026, 12, 30, 15, 0, 0, 0, time.UTC),
		"weekly limit · resets Jan 2, 5pm (UTC)":        time.Date(2027, 1, 2, 17, 0, 0, 0, time.UTC),
		"weekly limit · resets Dec 31 at 9am (UTC)":     time.Date(2026, 12, 31, 9, 0, 0, 0, time.UTC),
		"usage limit reached|1795300000":                time.Unix(1795300000, 0),
		"usage limit reached, resets at 19:30 UTC":      time.Date(2026, 12, 30, 19, 30, 0, 0, time.UTC),
		"resets 19:30 (Europe/Paris)":                   time.Date(2026, 12, 30, 19, 30, 0, 0, paris),
		"resets 7pm UTC":                                time.Date(2026, 12, 30, 19, 0, 0, 0, time.UTC),
		"Your quota will reset on January 3.":           time.Date(2027, 1, 3, 0, 0, 0, 0, time.UTC),
		"regain access on 2027-01-01 at 00:00 UTC.":     time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"resets at 25:30":                               {},
		"resets 7pm (Nowhere/Land)":                     {},
		"resets 13pm":                                   {},
		"resets soon":                                   {},
		"resets Foo 3, 5pm":                             {},
	} {
		got, ok := parseReset(text, now)
		if !got.Equal(want) || ok == want.IsZero() {
			t.Errorf("%q gives %v, %v, want %v", text, got, ok, want)
		}
	}
}
