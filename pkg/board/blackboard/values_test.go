package blackboard

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAnAgentIdIsARoleAndANumber(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]struct {
		role Role
		n    int
		ok   bool
	}{
		"coder-1": {RoleCoder, 1, true}, "code-reviewer-12": {RoleReviewer, 12, true}, "planner-0": {RolePlanner, 0, true}, "coder-007": {RoleCoder, 7, true},
		"coder": {}, "coder-": {}, "-1": {}, "coder-1a": {}, "coder--1": {}, "Coder-1": {}, "code_reviewer-1": {}, "reviewer-1": {}, "": {}, "human": {}, "coder-1 ": {},
	} {
		if role, n, ok := ParseAgentID(id); role != want.role || n != want.n || ok != want.ok {
			t.Errorf("%q is %q, %d, %t; want %q, %d, %t", id, role, n, ok, want.role, want.n, want.ok)
		}
	}
	if _, _, ok := ParseAgentID("coder-99999999999999999999"); ok {
		t.Error("a number that no integer holds is an agent")
	}
	for spelling, want := range map[string]Role{"coder": RoleCoder, " Coder ": RoleCoder, "code reviewer": RoleReviewer, "Code-Reviewer": RoleReviewer, "code_reviewer": RoleReviewer, "PLANNER": RolePlanner, "reviewer": "", "": ""} {
		if got, ok := ParseRole(spelling); got != want || ok != (want != "") {
			t.Errorf("the role %q is %q, %t; want %q", spelling, got, ok, want)
		}
	}
	ids := []string{"odd", "planner-1", "coder-10", "coder-9", "code-reviewer-1", "another"}
	slices.SortFunc(ids, CompareAgentIDs)
	if got := strings.Join(ids, " "); got != "code-reviewer-1 coder-9 coder-10 planner-1 another odd" {
		t.Errorf("sorted: %s", got)
	}
}

// The id of a task is the name of a folder and of a branch: nothing that leads elsewhere, and nothing that git refuses.
func TestWhatMayNameATask(t *testing.T) {
	t.Parallel()
	for id, good := range map[string]bool{
		"a": true, "A1": true, "task-1": true, "a.b_c-d": true, strings.Repeat("a", 63): true, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
		"": false, "-a": false, ".a": false, "_a": false, "a/b": false, "a b": false, "a..b": false, "a.": false, "a.lock": false, "a.LOCK": false, "a.lock.b": true, "ä": false, "a\n": false, "a:b": false, "a~1": false,
	} {
		if got := ValidTaskID(id); got != good {
			t.Errorf("%q may name a task: %t, want %t", id, got, good)
		}
	}
}

// A time is written in UTC and whole seconds, and what cannot be read is not a time.
func TestTimesAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 2*3600)
	if got := TimeOf(time.Date(2026, 1, 19, 14, 0, 0, 999, zone)); got != "2026-01-19T12:00:00Z" {
		t.Errorf("written as %s", got)
	}
	if got := TimeOf(time.Time{}); got != "" {
		t.Errorf("no time is written as %q", got)
	}
	for text, good := range map[Time]bool{"2026-01-19T12:00:00Z": true, "2026-01-19T14:00:00+02:00": true, "2026-01-19": false, "soon": false, "": false, "null": false, "~": false} {
		at, ok := text.At()
		if ok != good || good && !at.Equal(noon) {
			t.Errorf("%q is %s, %t; want it read: %t", text, at, ok, good)
		}
		if none := text.None(); none != (text == "" || text == "null" || text == "~") {
			t.Errorf("%q is not a time: %t", text, none)
		}
	}
}

// Amounts add up to the same in every order, and what is above zero never shows as zero.
func TestAmountsOfMoney(t *testing.T) {
	t.Parallel()
	sum := Amount(0)
	for range 10 {
		sum = sum.Plus(0.1)
	}
	if sum != 1 {
		t.Errorf("ten times 0.1 is %v, want 1", float64(sum))
	}
	if got := AmountOf(1e-9); got != 1e-4 {
		t.Errorf("next to nothing is kept as %v, want 0.0001", float64(got))
	}
	if got := AmountOf(-1e-9); got != 0 || 1/float64(got) < 0 {
		t.Errorf("next to nothing below zero is kept as %v, want 0", float64(got))
	}
	for a, want := range map[Amount][2]string{0: {"0", "$0.00"}, 17: {"17", "$0.17"}, 17.26: {"17.3", "$0.17"}, 0.04: {"0.04", "$0.0004"}, 0.0001: {"0.0001", "$0.000001"}, 100: {"100", "$1.00"}, 12345: {"12345", "$123.45"}, 1250: {"1250", "$12.50"}} {
		if text, dollars := a.String(), a.Dollars(); text != want[0] || dollars != want[1] {
			t.Errorf("%v is %s and %s, want %s and %s", float64(a), text, dollars, want[0], want[1])
		}
	}
	for _, c := range []struct {
		used    Amount
		limit   int
		reserve Amount
		want    bool
	}{{99, 100, 0, false}, {99.9999, 100, 0, false}, {100, 100, 0, true}, {101, 100, 0, true}, {90, 100, 10, false}, {90, 100, 10.0001, true}, {1000, 0, 1000, false}} {
		if got := c.used.Reaches(c.limit, c.reserve); got != c.want {
			t.Errorf("%v used and %v reserved reach %d: %t, want %t", float64(c.used), float64(c.reserve), c.limit, got, c.want)
		}
	}
	for _, c := range []struct {
		a       Amount
		percent int
		want    bool
	}{{74.99, 75, false}, {75, 75, true}, {0, 0, true}} {
		if got := c.a.Is(c.percent, 100); got != c.want {
			t.Errorf("%v is %d %% of 100: %t, want %t", float64(c.a), c.percent, got, c.want)
		}
	}
}

func TestAListAsPeopleReadIt(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := OrList(names); got != want {
			t.Errorf("%v is %q, want %q", names, got, want)
		}
	}
	for commit, want := range map[string]string{"": "", "12345678": "12345678", "123456789": "123456789", "1234567890": "123456789"} {
		if got := ShortCommit(commit); got != want {
			t.Errorf("%q is %q, want %q", commit, got, want)
		}
	}
	for want, v := range map[string]Violation{
		"V08 bad":                              {Rule: "V08", Message: "bad"},
		"line 7: V08 bad; next: liza validate": {Rule: "V08", Message: "bad", Line: 7, Next: "liza validate"},
		"line 7: V25 warning: odd":             {Rule: "V25", Message: "odd", Line: 7, Severity: SeverityWarning},
	} {
		if got := v.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The title of a task fits a line of a table, and is never cut inside of a letter.
func TestTheTitleOfATask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ title, description, want string }{
		{"Say it", "Something else", "Say it"}, {"", "  Say it\nand more", "Say it"}, {"", "", ""},
		{strings.Repeat("a", 72), "", strings.Repeat("a", 72)}, {strings.Repeat("a", 73), "", strings.Repeat("a", 69) + "…"}, {strings.Repeat("ä", 37), "", strings.Repeat("ä", 34) + "…"},
	} {
		if got := (&Task{Title: c.title, Description: c.description}).TitleText(); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.title, c.description, got, c.want)
		}
	}
}

// Whose work is commits: code always; a command that may write, unless it was handed in without a change.
func TestWhichTasksChangeFiles(t *testing.T) {
	t.Parallel()
	for _, st := range Statuses {
		handedIn := st == ReadyForReview || st == Approved || st == Merged
		for _, c := range []struct {
			kind   TaskKind
			writes bool
			commit string // "" for none, base for no change
			want   bool
		}{{"", false, "base", true}, {CodeTask, false, "", true}, {ExecTask, false, "c", false}, {MessageTask, false, "", false}, {ExecTask, true, "c", true}, {ExecTask, true, "", true}, {SkillTask, true, "base", !handedIn}} {
			x := &Task{Kind: c.kind, Writes: c.writes, Status: st, BaseCommit: "base", ReviewCommit: c.commit}
			if got := x.ChangesFiles(); got != c.want {
				t.Errorf("a task of kind %q, writes %t, %s with commit %q changes files: %t, want %t", c.kind, c.writes, st, c.commit, got, c.want)
			}
		}
	}
}

func TestWhenTheHypothesisOfATaskIsUsedUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by       List
		failures int
		want     bool
	}{{nil, 0, false}, {List{"coder-1"}, 2, false}, {List{"coder-1"}, 3, true}, {List{"coder-1", "coder-2"}, 2, true}} {
		if got := (&Task{FailedBy: c.by, Failures: c.failures}).Exhausted(); got != c.want {
			t.Errorf("failed by %v, %d times: exhausted %t, want %t", c.by, c.failures, got, c.want)
		}
	}
}

// The branch is foreign unless Liza left it there or has announced the move from where it left it.
func TestWhichTipIsForeign(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, known, tip string
		intent           *MoveIntent
		merging          *Task
		want             bool
	}{
		{"nothing is remembered", "", "b", nil, nil, false},
		{"where it was left", "a", "a", nil, nil, false},
		{"elsewhere", "a", "b", nil, nil, true},
		{"removed", "a", "", nil, nil, true},
		{"an announced move", "a", "b", &MoveIntent{Commit: "b", Old: "a"}, nil, false},
		{"an announced move to elsewhere", "a", "b", &MoveIntent{Commit: "c", Old: "a"}, nil, true},
		{"a merge under way", "a", "b", nil, &Task{Status: Approved, MergeIntent: &MergeIntent{Commit: "b", Old: "a"}}, false},
		{"a merge from elsewhere", "a", "b", nil, &Task{Status: Approved, MergeIntent: &MergeIntent{Commit: "b", Old: "c"}}, true},
		{"a merge that is over", "a", "b", nil, &Task{Status: Merged, MergeIntent: &MergeIntent{Commit: "b", Old: "a"}}, true},
	} {
		s := &State{}
		if c.known != "" {
			s.Integration = &Integration{Tip: c.known, Intent: c.intent}
		}
		if c.merging != nil {
			s.AddTasks(c.merging)
		}
		if got := s.ForeignTip(c.tip); got != c.want {
			t.Errorf("%s: foreign %t, want %t", c.name, got, c.want)
		}
	}
}

func TestWhoMayReportWhichAnomaly(t *testing.T) {
	t.Parallel()
	for _, a := range AnomalyTypes {
		for _, reporter := range []string{Human, System, "coder-1", "code-reviewer-1", "planner-1", "stranger"} {
			role, _, _ := ParseAgentID(reporter)
			want := reporter == Human || len(a.Reporters) == 0 || slices.Contains(a.Reporters, reporter) || role != "" && slices.Contains(a.Reporters, string(role))
			if got := a.MayReport(reporter); got != want {
				t.Errorf("%s may report %s: %t, want %t", reporter, a.Name, got, want)
			}
		}
		details := Settings{}
		for _, key := range a.Details {
			details[key] = "x"
		}
		if missing := a.Missing(details); len(missing) != 0 {
			t.Errorf("%s with all details misses %v", a.Name, missing)
		}
		for _, key := range a.Details {
			for _, empty := range []any{nil, "", " \n", []any{}, []string{}, List{}} {
				details[key] = empty
				if missing := a.Missing(details); !slices.Equal(missing, []string{key}) {
					t.Errorf("%s with %s %#v misses %v, want it alone", a.Name, key, empty, missing)
				}
			}
			details[key] = 0 // a number is a detail
			if missing := a.Missing(details); len(missing) != 0 {
				t.Errorf("%s with %s 0 misses %v", a.Name, key, missing)
			}
		}
	}
	for name, known := range map[AnomalyKind]bool{"x-a": true, "x-": false, "x": false, "nope": false, AnomalyReviewStuck: true} {
		if _, ok := AnomalyTypeOf(name); ok != known {
			t.Errorf("%q is a type of anomaly: %t, want %t", name, ok, known)
		}
	}
}

// Comments on a change are open until the coder hands something else in after them.
func TestWhichCommentsAreOpen(t *testing.T) {
	t.Parallel()
	note := func(of, commit string, at int) *Note {
		return &Note{ID: of + commit, For: of, Commit: commit, Timestamp: seconds(at), By: "ada", Message: "m", File: "a.go", Line: 3}
	}
	x := &Task{ID: "a", ReviewCommit: "c2", History: []*HistoryEntry{{Event: HistoryReadyForReview, Time: seconds(-60)}}}
	s := &State{HumanNotes: []*Note{note("a", "c1", -90), note("a", "c1", -60), note("a", "c1", -30), note("a", "c2", -90), note("b", "c2", 0), note("a", "", 0)}}
	var got []string
	for _, n := range s.OpenComments(x) {
		got = append(got, n.Commit+"@"+string(n.Timestamp)[14:19])
	}
	if g := strings.Join(got, " "); g != "c1@59:30 c2@58:30" {
		t.Errorf("open are %s; want the one after the submission, and the one on what is in review", g)
	}
	f := note("a", "c1", 0).Finding()
	if who, ok := f.Commenter(); who != "ada" || !ok || f.Severity != "error" || f.Line != 3 {
		t.Errorf("as a finding it is %+v of %q", f, who)
	}
	x.RejectionReason = &Rejection{Findings: []*Finding{f}}
	if !x.RejectedFor(note("a", "c1", 0)) || x.RejectedFor(&Note{For: "a", Commit: "c1", By: "bob", Message: "m"}) {
		t.Error("the rejection tells the comment of somebody else, or not this one")
	}
}

func TestWhereAnImportIsFrom(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][3]string{
		"github:ada/words#12": {"github", "ada/words", "12"}, "gitlab:group/sub/words#3": {"gitlab", "group/sub/words", "3"}, "gitea:ada/a#b#4": {"gitea", "ada/a#b", "4"},
		"docs/todo.md#first": {"", "docs/todo.md", "first"}, "todo": {"", "", "todo"},
	} {
		kind, place, key := (&Import{Source: source}).Place()
		if kind != want[0] || place != want[1] || key != want[2] {
			t.Errorf("%s is from %q, %q, %q; want %v", source, kind, place, key, want)
		}
	}
}

// Red checks go to the coder whose file the log names most often, else to the last one.
func TestWhoseWorkALogNames(t *testing.T) {
	t.Parallel()
	by := func(id, coder string) *Task {
		return &Task{ID: id, History: []*HistoryEntry{{Event: HistoryClaimed, Agent: coder}}}
	}
	tasks := []*Task{by("a", "coder-1"), by("b", "coder-2"), {ID: "c"}}
	files := map[string][]string{"a": {"a.go"}, "b": {"b.go", "shared.go"}}
	for log, want := range map[string]string{"": "coder-2", "nothing": "coder-2", "a.go:1": "coder-1", "a.go:1 b.go:2": "coder-2", "a.go:1 a.go:2 b.go:1": "coder-1", "shared.go b.go a.go": "coder-2"} {
		if got := CoderOf(tasks, files, log); got != want {
			t.Errorf("the log %q names the work of %s, want %s", log, got, want)
		}
	}
	if got := CoderOf(nil, nil, "a.go"); got != "" {
		t.Errorf("of no tasks: %q", got)
	}
}

func TestARequestInOneLine(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Request{
		"r-1: request of integration is being opened":             {ID: "r-1", Branch: "integration", Status: RequestOpening},
		"r-1: https://h/1, open":                                  {ID: "r-1", URL: "https://h/1", Status: RequestOpen},
		"r-1: https://h/1, open, checks red; conflicts with main": {ID: "r-1", URL: "https://h/1", Status: RequestOpen, Checks: "red", Waits: "conflicts with main", Conflict: true},
		"r-1: https://h/1, merged":                                {ID: "r-1", URL: "https://h/1", Status: "merged", Checks: "green", Waits: "conflicts with main", Conflict: true},
	} {
		if got := r.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := r.InConflict(), r.Status == RequestOpen && r.Waits != ""; got != want {
			t.Errorf("%q is in conflict: %t, want %t", r.Text(), got, want)
		}
	}
}

func TestWhichHostHasAWorktree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		task, host string
		want       bool
	}{{"", "", false}, {"one", "", false}, {"", "one", false}, {"one", "one", false}, {"one", "two", true}} {
		if got := (&Task{Host: c.task}).ElsewhereThan(c.host); got != c.want {
			t.Errorf("a worktree of host %q seen from %q is elsewhere: %t, want %t", c.task, c.host, got, c.want)
		}
	}
	s := &State{}
	for offset, off := range map[int]bool{0: false, 60: false, -60: false, 61: true, -61: true} {
		if got := s.ClockOff(&Host{ClockOffset: offset}); got != off {
			t.Errorf("a clock that is off by %d s is too far off: %t, want %t", offset, got, off)
		}
	}
}
