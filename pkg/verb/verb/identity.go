package verb

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/policy"
	"liza/pkg/run/skill"
	"liza/pkg/verb/plan"
)

// identity is the caller with what an Update may not make up: the registration of --as.
type identity struct {
	caller    Caller
	tokenHash string
	fresh     *blackboard.Agent
	root      string     // of the project
	ancestors []Ancestor // as in Processes
	facts     blackboard.ProcessFacts
}

// Identify says who calls: a person, an agent with its token, or a supervisor. It asks the system and reads no board.
func (d *Service) Identify() (identity, error) {
	id := identity{caller: d.Caller, facts: d.Facts()}
	if d.Caller.AgentID != "" && d.Caller.As != "" {
		return id, &transition.Refusal{Guard: "G04", Exit: transition.ExitRefused, Next: "liza help agents",
			Message: fmt.Sprintf("%s may not use --as: an agent acts for itself only", d.Caller.AgentID)}
	}
	if d.Caller.Token != "" {
		id.tokenHash = HashToken(d.Caller.Token)
	}
	if d.Proc.Ancestors != nil && d.Caller.Inside == "" {
		id.root, id.ancestors = d.Project.Root, d.Proc.Ancestors()
	}
	if d.Caller.As != "" {
		entry, _, err := d.newRegistration(false)
		if err != nil {
			return id, err
		}
		id.fresh = entry
	}
	return id, nil
}

// Actor is the caller as the rules see it, on that state.
func (i identity) Actor(s *blackboard.State) transition.Actor {
	a := transition.Actor{ID: blackboard.Human, Name: i.caller.Person, TokenHash: i.tokenHash, Facts: i.facts, Inside: i.inside(s)}
	switch {
	case i.caller.AgentID != "":
		a.ID = i.caller.AgentID
	case i.caller.As != "":
		a.ID, a.Via = i.caller.As, true
		if i.fresh != nil {
			entry := *i.fresh
			a.Register = &entry
		}
	}
	return a
}

// inside is the agent inside whose run the caller is, "" when it is in none. The outermost
// process decides: it was started by Liza, and what it says no process below it can change.
// A command that a supervisor runs (a check, a hook, an exec task) acts for nobody.
func (i identity) inside(s *blackboard.State) string {
	if i.caller.Inside != "" {
		return i.caller.Inside
	}
	for _, p := range slices.Backward(i.ancestors) {
		switch {
		case i.marked(s, p):
			return cmp.Or(p.Name, transition.NoAgent)
		case i.strange(p):
			return transition.NoAgent
		}
		for id, e := range s.Agents {
			if c := e.Child; c != nil && i.here(e) && c.PID == p.PID && c.PIDStart == p.Start {
				return id
			}
		}
	}
	for n, p := range i.ancestors {
		for _, e := range s.Agents {
			if n > 0 && i.here(e) && e.PID == p.PID && e.PIDStart == p.Start {
				return transition.NoAgent
			}
		}
	}
	return ""
}

func (i identity) here(e *blackboard.Agent) bool {
	return e.Host == i.facts.Host && e.BootID == i.facts.BootID
}

// strange reports whether a process has the mark of another project's run. What such a run makes in its own folders, a project
// of a test for example, it may work with as a person.
func (i identity) strange(p Ancestor) bool {
	return p.Run != "" && !slices.ContainsFunc(p.Folders, func(folder string) bool { return holds(folder, i.root) })
}

// holds reports whether a folder has the path in it, whatever links lead to both.
func holds(folder, path string) bool {
	if !filepath.IsAbs(folder) {
		return false
	}
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if sameFolder(folder, at) {
			return true
		}
	}
	return false
}

// marked reports whether a process has the mark of a run of this project. The board knows its registrations also when the
// project's folder was renamed.
func (i identity) marked(s *blackboard.State, p Ancestor) bool {
	if p.Run == "" {
		return false
	}
	if sameFolder(p.Root, i.root) {
		return true
	}
	for _, e := range s.Agents {
		if e.Generation != "" && strings.HasPrefix(p.Run, e.Generation+"-") {
			return true
		}
	}
	return false
}

func sameFolder(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// InRun reports whether the caller is inside a run that a supervisor has started.
func (d *Service) InRun(ctx context.Context) bool {
	id, err := d.Identify()
	return err == nil && id.inside(d.LastState(ctx)) != ""
}

// PersonOnly refuses agents, also those that hide who they are, as far as the state can be
// read; what completes "coder-1 may not …".
func (d *Service) PersonOnly(ctx context.Context, what string) error {
	id, err := d.Identify()
	if err != nil {
		return err
	}
	if d.Caller.As != "" { // it is not registered for something that it may not do
		return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza status", Message: fmt.Sprintf("%s may not %s; human may", d.Caller.As, what)}
	}
	s := d.LastState(ctx)
	return d.OnlyPerson(s, id.Actor(s), what)
}

// LastState is the state, else the last one that was valid, else an empty one.
func (d *Service) LastState(ctx context.Context) *blackboard.State {
	if s, err := d.View(ctx); err == nil {
		return s
	}
	if last, ok := d.Store.(store.Recoverer); ok {
		if valid, err := last.LastValid(ctx); err == nil {
			return valid
		}
	}
	return &blackboard.State{}
}

// newRegistration makes an entry and its token. With lasting, it carries the process.
func (d *Service) newRegistration(lasting bool) (*blackboard.Agent, string, error) {
	token, err := d.RandomHex(16)
	if err != nil {
		return nil, "", err
	}
	generation, err := d.RandomHex(4)
	if err != nil {
		return nil, "", err
	}
	e := &blackboard.Agent{Generation: "g-" + generation, TokenHash: HashToken(token), Host: d.Proc.Host, BootID: d.Proc.BootID}
	if !lasting {
		e.Terminal = "none"
	}
	return e, token, nil
}

// CallerRole is what a person may ask for now: admin or user (specs/roles-and-knowledge.md#9.7). Without
// a list of callers everybody is admin; with one, a caller who is not on it is user.
func (d *Service) CallerRole(name string) string {
	callers := d.Config().Policy.Callers
	if len(callers) == 0 {
		return "admin"
	}
	if role := callers[name]; role != "" {
		return role
	}
	return "user"
}

// AdminOnly refuses what only callers with the role admin may do (specs/roles-and-knowledge.md#9.7);
// what completes "ada may not …".
func (d *Service) AdminOnly(what string) error {
	name := cmp.Or(d.Caller.Person, blackboard.Human)
	if d.CallerRole(name) == "admin" {
		return nil
	}
	return Refuse("liza config show policy.callers", "%s may not %s: that takes the role admin (policy.callers), and %s is user", name, what, name)
}

// callerOf is the person behind a request, with the role of now: who gives it himself, else
// whose words the planner answers, else who started the planner.
func (d *Service) callerOf(s *blackboard.State, human bool) blackboard.Caller {
	name := d.Caller.Person
	if c := transition.RequestCaller(s); c != nil && !human {
		name = c.Name
	}
	return blackboard.Caller{Name: cmp.Or(name, "human"), Role: d.CallerRole(name)}
}

// MayStart says why a task must not be started now: the list of callers is looked at again
// before each start. "" when it may.
func (d *Service) MayStart(s *blackboard.State, t *blackboard.Task, kind blackboard.TaskKind) string {
	c := transition.CallerOf(s, t)
	if c == nil {
		return ""
	}
	now := blackboard.Caller{Name: c.Name, Role: d.CallerRole(c.Name)}
	if plan.MayUse(d.Config(), now, kind) {
		return ""
	}
	return fmt.Sprintf("tasks of kind %s may not be done for %s, whose role is user now (policy.user_kinds)", kind, c.Name)
}

// MayRun is nil for a command that may be started in the worktree of a task; a
// *policy.Denial says which part of it may not (specs/roles-and-knowledge.md#9.4).
func (d *Service) MayRun(task, command string) error {
	cfg := d.Config().Policy
	l := policy.List{Deny: cfg.Deny, Allow: cfg.Allow, AllowSudo: cfg.AllowSudo}
	return l.Check(command, policy.Place{Worktree: d.Repo.WorktreePath(task), Home: d.Home})
}

// Skills are the skills of the project as their folders are now.
func (d *Service) Skills() skill.Library { return skill.Load(d.Project.Skills()) }

// Sealed says what Seal did.
type Sealed struct {
	Revision int      `json:"revision"`
	Tasks    []string `json:"tasks"`             // that have a new seal
	Journal  string   `json:"journal,omitempty"` // what was wrong with the journal first, and is accepted
}

// Seal gives every approval and merge on the board a seal, also those that no verb made: the
// person answers for them. It helps where the key of a project is lost. A journal that is not
// what Liza wrote is accepted as it stands as well.
func (d *Service) Seal(ctx context.Context, reason string) (Sealed, error) {
	if err := d.Clean(Text{"--reason", &reason}); err != nil {
		return Sealed{}, err
	}
	if err := d.AdminOnly("seal approvals"); err != nil {
		return Sealed{}, err
	}
	if err := d.PersonOnly(ctx, "seal approvals"); err != nil {
		return Sealed{}, err
	}
	broken, err := d.brokenJournal(ctx)
	if err != nil {
		return Sealed{}, err
	}
	before := map[string]string{}
	err = d.Store.Update(ctx, store.Op{Name: "seal", Agent: blackboard.Human, Adopt: true}, func(s *blackboard.State) error {
		for t := range s.Tasks() {
			if t.Seal != nil {
				before[t.ID] = t.Seal.MAC
			}
		}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(d.Now()), Agent: blackboard.Human, Action: blackboard.ActionSealed, Detail: reason})
		return nil
	})
	if err != nil {
		return Sealed{}, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return Sealed{}, err
	}
	done := Sealed{Revision: s.Revision, Tasks: []string{}, Journal: broken}
	for t := range s.Tasks() {
		if t.Seal != nil && t.Seal.MAC != before[t.ID] {
			done.Tasks = append(done.Tasks, t.ID)
		}
	}
	return done, nil
}

// brokenJournal says where the journal is not what Liza wrote first, "" when it is.
func (d *Service) brokenJournal(ctx context.Context) (string, error) {
	j, ok := d.Store.(store.Journaled)
	if !ok {
		return "", nil
	}
	b, err := j.JournalBroken(ctx)
	if err != nil || b == nil || b.Unproven {
		return "", err
	}
	return fmt.Sprintf("%s line %d: %s", b.File, b.Line, b.Message), nil
}
