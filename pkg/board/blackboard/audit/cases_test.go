package audit

import (
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func rulesOf(violations []blackboard.Violation) []string {
	var rules []string
	for _, v := range violations {
		rules = append(rules, v.Rule)
	}
	return rules
}

func errorsOf(violations []blackboard.Violation) []blackboard.Violation {
	return slices.DeleteFunc(violations, func(v blackboard.Violation) bool { return v.Severity != blackboard.SeverityError })
}

func TestEveryDependencyOnACycleIsNamedAndEachCycleOnce(t *testing.T) {
	t.Parallel()
	s := validState()
	justOne(s)
	var tasks []*blackboard.Task
	for id, deps := range map[string]blackboard.List{"a": {"b", "c"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d", "x"}, "x": {"y"}, "y": nil, "z": {"a", "d"}} {
		draft := validTask(id)
		draft.DependsOn = deps
		tasks = append(tasks, draft)
	}
	slices.SortFunc(tasks, func(a, b *blackboard.Task) int { return strings.Compare(a.ID, b.ID) })
	s.SetTasks(tasks, nil)
	var got []string
	for _, v := range Validate(s, nil, Evidence{}) {
		got = append(got, v.Message)
	}
	want := []string{"dependency cycle: a → b → c → a", "dependency cycle: a → c → a", "dependency cycle: d → e → d"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestATaskThatACrashLeftInStateAndArchiveIsNoViolation(t *testing.T) {
	t.Parallel()
	f := validFacts()
	f.Archive = taskArchive{"merged": blackboard.Merged}
	if got := Validate(validState(), nil, f); len(got) != 0 {
		t.Errorf("got\n%s", lines(got))
	}
	f.Archive = taskArchive{"merged": blackboard.Abandoned}
	if got := rulesOf(Validate(validState(), nil, f)); !slices.Equal(got, []string{"V05"}) {
		t.Errorf("with another end in the archive: %v, want V05", got)
	}
}

func TestIterationMayFallOnlyAfterAnUnblock(t *testing.T) {
	t.Parallel()
	claimBy := func(agent string) *blackboard.HistoryEntry {
		return &blackboard.HistoryEntry{Time: ago(1), Event: "claimed", Agent: agent}
	}
	for name, c := range map[string]struct {
		entry *blackboard.HistoryEntry
		fine  bool
	}{
		"no event":          {},
		"claim by the same": {entry: claimBy("coder-1")},
		"claim by another":  {entry: claimBy("coder-2")},
		"unblocked":         {entry: event(1, "unblocked", "human"), fine: true},
		"released":          {entry: &blackboard.HistoryEntry{Time: ago(1), Event: "released", What: "claim"}},
	} {
		s, prev := validState(), validState()
		prev.Task("rejected").Iteration = 3
		task := s.Task("rejected")
		if c.entry != nil {
			task.History = append(task.History, c.entry)
		}
		found := slices.Contains(rulesOf(Validate(s, prev, Evidence{Write: true})), "V65")
		if found == c.fine {
			t.Errorf("%s: V65 reported is %v", name, found)
		}
	}
}

func TestHistoryEntriesAreComparedByWhatTheySay(t *testing.T) {
	t.Parallel()
	s, prev := validState(), validState()
	s.Task("claimed").History[2].Files = blackboard.List{}
	s.Task("claimed").History[2].Extra = map[string]any{}
	s.Task("claimed").History[3].Checkpoint.Risks = blackboard.List{}
	s.Task("claimed").History = append(s.Task("claimed").History, event(0, "held", "human"))
	if got := Validate(s, prev, validFacts()); len(got) != 0 {
		t.Errorf("empty instead of absent, and a new entry:\n%s", lines(got))
	}
	s.Task("claimed").History[3].Checkpoint.Intent = "another"
	if got := rulesOf(Validate(s, prev, validFacts())); !slices.Equal(got, []string{"V54"}) {
		t.Errorf("a changed intent: %v, want V54", got)
	}
}

func TestHistorySynonymsAndSilentEntriesLeadToTheRightStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id    string
		entry *blackboard.HistoryEntry
		fine  bool
	}{
		"a released review leaves the status":   {"reviewed", &blackboard.HistoryEntry{Event: "released", What: "review"}, true},
		"a released claim does not":             {"claimed", &blackboard.HistoryEntry{Event: "released", What: "claim"}, false},
		"a released claim of a fix":             {"failed", &blackboard.HistoryEntry{Event: "released", What: "claim"}, true},
		"submitted_for_review":                  {"reviewed", &blackboard.HistoryEntry{Event: "submitted_for_review"}, true},
		"an unknown name is ignored":            {"claimed", &blackboard.HistoryEntry{Event: "pondered"}, true},
		"ready_for_review on a task in CLAIMED": {"claimed", &blackboard.HistoryEntry{Event: "ready_for_review"}, false},
	} {
		s := validState()
		s.Task(c.id).History = append(s.Task(c.id).History, c.entry)
		found := slices.Contains(rulesOf(Validate(s, nil, Evidence{})), "V55")
		if found == c.fine {
			t.Errorf("%s: V55 reported is %v", name, found)
		}
	}
}

func TestAClaimOfAnEarlierRegistrationSaysNothingAboutThePresentOne(t *testing.T) {
	t.Parallel()
	s := validState()
	s.Agents["code-reviewer-1"].Generation = "g-new"
	s.Agents["code-reviewer-1"].CurrentTask = "fixing"
	if got := Validate(s, nil, validFacts()); len(got) != 0 {
		t.Errorf("got\n%s", lines(got))
	}
}

func TestWritersDoNotSearchTasksTheyLeaveAloneForSecrets(t *testing.T) {
	t.Parallel()
	s, prev := validState(), validState()
	s.Task("claimed").Scope, prev.Task("claimed").Scope = "hunter2", "hunter2"
	f := Evidence{Now: validNow, Write: true, Secrets: findsHunter2}
	if got := Validate(s, prev, f); len(got) != 0 {
		t.Errorf("an old secret in an untouched task:\n%s", lines(got))
	}
	s.Task("claimed").Priority = nil
	if got := rulesOf(Validate(s, prev, f)); !slices.Equal(got, []string{"V62"}) {
		t.Errorf("when the task is written: %v, want V62", got)
	}
}

func TestSpecFilesAreNotLookedForWhenSwitchedOff(t *testing.T) {
	t.Parallel()
	f := validFacts()
	f.SpecExists = func(string) bool { return false }
	f.SkipSpecFiles = true
	if got := Validate(validState(), nil, f); len(got) != 0 {
		t.Errorf("got\n%s", lines(got))
	}
}

func TestAFolderIsNotLookedForOutsideOfTheWorktrees(t *testing.T) {
	t.Parallel()
	s, f := validState(), validFacts()
	s.Task("claimed").Worktree = "../../etc"
	f.WorktreeExists = func(path string) bool {
		if !strings.HasPrefix(path, ".worktrees/") {
			t.Errorf("asked for %s", path)
		}
		return true
	}
	Validate(s, nil, f)
	Repair(s, f)
}

// Who takes a task over removes its folder before making a new one, and may be killed there.
func TestAFolderIsNotMissedWhileATaskChangesHands(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*blackboard.State, *Evidence){
		"somebody prepares it": func(s *blackboard.State, _ *Evidence) {
			s.Task("claimed").Claiming = &blackboard.Claiming{By: "coder-2", Generation: "g-00000002", At: ago(1), Expires: ahead(1), BaseCommit: commitBase}
		},
		"the holder's process is gone": func(_ *blackboard.State, f *Evidence) {
			f.Processes.Running = func(int, int64) (bool, bool) { return false, true }
		},
		"the holder registered again": func(s *blackboard.State, _ *Evidence) { s.Agents["coder-1"].Generation = "g-00000009" },
	} {
		s, f := validState(), validFacts()
		f.WorktreeExists = func(path string) bool { return path != ".worktrees/claimed" }
		if got := lines(Validate(s, nil, f)); !strings.Contains(got, "V12") {
			t.Errorf("%s: without that the folder is not missed either:\n%s", name, got)
		}
		change(s, &f)
		if got := lines(Validate(s, nil, f)); strings.Contains(got, "V12") {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

func TestBranchNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"integration", "liza/main", "a.b", "x-y", "feature/a_b", "ä"} {
		if !branchName(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"", "@", "HEAD", "-x", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", `a\b`, "a@{1}",
		"/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "a\tb", "a\x7f"} {
		if branchName(name) {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"assigned_to", "max_coder_iterations", "CLAIMED", "UNCLAIMED", "task-1", "task-10"}
	for word, want := range map[string]string{
		"assignee": "assigned_to", "max_coder_iteration": "max_coder_iterations", "claimed": "CLAIMED", "Max-Coder Iterations": "max_coder_iterations",
		"task-1": "task-1", "task1": "task-1", "entirely different": "", "": "",
	} {
		if got := blackboard.Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	if got := blackboard.Nearest("x", nil); got != "" {
		t.Errorf("Nearest among none is %q", got)
	}
}

func TestAViolationIsOneLineForPeople(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]blackboard.Violation{
		"line 12: V08 task t: CLAIMED without assigned_to": {Rule: "V08", Severity: blackboard.SeverityError, Line: 12, Message: "task t: CLAIMED without assigned_to"},
		"V48 warning: config: unknown key 'x'":             {Rule: "V48", Severity: blackboard.SeverityWarning, Message: "config: unknown key 'x'"},
	} {
		if got := v.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRepairDoesWhatIsSafeAndSaysSo(t *testing.T) {
	t.Parallel()
	s, f := validState(), validFacts()
	s.Task("merged").Worktree = ".worktrees/merged"
	s.Task("merged").MergeIntent = &blackboard.MergeIntent{Commit: commitMerge}
	s.Task("blocked").FailedBy = blackboard.List{"coder-1", "coder-2", "coder-1"}
	s.Task("claimed").BaseCommit = "6f0c0a5"
	s.Agents["coder-2"].CurrentTask, s.Agents["coder-2"].Status, s.Agents["coder-2"].LeaseExpires = "gone", blackboard.AgentWorking, ago(5)
	f.WorktreeExists = func(path string) bool { return path != ".worktrees/merged" }
	f.ResolveCommit = func(short string) (string, bool) { return commitBase, strings.HasPrefix(commitBase, short) }
	done := Repair(s, f)
	if len(done) != 5 {
		t.Errorf("%d repairs, want 5: %q", len(done), done)
	}
	if got := Validate(s, nil, f); len(got) != 0 {
		t.Errorf("left:\n%s", lines(got))
	}
	if again := Repair(s, f); len(again) != 0 {
		t.Errorf("a second time: %q", again)
	}
}

func TestRepairLeavesAloneWhatIsNotProven(t *testing.T) {
	t.Parallel()
	s, f := validState(), validFacts()
	s.Task("merged").Worktree = ".worktrees/merged"                               // the folder is there
	s.Task("rejected").MergeIntent = &blackboard.MergeIntent{Commit: commitMerge} // integration may have moved
	s.Task("claimed").BaseCommit, s.Task("reviewed").BaseCommit = "6f0c0a5", "6"  // unknown; too short
	s.Agents["coder-1"].CurrentTask = "gone"                                      // alive
	s.Agents["coder-2"].CurrentTask, s.Agents["coder-2"].LeaseExpires = "gone", "soon"
	f.ResolveCommit = func(string) (string, bool) { return "", false }
	if done := Repair(s, f); len(done) != 0 {
		t.Errorf("repaired: %q", done)
	}
	if done := Repair(s, Evidence{}); len(done) != 0 {
		t.Errorf("repaired without facts: %q", done)
	}
}

// The logging duties of the three roles: who has to record something may do so.
func TestEachRoleMayRecordWhatItHasTo(t *testing.T) {
	t.Parallel()
	duties := map[string][]blackboard.AnomalyKind{
		"planner-1":       {"hypothesis_exhaustion", "spec_gap", "system_ambiguity"},
		"coder-1":         {"retry_loop", "trade_off", "spec_ambiguity", "external_blocker", "assumption_violated", "system_ambiguity"},
		"code-reviewer-1": {"retry_loop", "scope_deviation", "workaround", "debt_created", "assumption_violated", "spec_changed", "system_ambiguity"},
	}
	others := map[string][]blackboard.AnomalyKind{"planner-1": {"trade_off", "scope_deviation"}, "coder-1": {"spec_gap", "scope_deviation", "spec_changed"}, "code-reviewer-1": {"spec_gap", "trade_off"}}
	for reporter, names := range duties {
		for _, name := range names {
			if kind, ok := blackboard.AnomalyTypeOf(name); !ok || !kind.MayReport(reporter) {
				t.Errorf("%s may not record %s (a known type: %v)", reporter, name, ok)
			}
		}
		for _, name := range others[reporter] {
			if kind, _ := blackboard.AnomalyTypeOf(name); kind.MayReport(reporter) {
				t.Errorf("%s may record %s, which is for others", reporter, name)
			}
		}
	}
}

func TestAnomalyTypesKnowTheirReportersAndDetails(t *testing.T) {
	t.Parallel()
	if len(blackboard.AnomalyTypes) != 26 {
		t.Errorf("%d types, want 26", len(blackboard.AnomalyTypes))
	}
	for _, c := range []struct {
		name, reporter string
		may            bool
	}{
		{"retry_loop", "coder-1", true}, {"retry_loop", "code-reviewer-2", true}, {"retry_loop", "planner-1", false},
		{"spec_gap", "planner-1", true}, {"spec_gap", "human", true}, {"spec_gap", "system", false},
		{"late_work", "system", true}, {"late_work", "coder-1", false}, {"system_ambiguity", "coder-9", true}, {"x-own", "anybody", true},
	} {
		kind, ok := blackboard.AnomalyTypeOf(blackboard.AnomalyKind(c.name))
		if !ok || kind.MayReport(c.reporter) != c.may {
			t.Errorf("%s by %s: known %v, may %v", c.name, c.reporter, ok, kind.MayReport(c.reporter))
		}
	}
	for _, name := range []string{"", "x-", "retry"} {
		if _, ok := blackboard.AnomalyTypeOf(blackboard.AnomalyKind(name)); ok {
			t.Errorf("type %q is known", name)
		}
	}
	kind, _ := blackboard.AnomalyTypeOf("trade_off")
	if got := kind.Missing(blackboard.Settings{"what": "x", "why": " ", "debt_created": []any{}}); !slices.Equal(got, []string{"why", "debt_created"}) {
		t.Errorf("missing are %v", got)
	}
	if got := kind.Missing(blackboard.Settings{"what": "x", "why": 0, "debt_created": false}); len(got) != 0 {
		t.Errorf("missing are %v", got)
	}
}

func TestATaskThatNobodyCanClaimIsNeverValid(t *testing.T) {
	t.Parallel()
	s := validState()
	task := s.Task("unclaimed")
	task.ClaimSeq, task.DoneWhen, task.Scope = 0, task.Description, ""
	told := ""
	for _, v := range Validate(s, nil, validFacts()) {
		told += v.String()
		if v.Severity != blackboard.SeverityError || v.OnWrite {
			t.Errorf("%s is an %s, on write: %v", v, v.Severity, v.OnWrite)
		}
	}
	if !strings.Contains(told, "done_when repeats") || !strings.Contains(told, "missing: scope") || !strings.Contains(told, "nobody can claim it") {
		t.Errorf("validate tells %q", told)
	}
}
