package board

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/policy"
	"liza/pkg/run/skill"
	"liza/pkg/verb/plan"
)

// Identity is the caller with what an Update may not make up: the registration of --as.
type Identity struct {
	caller    Caller
	tokenHash string
	fresh     *blackboard.Agent
	root      string     // of the project
	ancestors []Ancestor // as in Processes
	facts     blackboard.ProcessFacts
}

// Identify says who calls: a person, an agent with its token, or a supervisor. It asks the system and reads no board.
func (b *Session) Identify() (Identity, error) {
	id := Identity{caller: b.Caller, facts: b.Facts()}
	if b.Caller.AgentID != "" && b.Caller.As != "" {
		return id, &transition.Refusal{Guard: "G04", Exit: transition.ExitRefused, Next: "liza help agents",
			Message: fmt.Sprintf("%s may not use --as: an agent acts for itself only", b.Caller.AgentID)}
	}
	if b.Caller.Token != "" {
		id.tokenHash = HashToken(b.Caller.Token)
	}
	if b.Proc.Ancestors != nil && b.Caller.Inside == "" {
		id.root, id.ancestors = b.Project.Root, b.Proc.Ancestors()
	}
	if b.Caller.As != "" {
		entry, _, err := b.NewRegistration(false)
		if err != nil {
			return id, err
		}
		id.fresh = entry
	}
	return id, nil
}

// Unregistered returns the caller without the registration of --as.
func (i Identity) Unregistered() Identity {
	i.fresh = nil
	return i
}

// Actor is the caller as the rules see it, on that state.
func (i Identity) Actor(s *blackboard.State) transition.Actor {
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

// inside is the agent inside whose run the caller is, "" when it is in none. The outermost process decides: it was started by Liza, and what it says
// no process below it can change. A command that a supervisor runs (a check, a hook, an exec task) acts for nobody.
func (i Identity) inside(s *blackboard.State) string {
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

func (i Identity) here(e *blackboard.Agent) bool {
	return e.Host == i.facts.Host && e.BootID == i.facts.BootID
}

// strange reports whether a process has the mark of another project's run. What such a run makes in its own folders, a project of a test for example,
// it may work with as a person.
func (i Identity) strange(p Ancestor) bool {
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

// marked reports whether a process has the mark of a run of this project. The board knows its registrations also when the project's folder was
// renamed.
func (i Identity) marked(s *blackboard.State, p Ancestor) bool {
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
func (b *Session) InRun(ctx context.Context) bool {
	id, err := b.Identify()
	return err == nil && id.inside(b.LastState(ctx)) != ""
}

// PersonOnly refuses agents, also those that hide who they are, as far as the state can be read; what completes "coder-1 may not …".
func (b *Session) PersonOnly(ctx context.Context, what string) error {
	id, err := b.Identify()
	if err != nil {
		return err
	}
	if b.Caller.As != "" { // it is not registered for something that it may not do
		return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza status", Message: fmt.Sprintf("%s may not %s; human may", b.Caller.As, what)}
	}
	s := b.LastState(ctx)
	return b.OnlyPerson(s, id.Actor(s), what)
}

// LastState is the state, else the last one that was valid, else an empty one.
func (b *Session) LastState(ctx context.Context) *blackboard.State {
	if s, err := b.View(ctx); err == nil {
		return s
	}
	if last, ok := b.Store.(store.Recoverer); ok {
		if valid, err := last.LastValid(ctx); err == nil {
			return valid
		}
	}
	return &blackboard.State{}
}

// NewRegistration makes an entry and its token. With lasting, it carries the process.
func (b *Session) NewRegistration(lasting bool) (*blackboard.Agent, string, error) {
	token, err := b.RandomHex(16)
	if err != nil {
		return nil, "", err
	}
	generation, err := b.RandomHex(4)
	if err != nil {
		return nil, "", err
	}
	e := &blackboard.Agent{Generation: "g-" + generation, TokenHash: HashToken(token), Host: b.Proc.Host, BootID: b.Proc.BootID}
	if !lasting {
		e.Terminal = "none"
	}
	return e, token, nil
}

// CallerRole is what a person may ask for now: admin or user (specs/roles-and-knowledge.md#9.7). Without a list of callers everybody is admin; with
// one, a caller who is not on it is user.
func (b *Session) CallerRole(name string) string {
	callers := b.Config().Policy.Callers
	if len(callers) == 0 {
		return "admin"
	}
	if role := callers[name]; role != "" {
		return role
	}
	return "user"
}

// AdminOnly refuses what only callers with the role admin may do (specs/roles-and-knowledge.md#9.7); what completes "ada may not …".
func (b *Session) AdminOnly(what string) error {
	name := cmp.Or(b.Caller.Person, blackboard.Human)
	if b.CallerRole(name) == "admin" {
		return nil
	}
	return Refuse("liza config policy.callers", "%s may not %s: that takes the role admin (policy.callers), and %s is user", name, what, name)
}

// CallerOf is the person behind a request, with the role of now: who gives it himself, else whose words the planner answers, else who started the
// planner.
func (b *Session) CallerOf(s *blackboard.State, human bool) blackboard.Caller {
	name := b.Caller.Person
	if c := transition.RequestCaller(s); c != nil && !human {
		name = c.Name
	}
	return blackboard.Caller{Name: cmp.Or(name, "human"), Role: b.CallerRole(name)}
}

// MayStart says why a task must not be started now: the list of callers is looked at again before each start. "" when it may.
func (b *Session) MayStart(s *blackboard.State, t *blackboard.Task, kind blackboard.TaskKind) string {
	c := transition.CallerOf(s, t)
	if c == nil {
		return ""
	}
	now := blackboard.Caller{Name: c.Name, Role: b.CallerRole(c.Name)}
	if plan.MayUse(b.Config(), now, kind) {
		return ""
	}
	return fmt.Sprintf("tasks of kind %s may not be done for %s, whose role is user now (policy.user_kinds)", kind, c.Name)
}

// MayRun is nil for a command that may be started in the worktree of a task; a *policy.Denial says which part of it may not
// (specs/roles-and-knowledge.md#9.4).
func (b *Session) MayRun(task, command string) error {
	cfg := b.Config().Policy
	l := policy.List{Deny: cfg.Deny, Allow: cfg.Allow, AllowSudo: cfg.AllowSudo}
	return l.Check(command, b.Repo.WorktreePath(task))
}

// Skills are the skills of the project as their folders are now.
func (b *Session) Skills() skill.Library { return skill.Load(b.Project.Skills()) }

// hostFile says in git's folder which host of the board this clone is.
type hostFile struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// readHost makes the clone's id at the first use; with a board, also its name, and another one while that is another clone's there. All that begin on
// a new host come here at once, and have to be the same host: so what is missing is made under a lock.
func readHost(gitDir string, s *blackboard.State, machine string) (h hostFile, err error) {
	path := filepath.Join(gitDir, "liza", "host.json")
	read := func() (whole bool, err error) {
		data, err := safefile.Read(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("cannot read which host this is: %w", err)
		}
		_ = json.Unmarshal(data, &h) // what is damaged is made again
		return h.ID != "" && (s == nil || h.Name != "" && freeHostName(s, h.Name, h.ID) == h.Name), nil
	}
	if whole, err := read(); whole || err != nil {
		return h, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot remember which host this is: %w", err)
		}
	}()
	if err := safefile.MakeFolder(filepath.Dir(path), 0o755); err != nil {
		return h, err
	}
	soon, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	unlock, err := safefile.Lock(soon, path+".lock", safefile.Holder{PID: os.Getpid(), Op: "host"})
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if whole, err := read(); whole || err != nil {
		return h, err
	}
	if h.ID == "" {
		id := make([]byte, 8)
		if _, err := rand.Read(id); err != nil {
			return h, err
		}
		h.ID = hex.EncodeToString(id)
	}
	if s != nil {
		h.Name = freeHostName(s, cmp.Or(h.Name, machine), h.ID)
	}
	data, err := json.Marshal(h)
	if err != nil {
		return h, err
	}
	return h, safefile.Replace(path, append(data, '\n'), 0o644)
}

var hostNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`) })

// HostName is the name of this clone among the hosts of a board: the one that was given, else the one that it has had, else that of the machine, with
// a number when another clone has it.
func HostName(s *blackboard.State, gitDir, given, machine string) (string, error) {
	if given != "" {
		if !hostNames().MatchString(given) || strings.Contains(given, "..") {
			return "", WrongUsage("unset LIZA_HOST", "LIZA_HOST '%s' is not a valid name of a host: letters, digits, '.', '_' and '-'", given)
		}
		_, err := readHost(gitDir, nil, "")
		return given, err
	}
	if !hostNames().MatchString(machine) {
		machine = "host"
	}
	h, err := readHost(gitDir, s, machine)
	return h.Name, err
}

// Enrol makes the clone in gitDir a host of a board. Its name is chosen under the lock of the board, so that of two clones which come at once each
// has one of its own.
func Enrol(ctx context.Context, b store.Store, gitDir, given, machine, version string, now time.Time) error {
	return b.Update(ctx, store.Op{Name: "join", Agent: blackboard.Human}, func(s *blackboard.State) error {
		name, err := HostName(s, gitDir, given, machine)
		if err != nil {
			return err
		}
		h, err := readHost(gitDir, nil, "")
		if err != nil {
			return err
		}
		return transition.NoteContact(s, transition.Contact{Name: name, Host: blackboard.Host{ID: h.ID, Version: version}}, now)
	})
}

// freeHostName is the name, with a number when another clone has it.
func freeHostName(s *blackboard.State, name, id string) string {
	free := name
	for n := 2; s.Hosts[free] != nil && s.Hosts[free].ID != id; n++ {
		free = name + "-" + strconv.Itoa(n)
	}
	return free
}

// FollowSettings takes the settings, roles and instructions that other hosts have changed since, so that nothing is claimed or merged by older ones.
func (b *Session) FollowSettings(ctx context.Context) (err error) {
	if s, ok := b.Store.(interface {
		FollowSettings(context.Context) ([]string, error)
	}); ok {
		_, err = s.FollowSettings(ctx)
	}
	return err
}

// Contact returns what this host says of itself with each heartbeat, nothing where the board is a file.
func (b *Session) Contact() (c transition.Contact, err error) {
	if c.Name = b.ThisHost(); c.Name == "" {
		return c, nil
	}
	h, err := readHost(b.Project.GitDir, nil, "")
	c.ID, c.Version = h.ID, b.Version
	c.ClockOffset = int(math.Round(b.Clocked().ClockOffset().Seconds()))
	if b.Proc.Load != nil {
		c.Load = b.Proc.Load()
	}
	return c, err
}
