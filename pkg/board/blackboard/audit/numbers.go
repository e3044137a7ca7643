package audit

import "liza/pkg/board/blackboard"

// The rules V38 and V39: counters and times, wherever they are.

func checkCounters(v *validation) {
	for _, t := range v.tasks {
		v.counters(t)
	}
	for _, id := range v.agents {
		if a := v.s.Agents[id]; a.IterationsTotal < 0 {
			v.agent(id, "iterations_total", "iterations_total is %d", a.IterationsTotal)
		}
	}
}

func (v *validation) counters(t *blackboard.Task) {
	look := func(field string, n int) {
		if n < 0 {
			v.task(t, field, "%s is %d", field, n).Lenient(v.taskOfV1(t))
		}
	}
	look("claim_seq", t.ClaimSeq)
	look("iteration", t.Iteration)
	look("max_iterations", t.MaxIterations)
	look("review_cycles_current", t.ReviewCyclesCurrent)
	look("review_cycles_total", t.ReviewCyclesTotal)
	look("max_review_cycles", t.MaxReviewCycles)
	look("review_failures", t.ReviewFailures)
	look("failures", t.Failures)
	look("crashes", t.Crashes)
	look("timeout_seconds", t.TimeoutSeconds)
	if t.ReviewCyclesCurrent > t.ReviewCyclesTotal {
		v.task(t, "review_cycles_current", "review_cycles_current %d > total %d", t.ReviewCyclesCurrent, t.ReviewCyclesTotal).Lenient(v.taskOfV1(t))
	}
	if t.Status == blackboard.Claimed && t.Iteration == 0 {
		v.task(t, "iteration", "CLAIMED with iteration 0").Lenient(v.taskOfV1(t))
	}
}

// malformed reports whether a time is given that cannot be read.
func malformed(t blackboard.Time) bool {
	_, ok := t.At()
	return !ok && !t.None()
}

func checkTimes(v *validation) {
	for _, t := range v.tasks {
		v.timesOfTask(t)
	}
	for _, id := range v.agents {
		v.timesOfAgent(id, v.s.Agents[id])
	}
	v.timesOfGoal()
	v.timesOfSprint()
	v.timesOfLists()
	v.timesOfMaps()
}

func (v *validation) timesOfTask(t *blackboard.Task) {
	look := func(field string, at blackboard.Time) {
		if malformed(at) {
			v.task(t, field, "%s '%s' is not a time", field, at)
		}
	}
	look("created", t.Created)
	look("lease_expires", t.LeaseExpires)
	look("review_lease_expires", t.ReviewLeaseExpires)
	if x := t.Claiming; x != nil {
		look("claiming.at", x.At)
		look("claiming.expires", x.Expires)
	}
	if x := t.Review; x != nil {
		look("review.at", x.At)
	}
	if x := t.NoTests; x != nil {
		look("no_tests.at", x.At)
	}
	if x := t.MergeApproval; x != nil {
		look("merge_approval.at", x.At)
	}
	if x := t.MergeIntent; x != nil {
		look("merge_intent.at", x.At)
	}
	if x := t.Seal; x != nil {
		look("seal.at", x.At)
	}
	if x := t.Hold; x != nil {
		look("hold.at", x.At)
	}
	if x := t.Halt; x != nil {
		look("halt.at", x.At)
	}
	if x := t.LastOutcome; x != nil {
		look("last_outcome.at", x.At)
	}
	for i, x := range t.Approvals {
		if malformed(x.At) {
			look("approvals"+within("", i, "at"), x.At)
		}
	}
	for i, x := range t.Attempts {
		if malformed(x.Ended) {
			look("attempts"+within("", i, "ended"), x.Ended)
		}
	}
	for i, x := range t.History {
		if malformed(x.Time) {
			look("history"+within("", i, "time"), x.Time)
		}
		if malformed(x.Lease) {
			look("history"+within("", i, "lease"), x.Lease)
		}
		if x.Halt != nil && malformed(x.Halt.At) {
			look("history"+within("", i, "halt.at"), x.Halt.At)
		}
	}
}

func (v *validation) timesOfAgent(id string, a *blackboard.Agent) {
	look := func(field string, at blackboard.Time) {
		if malformed(at) {
			v.agent(id, field, "%s '%s' is not a time", field, at)
		}
	}
	look("lease_expires", a.LeaseExpires)
	look("heartbeat", a.Heartbeat)
	look("started", a.Started)
	for i, at := range a.Crashes {
		look("crashes["+position(i)+"]", at)
	}
	if a.Child != nil {
		look("child.started", a.Child.Started)
	}
	if a.ProviderWait != nil {
		look("provider_wait.until", a.ProviderWait.Until)
	}
}

// look reports a malformed time of a section; what is the field's name for people.
func (v *validation) look(section, field, what string, at blackboard.Time) {
	if malformed(at) {
		v.section(section, field, "%s '%s' is not a time", what, at)
	}
}

func (v *validation) timesOfGoal() {
	g := v.s.Goal
	if g == nil {
		return
	}
	v.look("goal", ".created", "goal: created", g.Created)
	v.look("goal", ".summarized_through", "goal: summarized_through", g.SummarizedThrough)
	v.look("goal", ".completed_at", "goal: completed_at", g.CompletedAt)
	for i, x := range g.AlignmentHistory {
		v.look("goal", ".alignment_history"+within("", i, "timestamp"), "goal: alignment_history "+position(i), x.Timestamp)
	}
}

func (v *validation) timesOfSprint() {
	if s := v.s.Sprint; s != nil {
		if x := s.Timeline; x != nil {
			v.look("sprint", ".timeline.started", "sprint: timeline.started", x.Started)
			v.look("sprint", ".timeline.deadline", "sprint: timeline.deadline", x.Deadline)
			v.look("sprint", ".timeline.checkpoint_at", "sprint: timeline.checkpoint_at", x.CheckpointAt)
			v.look("sprint", ".timeline.ended", "sprint: timeline.ended", x.Ended)
		}
		if x := s.Paused; x != nil {
			v.look("sprint", ".paused.since", "sprint: paused.since", x.Since)
		}
		for i, x := range s.Checkpoints {
			v.look("sprint", ".checkpoints"+within("", i, "at"), "sprint: checkpoint at", x.At)
			v.look("sprint", ".checkpoints"+within("", i, "decided_at"), "sprint: checkpoint decided_at", x.DecidedAt)
		}
	}
	if i := v.s.Integration; i != nil {
		v.look("integration", ".at", "integration: at", i.At)
		if i.Intent != nil {
			v.look("integration", ".intent.at", "integration: intent.at", i.Intent.At)
		}
		if i.Moved != nil {
			v.look("integration", ".moved.at", "integration: moved.at", i.Moved.At)
		}
		if i.Turn != nil {
			v.look("integration", ".turn.until", "integration: turn.until", i.Turn.Until)
		}
	}
	if b := v.s.CircuitBreaker; b != nil {
		v.look("circuit_breaker", ".last_check", "circuit_breaker: last_check", b.LastCheck)
		if x := b.CurrentTrigger; x != nil {
			v.look("circuit_breaker", ".current_trigger.timestamp", "circuit_breaker: current_trigger", x.Timestamp)
		}
		for i, x := range b.History {
			v.look("circuit_breaker", ".history"+within("", i, "timestamp"), "circuit_breaker: history", x.Timestamp)
			v.look("circuit_breaker", ".history"+within("", i, "resolved_at"), "circuit_breaker: resolved_at", x.ResolvedAt)
		}
	}
}

func (v *validation) timesOfLists() {
	entry := func(section, name, id string, i int, field string, at blackboard.Time) {
		if malformed(at) {
			v.look(section, within(id, i, field), name+" "+nameOf(id, i)+": "+field, at)
		}
	}
	for i, x := range v.s.Requests {
		if x != nil {
			v.look("requests", within(x.ID, i, "at"), "request "+nameOf(x.ID, i)+": at", x.At)
		}
	}
	for i, x := range v.s.Imports {
		if x != nil {
			v.look("imports", within(x.Source, i, "at"), "import "+nameOf(x.Source, i)+": at", x.At)
		}
	}
	for i, x := range v.s.Discovered {
		entry("discovered", "discovered", x.ID, i, "created", x.Created)
		if x.Deferred != nil {
			entry("discovered", "discovered", x.ID, i, "deferred.at", x.Deferred.At)
		}
	}
	for i, x := range v.s.HumanNotes {
		entry("human_notes", "note", x.ID, i, "timestamp", x.Timestamp)
		if x.Receipt != nil {
			entry("human_notes", "note", x.ID, i, "receipt.at", x.Receipt.At)
		}
	}
	for i, x := range v.s.Anomalies {
		entry("anomalies", "anomaly", x.ID, i, "timestamp", x.Timestamp)
	}
	for i, x := range v.s.SpecChanges {
		entry("spec_changes", "spec change", "", i, "timestamp", x.Timestamp)
	}
	for i, x := range v.s.Plans {
		entry("plans", "plan", x.ID, i, "created", x.Created)
	}
	for i, x := range v.s.Facts {
		entry("facts", "fact", x.ID, i, "created", x.Created)
		entry("facts", "fact", x.ID, i, "last_used", x.LastUsed)
	}
	for i, x := range v.s.Questions {
		entry("questions", "question", x.ID, i, "asked", x.Asked)
		entry("questions", "question", x.ID, i, "answered_at", x.AnsweredAt)
	}
}

func (v *validation) timesOfMaps() {
	for _, id := range sortedKeys(v.s.Handoff) {
		if x := v.s.Handoff[id]; x != nil {
			v.look("handoff", within(id, 0, "timestamp"), "handoff."+id+": timestamp", x.Timestamp)
			v.look("handoff", within(id, 0, "consumed_at"), "handoff."+id+": consumed_at", x.ConsumedAt)
		}
	}
	for _, name := range sortedKeys(v.s.Hosts) {
		if x := v.s.Hosts[name]; x != nil {
			v.look("hosts", within(name, 0, "seen"), "host "+name+": seen", x.Seen)
		}
	}
	for _, id := range sortedKeys(v.s.Stopped) {
		if x := v.s.Stopped[id]; x != nil {
			v.look("stopped", within(id, 0, "at"), "stopped "+id+": at", x.At)
		}
	}
	for _, name := range sortedKeys(v.s.Programs) {
		if x := v.s.Programs[name]; x != nil {
			v.look("programs", within(name, 0, "paused_until"), "program "+name+": paused_until", x.PausedUntil)
			v.look("programs", within(name, 0, "at"), "program "+name+": at", x.At)
		}
	}
	p := v.s.Planner
	if p == nil {
		return
	}
	for _, kind := range sortedKeys(p.Triggers) {
		if x := p.Triggers[kind]; x != nil {
			v.look("planner", ".triggers"+within(kind, 0, "last"), "planner: trigger "+kind+": last", x.Last)
			v.look("planner", ".triggers"+within(kind, 0, "next"), "planner: trigger "+kind+": next", x.Next)
		}
	}
	if p.LastRun != nil {
		v.look("planner", ".last_run.at", "planner: last_run.at", p.LastRun.At)
	}
}

// nameOf returns the name of entry i of a list for messages.
func nameOf(id string, i int) string {
	if id == "" {
		return position(i)
	}
	return id
}
