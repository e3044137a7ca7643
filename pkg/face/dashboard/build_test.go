package dashboard

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

func TestWhatWaitsForAPersonNamesTheCommand(t *testing.T) {
	t.Parallel()
	v := Build(busy(), facts())
	got := map[string]string{}
	for _, w := range v.Waiting {
		got[w.Kind+" "+w.Task] = w.Next
	}
	want := map[string]string{
		"control ": "liza resume", "question ": `liza answer q-2 "TEXT"`, "blocked task-4": `liza answer q-1 "en"`, "blocked task-5": "liza retry task-5 --limit cost_cents=2024",
		"merge_approval task-7": "liza approve task-7", "hold task-8": "liza resume task-8",
	}
	for k, next := range want {
		if got[k] != next {
			t.Errorf("%s: next is %q, want %q", k, got[k], next)
		}
	}
	if len(got) != len(want) {
		t.Errorf("waiting: %v, want %v", got, want)
	}
}

func TestQuestionsOfAnOldStateStandOnTheTask(t *testing.T) {
	t.Parallel()
	s := (&blackboard.State{}).With(&blackboard.Task{ID: "t", Status: blackboard.Blocked, BlockedReason: "why", BlockedQuestions: blackboard.List{"What now?"}})
	v := Build(s, Input{Now: now})
	if len(v.Waiting) != 1 || len(v.Waiting[0].Questions) != 1 || v.Waiting[0].Questions[0].Text != "What now?" || v.Waiting[0].Next != `liza retry t --reason "TEXT"` {
		t.Errorf("%+v", v.Waiting)
	}
}

// A long reason is one line in lists, and whole where one task is shown.
func TestAListShortensALongReasonOfABlock(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("the parser says unexpected end of input, ", 12) + "THE END"
	s := (&blackboard.State{}).With(&blackboard.Task{ID: "t", Status: blackboard.Blocked, BlockedKind: "stuck", BlockedReason: long})
	v := Build(s, Input{Now: now})
	if row := v.Tasks[0]; len(v.Waiting[0].Text) > 200 || len(row.Note) > 200 || !strings.HasSuffix(row.Note, "…") || row.BlockedReason != long {
		t.Errorf("waiting %q, note %q, reason %q", v.Waiting[0].Text, row.Note, row.BlockedReason)
	}
}

// The page draws a task again when a text that a person told its agent has got further; what Liza itself tells is not drawn.
func TestARowSaysWhereATextToItsAgentIs(t *testing.T) {
	t.Parallel()
	s := (&blackboard.State{}).With(&blackboard.Task{ID: "t", Status: blackboard.Claimed}, &blackboard.Task{ID: "over", Status: blackboard.Merged})
	at := func(state string) *blackboard.Receipt { return &blackboard.Receipt{State: state} }
	s.HumanNotes = []*blackboard.Note{{ID: "note-1", For: "t", Receipt: at("queued")}, {ID: "note-2", For: "t", Receipt: at("seen")},
		{ID: "note-3", For: "t", Receipt: at("delivered"), Run: "a mark"}, {ID: "note-4", For: "t"}, {ID: "note-5", For: "over", Receipt: at("seen")}}
	rows, err := json.Marshal(Build(s, Input{Now: now}).Tasks)
	if err != nil || strings.Count(string(rows), `"told"`) != 1 || !strings.Contains(string(rows), `"told":["queued","seen"]`) {
		t.Errorf("the rows are %s: %v", rows, err)
	}
}

func TestReviewModeAndHumanReviewMakePeopleDecide(t *testing.T) {
	t.Parallel()
	s := (&blackboard.State{}).With([]*blackboard.Task{{ID: "a", Status: blackboard.ReadyForReview}, {ID: "b", Status: blackboard.Draft}, {ID: "c", Status: blackboard.Draft}}...)
	if v := Build(s, Input{Now: now}); len(v.Waiting) != 0 {
		t.Errorf("%+v", v.Waiting)
	}
	v := Build(s, Input{Now: now, ReviewMode: "disabled", HumanReview: true})
	if len(v.Waiting) != 2 || v.Waiting[0].Next != "liza approve a" || v.Waiting[1].Next != "liza approve b c" {
		t.Errorf("%+v", v.Waiting)
	}
}

func TestASprintThatStandsStillIsSaid(t *testing.T) {
	t.Parallel()
	s := &blackboard.State{Sprint: &blackboard.Sprint{Status: blackboard.AtCheckpoint}, CircuitBreaker: &blackboard.CircuitBreaker{Status: blackboard.BreakerTripped, CurrentTrigger: &blackboard.BreakerTrigger{Pattern: "retry_cluster"}}}
	v := Build(s, Input{Now: now})
	if len(v.Waiting) != 2 || v.Waiting[0].Text != "the sprint is CHECKPOINT" || v.Waiting[0].Next != "liza resume" || v.Waiting[1].Next != "liza resume" || !strings.Contains(v.Waiting[1].Text, "retry_cluster") {
		t.Errorf("%+v", v.Waiting)
	}
}

func TestRowsSayWhoHowOldAndWhy(t *testing.T) {
	t.Parallel()
	rows := map[string]Task{}
	for _, r := range Build(busy(), facts()).Tasks {
		rows[r.ID] = r
	}
	for id, want := range map[string]struct {
		who  string
		age  int
		note string
	}{
		"task-2":  {"coder-1", 300, ""},
		"task-3":  {"code-reviewer-1", 120, ""},
		"task-4":  {"coder-2", 720, "blocked, question: the spec names no languages"},
		"task-6":  {"", 3600, "waits for task-2 (CLAIMED), task-3 (READY_FOR_REVIEW), gone (missing)"},
		"task-7":  {"coder-1", 60, "waits for a person's approval of the merge"},
		"task-8":  {"", 180, "on hold by ada: design first"},
		"task-9":  {"", 2400, "replaced by task-2"},
		"task-10": {"coder-1", 240, "not merged: merge conflict"},
	} {
		if r := rows[id]; r.Who != want.who || r.AgeSeconds != want.age || r.Note != want.note {
			t.Errorf("%s: %q, %d s, %q; want %q, %d s, %q", id, r.Who, r.AgeSeconds, r.Note, want.who, want.age, want.note)
		}
	}
}

func TestArchivedAndPlanDependenciesAreUnderstood(t *testing.T) {
	t.Parallel()
	s := (&blackboard.State{}).With([]*blackboard.Task{
		{ID: "a", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"old"}, Plan: "p"},
		{ID: "b", Status: blackboard.Unclaimed, AfterPlan: true, Plan: "p"},
	}...)
	s.UseArchive(taskArchive{"old": {Status: blackboard.Merged}})
	v := Build(s, Input{Now: now})
	if len(v.Tasks[0].WaitsFor) != 0 || !slices.Equal(v.Tasks[1].WaitsFor, []string{"a (UNCLAIMED)"}) {
		t.Errorf("%v, %v", v.Tasks[0].WaitsFor, v.Tasks[1].WaitsFor)
	}
}

func TestAgentsAreJudgedByLeaseAndProcessNotByTheirWord(t *testing.T) {
	t.Parallel()
	v := Build(busy(), facts())
	var ids []string
	for _, a := range v.Agents {
		ids = append(ids, a.ID+" "+a.Liveness)
	}
	if want := []string{"code-reviewer-1 alive", "coder-1 alive", "coder-2 expired", "coder-10 alive", "planner-1 alive"}; !slices.Equal(ids, want) {
		t.Errorf("agents %v, want %v", ids, want)
	}
	if !slices.ContainsFunc(v.Warnings, func(w string) bool { return strings.HasPrefix(w, "coder-2: expired: ") }) {
		t.Errorf("warnings %v", v.Warnings)
	}
	if v.Agents[1].LeaseLeftSeconds != 28*60 || v.Agents[2].LeaseLeftSeconds != 0 {
		t.Errorf("leases %+v", v.Agents)
	}
}

func TestASuppressedPlannerIsSaid(t *testing.T) {
	t.Parallel()
	s := busy()
	for _, trigger := range transition.Triggers(s, transition.TriggerFacts{}, now) {
		s.Planner.Triggers[string(trigger.Kind)] = &blackboard.TriggerRecord{Fingerprint: trigger.Fingerprint, Suppressed: trigger.Kind == "BLOCKED_TASKS", Launches: 1}
	}
	if !slices.ContainsFunc(Build(s, facts()).Warnings, func(w string) bool { return strings.Contains(w, "BLOCKED_TASKS: the planner was launched") }) {
		t.Error("nothing is said")
	}
	s.Planner.Triggers["BLOCKED_TASKS"].Fingerprint = "sha256:old"
	if slices.ContainsFunc(Build(s, facts()).Warnings, func(w string) bool { return strings.Contains(w, "planner was launched") }) {
		t.Error("a trigger that has changed since is called suppressed")
	}
}

func TestAProgramThatWaitsForItsProviderIsShownWithReasonAndTime(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		until int // seconds from now
		want  string
	}{{71, "its provider until 15:01:11 UTC: rate_limit (429)"}, {-1, ""}} {
		s := busy()
		w := &blackboard.ProviderWait{Reason: "rate_limit (429)", Until: blackboard.TimeOf(now.Add(time.Duration(x.until) * time.Second))}
		s.Agents["coder-1"].ProviderWait = w
		v := Build(s, Input{Now: now})
		for _, a := range v.Agents {
			if a.ID == "coder-1" && (a.WaitsFor != x.want || (a.ProviderWait != nil) != (x.want != "")) {
				t.Errorf("a wait that ends in %d s is shown as %q, %+v", x.until, a.WaitsFor, a.ProviderWait)
			}
		}
	}
}

// The checks of a merge that run are one calm line in status, top and page (issue 25, 1.4).
func TestTheChecksOfAMergeAreOneCalmLine(t *testing.T) {
	t.Parallel()
	s := &blackboard.State{}
	s.SetTasks([]*blackboard.Task{{ID: "even", Status: blackboard.Approved}, {ID: "odd", Status: blackboard.Approved}, {ID: "old", Status: blackboard.Merged}}, nil)
	f := facts()
	f.Checking = map[string]time.Duration{"even": 115 * time.Second, "old": time.Second}
	v := Build(s, f)
	for i, want := range []string{"merge: checks run, 1m55s", "", ""} {
		if got := v.Tasks[i].Note; got != want {
			t.Errorf("%s says %q, want %q", v.Tasks[i].ID, got, want)
		}
	}
	if text := Text(v, 120, false); !strings.Contains(text, "merge of even: checks run, 1m55s") || strings.Contains(text, "merge of odd") {
		t.Errorf("status says\n%s", text)
	}
}
