package verb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/seal"
	"liza/pkg/board/store"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/verb/board"
)

// InitInput says how a project begins (specs/cli.md#2, init).
type InitInput struct {
	Goal        string
	Spec        string // default specs/vision.md
	Branch      string // default integration
	From        string // where the integration branch starts; default HEAD, or the remote's branch of that name when it has more
	ReuseBranch bool
	Dir         string // where to look for the repository
	Environ     []string
	Keys        string // the person's folder for keys; see package seal
	Now         time.Time
	Person      string
	Mask        func(text string) string // takes secrets out of what is written; may be nil
	At          func(point string)

	// Board makes the board in the folder that will be .liza; nil: as a file there.
	Board func(ctx context.Context, dir string, o store.Options, first *blackboard.State, comments ...store.Comment) error
}

// Initialized is the result of init.
type Initialized struct {
	Root        string   `json:"root"`
	State       string   `json:"state"`
	Board       string   `json:"board,omitempty"` // in a database
	Goal        string   `json:"goal"`
	Branch      string   `json:"integration_branch"`
	Integration string   `json:"integration_head"`
	Reused      bool     `json:"branch_reused,omitempty"`
	Origin      string   `json:"from,omitempty"`        // the remote branch that the integration branch starts from
	NoIdentity  bool     `json:"no_identity,omitempty"` // git does not know who commits here
	FiltersOff  []string `json:"filters_off,omitempty"` // filters of .gitattributes that git.filters does not allow
	Undo        string   `json:"undo"`                  // the command that takes the project away again, before work has begun
}

// Init makes `.liza/` and the integration branch. `.liza/` appears last and whole: a
// refused or killed init leaves none (specs/protocol.md#1.1).
func Init(ctx context.Context, in InitInput) (Initialized, error) {
	var out Initialized
	if strings.TrimSpace(in.Goal) == "" {
		return out, board.WrongUsage("liza help init", "the goal is empty: say in a sentence what is to be built")
	}
	goal, err := board.CleanText("the goal", in.Goal)
	if err != nil {
		return out, err
	}
	in.Goal = goal
	p, err := project.At(in.Dir)
	if err != nil {
		return out, err
	}
	if !utf8.ValidString(p.Root) || strings.ContainsFunc(p.Root, unicode.IsControl) { // the board, prompts and lists of paths are lines of text
		return out, board.Fail("mv the folder to a name without it, and liza init", "the path %q has a control character, or bytes that are not UTF-8", p.Root)
	}
	repo, err := git.Open(ctx, in.Dir)
	if err != nil {
		return out, err
	}
	if has, err := repo.HasCommit(ctx); err != nil {
		return out, err
	} else if !has {
		return out, board.Fail("git commit --allow-empty -m start", "the repository has no commit yet, so there is nothing to start the integration branch from")
	}
	if _, err := os.Lstat(p.State()); err == nil {
		return out, board.Refuse("liza status", "this project is initialised already: .liza/state.yaml exists")
	}
	if err := os.Remove(p.Mirror()); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a project that was here
		return out, board.Fail("liza doctor", "cannot remove %s: %v", p.Mirror(), err)
	}
	cfg, _, err := config.Load(p.Liza, in.Environ)
	if err != nil {
		return out, err
	}
	in.Spec = cmp.Or(in.Spec, "specs/vision.md")
	d := &board.Session{Project: p}
	if !d.SpecExists(in.Spec) {
		where := ""
		if repo.Checkout() != p.Root {
			where = " in the main checkout " + p.Root + ", where Liza reads it"
		}
		return out, board.Fail("write "+in.Spec+", or name another file with --spec", "the spec file %s does not exist%s", in.Spec, where)
	}
	if err := SpecCommitted(ctx, p, repo, in.Spec); err != nil {
		return out, err
	}
	in.Branch = cmp.Or(in.Branch, cfg.Protocol.IntegrationBranch)
	if !git.ValidBranchName(in.Branch) {
		return out, board.WrongUsage("liza help init", "'%s' is not a valid name of a branch", in.Branch)
	}
	if in.Branch == taskBranches || strings.HasPrefix(in.Branch, taskBranches+"/") {
		return out, board.WrongUsage("liza help init", "'%s' cannot be the integration branch: the branches of tasks are %s/ID", in.Branch, taskBranches)
	}
	if _, err := repo.BranchTip(ctx, taskBranches); err == nil {
		return out, board.Refuse("git branch -m "+taskBranches+" OTHER", "there is a branch %s, beside which git can make no branch %s/ID of a task", taskBranches, taskBranches)
	}
	start, baseRef, err := startOf(ctx, repo, in)
	if err == nil && baseRef == in.Branch {
		return out, board.Refuse("liza init GOAL --branch liza-"+in.Branch,
			"%s is to get the work, and would be the integration branch too: Liza moves that one, so it has to be another", in.Branch)
	}
	if err != nil {
		return out, err
	}
	origin, err := remoteStart(ctx, repo, in, cmp.Or(cfg.Git.Remote, "origin"), &start)
	if err != nil {
		return out, err
	}
	if !in.ReuseBranch {
		if err := specIn(ctx, repo, in, start); err != nil {
			return out, err
		}
	}
	known, err := repo.KnowsIdentity(ctx)
	if err != nil {
		return out, err
	}
	undo := undoOf(p, in.Dir)
	s := firstState(in, baseRef)
	made := "" // where the branch was made
	err = p.Create(ctx, func(dir string) error {
		// The branch has to exist before the project does; a killed init may leave it,
		// and the next one accepts it, because it is where it would put it.
		head, reused, err := integrationAt(ctx, repo, in, start)
		if err != nil {
			return err
		}
		s.Integration = &blackboard.Integration{Tip: head, By: "init", At: s.Goal.Created, Base: start}
		out = Initialized{Root: p.Root, State: ".liza/state.yaml", Goal: s.Goal.ID, Branch: in.Branch, Integration: head, Reused: reused, Origin: origin, NoIdentity: !known, Undo: undo}
		repo.Filters = cfg.Git.Filters
		if out.FiltersOff, err = repo.FiltersOff(ctx, head); err != nil {
			return err
		}
		if !reused {
			made = head
			out.Undo += " && " + gitIn(p, in.Dir) + " branch -D " + in.Branch
		}
		if err := repo.AddExclude(ctx, "/.worktrees/"); err != nil {
			return err
		}
		board := in.Board
		if board == nil {
			board = func(ctx context.Context, _ string, o store.Options, first *blackboard.State, comments ...store.Comment) error {
				return store.Create(ctx, o, first, comments...)
			}
		}
		return board(ctx, dir, store.Options{Path: filepath.Join(dir, "state.yaml"), GitDir: repo.CommonDir(), Now: func() time.Time { return in.Now }, Mask: in.Mask,
			Seals: Seals(in.Keys, repo.CommonDir(), in.Dir)}, s,
			store.Comment{Path: "version", Text: headComment}, store.Comment{Path: "config", Text: configComment()})
	})
	if err == nil {
		err = putInForce(p)
	}
	if err != nil && made != "" { // else the next init could refuse a branch that nobody asked for
		err = errors.Join(err, repo.DeleteRef(context.WithoutCancel(ctx), "refs/heads/"+in.Branch, made))
	}
	return out, err
}

// taskBranches is the folder of the branches of tasks.
const taskBranches = "task"

// putInForce makes the settings of a new project those that its team works with, in the place of what an earlier one had.
func putInForce(p *project.Project) error {
	name, text, err := project.Settings(p.Liza)
	if err == nil {
		err = p.PutInForce(name, text)
	}
	if err != nil {
		return board.Fail("liza doctor", "cannot keep a copy of the settings: %v", err)
	}
	return nil
}

// undoOf is the command that removes what init makes in the checkout; what a person has put
// into .liza before stays.
func undoOf(p *project.Project, dir string) string {
	liza := git.ShellWord(p.Liza)
	if dir == p.Root {
		liza = ".liza"
	}
	if _, err := os.Stat(p.Liza); err == nil {
		return "rm " + liza + "/state.yaml* " + liza + "/log.yaml*"
	}
	return "rm -r " + liza
}

func gitIn(p *project.Project, dir string) string {
	if dir == p.Root {
		return "git"
	}
	return "git -C " + git.ShellWord(p.Root)
}

// Seals is what a store needs to seal the approvals of the project in dir.
func Seals(keys, gitDir, dir string) *store.Seals {
	var opened sync.Mutex
	var repo *git.Repo // opened when the first approval is sealed
	return &store.Seals{Ring: seal.Ring{Folder: keys, GitDir: gitDir}, TreeOf: func(commit string) (_ string, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), sealTime)
		defer cancel()
		opened.Lock()
		defer opened.Unlock()
		if repo == nil {
			if repo, err = git.Open(ctx, dir); err != nil {
				return "", err
			}
		}
		return repo.TreeOf(ctx, commit)
	}}
}

// sealTime bounds what git may take under the lock of the state.
const sealTime = 30 * time.Second

// startOf says where the integration branch starts and what base_ref is.
func startOf(ctx context.Context, repo *git.Repo, in InitInput) (commit, baseRef string, err error) {
	if in.From != "" {
		commit, err = repo.ResolveHere(ctx, in.From)
		if err != nil {
			return "", "", board.WrongUsage("git log", "--from %s is not a commit of this repository", in.From)
		}
		if in.From != "@" && !strings.HasPrefix(in.From, "HEAD") {
			return commit, in.From, nil
		}
		// HEAD will be elsewhere tomorrow: the branch that it is on, or the commit, is what is meant.
		if head, err := repo.HeadHere(ctx); err == nil && head.Branch != "" && head.Commit == commit {
			return commit, head.Branch, nil
		}
		return commit, commit, nil
	}
	head, err := repo.HeadHere(ctx)
	if err != nil {
		return "", "", err
	}
	if head.Branch == "" {
		return "", "", board.Refuse("liza init GOAL --from "+blackboard.ShortCommit(head.Commit), "HEAD is detached at %s; say with --from where the integration branch is to start", blackboard.ShortCommit(head.Commit))
	}
	return head.Commit, head.Branch, nil
}

// remoteStart moves start to the integration branch of a remote when a clone has none of its own yet and the remote's has
// commits that start lacks; origin is its name then.
func remoteStart(ctx context.Context, repo *git.Repo, in InitInput, remote string, start *string) (origin string, err error) {
	tip, err := repo.RemoteBranch(ctx, remote, in.Branch)
	if err != nil || tip == "" || in.From != "" {
		return "", err
	}
	if here, err := repo.BranchTip(ctx, in.Branch); err == nil && here != tip {
		return "", nil
	}
	if has, err := repo.IsAncestor(ctx, tip, *start); err != nil || has {
		return "", err
	}
	*start = tip
	return remote + "/" + in.Branch, nil
}

// integrationAt creates the integration branch, or accepts the one that is there (B22).
func integrationAt(ctx context.Context, repo *git.Repo, in InitInput, start string) (head string, reused bool, err error) {
	head, err = repo.BranchTip(ctx, in.Branch)
	switch {
	case err != nil:
		if err := repo.SyncLoose(""); err != nil {
			return "", false, err
		}
		return start, false, repo.CreateBranch(ctx, in.Branch, start)
	case head == start || in.ReuseBranch:
		return head, true, nil
	}
	ahead, _ := repo.CountBetween(ctx, start, head)
	behind, _ := repo.CountBetween(ctx, head, start)
	return "", false, board.Refuse("liza init GOAL --reuse-branch",
		"the branch %s exists already at %s, %d commits ahead of and %d behind %s where it would start; --reuse-branch accepts it, --branch NAME takes another", in.Branch, blackboard.ShortCommit(head), ahead, behind, blackboard.ShortCommit(start))
}

// headComment says at the head of a new board what a person may change.
const headComment = "You may read and edit this file at any time; comments, the order of keys and unknown keys stay. `liza validate` checks an edit.\n" +
	"Leave these to Liza: revision, agents, seals, and that a task is APPROVED or MERGED."

// configComment names the settings that may be in the section config.
func configComment() string {
	text := "What is here wins over .liza/config.yaml. `liza config` shows every setting, `liza config KEY VALUE`\n" +
		"changes one, and these can be here:"
	line := ""
	for _, key := range blackboard.SettingKeys() {
		if len(line)+len(key) > 110 {
			text, line = text+"\n"+line, ""
		}
		line = strings.TrimSpace(line + " " + key)
	}
	return text + "\n" + line
}

func firstState(in InitInput, baseRef string) *blackboard.State {
	at := blackboard.TimeOf(in.Now)
	goalID := fmt.Sprintf("goal-%d", in.Now.Unix())
	s := &blackboard.State{Version: "1", Revision: 1,
		Goal: &blackboard.Goal{ID: goalID, Description: in.Goal, SpecRef: in.Spec, Created: at, Status: blackboard.InProgress,
			AlignmentHistory: []*blackboard.Alignment{{Timestamp: at, Event: "initialization", Summary: "Goal created"}}},
		Agents: map[string]*blackboard.Agent{},
		Sprint: &blackboard.Sprint{ID: "sprint-1", GoalRef: goalID, Scope: &blackboard.SprintScope{}, Timeline: &blackboard.Timeline{Started: at},
			Status: blackboard.InProgress, Metrics: &blackboard.Metrics{}},
		CircuitBreaker: &blackboard.CircuitBreaker{Status: blackboard.BreakerOK},
		// Where work comes from and goes to was decided now; every other setting has its home in
		// config.yaml, and is here only when a person overrides it.
		Config: blackboard.Settings{"integration_branch": in.Branch, "base_ref": baseRef},
	}
	s.Record(blackboard.Entry{Timestamp: at, Agent: blackboard.Human, Action: blackboard.ActionInitialized, Detail: goalID + ": " + prose.FirstLine(in.Goal)})
	return s
}

// specIn refuses a start of the integration branch that has another spec file than the checkout.
func specIn(ctx context.Context, repo *git.Repo, in InitInput, start string) error {
	head, err := repo.Head(ctx)
	if err != nil || head.Commit == start {
		return err
	}
	spec, _, _ := strings.Cut(in.Spec, "#")
	has, same, err := repo.SameIn(ctx, start, head.Commit, filepath.ToSlash(filepath.Clean(spec)))
	if err != nil || has && same {
		return err
	}
	if !has {
		return board.Refuse("liza init GOAL --from HEAD", "the integration branch would start at %s, where the spec file %s is not there yet: agents would not see it", blackboard.ShortCommit(start), spec)
	}
	return board.Refuse("git diff "+blackboard.ShortCommit(start)+" HEAD -- "+git.ShellWord(spec), "the integration branch would start at %s, which has another version of the spec file %s than your checkout; --from HEAD starts at your checkout", blackboard.ShortCommit(start), spec)
}
