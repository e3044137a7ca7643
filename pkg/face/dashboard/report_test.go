package dashboard

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// taskArchive is an archive for tests.
type taskArchive map[string]blackboard.Archived

func (x taskArchive) Archived() map[string]blackboard.Archived { return x }

// finished is a task that was finalized an hour ago and merged after review.
func finished(id string) *blackboard.Task {
	at := func(minutes int, event blackboard.HistoryEvent, agent string) *blackboard.HistoryEntry {
		return &blackboard.HistoryEntry{Time: ago(minutes), Event: event, Agent: agent}
	}
	rejected := at(30, "rejected", "code-reviewer-1")
	rejected.Reason = "hello.go:3 lacks | the name"
	return &blackboard.Task{ID: id, Title: "Greet", Status: blackboard.Merged, AssignedTo: "coder-1", Iteration: 2, ReviewCyclesTotal: 2, Usage: cents(30, 3, 1), MergeCommit: "77aa01b",
		History: []*blackboard.HistoryEntry{at(61, "created", "planner-1"), at(60, "finalized", "planner-1"), at(50, "claimed", "coder-1"), at(40, "ready_for_review", "coder-1"),
			at(35, "review_claimed", "code-reviewer-1"), rejected, at(29, "reclaimed_after_rejection", "coder-1"), at(20, "ready_for_review", "coder-1"),
			at(18, "review_claimed", "code-reviewer-1"), at(12, "approved", "code-reviewer-1"), at(10, "merged", "system")}}
}

func reportOf(s *blackboard.State, more ...*blackboard.Task) Report {
	f := ReportFacts{Input: facts(), Tasks: append(more, s.TaskList()...), Journal: []blackboard.Entry{{Action: "run_failed"}, {Action: "claimed"}}}
	return BuildReport(s, f)
}

func TestAReportAddsUpTimesCostsAndWhatWentWrong(t *testing.T) {
	t.Parallel()
	s := busy()
	s.Anomalies = []*blackboard.Anomaly{{ID: "anom-1", Timestamp: ago(20), Type: "retry_loop", Task: "task-2", Reporter: "coder-1", Details: blackboard.Settings{"count": 3, "error_pattern": "undefined: Foo"}},
		{ID: "anom-0", Timestamp: ago(600), Type: "trade_off"}}
	s.Sprint.Checkpoints = []*blackboard.Checkpoint{{N: 1, At: ago(8), By: "ada", Message: "half time", Decision: "CONTINUE", DecidedBy: "ada"}}
	r := reportOf(s, finished("task-0"))
	first := r.Tasks[0]
	if !first.Archived || *first.LeadSeconds != 50*60 || first.WorkSeconds != (10+9)*60 || first.ReviewSeconds != (5+6)*60 || *first.WaitSeconds != (50-19-11)*60 || first.Cost.Cents != 30 {
		t.Errorf("the archived task is %+v", first)
	}
	if x, _ := r.Metrics.Get("lead_time_median"); x != 50*60 {
		t.Errorf("the median is %s", x)
	}
	if len(r.Rejections) != 1 || r.Rejections[0].Task != "task-0" || len(r.Anomalies) != 1 || r.Anomalies[0].Details != "count: 3, error_pattern: undefined: Foo" || len(r.Checkpoints) != 1 {
		t.Errorf("%+v\n%+v\n%+v", r.Rejections, r.Anomalies, r.Checkpoints)
	}
	hints := ""
	for _, h := range r.LookAt {
		hints += h.Text + " → " + h.Next + "\n"
	}
	for _, want := range []string{"task-0 was rejected 2 times → liza show task-0", "nothing came of disc-1 (high)", "1 run of agents failed", "2 runs told nothing of what it cost"} {
		if !strings.Contains(hints, want) {
			t.Errorf("nothing says %q in\n%s", want, hints)
		}
	}
	if !strings.HasPrefix(hints, "paused since") {
		t.Errorf("what waits for a person does not come first:\n%s", hints)
	}
}

func TestReportsInEveryFormatSayTheSameAndEscapeEverything(t *testing.T) {
	t.Parallel()
	s := busy()
	evil := "<script>alert(1)</script> | `x` [a](http://b) \x1b[31m"
	s.Goal.Description, s.TaskAt(0).Title = evil, evil
	s.TaskAt(8).RescopeReason = evil
	s.Anomalies = []*blackboard.Anomaly{{ID: "anom-1", Timestamp: ago(1), Type: "trade_off", Reporter: evil, Details: blackboard.Settings{"what": evil}}}
	s.TaskAt(0).Review = &blackboard.Review{Findings: []*blackboard.Finding{{Check: "lint_passes", File: "a.go", Line: 1, Message: evil}}}
	r := reportOf(s, finished("task-0"))
	for _, table := range r.Tables() {
		for _, row := range table.Rows {
			if len(row) != len(table.Heads) {
				t.Errorf("%s: the row %q has other columns than its heads %q", table.Title, row, table.Heads)
			}
		}
	}
	if len(r.Annotations) == 0 {
		t.Error("what the review has found is missing")
	}
	md := r.Markdown()
	if strings.Contains(md, "<script") || regexp.MustCompile(`[^\\]\]\(`).MatchString(md) || strings.Contains(md, "\x1b") {
		t.Errorf("the page of Markdown lets through what was written:\n%s", md)
	}
	columns := regexp.MustCompile(`(^|[^\\])\|`)
	for line := range strings.Lines(md) {
		if strings.HasPrefix(line, "| `task-0` | ") && len(columns.FindAllString(line, -1)) != 5 {
			t.Errorf("a row has other columns than the table: %s", line)
		}
	}
	if !strings.Contains(md, "\n| `task-0` | Greet | `77aa01b` | by coder-1 · 19m of work · 11m of review · sent back twice · ≥ $0.30 ? |\n") {
		t.Errorf("the page of Markdown lacks something:\n%s", md)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Metrics map[string]*int
		Tasks   []map[string]any
	}
	if err := json.Unmarshal(data, &back); err != nil || len(back.Tasks) != 11 || *back.Metrics["run_failed_count"] != 1 || back.Metrics["task_outcome_approval_rate_percent"] != nil {
		t.Errorf("%v: %+v", err, back)
	}
}

func TestAnEmptyBoardHasAReport(t *testing.T) {
	t.Parallel()
	for _, s := range []*blackboard.State{nil, {}, {Sprint: &blackboard.Sprint{}}} {
		r := BuildReport(s, ReportFacts{Input: Input{Now: now}})
		if md := r.Markdown(); !strings.Contains(md, "**No tasks yet.**") {
			t.Errorf("it says\n%s", md)
		}
	}
}

func TestCostsThatNobodyKnowsAreNotZero(t *testing.T) {
	t.Parallel()
	m := MetricsOf(&blackboard.State{Usage: cents(0, 2, 2)}, nil, nil, now)
	if _, known := m.Get("cost_cents"); known {
		t.Error("the cost is known")
	}
}

func storyReport(link func(string) string) Report {
	s, runs := story()
	return BuildReport(s, ReportFacts{Input: Input{Now: now}, Tasks: s.TaskList(), Runs: runs, Link: link})
}

// A report is for somebody who knows neither Liza nor its file.
func TestAReportSpeaksInWords(t *testing.T) {
	t.Parallel()
	r := storyReport(func(commit string) string { return "https://github.com/ada/greet/commit/" + commit })
	golden(t, "report.md", r.Markdown())
	if r.Headline != "5 of 8 tasks are delivered after 2h 8m, for $3.63. 3 tasks are open, and 1 thing waits for a person." {
		t.Errorf("headline: %s", r.Headline)
	}
	md := r.Markdown()
	if m := regexp.MustCompile(`\b[A-Z]{3,}_?[A-Z_]*\b`).FindString(strings.NewReplacer("README", "", "READ…", "", "TEXT", "", "UTC", "", "graph TD", "").Replace(md)); m != "" {
		t.Errorf("it says %s", m)
	}
	if m := regexp.MustCompile(`\b(?:review_|task_|_count|_percent|cost_cents|unknown_|code_reviewer)\w*`).FindString(md); m != "" {
		t.Errorf("it has the key %s", m)
	}
	if n := strings.Count(md, "](https://github.com/ada/greet/commit/"); n != 5 {
		t.Errorf("it has %d links, want one for each delivered commit", n)
	}
}

// Whatever addresses a forge or a remote has, no link leads elsewhere.
func TestLinksLeadToKnownForgesOnly(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"git@github.com:ada/greet.git": "https://github.com/ada/greet/commit/", "https://user:secret@github.com/ada/greet": "https://github.com/ada/greet/commit/",
		"ssh://git@gitlab.com:22/group/sub/greet.git": "https://gitlab.com/group/sub/greet/-/commit/", "https://GitHub.com/ada/greet.git/": "https://github.com/ada/greet/commit/",
		"git@bitbucket.org:ada/greet.git": "https://bitbucket.org/ada/greet/commits/", "git@git.sr.ht:~ada/greet": "https://git.sr.ht/~ada/greet/commit/",
		"https://example.org/ada/greet": "", "/srv/git/greet.git": "", "../greet": "", "": "", "javascript:alert(1)": "", "https://github.com.evil.example/a/b": "", "https://github.com/": "",
		"https://github.com/a/b\"><script>": "https://github.com/a/b%22%3E%3Cscript%3E/commit/", "::": "", "https://[": "",
	} {
		if got := CommitPages(remote); got != want {
			t.Errorf("%s: %q, want %q", remote, got, want)
		}
	}
}

func TestAReportHasAnUnfinishedRunAndAStrangeTime(t *testing.T) {
	t.Parallel()
	s, runs := story()
	s.Sprint.Timeline.Started = "soon"
	s.Agents["coder-2"].Child = &blackboard.Child{Task: "<b>", Started: "later"}
	runs[0].At = "2026-01-19T14:00:00Z"
	r := BuildReport(s, ReportFacts{Input: Input{Now: now}, Tasks: s.TaskList(), Runs: runs})
	if md := r.Markdown(); strings.Contains(md, "NaN") || strings.Contains(md, "<b>") {
		t.Errorf("it says\n%s", md)
	}
}
