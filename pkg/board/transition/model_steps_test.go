package transition

import (
	"slices"
	"time"

	"liza/pkg/board/blackboard"
)

// stepMaker collects the steps of a world.
type stepMaker struct {
	size  *worldSize
	steps []step
}

func (m *stepMaker) add(who stepKind, name string, do func(w *world) error) {
	m.steps = append(m.steps, step{name, who, do})
}

// work is what brings tasks to their end: claims in their phases, submissions, verdicts, merges.
func (m *stepMaker) work() {
	for _, id := range m.size.tasks {
		for _, c := range m.size.coders {
			m.coder(c, id)
		}
		for _, r := range m.size.reviewers {
			m.reviewer(r, id)
		}
		m.byItself(id)
	}
}

// trouble is how runs and reviews end otherwise.
func (m *stepMaker) trouble() {
	for _, id := range m.size.tasks {
		for _, c := range m.size.coders {
			m.unluckyCoder(c, id)
		}
		for _, r := range m.size.reviewers {
			m.unluckyReviewer(r, id)
		}
	}
}

func (m *stepMaker) coder(c, id string) {
	m.add(byTeam, c+" reserves "+id, func(w *world) error { return w.reserve(c, id) })
	m.add(byTeam, c+" claims "+id, func(w *world) error { return w.confirm(c, id) })
	m.add(byTeam, c+" submits "+id, func(w *world) error { return w.submit(c, id) })
	m.add(byTeam, "supervisor of "+c+" releases "+id, func(w *world) error {
		return w.supervisor(c, func(a Actor) error {
			if err := Release(w.board.State, id, a, Input{Reason: "r", HasWork: true}, w.now); err != nil {
				return err
			}
			return w.runEnds(c, id)
		})
	})
}

func (m *stepMaker) unluckyCoder(c, id string) {
	m.add(byTeam, c+" is stuck with "+id, func(w *world) error {
		return w.program(c, id, func(a Actor) error {
			return Block(w.board.State, id, a, Input{Reason: "r", Questions: blackboard.List{"q?"}, Attempted: blackboard.List{"this"}}, w.now)
		})
	})
	m.add(byTeam, c+" hands off "+id, func(w *world) error {
		return w.program(c, id, func(a Actor) error {
			return HandOff(w.board.State, id, a, Input{Handoff: &blackboard.Handoff{Summary: "s", NextAction: "n"}}, w.now)
		})
	})
	m.add(byTeam, c+" goes on with "+id, func(w *world) error {
		e := w.Agents[c]
		if e == nil || e.Child != nil || e.CurrentTask != id {
			return errNotHere
		}
		return w.spawn(c, id)
	})
	m.add(byTeam, "run of "+c+" for "+id+" ends with RETRY", func(w *world) error {
		return w.supervisor(c, func(a Actor) error {
			if err := Retry(w.board.State, id, a, Input{}, w.now); err != nil {
				return err
			}
			return w.runEnds(c, id)
		})
	})
	m.add(byTeam, "iterations of "+c+" for "+id+" are used up", func(w *world) error {
		if t := w.Find(id); t == nil || !IterationsPast(w.board.State, t) {
			return errNotHere // the run of a claim ends first
		}
		return w.supervisor(c, func(a Actor) error { return LimitIterations(w.board.State, id, a, Input{}, w.now) })
	})
	m.add(byTeam, "run of "+c+" for "+id+" times out", func(w *world) error {
		return w.supervisor(c, func(a Actor) error {
			if err := RunFailed(w.board.State, id, a, Input{Outcome: "timeout"}, w.now); err != nil {
				return err
			}
			return w.runEnds(c, id)
		})
	})
}

func (m *stepMaker) reviewer(r, id string) {
	m.add(byTeam, r+" claims the review of "+id, func(w *world) error {
		return w.supervisor(r, func(a Actor) error {
			if err := ClaimReview(w.board.State, id, a, Input{}, w.now); err != nil {
				return err
			}
			w.must(w.spawn(r, id))
			return nil
		})
	})
	m.add(byTeam, r+" approves "+id, func(w *world) error { return w.approveAs(r, id, "") })
	m.add(byTeam, r+" rejects "+id, func(w *world) error {
		return w.program(r, id, func(a Actor) error { return Reject(w.board.State, id, a, Input{Reason: "a.go:1"}, w.now) })
	})
}

func (m *stepMaker) unluckyReviewer(r, id string) {
	m.add(byTeam, r+" wants "+id+" replanned", func(w *world) error {
		return w.program(r, id, func(a Actor) error { return Replan(w.board.State, id, a, Input{Reason: "another way"}, w.now) })
	})
	m.add(byTeam, r+" is stuck with "+id, func(w *world) error {
		return w.program(r, id, func(a Actor) error {
			return ReleaseReview(w.board.State, id, a, Input{What: "stuck", Reason: "no idea"}, w.now)
		})
	})
	m.add(byTeam, "review of "+id+" by "+r+" fails", func(w *world) error {
		return w.supervisor(r, func(a Actor) error {
			if err := ReleaseReview(w.board.State, id, a, Input{What: "failed", Reason: "r"}, w.now); err != nil {
				return err
			}
			return w.runEnds(r, id)
		})
	})
}

func (w *world) approveAs(r, id, mode string) error {
	in := w.reviewed(id)
	in.ReviewMode = blackboard.ReviewMode(mode)
	return w.program(r, id, func(a Actor) error { _, err := Approve(w.board.State, id, a, in, w.now); return err })
}

func (m *stepMaker) byItself(id string) {
	m.add(byTeam, "a merge of "+id+" begins", func(w *world) error {
		return w.merging(id, false, func(in Input) error { return IntendMerge(w.board.State, id, w.system(), in, w.now) })
	})
	m.add(byTeam, "nobody may try "+id+" any more", func(w *world) error {
		if t := w.Find(id); t == nil || !outOfIterations(w.board.State, t, w.facts(), w.now) {
			return errNotHere
		}
		return LimitIterations(w.board.State, id, w.system(), Input{}, w.now)
	})
	m.add(byTeam, "the branch moves for "+id, func(w *world) error { return w.moveBranch(id) })
	m.add(byTeam, "the merge of "+id+" is recorded", func(w *world) error {
		return w.merging(id, true, func(in Input) error { return FinishMerge(w.board.State, id, w.system(), in, w.now) })
	})
	m.add(byTeam, id+" conflicts", func(w *world) error {
		return w.merging(id, false, func(Input) error {
			return FailIntegration(w.board.State, id, w.system(), Input{Merge: &MergeFacts{Reason: "conflict"}}, w.now)
		})
	})
}

// fate are crashes, restarts, silence and time.
func (m *stepMaker) fate() {
	for _, id := range slices.Concat(m.size.coders, m.size.reviewers) {
		m.add(byFate, "supervisor of "+id+" is killed", func(w *world) error {
			if w.Agents[id] == nil || w.gone[w.nth(id)] || !w.matters(id) {
				return errNotHere
			}
			w.gone[w.nth(id)] = true
			return nil
		})
		m.add(byFate, id+" starts again", func(w *world) error { return w.register(id) })
		m.add(byFate, "somebody finds "+id+" dead", func(w *world) error {
			if !Lapse(w.board.State, id, w.facts(), w.now) {
				return errNotHere
			}
			return nil
		})
		m.add(byFate, id+" is silent until its lease is over", func(w *world) error {
			if w.Agents[id] == nil || w.gone[w.nth(id)] || w.leaseOver(id) || !w.matters(id) {
				return errNotHere
			}
			w.pass(w.Duration("lease_duration")+w.Duration("lease_grace")+time.Second, id)
			return nil
		})
		m.add(byFate, id+" wakes up", func(w *world) error {
			if w.Agents[id] == nil || !w.leaseOver(id) {
				return errNotHere
			}
			return w.supervisor(id, func(a Actor) error { return Beat(w.board.State, a, w.now) })
		})
	}
	m.patience()
}

// patience lets the time pass that somebody has to wait for.
func (m *stepMaker) patience() {
	m.add(byFate, "a while passes", func(w *world) error {
		for t := range w.Tasks() {
			if w.waits(t) {
				w.pass(w.Duration("reassign_after") + time.Second)
				return nil
			}
		}
		return errNotHere
	})
}

// matters reports whether it makes a difference if the agent lives: of those who hold, prepare
// or wait for nothing one is like the other.
func (w *world) matters(agent string) bool {
	for t := range w.Tasks() {
		switch {
		case t.Status.Terminal():
		case t.AssignedTo == agent, t.ReviewingBy == agent, w.prepares(t, agent), len(t.FailedBy) > 0:
			return true
		}
	}
	return false
}

func (w *world) prepares(t *blackboard.Task, agent string) bool {
	return t.Claiming != nil && t.Claiming.By == agent && !past(t.Claiming.Expires, w.now)
}

// plans are the planner's ways out.
func (m *stepMaker) plans(replacement string) {
	m.drops()
	for _, id := range m.size.tasks {
		for _, p := range m.size.planners {
			m.add(byPlan, p+" unblocks "+id, func(w *world) error {
				return w.supervisor(p, func(a Actor) error {
					return Unblock(w.board.State, id, a, Input{Reason: "r", DependsOn: w.stillWanted(id)}, w.now)
				})
			})
			if replacement != "" && id != replacement {
				m.add(byPlan, p+" replaces "+id, func(w *world) error {
					return w.supervisor(p, func(a Actor) error {
						return Supersede(w.board.State, id, a, Input{Reason: "r", By: blackboard.List{replacement}, RootCause: "c"}, w.now)
					})
				})
			}
		}
	}
}

// drops is the simplest answer of a planner that was woken.
func (m *stepMaker) drops() {
	for _, id := range m.size.tasks {
		for _, p := range m.size.planners {
			m.add(byPlan, p+" drops "+id, func(w *world) error {
				if t := w.Find(id); t == nil || t.Status != blackboard.Blocked && t.Status != blackboard.IntegrationFailed && t.Status != blackboard.ReadyForReview {
					return errNotHere // nothing woke it
				}
				return w.supervisor(p, func(a Actor) error {
					_, err := Abandon(w.board.State, id, a, Input{Reason: "r", RootCause: "c"}, w.now)
					return err
				})
			})
		}
	}
}

// stillWanted are the dependencies of a task that can still be merged.
func (w *world) stillWanted(id string) blackboard.List {
	deps := blackboard.List{}
	if t := w.Find(id); t != nil {
		for _, d := range t.DependsOn {
			if st, ok := w.StatusOf(d); ok && st != blackboard.Abandoned && st != blackboard.Superseded {
				deps = append(deps, d)
			}
		}
	}
	return deps
}

// lets ends holds.
func (m *stepMaker) lets() {
	for _, id := range m.size.tasks {
		m.add(byPeople, "a person lets go of "+id, func(w *world) error { return UnholdTask(w.board.State, id, person, Input{}, w.now) })
	}
}

// people is what only a person may do.
func (m *stepMaker) people() {
	m.lets()
	for _, id := range m.size.tasks {
		m.add(byPeople, "a person holds "+id, func(w *world) error { return HoldTask(w.board.State, id, person, Input{Reason: "r"}, w.now) })
		m.add(byPeople, "a person blocks "+id, func(w *world) error {
			return Block(w.board.State, id, person, Input{Reason: "r", Questions: blackboard.List{"q?"}}, w.now)
		})
		m.add(byTeam, "the budget of "+id+" is spent", func(w *world) error {
			return HaltTask(w.board.State, id, w.system(), Input{Halt: &blackboard.Halt{Kind: "cost", Value: 2, Limit: 1}}, w.now)
		})
		m.add(byPeople, "a person lets "+id+" go on", func(w *world) error {
			return Resubmit(w.board.State, id, person, Input{Limits: blackboard.Settings{"max_iterations": w.Int("max_coder_iterations") + 1}}, w.now)
		})
		m.add(byPeople, "a person releases "+id, func(w *world) error {
			return Release(w.board.State, id, person, Input{Reason: "r", Force: true, HasWork: true}, w.now)
		})
		m.add(byPeople, "a person releases the review of "+id, func(w *world) error {
			return ReleaseReview(w.board.State, id, person, Input{Reason: "r", Force: true}, w.now)
		})
		m.add(byPeople, "a person answers for "+id, func(w *world) error { return w.answer(id) })
		m.add(byPeople, "a person approves the merge of "+id, func(w *world) error {
			return ApproveMerge(w.board.State, id, person, w.reviewed(id), w.now)
		})
		m.add(byPeople, "a person refuses the merge of "+id, func(w *world) error {
			return RejectMerge(w.board.State, id, person, Input{Reason: "r"}, w.now)
		})
		for _, r := range m.size.reviewers {
			m.add(byTeam, r+" approves "+id+", and a person decides about the merge", func(w *world) error { return w.approveAs(r, id, "strict") })
		}
	}
}

// answer answers the first open question of a task, as the verb does.
func (w *world) answer(id string) error {
	for _, q := range w.Questions {
		if q.Task != id || q.Status != "open" {
			continue
		}
		task, last, err := AnswerQuestion(w.board.State, q.ID, "yes", person, w.now)
		if err == nil && last {
			_ = Unblock(w.board.State, task, person, Input{Reason: "answered", Answered: true, Tip: commitOf(3)}, w.now) // else the planner decides
		}
		return err
	}
	return errNotHere
}
