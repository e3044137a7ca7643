package blackboard

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 19, 12, 0, 0, 0, time.UTC)

func seconds(n int) Time { return TimeOf(noon.Add(time.Duration(n) * time.Second)) }

// Only what is proven is dead, and only a lease that is over by the grace is expired; everything else gives nothing away.
func TestWhetherARegistrationLives(t *testing.T) {
	t.Parallel()
	running := func(pid int, start int64) (bool, bool) { return pid == 1 && start == 1, pid != 3 }
	here := ProcessFacts{Host: "h", BootID: "b", Running: running}
	jumped := here
	jumped.ClockJumped = true
	entry := func(pid int, start int64, host, boot string, lease, beat Time) *Agent {
		return &Agent{Host: host, BootID: boot, PID: pid, PIDStart: start, LeaseExpires: lease, Heartbeat: beat}
	}
	for _, c := range []struct {
		name  string
		entry *Agent
		facts ProcessFacts
		want  Liveness
		why   string
	}{
		{"nobody", nil, here, Unknown, "coder-1 is not registered"},
		{"a process that runs, with a lease", entry(1, 1, "h", "b", seconds(60), seconds(0)), here, Alive, "the lease holds until 2026-01-19T12:01:00Z"},
		{"a process that has ended", entry(2, 1, "h", "b", seconds(60), seconds(0)), here, Dead, "process 2 is gone"},
		{"another process with its pid", entry(1, 2, "h", "b", seconds(60), seconds(0)), here, Dead, "process 1 is gone"},
		{"a process of which nothing is known", entry(3, 1, "h", "b", seconds(60), seconds(0)), here, Alive, "the lease holds"},
		{"a machine that was started again", entry(1, 1, "h", "a", seconds(60), seconds(0)), here, Dead, "h was restarted since"},
		{"an entry without a boot", entry(2, 1, "h", "", seconds(60), seconds(0)), here, Alive, "the lease holds"},
		{"another host: the lease alone decides", entry(2, 1, "x", "b", seconds(60), seconds(0)), here, Alive, "the lease holds"},
		{"a registration by hand", entry(0, 0, "h", "b", seconds(60), seconds(0)), here, Alive, "the lease holds"},
		{"nobody can look at processes", entry(2, 1, "h", "b", seconds(60), seconds(0)), ProcessFacts{Host: "h", BootID: "b"}, Alive, "the lease holds"},
		{"the lease ends now", entry(1, 1, "h", "b", seconds(0), seconds(-60)), here, Alive, "the lease holds"},
		{"within the grace", entry(1, 1, "h", "b", seconds(-60), seconds(-60)), here, Alive, "the lease holds"},
		{"a second after the grace", entry(1, 1, "h", "b", seconds(-61), seconds(-60)), here, Expired, "the lease expired at 2026-01-19T11:58:59Z"},
		{"the clock jumped", entry(1, 1, "h", "b", seconds(-3600), seconds(-3600)), jumped, Unknown, "the clock of this machine jumped"},
		{"no lease", entry(1, 1, "h", "b", "", seconds(0)), here, Unknown, "there is no lease"},
		{"a lease that is null", entry(1, 1, "h", "b", "null", seconds(0)), here, Unknown, "there is no lease"},
		{"a lease that is not a time", entry(2, 1, "h", "b", "soon", seconds(0)), here, Unknown, "the lease 'soon' is not a time"},
		{"a lease far in the future", entry(1, 1, "h", "b", seconds(86400), seconds(0)), here, Unknown, "is too far in the future"},
		{"a lease far in the future of a process that has ended", entry(2, 1, "h", "b", seconds(86400), seconds(0)), here, Dead, "process 2 is gone"},
		{"the clock jumped, and the process has ended", entry(2, 1, "h", "b", seconds(60), seconds(0)), ProcessFacts{Host: "h", BootID: "b", Running: here.Running, ClockJumped: true}, Dead, "process 2 is gone"},
		{"a heartbeat far in the future", entry(1, 1, "h", "b", seconds(60), seconds(86400)), here, Unknown, "is in the future"},
	} {
		s := &State{Agents: map[string]*Agent{}, Defaults: Settings{"lease_duration": 1800}}
		if c.entry != nil {
			s.Agents["coder-1"] = c.entry
		}
		got, why := s.Liveness("coder-1", noon, c.facts)
		if got != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %s, because %s; want %s, because %s", c.name, got, why, c.want, c.why)
		}
	}
}

// A claim belongs to the registration that made it: a later one of the same name says nothing of it.
func TestAClaimLivesAsItsOwnRegistration(t *testing.T) {
	t.Parallel()
	dead := ProcessFacts{Host: "h", BootID: "b", Running: func(int, int64) (bool, bool) { return false, true }}
	s := &State{Agents: map[string]*Agent{"coder-1": {Generation: "g-2", Host: "h", BootID: "b", PID: 7, LeaseExpires: seconds(60)}}, Defaults: Settings{"lease_duration": 1800}}
	for _, c := range []struct {
		holder, generation string
		lease              Time
		want               Liveness
	}{
		{"coder-1", "g-2", seconds(60), Dead},
		{"coder-1", "", seconds(60), Dead}, // a claim of Liza v1 names none
		{"coder-1", "g-1", seconds(60), Alive},
		{"coder-1", "g-1", seconds(-61), Expired},
		{"coder-2", "g-1", seconds(60), Alive},
		{"coder-2", "g-1", "", Unknown},
	} {
		claim := &Task{AssignedTo: c.holder, ClaimGeneration: c.generation, LeaseExpires: c.lease}
		review := &Task{ReviewingBy: c.holder, ReviewingGeneration: c.generation, ReviewLeaseExpires: c.lease}
		live, why := s.ClaimLiveness(claim, noon, dead)
		reviewed, _ := s.ReviewLiveness(review, noon, dead)
		if live != c.want || reviewed != c.want {
			t.Errorf("a claim of %s in %q until %q: %s, a review: %s (%s); want %s", c.holder, c.generation, c.lease, live, reviewed, why, c.want)
		}
	}
}

// How many approvals are missing, for each mixture of reviewers, people and programs.
func TestHowManyApprovalsAreMissing(t *testing.T) {
	t.Parallel()
	by := func(list ...string) (given []*Approval) {
		for _, x := range list {
			reviewer, program, _ := strings.Cut(x, "/")
			given = append(given, &Approval{Reviewer: reviewer, Program: strings.TrimPrefix(program, "person"), Person: program == "person"})
		}
		return given
	}
	for _, c := range []struct {
		reviewers int
		different bool
		given     []*Approval
		want      int
	}{
		{2, false, nil, 2}, {2, false, by("r1/claude"), 1}, {2, false, by("r1/claude", "r2/claude"), 0}, {2, false, by("r1/claude", "r1/claude"), 1}, {2, false, by("r1/claude", "r2/claude", "r3/codex"), 0},
		{2, true, by("r1/claude", "r2/claude"), 1}, {2, true, by("r1/claude", "r2/codex"), 0}, {2, true, by("r1/claude", "ada/person"), 0}, {2, true, by("ada/person", "bob/person"), 0},
		{2, true, by("r1/", "r2/"), 1}, {2, true, by("r1/", "r2/claude"), 1}, {3, true, by("r1/claude", "r2/codex", "ada/person"), 0}, {3, true, by("r1/claude", "r2/", "ada/person"), 1},
	} {
		q := &Quorum{Reviewers: c.reviewers, Programs: "any"}
		if c.different {
			q.Programs = ProgramsDifferent
		}
		if got := q.Missing(c.given); got != c.want {
			t.Errorf("%d reviewers, different programs %t, given %d: %d are missing, want %d", c.reviewers, c.different, len(c.given), got, c.want)
		}
	}
	if got := (*Quorum)(nil).Missing(nil); got != 0 {
		t.Errorf("a change that one reviewer is enough for misses %d", got)
	}
}

// Of several rules the strictest part of each holds; a rule for one reviewer asks for nothing.
func TestTheStrictestRuleOfAChangeHolds(t *testing.T) {
	t.Parallel()
	match := func(glob, file string) bool { return strings.HasPrefix(file, strings.TrimSuffix(glob, "**")) }
	rules := []QuorumRule{{Paths: []string{"auth/**", "keys/**"}, Reviewers: 2, Programs: ProgramsDifferent}, {Paths: []string{"auth/**"}, Reviewers: 3, Programs: "any"}, {Paths: []string{"docs/**"}, Reviewers: 1}}
	for files, want := range map[string]string{
		"":                      "",
		"docs/a.md":             "",
		"main.go":               "",
		"keys/a.go":             "2 reviewers with different programs (keys/**)",
		"auth/a.go":             "3 reviewers with different programs (auth/**)",
		"auth/a.go keys/b.go":   "3 reviewers with different programs (auth/**, keys/**)",
		"auth/a.go auth/b.go x": "3 reviewers with different programs (auth/**)",
	} {
		got := ""
		if q := QuorumFor(rules, strings.Fields(files), match); q != nil {
			got = q.Describe()
		}
		if got != want {
			t.Errorf("a change of %q needs %q, want %q", files, got, want)
		}
	}
}

// Only approvals of the commit under review count, and a person is told who could still give one.
func TestWhoHasApprovedAndWhoCould(t *testing.T) {
	t.Parallel()
	task := func(given ...*Approval) *Task {
		return &Task{ID: "a", Status: ReadyForReview, ReviewCommit: "c2", AssignedTo: "coder-1", Quorum: &Quorum{Reviewers: 2, Programs: ProgramsDifferent}, Approvals: given}
	}
	now := &Approval{Reviewer: "code-reviewer-1", Program: "claude", Commit: "c2"}
	before := &Approval{Reviewer: "code-reviewer-2", Program: "codex", Commit: "c1"}
	for _, c := range []struct {
		name    string
		task    *Task
		team    map[string]string // reviewers and their programs
		text    string
		nobody  string
		missing int
	}{
		{"nobody yet", task(before), nil, "approved by nobody yet; 2 more: it needs 2 reviewers with different programs", "", 2},
		{"one, and another program is there", task(before, now), map[string]string{"code-reviewer-1": "claude", "code-reviewer-2": "codex"},
			"approved by code-reviewer-1 (claude); 1 more: it needs 2 reviewers with different programs, so another one than claude", "", 1},
		{"one, and all run its program", task(now), map[string]string{"code-reviewer-1": "claude", "code-reviewer-2": "claude"}, "approved by code-reviewer-1 (claude); 1 more", "every other reviewer runs claude", 1},
		{"one, and nobody else", task(now), map[string]string{"code-reviewer-1": "claude"}, "approved by code-reviewer-1 (claude); 1 more", "there is no other reviewer", 1},
		{"one, and a reviewer whose program is not known", task(now), map[string]string{"code-reviewer-2": ""}, "approved by code-reviewer-1 (claude); 1 more", "", 1},
		{"with a person", task(now, &Approval{Reviewer: "ada", Person: true, Commit: "c2"}), nil, "approved by code-reviewer-1 (claude), ada (a person)", "", 0},
		{"one reviewer is enough", &Task{Status: ReadyForReview}, nil, "", "", 0},
	} {
		s := &State{Agents: map[string]*Agent{}}
		for id, program := range c.team {
			s.Agents[id] = &Agent{Role: RoleReviewer, CLI: program}
		}
		if got := c.task.ApprovalsText(); !strings.HasPrefix(got, c.text) || c.text == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.text)
		}
		if got := s.NobodyLeft(c.task); got != c.nobody {
			t.Errorf("%s: nobody is left because %q, want %q", c.name, got, c.nobody)
		}
		if got := c.task.MissingApprovals(); got != c.missing {
			t.Errorf("%s: %d approvals are missing, want %d", c.name, got, c.missing)
		}
	}
	if x := task(now); x.HasApprovalBy("code-reviewer-2") || !x.HasApprovalBy("code-reviewer-1") || !x.ApprovedNow("code-reviewer-1") {
		t.Error("an approval of an earlier commit counts, or one of this commit does not")
	}
}

// sealer stands for a key: a seal is its fields, so that the test sees what a seal covers.
type sealer string

func (s sealer) Name() string                           { return string(s) }
func (s sealer) Sign(fields ...string) string           { return string(s) + fmt.Sprintf("%q", fields) }
func (s sealer) Fits(mac string, fields ...string) bool { return mac == s.Sign(fields...) }

// A seal covers everything that an approval says: each change that no verb made is seen.
func TestASealCoversWhatAnApprovalSays(t *testing.T) {
	t.Parallel()
	key := sealer("key-1")
	approved := func() *Task {
		x := &Task{ID: "a", Status: Approved, ApprovedBy: "code-reviewer-1", ApprovedCommit: "c1", ReviewCommit: "c1", MergeApproval: &MergeApproval{Required: true}, MergeIntent: &MergeIntent{Commit: "m1"},
			Approvals: []*Approval{{Reviewer: "code-reviewer-1", Program: "claude", Commit: "c1", Tree: "t1", At: seconds(0)}}}
		x.sign(key, "approved", "g-1", "t1", seconds(0))
		return x
	}
	if why := approved().SealFits(key); why != "" {
		t.Fatalf("a seal that was just made: %s", why)
	}
	for what, forge := range map[string]func(*Task){
		"id": func(t *Task) { t.ID = "b" }, "status": func(t *Task) { t.Status = Merged }, "kind": func(t *Task) { t.Kind = ExecTask }, "approved_by": func(t *Task) { t.ApprovedBy = "ada" },
		"approved_commit": func(t *Task) { t.ApprovedCommit = "c2" }, "review_commit": func(t *Task) { t.ReviewCommit = "c2" }, "required": func(t *Task) { t.MergeApproval.Required = false },
		"decision": func(t *Task) { t.MergeApproval.Decision = GateApproved }, "decided by": func(t *Task) { t.MergeApproval.By = "ada" }, "merge_approval": func(t *Task) { t.MergeApproval = nil },
		"intent": func(t *Task) { t.MergeIntent = nil }, "merge_commit": func(t *Task) { t.MergeCommit = "m2" }, "verdict": func(t *Task) { t.Seal.Verdict = SealHistory }, "generation": func(t *Task) { t.Seal.Generation = "g-2" },
		"tree": func(t *Task) { t.Seal.Tree = "t2" }, "time": func(t *Task) { t.Seal.At = seconds(1) }, "an approval less": func(t *Task) { t.Approvals = nil }, "an approval's program": func(t *Task) { t.Approvals[0].Program = "codex" },
		"an approval's tree": func(t *Task) { t.Approvals[0].Tree = "t2" }, "a person": func(t *Task) { t.Approvals[0].Person = true },
	} {
		x := approved()
		if forge(x); x.SealFits(key) != "its seal does not fit what the board says" {
			t.Errorf("a forged %s: %q, want that the seal does not fit", what, x.SealFits(key))
		}
	}
	x := approved()
	if why := x.SealFits(sealer("key-2")); why != "its seal was made with another key, key-1" {
		t.Errorf("with another key: %q", why)
	}
	if x.Seal = nil; x.SealFits(key) != "there is no seal" || x.SealFits(nil) != "" {
		t.Errorf("without a seal: %q, without a key: %q", x.SealFits(key), x.SealFits(nil))
	}
	for _, st := range Statuses {
		if got := st.NeedsSeal(); got != (st == Approved || st == Merged) {
			t.Errorf("%s needs a seal: %t", st, got)
		}
	}
}

// A verb's write seals what the verb made; what was there unsealed before stays so, unless a person answers for all of it.
func TestWhatAWriteSeals(t *testing.T) {
	t.Parallel()
	key := sealer("key-1")
	tree := func(commit string) (string, error) { return "tree of " + commit, nil }
	approved := func(id string) *Task {
		return &Task{ID: id, Status: Approved, ApprovedBy: "r", ApprovedCommit: "c", ReviewCommit: "c"}
	}
	before := (&State{}).With(&Task{ID: "a", Status: ReadyForReview, ReviewCommit: "c", ReviewingGeneration: "g-7"}, approved("forged"), &Task{ID: "back", Status: Approved, Seal: &Seal{MAC: "x"}})
	change := func() *State {
		s := before.Fork()
		x := s.Task("a")
		x.Status, x.ApprovedBy, x.ApprovedCommit = Approved, "r", "c"
		s.Task("back").Status = Unclaimed
		return s
	}
	s := change()
	adopted, err := s.SealApprovals(before, key, false, tree, seconds(0))
	if err != nil || len(adopted) != 0 {
		t.Fatalf("a verb's write adopted %v, %v", adopted, err)
	}
	if x := s.Find("a"); x.SealFits(key) != "" || x.Seal.Verdict != "approved" || x.Seal.Generation != "g-7" || x.Seal.Tree != "tree of c" {
		t.Errorf("the approval of the verb has the seal %+v", x.Seal)
	}
	if s.Find("forged").Seal != nil || s.Find("back").Seal != nil {
		t.Errorf("seals: of a forged approval %+v, of a task that went back %+v; want none", s.Find("forged").Seal, s.Find("back").Seal)
	}
	s = change()
	if adopted, err = s.SealApprovals(before, key, true, tree, seconds(0)); err != nil || strings.Join(adopted, " ") != "forged" || s.Find("forged").SealFits(key) != "" {
		t.Errorf("a person's answer adopted %v, %v; want the one that no verb made", adopted, err)
	}
	broken := func(string) (string, error) { return "", fmt.Errorf("the commit is gone") }
	if _, err := change().SealApprovals(before, key, false, broken, seconds(0)); err == nil || err.Error() != "cannot seal the approval of a: the commit is gone" {
		t.Errorf("a commit that is gone: %v", err)
	}
}
