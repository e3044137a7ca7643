package supervisor_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/agent"
)

// While a program says that it waits for its provider, the board, the journal and the line of
// the terminal say what for and until when: one write when it begins, one when it is over.
func TestWhatAProgramWaitsForIsShownWhileItWaits(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		retry := func(status int, after time.Duration) agent.Event {
			return agent.Event{Kind: agent.EventError, Retry: true, Word: "rate_limit", Status: status, RetryAfter: after}
		}
		wait := func() *blackboard.ProviderWait { return c.state().Agents["coder-1"].ProviderWait }
		journal := func() (told int) {
			for _, e := range c.memory.Journal() {
				if e.Action == "provider_wait" {
					told++
				}
			}
			return told
		}
		s := c.supervisor(blackboard.RoleCoder, func(ctx context.Context, spec agent.Spec) agent.Result {
			spec.Event(retry(429, time.Second)) // nobody need know of that
			time.Sleep(2 * time.Second)
			if wait() != nil {
				t.Errorf("a wait of a second is told: %+v", wait())
			}
			until := blackboard.TimeOf(time.Now().Add(71 * time.Second))
			spec.Event(retry(429, 71*time.Second))
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if w := wait(); w == nil || w.Reason != "rate_limit (429)" || w.Until != until {
				t.Errorf("the board says %+v, want rate_limit (429) until %s", w, until)
			}
			revision := c.state().Revision
			time.Sleep(20 * time.Second)
			if now := c.state().Revision; now != revision || journal() != 1 {
				t.Errorf("while it waits the board is written %d times, the journal has %d entries", now-revision, journal())
			}
			spec.Event(agent.Event{Kind: agent.EventText, Text: "on it goes"})
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if wait() != nil {
				t.Errorf("it goes on, and the board says %+v", wait())
			}
			spec.Event(retry(529, 10*time.Second))
			time.Sleep(2 * time.Second)
			return finished(givesUp)
		})
		c.once(s)
		if e := c.state().Agents["coder-1"]; e != nil && e.ProviderWait != nil || journal() != 2 {
			t.Errorf("after the run the board says %+v, the journal has %d entries", e, journal())
		}
		if lines := strings.Join(c.lines, "\n"); !strings.Contains(lines, "waits 1m11s for the provider, until ") || !strings.Contains(lines, ": rate_limit (429)") {
			t.Errorf("the lines are\n%s", lines)
		}
	})
}
