package supervisor_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"liza/pkg/blackboard"
	"liza/pkg/supervisor"
)

// planner lets the planner work once; it gives the answers in turn.
func (j *jobs) planner(answers ...string) error {
	j.t.Helper()
	n := 0
	return j.once(blackboard.RolePlanner, func(string) string {
		n++
		if n > len(answers) {
			return "nothing more"
		}
		return answers[n-1]
	})
}

func thePlan(n int, reason string, items ...string) string {
	return done(fmt.Sprintf(`,"plan":{"goal":"Goal %d","reason":"%s","tasks":[%s,{"id":"tell-%d","kind":"msg","detail":"It is done","notify":true}]}`, n, reason, strings.Join(items, ","), n))
}

// try is a task of its own words; it is reviewed, and sent back for another plan.
func try(n int) string {
	words := []string{"measure alpha values quickly today", "compare bravo numbers against tables", "derive charlie results without storage", "collect delta samples through scripts", "print echo reports using templates"}[n]
	return fmt.Sprintf(`{"id":"try-%d","kind":"exec","detail":"echo %s","expect":"prints 'numbers' of attempt %d","review":true,"depends_on":[]},
		{"id":"then-%d","kind":"exec","detail":"echo afterwards %d %s","depends_on":["try-%d"]}`, n, words, n, n, n, strings.ToUpper(words), n)
}

func (j *jobs) wantsReplan(reason string) {
	j.t.Helper()
	j.coder()
	j.reviewer(fmt.Sprintf(`{"status":"replan","reason":"%s"}`, reason))
}

var reasons = []string{"measuring needs hardware counters nobody has", "comparison tables were removed upstream yesterday", "deriving everything exhausts available memory", "sampling scripts cannot reach production"}

// K-10: a replan without a reason is no verdict, and a plan without one no answer to it.
func TestAReplanNeedsAReason(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.must(j.planner(thePlan(1, "", try(0))))
	j.coder()
	n := 0
	j.must(j.once(blackboard.RoleReviewer, func(string) string {
		if n++; n == 1 {
			return done(`,"review":{"status":"replan"}`)
		}
		return done(`,"review":{"status":"replan","reason":"` + reasons[0] + `"}`)
	}))
	if n != 2 || j.task("try-0").BlockedKind != "replan" {
		t.Errorf("%d answers, %s", n, j.task("try-0").BlockedKind)
	}
	j.prompts = nil
	j.must(j.planner(thePlan(2, "", try(1)), thePlan(2, "another way", try(1))))
	wantPrompt(t, j.prompts, 2, "reason: is required")
	if p := j.State().Plans[1]; p.Status != "running" || p.ParseAttempts != 2 {
		t.Errorf("the plan is %s after %d answers", p.Status, p.ParseAttempts)
	}
}

// A replan replaces what is unfinished, and the planner is told what came before; the notification
// of K-09 is the outbox's.
func TestAReplanReplacesWhatIsUnfinished(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.must(j.planner(thePlan(1, "", `{"id":"ready","kind":"exec","detail":"echo counted 42","depends_on":[]}`, try(0))))
	j.coder()
	aligned := len(j.State().Goal.AlignmentHistory)
	j.wantsReplan(reasons[0])
	j.prompts = nil
	j.must(j.planner(thePlan(2, "sampling is enough", try(1))))
	wantPrompt(t, j.prompts, 1, "ready: echo counted 42 → counted 42", "then-0 (UNCLAIMED): echo afterwards 0", "try-0: echo measure alpha", "reason: "+reasons[0], "result: measure alpha values quickly today")
	s := j.State()
	for _, id := range []string{"try-0", "then-0", "tell-1"} {
		if x := s.Task(id); x.Status != blackboard.Superseded || strings.Join(x.SupersededBy, " ") != "try-1 then-1" || x.RescopeReason != "sampling is enough" {
			t.Errorf("%s is %s by %v: %s", id, x.Status, x.SupersededBy, x.RescopeReason)
		}
	}
	old, now := s.Plans[0], s.Plans[1]
	if old.Status != "superseded" || old.Failure.Task != "try-0" || old.Failure.Reason != reasons[0] || !strings.Contains(strings.Join(old.Tried, "; "), "exec echo counted 42: MERGED") {
		t.Errorf("the old plan is %+v, %+v", old, old.Failure)
	}
	if now.Status != "running" || now.Parent != "plan-1" || now.Root != "plan-1" || now.Goal != "Goal 2" || s.Goal.PlanID != "plan-2" || s.Task("ready").Status != blackboard.Merged {
		t.Errorf("the new plan is %+v", now)
	}
	if h := s.Goal.AlignmentHistory[aligned:]; h[0].Event != "replan" || h[0].Summary != "Goal 2" {
		t.Errorf("the alignment history has %+v", h[0])
	}
	j.wantsReplan(reasons[1])
	j.prompts = nil
	j.must(j.planner(thePlan(3, "templates are enough", try(4))))
	wantPrompt(t, j.prompts, 1, "plan-1: Goal 1; failed at try-0: "+reasons[0], "tried: exec echo counted 42: MERGED")
	j.Sound()
}

func (j *jobs) wantsStopped(err error, why string, plan int) {
	j.t.Helper()
	s := j.State()
	var types []string
	for _, a := range s.Anomalies {
		types = append(types, a.Type)
	}
	if !errors.Is(err, supervisor.ErrGaveUp) || !strings.Contains(err.Error(), why) || s.Sprint.Status != blackboard.AtCheckpoint || s.Plans[plan-1].Status != "failed" || strings.Join(types, " ") != "replan_loop" {
		j.t.Errorf("%v; sprint %s, plan %s, anomalies %v", err, s.Sprint.Status, s.Plans[plan-1].Status, types)
	}
}

// After max_replan_depth replans the planner is not started (K-11 but for its notification); a
// person who lets the sprint go on starts a new chain.
func TestTheDepthOfReplans(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.must(j.planner(thePlan(1, "", try(0))))
	for n := range 3 {
		j.wantsReplan(reasons[n])
		j.prompts = nil
		j.must(j.planner(thePlan(n+2, fmt.Sprint("way ", n), try(n+1))))
		if len(j.prompts) != 1 {
			t.Fatalf("%d runs of the planner", len(j.prompts))
		}
	}
	wantPrompt(t, j.prompts, 1, "plan-1: Goal 1; failed at try-0: "+reasons[0], "plan-2: Goal 2; failed at try-1: "+reasons[1], "tried: exec "+"echo measure alpha values quickly today: BLOCKED")
	j.wantsReplan(reasons[3])
	j.prompts = nil
	err := j.planner(thePlan(5, "way 4", try(4)))
	j.wantsStopped(err, "stuck after 3 replans", 4)
	if len(j.prompts) != 0 {
		t.Error("the planner was started")
	}
	if _, err := j.Desk("").Resume(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	j.must(j.planner(thePlan(5, "way 5", try(4))))
	if p := j.State().Plans[4]; p.Parent != "" || p.Root != "" || j.task("try-3").Status != blackboard.Superseded {
		t.Errorf("the new chain begins with %+v; try-3 is %s", p, j.task("try-3").Status)
	}
}

// A reason that was given before stops the chain (K-12 but for its notification).
func TestTheSameReasonStopsReplanning(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.must(j.planner(thePlan(1, "", try(0))))
	j.wantsReplan(reasons[0])
	j.must(j.planner(thePlan(2, "way 1", try(1))))
	j.wantsReplan("there are no hardware counters for measuring")
	j.prompts = nil
	err := j.planner(thePlan(3, "way 2", try(2)))
	j.wantsStopped(err, "the reason is that of plan-1 again", 2)
	if len(j.prompts) != 0 {
		t.Error("the planner was started")
	}
}

// N-23: a plan that was tried before is refused, asked for once more, and then planning stops.
func TestACircularPlanStopsReplanning(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.must(j.planner(thePlan(1, "", try(0))))
	j.wantsReplan(reasons[0])
	j.prompts = nil
	same := thePlan(2, "once more", strings.ReplaceAll(try(0), "-0", "-7"))
	err := j.planner(same, same, thePlan(2, "way 1", try(1)))
	if len(j.prompts) != 2 {
		t.Errorf("%d runs of the planner, want 2", len(j.prompts))
	}
	wantPrompt(t, j.prompts, 2, "they are those of plan-1 again")
	j.wantsStopped(err, "tried before", 1)
	if j.task("try-7") != nil {
		t.Error("the plan was applied")
	}
}

// A planner whose answers cannot be used is asked again, with what it said and what is wrong
// (K-02); when it never gets it right, people have to look, and a note starts it again.
func TestAPlannerIsAskedAgain(t *testing.T) {
	t.Parallel()
	t.Run("K-02: the second answer is valid", func(t *testing.T) {
		t.Parallel()
		j := newJobs(t)
		j.must(j.planner(`{"goal":`, thePlan(1, "", try(0))))
		if len(j.prompts) != 2 {
			t.Fatalf("%d runs", len(j.prompts))
		}
		wantPrompt(t, j.prompts, 2, "## Your last answer could not be used", `{"goal":`, "no exit command found")
		if p := j.State().Plans[0]; p.Status != "running" || p.ParseAttempts != 2 {
			t.Errorf("the plan is %s after %d answers", p.Status, p.ParseAttempts)
		}
	})
	for retries, answers := range map[int]int{3: 4, 0: 1} {
		t.Run(fmt.Sprint(retries, " retries"), func(t *testing.T) {
			t.Parallel()
			j := newJobs(t)
			j.Config.Limits.MaxParseRetries = retries
			err := j.planner()
			sentence := fmt.Sprintf("Planning failed: could not parse planner response after %d attempts.", answers)
			s := j.State()
			if !errors.Is(err, supervisor.ErrGaveUp) || !strings.Contains(err.Error(), sentence) || len(j.prompts) != answers || len(s.Tasks) > 0 || s.Plans[0].Status != "failed" ||
				s.Plans[0].ParseAttempts != answers || s.Sprint.Status != blackboard.AtCheckpoint || s.Anomalies[0].Type != "planning_failed" {
				t.Errorf("%v; %d runs, plan %+v, sprint %s", err, len(j.prompts), s.Plans[0], s.Sprint.Status)
			}
			if _, err := j.Desk("").Resume(t.Context(), "", ""); err != nil {
				t.Fatal(err)
			}
			if err := j.planner(thePlan(1, "", try(0))); !errors.Is(err, supervisor.ErrIdle) && err != nil || len(j.prompts) != answers {
				t.Errorf("started again: %v, %d runs", err, len(j.prompts))
			}
		})
	}
}
