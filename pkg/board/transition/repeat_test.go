package transition

import (
	"reflect"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// Protocol 0.7: an event repeated by the same actor with the same arguments, which is the
// latest of its task and still holds, is done already; anything else is a new event.

func TestP070RepeatedEventsAreDoneAlready(t *testing.T) {
	t.Parallel()
	reviewer, coder := programOf("code-reviewer-1"), programOf("coder-1")
	claimX := func(b *board) { b.add("x"); b.claim("x", "coder-1") }
	reviewX := func(b *board) { b.ready("x", 2); b.claimReview("x", "code-reviewer-1") }
	verdict := func(say string) Input {
		return Input{Reason: say, Verdict: &VerdictInput{Findings: []*blackboard.Finding{{Severity: "error", Message: say}}, Suggestions: blackboard.List{"shorter"},
			Inject: []*blackboard.Fix{{Kind: "exec", Detail: say}}, Prior: []*blackboard.Prior{{N: 1, State: "PARTIAL"}}}}
	}
	for _, x := range []struct {
		name   string
		before func(*board)
		event  func(b *board, say string, a Actor) error
		actor  Actor
		other  Actor // somebody else; none when nobody else could
	}{
		{"submit", claimX, func(b *board, say string, a Actor) error {
			in := submitted("x", commitOf(2))
			in.NoTests = say
			return Submit(b.State, "x", a, in, b.now)
		}, coder, programOf("coder-2")},
		{"submit of a result", func(b *board) {
			task := plainTask("x", "exec")
			task.ReviewRequired = true
			b.create(task)
			b.claim("x", "coder-1")
		}, func(b *board, say string, a Actor) error { return Submit(b.State, "x", a, Input{NoTests: say}, b.now) }, coder, programOf("coder-2")},
		{"approve", reviewX, func(b *board, say string, a Actor) error {
			in := b.reviewed("x")
			in.Verdict = &VerdictInput{Suggestions: blackboard.List{say}}
			_, err := Approve(b.State, "x", a, in, b.now)
			return err
		}, reviewer, programOf("code-reviewer-2")},
		{"approve, overruled", reviewX, func(b *board, say string, a Actor) error {
			in := b.reviewed("x")
			in.Verdict = &VerdictInput{Findings: []*blackboard.Finding{{Severity: "error", Message: say}}}
			_, err := Approve(b.State, "x", a, in, b.now)
			return err
		}, reviewer, programOf("code-reviewer-2")},
		{"reject", reviewX, func(b *board, say string, a Actor) error { return Reject(b.State, "x", a, verdict(say), b.now) }, reviewer, programOf("code-reviewer-2")},
		{"reject at the limit", func(b *board) { reviewX(b); b.Task("x").MaxReviewCycles = 1 },
			func(b *board, say string, a Actor) error { return Reject(b.State, "x", a, verdict(say), b.now) }, reviewer, programOf("code-reviewer-2")},
		{"replan", reviewX, func(b *board, say string, a Actor) error { return Replan(b.State, "x", a, Input{Reason: say}, b.now) }, reviewer, programOf("code-reviewer-2")},
		{"stuck", reviewX, func(b *board, say string, a Actor) error {
			return ReleaseReview(b.State, "x", a, Input{What: "stuck", Reason: say}, b.now)
		}, reviewer, programOf("code-reviewer-2")},
		{"block", claimX, func(b *board, say string, a Actor) error {
			return Block(b.State, "x", a, Input{Reason: "r", Questions: blackboard.List{say}, Attempted: blackboard.List{say}}, b.now)
		}, coder, person},
		{"intent", claimX, func(b *board, say string, a Actor) error {
			return RecordIntent(b.State, "x", a, Input{Intent: &blackboard.Intent{Intent: "i", Validation: "v", Risks: blackboard.List{say}}}, b.now)
		}, coder, Actor{}},
		{"handoff", claimX, func(b *board, say string, a Actor) error {
			return HandOff(b.State, "x", a, Input{Handoff: &blackboard.Handoff{Summary: "s", NextAction: "n", NextSteps: blackboard.List{say}}}, b.now)
		}, coder, Actor{}},
		{"hold", claimX, func(b *board, say string, a Actor) error { return HoldTask(b.State, "x", a, Input{Reason: say}, b.now) }, person, Actor{ID: blackboard.Human, Name: "bob"}},
		{"unhold", func(b *board) { claimX(b); b.must(HoldTask(b.State, "x", person, Input{Reason: "r"}, b.now)) },
			func(b *board, _ string, a Actor) error { return UnholdTask(b.State, "x", a, Input{}, b.now) }, person, Actor{}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			x.before(b)
			b.must(x.event(b, "this", x.actor))
			b.after(time.Second)
			b.already(x.name, func() error { return x.event(b, "this", x.actor) })
			if x.name != "unhold" {
				if err := x.event(&board{t: t, now: b.now, State: b.State.Clone()}, "that", x.actor); IsAlreadyDone(err) {
					t.Error("with other arguments it is done already")
				}
			}
			if x.other.ID != "" {
				if err := x.event(&board{t: t, now: b.now, State: b.State.Clone()}, "this", x.other); err == nil || IsAlreadyDone(err) {
					t.Errorf("by somebody else it gives %v", err)
				}
			}
			b.Task("x").History = append(b.Task("x").History, &blackboard.HistoryEntry{Event: "note", Agent: "planner-1"})
			if err := x.event(b, "this", x.actor); IsAlreadyDone(err) {
				t.Error("after another event it is done already")
			}
		})
	}
	t.Run("a handoff that a run continues is over", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		claimX(b)
		say := Input{Handoff: &blackboard.Handoff{Summary: "s", NextAction: "n"}}
		b.must(HandOff(b.State, "x", coder, say, b.now))
		b.must(Spawned(b.State, supervisorOf("coder-1"), blackboard.Child{PID: 5, Run: 2, TokenHash: "sha256:run-coder-1", Task: "x"}, b.now))
		b.must(HandOff(b.State, "x", coder, say, b.now))
		wantList(t, "the end of the history", events(b.Task("x"))[3:], []string{"handoff", "handoff"})
	})
	t.Run("claims and releases are not answered so", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		claimX(b)
		b.refused("G27", ExitRefused, "held by coder-1", func() error { return Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now) })
		b.must(Release(b.State, "x", person, Input{Reason: "r", Force: true}, b.now))
		b.refused("G06", ExitRefused, "x is UNCLAIMED", func() error { return Release(b.State, "x", person, Input{Reason: "r", Force: true}, b.now) })
	})
}

func TestAChangeOfAnyFieldOfAHistoryEntryIsSeen(t *testing.T) {
	t.Parallel()
	full := func() *blackboard.HistoryEntry {
		recovered := false
		return &blackboard.HistoryEntry{Halt: &blackboard.Halt{}, Checkpoint: &blackboard.Intent{}, Recovered: &recovered}
	}
	if !blackboard.Same(full(), full()) {
		t.Fatal("two equal entries differ")
	}
	changeEachField(reflect.TypeFor[blackboard.HistoryEntry](), func(field string, change func(reflect.Value)) {
		entry := full()
		change(reflect.ValueOf(entry).Elem())
		if blackboard.Same(entry, full()) || blackboard.Same(full(), entry) {
			t.Errorf("a change of %s is not seen", field)
		}
	})
	changeEachField(reflect.TypeFor[blackboard.Intent](), func(field string, change func(reflect.Value)) {
		entry := full()
		change(reflect.ValueOf(entry.Checkpoint).Elem())
		if blackboard.Same(entry, full()) {
			t.Errorf("a change of checkpoint.%s is not seen", field)
		}
	})
}

// changeEachField calls try with a change for each field of a struct type.
func changeEachField(typ reflect.Type, try func(field string, change func(reflect.Value))) {
	for i := range typ.NumField() {
		try(typ.Field(i).Name, func(entry reflect.Value) {
			switch v := entry.Field(i); v.Kind() {
			case reflect.String:
				v.SetString("another")
			case reflect.Int:
				v.SetInt(7)
			case reflect.Bool:
				v.SetBool(true)
			case reflect.Slice:
				v.Set(reflect.ValueOf(blackboard.List{"another"}))
			case reflect.Map:
				v.Set(reflect.ValueOf(map[string]any{"x": 1}))
			default:
				v.SetZero()
			}
		})
	}
}
