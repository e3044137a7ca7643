package verb

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/verb/board"
	"liza/pkg/verb/plan"
)

// NewTask describes a task to create (specs/cli.md#3, add-task).
type NewTask struct {
	Task     blackboard.Task
	Stretch  bool
	Draft    bool
	Attempts int      // how many coders try; 0: one
	CLI      []string // programs of the attempts, in turn
	From     string   // the discovery that the task comes of
	Fill     bool     // an id and a spec_ref that are left out become the next free number and the spec of the goal
}

// SetLimits gives the task limits of its own. Two of them are fields of the task, the
// others are in its limits.
func (n *NewTask) SetLimits(limits map[string]int) {
	for k, v := range limits {
		switch k {
		case "max_iterations":
			n.Task.MaxIterations = v
		case "max_review_cycles":
			n.Task.MaxReviewCycles = v
		default:
			if n.Task.Limits == nil {
				n.Task.Limits = blackboard.Settings{}
			}
			n.Task.Limits[k] = v
		}
	}
}

// AddTask creates a task, UNCLAIMED or DRAFT; it is validated before anything is written.
func (v *Service) AddTask(ctx context.Context, n NewTask) (board.Done, error) {
	if err := v.Board.CleanTask(&n.Task); err != nil {
		return board.Done{}, err
	}
	if n.Fill {
		s, err := v.Board.View(ctx)
		if err != nil {
			return board.Done{}, err
		}
		n.Task.ID = cmp.Or(n.Task.ID, plan.FreeID(s))
		if s.Goal != nil {
			n.Task.SpecRef = cmp.Or(n.Task.SpecRef, s.Goal.SpecRef)
		}
	}
	in := v.Board.Input()
	in.RoleProblem = v.Board.Roles().NewProblem(&n.Task)
	for _, name := range n.CLI {
		if name, _, _ = strings.Cut(name, ":"); !v.Board.Config().HasProgram(name) {
			return board.Done{}, board.WrongUsage("liza help add-task", "--cli: there is no agent program %s", name)
		}
	}
	var doubts, costs []string
	done, err := v.Board.Event(ctx, "add-task", n.Task.ID, func(s *blackboard.State, a transition.Actor) error {
		t := n.Task
		if err := v.planRules(s, a).TaskProblem(s, &t); err != nil {
			return err
		}
		plan.FillKind(s, &t)
		if s.Goal != nil && t.Plan == "" {
			t.Plan = s.Goal.PlanID
		}
		if n.Stretch && s.Sprint != nil {
			if s.Sprint.Scope == nil {
				s.Sprint.Scope = &blackboard.SprintScope{}
			}
			s.Sprint.Scope.Stretch = append(s.Sprint.Scope.Stretch, t.ID)
		}
		doubts, costs = plan.Doubts(&t), plan.AttemptsCost(s, &t, n.Attempts)
		made, err := transition.CreateAttempts(s, &t, n.Attempts, n.CLI, n.Draft, a, in, v.Board.Now())
		if err != nil || n.From == "" {
			return err
		}
		return transition.ConvertDiscovery(s, n.From, made[0].ID, a, v.Board.Now())
	})
	if err == nil {
		done.Notices = append(append(done.Notices, costs...), doubts...)
	}
	return done, err
}

// Finalized is the result of Finalize.
type Finalized struct {
	Tasks    []string `json:"tasks"`
	Warnings []string `json:"warnings,omitempty"`
}

// Finalize turns drafts into claimable tasks, all or none.
func (v *Service) Finalize(ctx context.Context, ids []string) (Finalized, error) {
	if len(ids) == 0 {
		return Finalized{}, board.WrongUsage("liza help finalize", "finalize needs the id of a draft")
	}
	out := Finalized{Tasks: ids}
	err := v.Board.Update(ctx, "finalize", func(s *blackboard.State, a transition.Actor) error {
		out.Warnings = nil
		if err := transition.Finalize(s, ids, a, v.Board.Input(), v.Board.Now()); err != nil {
			return err
		}
		for _, id := range ids {
			out.Warnings = append(out.Warnings, plan.Doubts(s.Task(id))...)
		}
		return nil
	})
	return out, err
}

// TaskEdit names what a person changes of a task; what is nil or empty stays.
type TaskEdit struct {
	Task        string `json:"task" arg:"[TASK]" help:"id of the task"`
	Priority    *int   `json:"priority,omitempty" help:"1 is the highest"`
	Title       string `json:"title,omitempty" help:"short name"`
	Description string `json:"description,omitempty" option:"desc" help:"what is to be done"`
	DoneWhen    string `json:"done_when,omitempty" option:"done" help:"how one sees that it is done"`
	Scope       string `json:"scope,omitempty" help:"what is in, and what is out"`

	Limits map[string]int `json:"limits,omitempty" option:"limit" help:"limits of this task, such as max_iterations=3 or cost_cents=200"`
}

func settingsOf(limits map[string]int) blackboard.Settings {
	settings := blackboard.Settings{}
	for name, n := range limits {
		settings[name] = n
	}
	return settings
}

// EditTask changes priority, title, texts or limits of a task that is not terminal.
func (v *Service) EditTask(ctx context.Context, e TaskEdit) (board.Done, error) {
	err := v.Board.Clean(field("--title", &e.Title), field("--description", &e.Description), field("--done", &e.DoneWhen), field("--scope", &e.Scope))
	if err != nil {
		return board.Done{Task: e.Task}, err
	}
	var busy, doubts []string
	done, err := v.Board.Event(ctx, "edit", e.Task, func(s *blackboard.State, a transition.Actor) error {
		if err := v.Board.OnlyPerson(s, a, "edit a task"); err != nil {
			return err
		}
		err := transition.EditTask(s, e.Task, transition.TaskEdit{Priority: e.Priority, Title: e.Title, Description: e.Description, DoneWhen: e.DoneWhen, Scope: e.Scope, Limits: settingsOf(e.Limits)}, a, v.Board.Now())
		if err == nil {
			err = v.planRules(s, a).TaskProblem(s, s.Task(e.Task))
		}
		if err == nil {
			busy, doubts = atWork(s, e.Task, "works without the change; next: liza resume"), plan.Doubts(s.Task(e.Task))
		}
		return err
	})
	if err == nil {
		done.Notices = append(append(done.Notices, doubts...), busy...)
	}
	return done, err
}

// atWork says of each agent whose program runs on a task what that means, and the command that takes the agent.
func atWork(s *blackboard.State, task, what string) (list []string) {
	for _, id := range s.AgentIDs() {
		if c := s.Agents[id].Child; c != nil && c.Task == task {
			list = append(list, id+" "+what+" "+id)
		}
	}
	return list
}

// Hold keeps everybody from picking the task; its status stays.
func (v *Service) Hold(ctx context.Context, id, reason string) (board.Done, error) {
	if err := v.Board.Clean(field("--reason", &reason)); err != nil {
		return board.Done{Task: id}, err
	}
	var busy []string
	done, err := v.Board.Event(ctx, "hold", id, func(s *blackboard.State, a transition.Actor) error {
		busy = atWork(s, id, "goes on with its run; next: liza stop")
		return transition.HoldTask(s, id, a, transition.Input{Reason: reason}, v.Board.Now())
	})
	done.Notices = append(done.Notices, busy...)
	return done, err
}

// Unhold ends a hold.
func (v *Service) Unhold(ctx context.Context, id string) (board.Done, error) {
	return v.Board.Event(ctx, "unhold", id, func(s *blackboard.State, a transition.Actor) error {
		return transition.UnholdTask(s, id, a, transition.Input{}, v.Board.Now())
	})
}

// WayOut says how a blocked or unwanted task leaves its status.
type WayOut struct {
	Task      string   `json:"task" arg:"ID" help:"id of the task"`
	By        []string `json:"by" list:"comma" help:"tasks that replace it"` // of a supersede
	Reason    string   `json:"reason" help:"why"`
	RootCause string   `json:"root_cause,omitempty" help:"required after two coders failed"`
	DependsOn []string `json:"depends_on,omitempty" option:"depends" list:"comma" help:"new dependencies; an empty list is none" unset:"as before"` // of an unblock
}

// Unblock lets a BLOCKED task start over from the integration head.
func (v *Service) Unblock(ctx context.Context, w WayOut) (board.Done, error) {
	return v.leave(ctx, "unblock", w, transition.Unblock)
}

// Supersede replaces a task by others; what depends on it depends on those.
func (v *Service) Supersede(ctx context.Context, w WayOut) (board.Done, error) {
	return v.leave(ctx, "supersede", w, transition.Supersede)
}

// Abandon drops a task.
func (v *Service) Abandon(ctx context.Context, w WayOut) (board.Done, error) {
	var drafts []string
	done, err := v.leave(ctx, "abandon", w, func(s *blackboard.State, id string, a transition.Actor, in transition.Input, now time.Time) (err error) {
		drafts, err = transition.Abandon(s, id, a, in, now)
		return err
	})
	for _, id := range drafts {
		done.Notices = append(done.Notices, "draft "+id+" depends on it")
	}
	return done, err
}

// wayEvent is an event of the board that gives a worktree up.
type wayEvent func(s *blackboard.State, id string, a transition.Actor, in transition.Input, now time.Time) error

// leave carries out an event that gives a worktree up: the guards are tried on a copy, the
// work is saved (E-SAVE), the event is written, and what was saved is removed (E-DROP-WT).
func (v *Service) leave(ctx context.Context, op string, w WayOut, event wayEvent) (board.Done, error) {
	if err := v.Board.Clean(field("--reason", &w.Reason), field("--root-cause", &w.RootCause)); err != nil {
		return board.Done{Task: w.Task}, err
	}
	in := v.Board.Input()
	in.Reason, in.RootCause, in.By, in.DependsOn = w.Reason, w.RootCause, w.By, w.DependsOn
	if done, err := v.try(ctx, w.Task, in, event); err != nil {
		return v.Board.Already(ctx, done, err)
	}
	in.Attic, in.SaveError = v.Worktrees.Save(ctx, w.Task, op)
	done, err := v.Board.Event(ctx, op, w.Task, func(s *blackboard.State, a transition.Actor) error {
		return event(s, w.Task, a, in, v.Board.Now())
	})
	if err != nil || done.Already {
		return done, err
	}
	done.Attic = in.Attic
	if err := v.Worktrees.Drop(ctx, w.Task); err != nil {
		done.Notices = append(done.Notices, err.Error())
	}
	return done, nil
}

// try tries the event on a copy, so that a refused one saves and removes nothing.
func (v *Service) try(ctx context.Context, task string, in transition.Input, event wayEvent) (board.Done, error) {
	id, err := v.Board.Identify()
	if err != nil {
		return board.Done{}, err
	}
	s, err := v.Board.View(ctx)
	if err != nil {
		return board.Done{}, err
	}
	return board.Done{Task: task}, event(s.Clone(), task, id.Actor(s), in, v.Board.Now())
}

// ReleaseInput says which claim to free; without Coder and Reviewer it is the one that the status has.
type ReleaseInput struct {
	Task     string `json:"task" arg:"ID" help:"id of the task"`
	Coder    bool   `json:"coder,omitempty" faces:"cli,http" help:"free the coder's claim (the default for a CLAIMED task)"`
	Reviewer bool   `json:"reviewer,omitempty" faces:"cli,http" help:"free the review claim (the default for READY_FOR_REVIEW)"`
	Force    bool   `json:"force,omitempty" help:"in spite of a live lease; for people"`
	Reason   string `json:"reason" help:"why"`
}

// Release frees a claim or a review claim. Work in the worktree is kept, and what is not
// committed is saved besides.
func (v *Service) Release(ctx context.Context, in ReleaseInput) (board.Done, error) {
	if err := v.Board.Clean(field("--reason", &in.Reason)); err != nil {
		return board.Done{Task: in.Task}, err
	}
	s, err := v.Board.View(ctx)
	if err != nil {
		return board.Done{}, err
	}
	t := s.Task(in.Task)
	event := v.Board.Input()
	event.Reason, event.Force = in.Reason, in.Force
	event.Texts = []transition.Text{{Option: "--reason", Value: in.Reason}}
	reviewer := in.Reviewer || !in.Coder && t != nil && t.Status == blackboard.ReadyForReview
	if reviewer {
		return v.Board.Event(ctx, "release", in.Task, func(s *blackboard.State, a transition.Actor) error {
			return transition.ReleaseReview(s, in.Task, a, event, v.Board.Now())
		})
	}
	if done, err := v.try(ctx, in.Task, event, transition.Release); err != nil {
		return v.Board.Already(ctx, done, err)
	}
	event.Claim = &transition.ClaimFacts{ChildError: v.stopHolder(ctx, s, t)}
	if event.HasWork, event.Attic, err = v.Worktrees.Leave(ctx, s, t); err != nil {
		return board.Done{Task: in.Task}, err
	}
	done, err := v.Board.Event(ctx, "release", in.Task, func(s *blackboard.State, a transition.Actor) error {
		holder := t.AssignedTo
		if err := transition.Release(s, in.Task, a, event, v.Board.Now()); err != nil {
			return err
		}
		if e := s.Agents[holder]; e != nil && holder != v.Board.Caller.AgentID {
			e.Child = nil
		}
		return nil
	})
	done.Attic = event.Attic
	return done, err
}

// stopHolder stops the process of a claim that somebody else gives away by force.
func (v *Service) stopHolder(ctx context.Context, s *blackboard.State, t *blackboard.Task) string {
	e := s.Agents[t.AssignedTo]
	if e == nil || e.Child == nil || t.AssignedTo == v.Board.Caller.AgentID || e.Host != v.Board.Proc.Host || e.BootID != v.Board.Proc.BootID || v.Board.Proc.StopOrphan == nil {
		return ""
	}
	if err := v.Board.Proc.StopOrphan(ctx, t.AssignedTo, *e.Child, s.Duration("kill_grace")); err != nil {
		return err.Error()
	}
	return ""
}

// SpecCommitted refuses a spec file that is not committed as it stands: agents work in worktrees,
// which have what commits have and nothing else.
func SpecCommitted(ctx context.Context, p *project.Project, repo *git.Repo, spec string) error {
	spec, _, _ = strings.Cut(spec, "#")
	spec = filepath.ToSlash(filepath.Clean(spec))
	how, err := repo.Uncommitted(ctx, spec)
	if err != nil {
		return err
	}
	if real, err := board.SpecFile(p.Root, spec); how == "" && err == nil { // behind a symbolic link
		root, _ := filepath.EvalSymlinks(p.Root)
		if rel, err := filepath.Rel(root, real); err == nil && filepath.ToSlash(rel) != spec {
			spec = filepath.ToSlash(rel)
			if how, err = repo.Uncommitted(ctx, spec); err != nil {
				return err
			}
		}
	}
	file, why, force := git.ShellWord(spec), "it is not committed", ""
	switch how {
	case "":
		return nil
	case git.Ignored:
		why, force = "git ignores it", " --force"
	case git.Modified:
		why = "it has changes that are not committed"
	}
	return board.Refuse("git add"+force+" "+file+" && git commit -m 'Write the spec' -- "+file,
		"agents would not see the spec file %s as it stands: %s, and their worktrees have only what is committed", spec, why)
}

// KeepSettings commits what people write in .liza, and nothing of the board.
const KeepSettings = "git add .liza && git commit -m 'Settings of Liza' -- .liza"

// SettingsKept reports whether what people write in .liza is committed: git clean -fdx takes the rest away. Without a
// settings file there is nothing to keep.
func SettingsKept(ctx context.Context, p *project.Project, repo *git.Repo) (bool, error) {
	for _, name := range []string{"config.yaml", "config.json"} {
		if _, err := os.Lstat(filepath.Join(p.Liza, name)); err != nil {
			continue // there are the defaults
		}
		how, err := repo.Uncommitted(ctx, filepath.Join(".liza", name))
		if err != nil || how == git.Untracked || how == git.Ignored {
			return false, err
		}
	}
	return true, nil
}
