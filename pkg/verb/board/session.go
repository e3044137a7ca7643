// Package board is the session of one caller at one project.
//
// A Session knows the project, the store, the repository, the settings, who calls, and what the machine tells. View returns a snapshot
// with the settings' defaults; Update changes the board as the caller; Identify says who that is; Mask takes secrets out of a text.
//
// Every write goes through Update, Event or AsSystem: they stop the programs of registrations that a change replaces, put notifications
// into the outbox, let the circuit breaker look, and forget the secrets of a goal that is over. The function given to them may run twice:
// it asks neither git nor a process nor the clock for anything that matters.
package board

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/base/secret"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/code/review"
)

// A Session is one caller at one project: the board, the repository, the settings, who calls, and what the machine tells. It may be
// used by several goroutines.
type Session struct {
	Project     *project.Project
	Store       store.Store
	Repo        *git.Repo
	Config      func() *config.Config // the settings now; a supervisor reloads them
	TaskArchive *history.Archive      // the tasks that have left the board; nil: read again each time
	Caller      Caller
	Proc        Processes
	Now         func() time.Time
	Random      io.Reader // for tokens, generations and nonces
	Home        string    // the person's home, which no command may touch; "" when unknown
	Zone        string    // name of the person's time zone; "" when unknown
	Path        string    // the folders in which commands find programs

	NoSpecFiles bool                                                  // spec files are not looked for
	Scripted    bool                                                  // plans come from the scripted planner (specs/roles-and-knowledge.md#3.3, specs/roles-and-knowledge.md#4)
	Progress    func(text string)                                     // says what long work is doing; may be nil
	Unsaved     func(err error)                                       // work could not be let go because it is saved nowhere else; may be nil
	Notice      func(kind blackboard.AlertKind, subject, text string) // something to tell people once; may be nil
	At          func(point string)                                    // failpoints of tests; may be nil
	// Run is the correlation id of the run of an agent program that the caller is at, "" for
	// none: what it writes into the journal names it (specs/roles-and-knowledge.md#7.1). nil: none.
	Run func() string
	// May says why the caller cannot take a task now, "" when it can: its agent program waits,
	// or may not judge what it wrote. nil: it can take any.
	May func(*blackboard.State, *blackboard.Task) string

	Secrets *secret.Set  // masked in everything that is written; nil: none are known
	Held    *HeldSecrets // secrets that are in no file; nil: there are none

	Enclose    review.Enclose        // contains each command that runs what agents wrote; nil: nothing does
	BeginCache func(dir string) bool // begins the cache of builds of a worktree with that of merged work; false: it is too large. nil: there is none
	// ProjectSetting reports whether agent programs take a file of the project as settings of theirs; nil: none is known.
	ProjectSetting func(file string) bool
	Platform       func() string // names the system and the tools of languages, with their versions; may be nil

	Version string // of this program

	AllowEmpty bool // a submission may change no file: --empty-commit of poststep
	Rehearsal  bool // the board is a copy, so work is neither saved nor removed

	draft *draft // changes that the next write takes along; nil: there are none
}

// Help starts the helper of git where the commands of the project are contained: a run may have made anything of its worktree.
func (b *Session) Help(ctx context.Context, h git.Help) (code int, said string, err error) {
	var out bytes.Buffer
	const most = 64 << 10
	ran := review.Command{Shell: h.Shell, Name: h.Name, Dir: h.Dir, Reads: h.Reads, Writes: []string{h.Folder}, Timeout: h.Limit, Output: &out, Most: most}.RunIn(ctx, b.Enclose)
	switch {
	case ran.Err != nil:
		return 0, "", ran.Err
	case ran.TimedOut:
		return 0, "", fmt.Errorf("it took longer than %s", h.Limit)
	case ran.TooMuch || ran.ExitCode < 0:
		return 1, out.String() + strings.Join(ran.Refusals(), "\n"), nil
	}
	return ran.ExitCode, out.String(), nil
}

// maxPrinted is how much of what a service has printed for a task is kept, and twice with what came before.
const maxPrinted = 4 << 20

// KeepPrinted adds the end of what a service of a run has printed to its log for a task; by names the run.
func (b *Session) KeepPrinted(task, service, by string, end []byte) {
	log, err := safefile.OpenLog(b.Project.ServiceLog(task, service), 0o600, maxPrinted)
	if err != nil {
		b.Progressf("cannot keep what the service %s has printed: %v", service, err)
		return
	}
	defer log.Close()
	masked := b.MaskLog(log)
	_, _ = fmt.Fprintf(masked, "=== %s %s\n%s\n", blackboard.TimeOf(b.Now()), by, bytes.TrimRight(end, "\n"))
	_ = masked.Close()
}

// Ask runs an agent program that prints its version or help and ends, contained like a command of the project: it may change
// the folder dir and nothing else. At level open it is not contained.
func (b *Session) Ask(ctx context.Context, dir string, argv, env []string, out io.Writer) (exit int, err error) {
	ran := review.Command{Argv: argv, Environ: env, Dir: dir, Output: out}.RunIn(ctx, b.Enclose)
	if ran.ExitCode < 0 && ran.Err == nil {
		return 0, errors.New(strings.Join(append(ran.Refusals(), "it was killed"), ", "))
	}
	return max(0, ran.ExitCode), ran.Err
}

// ThisHost is the name of this host on a board that several have, "" where the board is a file.
func (b *Session) ThisHost() string {
	if !b.Shared() {
		return ""
	}
	return b.Proc.Host
}

// Elsewhere reports whether another host has the worktree of a task.
func (b *Session) Elsewhere(t *blackboard.Task) bool {
	return t != nil && t.ElsewhereThan(b.ThisHost())
}

// Apart refuses to show a coder in a run another attempt at its work: attempts are made apart from each other.
func (b *Session) Apart(s *blackboard.State, t *blackboard.Task) error {
	e := s.Agents[cmp.Or(b.Caller.Inside, b.Caller.AgentID)]
	if e == nil || e.Role != blackboard.RoleCoder || t == nil || t.AttemptOf == "" {
		return nil
	}
	if own := s.Task(e.CurrentTask); own != nil && own.ID != t.ID && own.AttemptOf == t.AttemptOf {
		return Refuse("liza show "+own.ID, "%s is another attempt at your task, and attempts are made apart from each other", t.ID)
	}
	return nil
}

func (b *Session) AsSystem(ctx context.Context, change func(*blackboard.State)) error {
	return b.Update(ctx, "integration", func(s *blackboard.State, _ transition.Actor) error {
		change(s)
		return nil
	})
}

// Caller is who calls, as the environment and the command line tell it (specs/cli.md#1).
type Caller struct {
	AgentID string // LIZA_AGENT_ID
	Token   string // LIZA_AGENT_TOKEN
	As      string // --as: a person acts for this agent
	Person  string // name of the person
	Inside  string // the agent out of whose run the call came, where that is known; "": Processes tells
}

// Processes is what the machine tells about processes and disk.
type Processes struct {
	Host, BootID string
	Running      func(pid int, start int64) (running, known bool)
	Kept         func(run string) bool // a run goes on without its supervisor (blackboard.ProcessFacts); nil: none does
	Ancestors    func() []Ancestor     // of the caller, itself first and the outermost last; nil: not known
	StopOrphan   func(ctx context.Context, agent string, child blackboard.Child, grace time.Duration) error
	FreeMB       func(path string) int // 0: unknown
	Load         func() string         // processes that want to run, per processor; nil: not known
	ClockJumped  func() bool           // the clock of this machine jumped a moment ago (specs/protocol.md#6.3); nil: not known
}

// Done is the result of a verb that changes one task.
type Done struct {
	Task    string            `json:"task,omitempty"`
	Status  blackboard.Status `json:"status,omitempty"`
	Already bool              `json:"already_done,omitempty"`
	Said    bool              `json:"recorded,omitempty"` // by a run, whose end applies it
	Attic   string            `json:"attic,omitempty"`    // ref that holds the saved work
	Notices []string          `json:"warnings,omitempty"`
}

// Facts is what is known about the processes of this machine.
func (b *Session) Facts() blackboard.ProcessFacts {
	return blackboard.ProcessFacts{Host: b.Proc.Host, BootID: b.Proc.BootID, Running: b.Proc.Running, Kept: b.Proc.Kept,
		ClockJumped: b.Proc.ClockJumped != nil && b.Proc.ClockJumped()}
}

// RandomHex is n random bytes, as hexadecimal digits.
func (b *Session) RandomHex(n int) (string, error) {
	raw := make([]byte, n)
	if _, err := io.ReadFull(b.Random, raw); err != nil {
		return "", fmt.Errorf("cannot read random bytes: %v", err)
	}
	return hex.EncodeToString(raw), nil
}

// HashToken is the form in which a token is in the state.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// SpecExists reports whether the spec file is there, under the project root, also after
// symlinks (G13).
func (b *Session) SpecExists(path string) bool {
	_, err := SpecFile(b.Project.Root, path)
	return err == nil
}

// SpecFile is the file that a spec_ref names, below the project root also after symlinks. What git, Liza
// and the agents have there is not: an agent that names a spec is shown what is in it.
func SpecFile(root, ref string) (string, error) {
	path, _, _ := strings.Cut(ref, "#")
	if path == "" || filepath.IsAbs(path) || !filepath.IsLocal(path) {
		return "", fmt.Errorf("the spec path %q leads out of the project", path)
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, path))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("the spec path %q leads out of the project", path)
	}
	switch top, _, _ := strings.Cut(filepath.ToSlash(rel), "/"); strings.ToLower(top) {
	case ".git", ".liza", ".worktrees":
		return "", fmt.Errorf("the spec path %q leads into %s, where no specs are", path, top)
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file", path)
	}
	return real, nil
}

// SpecHash is "sha256:…" of the spec file, "" when it cannot be read.
func (b *Session) SpecHash(ref string) string {
	path, err := SpecFile(b.Project.Root, ref)
	if err != nil {
		return ""
	}
	data, err := safefile.Read(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Progressf says what long work is doing.
func (b *Session) Progressf(format string, args ...any) {
	if b.Progress != nil {
		b.Progress(fmt.Sprintf(format, args...))
	}
}

// Failpoint ends the process there where a test of crashes asks for it.
func (b *Session) Failpoint(point string) {
	if b.At != nil {
		b.At(point)
	}
}

// SpecText is the content of the spec file that ref names.
func (b *Session) SpecText(ref string) (string, error) {
	path, err := SpecFile(b.Project.Root, ref)
	if err != nil {
		return "", err
	}
	data, err := safefile.Read(path)
	return string(data), err
}

// Board is the board as one that several hosts use, nil when it is a file of this host.
func (b *Session) Clocked() store.Clocked {
	s, _ := b.Store.(store.Clocked)
	return s
}

// Shared reports whether several hosts have the board.
func (b *Session) Shared() bool { return b.Clocked() != nil }

// Remote is the name of the git remote over which work travels, "" when none does.
func (b *Session) Remote() string {
	remote := b.Config().Git.Remote
	if remote == "" && b.Shared() && b.Repo != nil {
		if url, err := b.Repo.RemoteURL(context.Background(), "origin"); err == nil && url != "" { // from memory, as a rule
			return "origin"
		}
	}
	return remote
}

// Ancestor is the caller's process or a living one that it descends from, with what its
// environment says of the run that it belongs to. An environment can be emptied; that of the
// reaper, which every process of a run descends from, cannot (specs/architecture.md).
type Ancestor struct {
	PID             int
	Start           int64
	Root, Run, Name string // LIZA_ROOT, LIZA_RUN and LIZA_AGENT_ID; Run "" means no mark

	Folders []string // its worktree and its folder for temporary files: projects in them are its own
}

// Update changes the state as the caller. change may run more than once.
func (b *Session) Update(ctx context.Context, op string, change func(*blackboard.State, transition.Actor) error) error {
	id, err := b.Identify()
	if err != nil {
		return err
	}
	return b.UpdateAs(ctx, op, id, change)
}

func (b *Session) UpdateAs(ctx context.Context, op string, id Identity, change func(*blackboard.State, transition.Actor) error) error {
	return b.updateOp(ctx, store.Op{Name: op}, id, change)
}

// UpdateAhead is Update with something that must be on disk before the change is.
func (b *Session) UpdateAhead(ctx context.Context, op string, ahead func([]store.Gone) error, change func(*blackboard.State, transition.Actor) error) error {
	id, err := b.Identify()
	if err != nil {
		return err
	}
	return b.updateOp(ctx, store.Op{Name: op, Ahead: ahead}, id, change)
}

func (b *Session) updateOp(ctx context.Context, op store.Op, id Identity, change func(*blackboard.State, transition.Actor) error) error {
	if op.Agent = id.caller.AgentID + id.caller.As; op.Agent == "" {
		op.Agent = blackboard.Human
	}
	b.LoadSecrets()
	var over []string // secrets that end with the goal
	if b.Vault().keepsSecrets() {
		ahead := op.Ahead
		op.Ahead = func(gone []store.Gone) error {
			if ahead != nil {
				if err := ahead(gone); err != nil {
					return err
				}
			}
			return b.Vault().forgetSecrets(over)
		}
	}
	take, drafted := b.Orphans().NewTakeover(), false
	var did []*Following
	written := false
	defer func() { b.draft.ended(written, did) }()
	err := take.Try(ctx, func() error {
		return b.Breaker().Watched().Update(ctx, op, func(s *blackboard.State) error {
			b.Prepare(s)
			before := registrations(s)
			drafted = false
			if err := b.draft.apply(s, id.Actor(s)); err != nil {
				return err
			}
			text := transition.BoundText(s, id.Actor(s), b.Now())
			if err := change(s, id.Actor(s)); err != nil {
				return err
			}
			if err := text.Check(s); err != nil {
				return err
			}
			if b.Run != nil { // what follows is not of this run
				nameRun(b.Run(), s.Entries())
			}
			did = b.draft.then(s, id.Actor(s))
			if b.Vault().keepsSecrets() {
				over = endSecrets(s)
			}
			drafted = true // else nothing is written
			return take.replaced(before, s)
		})
	})
	written = err == nil && drafted
	return err
}

// nameRun puts the correlation id into journal entries that have none.
func nameRun(run string, entries []blackboard.Entry) {
	if run == "" {
		return
	}
	for i, e := range entries {
		if e.Extra["run"] != nil {
			continue
		}
		extra := map[string]any{"run": run}
		maps.Copy(extra, e.Extra)
		entries[i].Extra = extra
	}
}

// Event carries out one Event on a task and reports its new status.
func (b *Session) Event(ctx context.Context, op, task string, change func(*blackboard.State, transition.Actor) error) (Done, error) {
	done := Done{Task: task}
	err := b.Update(ctx, op, func(s *blackboard.State, a transition.Actor) error {
		if err := change(s, a); err != nil {
			return err
		}
		done.Status = s.Task(task).Status
		return nil
	})
	return b.Already(ctx, done, err)
}

// Already turns a repetition (specs/protocol.md#0.7) into success.
func (b *Session) Already(ctx context.Context, done Done, err error) (Done, error) {
	if !errors.Is(err, transition.ErrAlreadyDone) {
		return done, err
	}
	done.Already = true
	s, err := b.View(ctx)
	if err != nil {
		return done, err
	}
	if t := s.Task(done.Task); t != nil {
		done.Status = t.Status
	}
	return done, nil
}

// Input has the facts that every event may need.
func (b *Session) Input() transition.Input {
	cfg := b.Config()
	in := transition.Input{
		Shared:      b.Shared(),
		Control:     b.ControlOn(nil),
		HumanReview: cfg.Plan.HumanReview,
		MinFreeMB:   cfg.Policy.MinFreeMB,
		ReviewMode:  blackboard.ReviewMode(cfg.Review.Mode),
		AutoMerge:   cfg.Review.AutoMerge,
		Proceed:     cfg.Limits.OnReviewDepth == "proceed",
	}
	seen := map[string]bool{} // many tasks have the same one
	in.SpecExists = func(path string) bool {
		if there, known := seen[path]; known {
			return there
		}
		seen[path] = b.SpecExists(path)
		return seen[path]
	}
	if b.Proc.FreeMB != nil {
		in.FreeMB = b.Proc.FreeMB(b.Project.Root)
	}
	if b.NoSpecFiles {
		in.SpecExists = nil
	}
	return in
}

// View returns a snapshot with the configuration's defaults.
func (b *Session) View(ctx context.Context) (*blackboard.State, error) {
	s, err := b.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	b.Prepare(s)
	b.draft.foresee(b, s)
	return s, nil
}

// Prepare gives a state the settings that the board itself does not have, and its archive.
func (b *Session) Prepare(s *blackboard.State) {
	cfg := b.Config()
	s.Defaults = blackboard.Settings(cfg.Settings())
	s.Overrides = blackboard.Settings(cfg.Overrides())
	s.WarnPercent = cfg.Limits.WarnPercent
	s.UseArchive(b.Histories().Archives())
}

// Refuse is a refusal by no guard of the state (exit 4): of what was found elsewhere.
func Refuse(next, format string, args ...any) error {
	return &transition.Refusal{Exit: transition.ExitRefused, Next: next, Message: fmt.Sprintf(format, args...)}
}

// Fail says that something could not be done (exit 1), and what helps.
func Fail(next, format string, args ...any) error {
	return &transition.Refusal{Exit: transition.ExitFailure, Next: next, Message: fmt.Sprintf(format, args...)}
}

// WrongUsage refuses what a command was given (exit 2).
func WrongUsage(next, format string, args ...any) error {
	return &transition.Refusal{Exit: transition.ExitUsage, Next: next, Message: fmt.Sprintf(format, args...)}
}

// NothingToDo says that there is nothing to do now, and what the caller waits for (exit 7).
func NothingToDo(why string) error {
	return &transition.Refusal{Exit: transition.ExitNothing, Next: "liza status", Message: why}
}

// IsRefusal reports whether err is a rule's refusal.
func IsRefusal(err error) bool {
	_, ok := errors.AsType[*transition.Refusal](err)
	return ok
}

// Unknown is the refusal for a task that is not there.
func (b *Session) Unknown(s *blackboard.State, id string) error {
	return transition.UnholdTask(s.Clone(), id, transition.Actor{ID: blackboard.Human}, transition.Input{}, b.Now())
}
