package supervisor

import (
	"context"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/replay"
)

// RunStep is Run for exactly one run of the agent program, on the task of the supervisor or,
// for a planner, on what it was woken for. With all its limits and leases, but without
// anything else that a supervisor does besides (specs/roles-and-knowledge.md#7.4).
func (s *Supervisor) RunStep(soft, hard context.Context) error {
	s.Once, s.OneRun = true, true
	return s.registered(soft, hard, func(hard context.Context) error {
		s.records.recoverHistory(hard)
		did, wait, err := s.stepOnce(soft, hard)
		if err == nil && !did {
			err = &idleError{waiting: wait}
		}
		return err
	})
}

func (s *Supervisor) stepOnce(soft, hard context.Context) (bool, waiting, error) {
	st, err := s.Service.Board.View(hard)
	if err != nil {
		return false, waiting{}, err
	}
	if why := s.Service.Board.ControlOn(st); why != "" {
		return false, waiting{}, &transition.Refusal{Exit: transition.ExitRefused, Next: "liza resume", Message: "no run is started: " + why}
	}
	switch s.Role {
	case blackboard.RolePlanner:
		return s.planner.plan(soft, hard, st)
	case blackboard.RoleReviewer:
		return s.review(soft, hard, st)
	}
	for done := true; done; { // they stop this task too, and then it cannot be claimed
		if done, err = s.applyLimits(hard, st); err == nil && done {
			st, err = s.Service.Board.View(hard)
		}
		if err != nil {
			return false, waiting{}, err
		}
	}
	return s.code(soft, hard, st)
}

// Foreseen is the run that a step would start.
type Foreseen struct {
	replay.NextStep
	Agent   string   `json:"agent,omitempty"`
	Role    string   `json:"role,omitempty"`
	Program string   `json:"program,omitempty"`
	Model   string   `json:"model,omitempty"`
	Command []string `json:"command,omitempty"`
}

// Foresee says which run RunStep would start, and changes nothing.
func (s *Supervisor) Foresee(ctx context.Context, next replay.NextStep) (Foreseen, error) {
	s.assemble()
	out := Foreseen{NextStep: next}
	if next.Merge {
		return out, nil
	}
	st, err := s.Service.Board.View(ctx)
	if err != nil {
		return out, err
	}
	if next.Kind == role.Planner {
		if due, _ := transition.DueTriggers(st, triggerFacts(s.Service, st), s.Service.Board.Now()); len(due) == 0 {
			return out, &idleError{waiting: s.planner.plannerWaits(st, triggerFacts(s.Service, st))}
		}
	}
	t, kind := st.Task(next.Task), next.Kind
	out.Agent = transition.FreeAgentID(st, s.Role, s.Service.Board.Now())
	switch {
	case t != nil && next.Kind == role.Coder && t.KindOf() == blackboard.MessageTask:
		kind = role.Messenger
		if s.Service.Board.Config().Messenger.Mode == "verbatim" {
			return out, nil
		}
	case t != nil && next.Kind == role.Coder && t.KindOf() == blackboard.ExecTask:
		out.Command = []string{"sh", "-c", t.Command}
		return out, nil
	case t != nil && next.Kind == role.Coder && t.KindOf() == blackboard.SkillTask:
		installed, err := s.Service.Board.Skills().Find(t.Skill)
		if err == nil {
			out.Command, err = installed.Command(pathOf(s.Environ))
		}
		return out, err
	}
	used, err := s.programs.roleFor(kind, t)
	if err != nil {
		return out, board.RoleRefusal(t, err)
	}
	out.Role = used.Role.Name
	c := s.programs.choose(st, kind, used.Role, t)
	out.Program, out.Model = c.name, c.model
	adapter, err := s.Adapter(out.Program)
	if err != nil {
		return out, err
	}
	spec := agent.Spec{Dir: s.Service.Board.Project.Root, Model: out.Model, Role: string(kind), TaskID: next.Task, PromptFile: "PROMPT_FILE"}
	if t != nil {
		spec.Dir = s.member.folder(t)
	}
	spec.Worktree = spec.Dir
	cmd, err := adapter.Command(spec)
	out.Command = cmd.Argv
	return out, err
}
