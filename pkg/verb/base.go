package verb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/config"
	"liza/pkg/git"
	"liza/pkg/history"
	"liza/pkg/project"
	"liza/pkg/review"
	"liza/pkg/safefile"
	"liza/pkg/secret"
	"liza/pkg/store"
)

// Service is where one caller uses the verbs. A Service may be used by several goroutines.
type Service struct {
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

	Enclose review.Enclose // contains each command that runs what agents wrote; nil: nothing does

	Version string // of this program

	AllowEmpty bool // a submission may change no file: --empty-commit of poststep
	Rehearsal  bool // the board is a copy, so work is neither saved nor removed
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
	Ancestors    func() []Ancestor // of the caller, itself first and the outermost last; nil: not known
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
	Attic   string            `json:"attic,omitempty"` // ref that holds the saved work
	Notices []string          `json:"warnings,omitempty"`
}

// Facts is what is known about the processes of this machine.
func (d *Service) Facts() blackboard.ProcessFacts {
	return blackboard.ProcessFacts{Host: d.Proc.Host, BootID: d.Proc.BootID, Running: d.Proc.Running,
		ClockJumped: d.Proc.ClockJumped != nil && d.Proc.ClockJumped()}
}

// RandomHex is n random bytes, as hexadecimal digits.
func (d *Service) RandomHex(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(d.Random, b); err != nil {
		return "", fmt.Errorf("cannot read random bytes: %v", err)
	}
	return hex.EncodeToString(b), nil
}

// HashToken is the form in which a token is in the state.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// SpecExists reports whether the spec file is there, under the project root, also after
// symlinks (G13).
func (d *Service) SpecExists(path string) bool {
	_, err := d.specFile(path)
	return err == nil
}

func (d *Service) specFile(ref string) (string, error) { return SpecFile(d.Project.Root, ref) }

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
func (d *Service) SpecHash(ref string) string {
	path, err := d.specFile(ref)
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
func (d *Service) Progressf(format string, args ...any) {
	if d.Progress != nil {
		d.Progress(fmt.Sprintf(format, args...))
	}
}

// Failpoint ends the process there where a test of crashes asks for it.
func (d *Service) Failpoint(point string) {
	if d.At != nil {
		d.At(point)
	}
}

// SpecText is the content of the spec file that ref names.
func (d *Service) SpecText(ref string) (string, error) {
	path, err := d.specFile(ref)
	if err != nil {
		return "", err
	}
	data, err := safefile.Read(path)
	return string(data), err
}

// Board is the board as one that several hosts use, nil when it is a file of this host.
func (d *Service) Board() store.Clocked {
	s, _ := d.Store.(store.Clocked)
	return s
}

// Shared reports whether several hosts have the board.
func (d *Service) Shared() bool { return d.Board() != nil }

// Remote is the name of the git remote over which work travels, "" when none does.
func (d *Service) Remote() string {
	remote := d.Config().Git.Remote
	if remote == "" && d.Shared() && d.Repo != nil {
		if url, err := d.Repo.RemoteURL(context.Background(), "origin"); err == nil && url != "" { // from memory, as a rule
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

// WorktreeOf is the path of the task's worktree, "" when there is none.
func (d *Service) WorktreeOf(ctx context.Context, task string) string {
	path := d.Repo.WorktreePath(task)
	if w, err := d.Repo.Inspect(ctx, path); err != nil || !w.Exists {
		return ""
	}
	return path
}

func lastCommit(t *blackboard.Task) string {
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if t.Attempts[i].Commit != "" {
			return t.Attempts[i].Commit
		}
	}
	return ""
}
