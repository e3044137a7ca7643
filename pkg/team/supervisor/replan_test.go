package supervisor_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb/verbtest"
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

// K-10: a replan without a reason is not a verdict, and a plan without one is not an answer to it.
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

// told are the notifications of an event, in order.
func (j *jobs) told(event string) (list []string) {
	j.t.Helper()
	data, err := os.ReadFile(j.Project.Notifications())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		j.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, `"event":"`+event+`"`) {
			list = append(list, line)
		}
	}
	return list
}

// K-09: a replan is told to people, replaces what is unfinished, and the planner gets what came
// before.
func TestAReplanReplacesWhatIsUnfinished(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.must(j.planner(thePlan(1, "", `{"id":"ready","kind":"exec","detail":"echo counted 42","depends_on":[]}`, try(0))))
	j.coder()
	aligned := len(j.State().Goal.AlignmentHistory)
	j.wantsReplan(reasons[0])
	if lines := j.told("replan"); len(lines) != 1 || !strings.Contains(lines[0], reasons[0]) {
		t.Errorf("before the planner starts people are told %q", lines)
	}
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
	replans := 0
	for _, h := range s.Goal.AlignmentHistory[aligned:] {
		if h.Event == "replan" {
			replans++
		}
	}
	if h := s.Goal.AlignmentHistory[aligned:]; replans != 1 || h[0].Event != "replan" || h[0].Summary != "Goal 2" {
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
		types = append(types, string(a.Type))
	}
	if !errors.Is(err, supervisor.ErrGaveUp) || !strings.Contains(err.Error(), why) || s.Sprint.Status != blackboard.AtCheckpoint || s.Plans[plan-1].Status != "failed" || strings.Join(types, " ") != "replan_loop" {
		j.t.Errorf("%v; sprint %s, plan %s, anomalies %v", err, s.Sprint.Status, s.Plans[plan-1].Status, types)
	}
	if lines := j.told("replan_stopped"); len(lines) != 1 || !strings.Contains(lines[0], why) {
		j.t.Errorf("people are told %q", lines)
	}
}

// K-11: after max_replan_depth replans the planner is not started; a person who lets the sprint
// go on starts a new chain.
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
	if _, err := sprint.Resume(t.Context(), j.Service(""), "", ""); err != nil {
		t.Fatal(err)
	}
	j.must(j.planner(thePlan(5, "way 5", try(4))))
	if p := j.State().Plans[4]; p.Parent != "" || p.Root != "" || j.task("try-3").Status != blackboard.Superseded {
		t.Errorf("the new chain begins with %+v; try-3 is %s", p, j.task("try-3").Status)
	}
}

// K-12: a reason that was given before stops the chain.
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
// (K-02); when it never gets it right, people have to look, and a note starts it again (K-03).
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
			if !errors.Is(err, supervisor.ErrGaveUp) || !strings.Contains(err.Error(), sentence) || len(j.prompts) != answers || s.TaskCount() > 0 || s.Plans[0].Status != "failed" ||
				s.Plans[0].ParseAttempts != answers || s.Sprint.Status != blackboard.AtCheckpoint || s.Anomalies[0].Type != "planning_failed" {
				t.Errorf("%v; %d runs, plan %+v, sprint %s", err, len(j.prompts), s.Plans[0], s.Sprint.Status)
			}
			if lines := j.told("planning_failed"); len(lines) != 1 || !strings.Contains(lines[0], sentence) {
				t.Errorf("people are told %q", lines)
			}
			if _, err := sprint.Resume(t.Context(), j.Service(""), "", ""); err != nil {
				t.Fatal(err)
			}
			j.must(j.planner(thePlan(1, "", try(0)))) // issue 25, 4.5: it plans again
			if len(j.prompts) != answers+1 || j.task("try-0") == nil {
				t.Errorf("after liza resume: %d runs", len(j.prompts))
			}
		})
	}
}

// A planner that starts afresh more than max_plan_retries times is stuck: a person decides.
func TestAPlannerThatOnlyStartsAfreshIsStuck(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.Config.Limits.MaxPlanRetries = 2
	j.must(j.planner(retries, retries, retries, retries))
	if s := j.State(); len(j.prompts) != 3 || s.Sprint.Status != blackboard.AtCheckpoint {
		t.Errorf("%d runs, sprint %s", len(j.prompts), s.Sprint.Status)
	}
	if lines := j.told("checkpoint"); len(lines) != 1 || !strings.Contains(lines[0], "planner stuck: half done") {
		t.Errorf("people are told %q", lines)
	}
}

// K-04: a step that is to be reviewed says what is expected of it: without, the planner is asked
// again with that error, and nothing of the plan is run or is on the board.
func TestAStepToBeReviewedSaysWhatIsExpected(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	bad := `{"id":"other","kind":"exec","detail":"touch ../../ran"},{"id":"x","kind":"exec","detail":"touch ../../ran","review":true}`
	n := 0
	j.must(j.once(blackboard.RolePlanner, func(string) string {
		if n++; n == 1 {
			return thePlan(1, "", bad)
		}
		if s := j.State(); s.TaskCount() != 0 || len(s.Plans) != 0 {
			t.Errorf("the plan has left %d tasks and %d plans", s.TaskCount(), len(s.Plans))
		}
		if err := j.once(blackboard.RoleCoder, func(string) string { return done("") }); !errors.Is(err, supervisor.ErrIdle) {
			t.Errorf("a coder has something to do: %v", err)
		}
		return thePlan(1, "", strings.Replace(bad, `"review":true`, `"review":true,"expect":"prints nothing, exit code 0"`, 1))
	}))
	if n != 2 {
		t.Fatalf("%d answers", n)
	}
	wantPrompt(t, j.prompts, 2, "## Your last answer could not be used", "tasks[1].expect: is required for what is reviewed")
	if strings.Contains(j.prompts[1], "tasks[0].") {
		t.Error("what is not to be reviewed needs no expect")
	}
	if _, err := os.Stat(j.Dir + "/ran"); err == nil {
		t.Error("a command of a plan that was refused has run")
	}
	if x := j.task("x"); x == nil || !x.ReviewRequired || x.DoneWhen != "prints nothing, exit code 0" {
		t.Errorf("x is %+v", x)
	}
}

// K-01: the tasks of a plan are on the board, in order, before the first runs; what is to be
// reviewed is reviewed once, the message is not, and one last notification has its text.
func TestAPlanFromTheFirstTaskToTheLastMessage(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.must(j.planner(done(`,"plan":{"goal":"Count things","tasks":[{"id":"count","kind":"exec","detail":"echo 42","expect":"prints 42","review":true},{"id":"tell","kind":"msg","detail":"Counted","notify":true}]}`)))
	s := j.State()
	if p := s.Plans[0]; p.Goal != "Count things" || s.TaskCount() != 2 || s.TaskAt(0).ID != "count" || s.TaskAt(0).Status != blackboard.Unclaimed || s.TaskAt(1).ID != "tell" {
		t.Fatalf("%+v; %d tasks", p, s.TaskCount())
	}
	j.coder()
	j.reviewer(`{"status":"ok"}`)
	if _, err := j.Service("").Merges.Merger(blackboard.System).All(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.coder()
	j.wants("count", blackboard.Merged, "42")
	j.wants("tell", blackboard.Merged, "Counted")
	reviews := 0
	for x := range j.State().Tasks() {
		for _, h := range x.History {
			if h.Event == "review_claimed" {
				reviews++
			}
		}
	}
	if lines := j.told("output"); reviews != 1 || len(lines) != 1 || !strings.Contains(lines[0], `"content":"Counted"`) || !strings.Contains(lines[0], `"final":true`) {
		t.Errorf("%d reviews; people are told %q", reviews, lines)
	}
}

// K-06: skills and arguments are checked when planned, defaults are filled in, and the planner
// is told of what is installed now.
func TestThePlannerKnowsTheSkills(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	install := func(name string) {
		verbtest.Write(t, j.Project.Skills()+"/"+name+"/skill.yaml", "name: "+name+"\nsummary: does "+name+"\nrun: [echo]\nargs: {what: {type: string, required: true}, times: {type: int, default: 2}}\n")
	}
	install("first")
	bad := thePlan(1, "", `{"kind":"skill","skill":"nowhere"},{"kind":"skill","skill":"first"},{"kind":"skill","skill":"first","args":{"what":"x","times":"3"}}`)
	n := 0
	j.must(j.once(blackboard.RolePlanner, func(string) string {
		if n++; n == 1 {
			install("second")
			return bad
		}
		return thePlan(1, "", `{"id":"x","kind":"skill","skill":"second","args":{"what":"x"}}`)
	}))
	wantPrompt(t, j.prompts, 1, "first: does first\n  times (int, default 2)\n  what (string, required)")
	wantPrompt(t, j.prompts, 2, "second: does second", "tasks[0].skill: no skill 'nowhere' is installed", "tasks[1].args: argument 'what' of the skill first is missing", "tasks[2].args: argument 'times' of the skill first is")
	if strings.Contains(j.prompts[0], "second: does") {
		t.Error("the first prompt has the second skill")
	}
	if x := j.task("x"); fmt.Sprint(x.Args) != "map[times:2 what:x]" {
		t.Errorf("the arguments are %v", x.Args)
	}
}

// N-32: a task of a kind that its caller may not have any more is not started.
func TestACallerWhoBecameAUser(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.plan(`{"id": "x", "kind": "exec", "detail": "echo x"}`)
	j.Config.Policy.Callers = map[string]string{"root": "admin"}
	j.Config.Policy.UserKinds = []string{"code", "msg"}
	j.coder()
	j.wants("x", blackboard.Blocked, "may not be done for ada, whose role is user")
}
