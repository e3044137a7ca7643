package transition

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
)

// known lets the actors of the tests be the agents of any state.
func known(s *blackboard.State) {
	for id, a := range s.Agents {
		if a == nil {
			continue
		}
		a.TokenHash = "sha256:registration-" + id
		if a.Child == nil {
			a.Child = &blackboard.Child{PID: 1}
		}
		a.Child.TokenHash = "sha256:run-" + id
	}
}

// callX gives the nth task of the state the id "x", which the trials ask for. The task
// is known by it everywhere.
func callX(s *blackboard.State, n int) {
	if s.TaskCount() == 0 || s.TaskAt(n%s.TaskCount()) == nil {
		return
	}
	t := s.TaskAt(n % s.TaskCount())
	was := t.ID
	t.ID = "x"
	if t.Worktree != "" {
		t.Worktree = ".worktrees/x"
	}
	rename := func(list blackboard.List) {
		for i := range list {
			if list[i] == was {
				list[i] = "x"
			}
		}
	}
	for o := range s.Tasks() {
		rename(o.DependsOn)
		rename(o.SupersededBy)
		rename(o.Supersedes)
	}
	for _, a := range s.Agents {
		if a != nil && a.CurrentTask == was {
			a.CurrentTask = "x"
		}
	}
	for _, d := range s.Discovered {
		if d.ConvertedToTask == was {
			d.ConvertedToTask = "x"
		}
	}
	if h := s.Handoff[was]; h != nil {
		s.Handoff["x"] = h
		delete(s.Handoff, was)
	}
	if s.Sprint != nil && s.Sprint.Scope != nil {
		rename(s.Sprint.Scope.Planned)
		rename(s.Sprint.Scope.Stretch)
	}
	for _, q := range s.Questions {
		if q.Task == was {
			q.Task = "x"
		}
	}
}

func TestRandomEventsOverDamagedStatesNeverPanic(t *testing.T) {
	t.Parallel()
	texts := []string{"", "null", "coder-1", "coder-2", "CLAIMED", "READY_FOR_REVIEW", "tomorrow", "claimed", "x", "system"}
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(seed, 11))
		s := validState()
		callX(s, random.IntN(s.TaskCount()))
		damage(random, s, texts)
		s.AddTasks(&blackboard.Task{})
		known(s)
		b := &board{t: t, State: s, now: validNow}
		for range 40 {
			shake(random, b)
		}
	}
}

// shake lets one thing be tried, whatever comes of it.
func shake(random *rand.Rand, b *board) {
	try := trials[random.IntN(len(trials))]
	who := everybody[random.IntN(len(everybody))]
	_ = try.do(b, who.actor(b))
	b.after(time.Duration(random.IntN(900)) * time.Second)
	a := supervisorOf([]string{"coder-1", "coder-2", "code-reviewer-1", "planner-1", "coder-7"}[random.IntN(5)])
	facts := TriggerFacts{SpecHash: "sha256:1"}
	switch random.IntN(16) {
	case 0:
		NextTask(b.State, a, Input{}, b.now)
	case 1:
		NextReview(b.State, a, Input{}, b.now)
	case 2:
		ApprovedTasks(b.State)
	case 3:
		due, _ := DueTriggers(b.State, facts, b.now)
		_ = BeginPlanning(b.State, supervisorOf("planner-1"), due, b.now)
	case 4:
		_ = EndPlanning(b.State, supervisorOf("planner-1"), Triggers(b.State, facts, b.now), random.IntN(2) == 0, random.IntN(2) == 0, b.now)
	case 5:
		CompleteGoal(b.State, CompletionFacts{Triggers: facts}, b.now)
	case 6:
		_ = CheckpointSprint(b.State, "", "m", "f", person, b.now)
	case 7:
		_ = ResumeSprint(b.State, []string{"", "REPLAN", "STOP", "MAYBE"}[random.IntN(4)], "n", person, b.now)
	case 8:
		_ = AddNote(b.State, &blackboard.Note{Message: "m"}, person, b.now)
	case 9:
		_, _, _ = AnswerQuestion(b.State, "q-1", "yes", person, b.now)
	case 10:
		_ = Beat(b.State, a, b.now)
	case 11:
		Lapse(b.State, a.ID, blackboard.ProcessFacts{Host: "devbox", BootID: "another"}, b.now)
		Forget(b.State, blackboard.ProcessFacts{}, b.now)
	case 12:
		_ = Unregister(b.State, a.ID, person, true, b.now)
	case 13:
		_ = Register(b.State, a.ID, &blackboard.Agent{Generation: "g-x", TokenHash: a.TokenHash}, person, b.now)
		_ = SetReady(b.State, a, "claude", "", b.now)
		_ = SetWaiting(b.State, a, "nothing", b.now)
	case 14:
		_ = Spawned(b.State, a, blackboard.Child{PID: 2, Run: 1, TokenHash: "sha256:run-" + a.ID, Task: "x"}, b.now)
		_ = EndRun(b.State, a, RunResult{Task: "x", Seconds: 5}, b.now)
	case 15:
		CancelReserve(b.State, "x", a)
		_ = AbortSprint(b.State, "r", person, b.now)
	}
}

// Whatever happens to any task of a valid state, a writer would accept what comes of it.
func TestRandomEventsOverValidStatesLeaveThemValid(t *testing.T) {
	t.Parallel()
	tasks := validState().TaskCount()
	for n := range tasks {
		for seed := range uint64(4) {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			s := validState()
			callX(s, n)
			known(s)
			aside := *validState().Task("draft")
			aside.ID, aside.Status, aside.DependsOn = "aside", blackboard.Unclaimed, nil
			s.AddTasks(&aside)
			s.CircuitBreaker.Status = blackboard.BreakerOK
			b := &board{t: t, State: s, now: validNow}
			if v := writeErrors(s, b.now); len(v) > 0 {
				t.Fatalf("the beginning is not valid: %v", v)
			}
			for range 60 {
				before := s.Clone()
				try, who := trials[random.IntN(len(trials))], everybody[random.IntN(len(everybody))]
				if try.do(b, who.actor(b)) != nil {
					continue
				}
				for _, v := range audit.Validate(s, before, audit.Evidence{Now: b.now, Write: true}) {
					if v.Severity == blackboard.SeverityError && v.OnWrite {
						t.Fatalf("seed %d, task %d: %s by %s on %s leaves %s: %s", seed, n, try.name, who.kind, before.TaskAt(n).Status, v.Rule, v.Message)
					}
				}
				b.after(time.Duration(random.IntN(1200)) * time.Second)
			}
		}
	}
}

// damage sets some places of the state to their zero value, or to another text or number.
func damage(random *rand.Rand, s *blackboard.State, texts []string) {
	var all []reflect.Value
	places(reflect.ValueOf(s).Elem(), func(v reflect.Value) { all = append(all, v) })
	for t := range s.Tasks() {
		places(reflect.ValueOf(t).Elem(), func(v reflect.Value) { all = append(all, v) })
	}
	for range 1 + random.IntN(12) {
		v := all[1+random.IntN(len(all)-1)] // not the state itself
		switch {
		case v.Kind() == reflect.String && random.IntN(2) == 0:
			v.SetString(texts[random.IntN(len(texts))])
		case v.Kind() == reflect.Int && random.IntN(2) == 0:
			v.SetInt(int64(random.IntN(2000) - 1000))
		default:
			v.SetZero()
		}
	}
}

// places calls visit with every value below v that can be set.
func places(v reflect.Value, visit func(reflect.Value)) {
	if v.CanSet() {
		visit(v)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			places(v.Elem(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				places(v.Field(i), visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if e := v.Index(i); e.Kind() == reflect.Pointer {
				places(e.Elem(), visit) // no list has an empty entry
			} else {
				places(e, visit)
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			places(v.MapIndex(key), visit)
		}
	}
}
