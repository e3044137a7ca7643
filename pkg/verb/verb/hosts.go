package verb

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
	"strconv"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/verb/board"
)

// hostFile says in git's folder which host of the board this clone is.
type hostFile struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func hostPath(gitDir string) string { return filepath.Join(gitDir, "liza", "host.json") }

// readHost makes the clone's id at the first use; with a board, also its name, and another one while that is another clone's there.
// All that begin on a new host come here at once, and have to be the same host: so what is missing is made under a lock.
func readHost(gitDir string, s *blackboard.State, machine string) (h hostFile, err error) {
	path := hostPath(gitDir)
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

// HostName is the name of this clone among the hosts of a board: the one that was given, else the one that it has had, else
// that of the machine, with a number when another clone has it.
func HostName(s *blackboard.State, gitDir, given, machine string) (string, error) {
	if given != "" {
		if !hostNames().MatchString(given) || strings.Contains(given, "..") {
			return "", board.WrongUsage("unset LIZA_HOST", "LIZA_HOST '%s' is not a valid name of a host: letters, digits, '.', '_' and '-'", given)
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

// Enrol makes the clone in gitDir a host of a board. Its name is chosen under the lock of the board, so that of two clones which
// come at once each has one of its own.
func Enrol(ctx context.Context, board store.Store, gitDir, given, machine, version string, now time.Time) error {
	return board.Update(ctx, store.Op{Name: "join", Agent: blackboard.Human}, func(s *blackboard.State) error {
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

// FollowSettings takes the settings, roles and instructions that other hosts have changed since, so that nothing is claimed or
// merged by older ones.
func (w Worktrees) FollowSettings(ctx context.Context) error {
	s, ok := w.verbs.Board.Store.(interface {
		FollowSettings(context.Context) ([]string, error)
	})
	if !ok {
		return nil
	}
	_, err := s.FollowSettings(ctx)
	return err
}

// contact is what this host says of itself with each heartbeat; without a name, nothing.
func (w Worktrees) contact() (c transition.Contact, err error) {
	if c.Name = w.verbs.Board.ThisHost(); c.Name == "" {
		return c, nil
	}
	h, err := readHost(w.verbs.Board.Project.GitDir, nil, "")
	c.ID, c.Version = h.ID, w.verbs.Board.Version
	c.ClockOffset = int(math.Round(w.verbs.Board.Clocked().ClockOffset().Seconds()))
	if w.verbs.Board.Proc.Load != nil {
		c.Load = w.verbs.Board.Proc.Load()
	}
	return c, err
}

// OthersTurn reports whether another host merges now.
func (w Worktrees) OthersTurn(s *blackboard.State) bool {
	if s.Integration == nil || s.Integration.Turn == nil {
		return false
	}
	turn := s.Integration.Turn
	until, known := turn.Until.At()
	return turn.Host != "" && turn.Host != w.verbs.Board.ThisHost() && known && w.verbs.Board.Now().Before(until)
}

// brought reports whether work of a task that another host has can be gone on with here, because it was pushed. A commit that an
// earlier claim recorded, from before the present base, is not such work.
func (w Worktrees) brought(ctx context.Context, t *blackboard.Task) (bool, error) {
	for _, c := range []string{t.ReviewCommit, lastCommit(t)} {
		if c == "" || c == t.BaseCommit {
			continue
		}
		if err := w.verbs.Integration.Fetch(ctx, c, t.BaseCommit); err != nil {
			return false, err
		}
		there, err := w.verbs.Board.Repo.CommitExists(ctx, c)
		if err == nil && there {
			there, err = w.verbs.Integration.ContainsBase(ctx, t.BaseCommit, c)
		}
		if err != nil || there {
			return there, err
		}
	}
	return false, nil
}

// shelve saves what this host has of a task whose worktree another host has now, and removes it. What was not pushed before
// goes to the attic, also on the remote, and the task says so.
func (w Worktrees) shelve(ctx context.Context, s *blackboard.State, t *blackboard.Task) error {
	path := w.verbs.Integration.WorktreeOf(ctx, t.ID)
	tip, err := w.verbs.Board.Repo.BranchTip(ctx, git.TaskBranch(t.ID))
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return err
	}
	if path == "" && tip == "" {
		return nil
	}
	work := git.Work{ID: t.ID, Path: path, Reason: "left on host " + w.verbs.Board.ThisHost(), Integration: w.verbs.Integration.ProvenTip(ctx, s), Base: t.BaseCommit}
	if tip != "" {
		pushed, err := w.verbs.Board.Repo.Pushed(ctx, w.verbs.Board.Remote(), []string{tip})
		if err != nil {
			return err
		}
		if pushed[tip] || tip == t.ReviewCommit {
			work.Base = tip
		}
	}
	ref, _, err := w.verbs.Board.Repo.Save(ctx, work)
	if err != nil {
		return err
	}
	w.verbs.Board.Failpoint("shelve.saved")
	if ref != "" {
		text := fmt.Sprintf("work of an earlier claim on host %s had not been pushed; it is saved there as %s", w.verbs.Board.ThisHost(), ref)
		if there, err := w.publishAttic(ctx, t.ID, ref); err != nil {
			text += fmt.Sprintf(" and could not be pushed: %v", err)
		} else {
			text += fmt.Sprintf(" and on %s as %s", w.verbs.Board.Remote(), there)
		}
		if err := w.tellUnpushed(ctx, t.ID, text); err != nil {
			return err
		}
	}
	return w.verbs.Board.Repo.Remove(ctx, t.ID, git.Proof{Integration: work.Integration, Base: work.Base})
}

// tellUnpushed says it with the task, once: a host may have been killed before it removed what it had saved.
func (w Worktrees) tellUnpushed(ctx context.Context, id, text string) error {
	return w.verbs.Board.Update(ctx, "anomaly", func(s *blackboard.State, _ transition.Actor) error {
		for _, a := range s.Anomalies {
			if a.Type == blackboard.AnomalyUnpushedWork && a.Task == id && a.Details["what"] == text {
				return nil
			}
		}
		transition.AddAnomaly(s, id, blackboard.System, blackboard.AnomalyUnpushedWork, blackboard.Settings{"what": text}, w.verbs.Board.Now())
		return nil
	})
}

// publishAttic pushes saved work. Hosts number theirs by themselves, so the remote's ref has the host's name in it.
func (w Worktrees) publishAttic(ctx context.Context, id, ref string) (there string, err error) {
	if w.verbs.Board.Remote() == "" || w.verbs.Board.Rehearsal {
		return "", nil
	}
	commit, err := w.verbs.Board.Repo.Ref(ctx, ref)
	if err != nil {
		return "", err
	}
	there = "refs/liza/attic/" + id + "/" + w.verbs.Board.Proc.Host + "-" + filepath.Base(ref)
	err = w.verbs.Board.Repo.Push(ctx, w.verbs.Board.Remote(), git.RemoteChange{Ref: there, New: commit})
	if errors.Is(err, git.ErrRefMoved) { // a clone that was made again counts from the beginning
		there += "-" + blackboard.ShortCommit(commit)
		err = w.verbs.Board.Repo.Push(ctx, w.verbs.Board.Remote(), git.RemoteChange{Ref: there, New: commit})
	}
	return there, err
}

// pushWork lets other hosts go on with what a coder has committed so far. That it cannot be pushed stops nothing: it is here.
func (w Worktrees) pushWork(ctx context.Context, id string) {
	if w.verbs.Board.Remote() == "" {
		return
	}
	s, err := w.verbs.Board.View(ctx)
	if err != nil {
		return
	}
	t := s.Task(id)
	if t == nil || t.Status != blackboard.Claimed || !t.ChangesFiles() || w.verbs.Board.Elsewhere(t) {
		return
	}
	tip, err := w.verbs.Board.Repo.BranchTip(ctx, git.TaskBranch(id))
	if err != nil || tip == t.BaseCommit {
		return
	}
	if err := w.publish(ctx, id, tip); err != nil {
		w.verbs.Board.Progressf("%s: cannot push its work: %v", id, err)
	}
}

// shelveOthers gives up what this host has of tasks that other hosts have taken over, once nobody here works on them.
func (w Worktrees) shelveOthers(ctx context.Context) (did []string) {
	host := w.verbs.Board.ThisHost()
	if host == "" || w.verbs.Board.Repo == nil {
		return nil
	}
	for _, id := range w.tasksHere(ctx) {
		s, err := w.verbs.Board.View(ctx)
		if err != nil {
			return append(did, err.Error())
		}
		t := s.Task(id)
		if !w.verbs.Board.Elsewhere(t) || t.Status.Terminal() || t.Claiming != nil || t.ReviewingBy != "" || hostAtWork(s, host, id) {
			continue
		}
		if err := w.shelve(ctx, s, t); err != nil {
			did = append(did, fmt.Sprintf("%s: cannot give up what this host has of it: %v", id, err))
			continue
		}
		did = append(did, fmt.Sprintf("%s is on host %s now; what this host had of it is saved", id, t.Host))
	}
	return did
}

// tasksHere are the tasks of which this host has a branch or a worktree.
func (w Worktrees) tasksHere(ctx context.Context) (ids []string) {
	seen := map[string]bool{}
	add := func(id string) {
		if !seen[id] && blackboard.ValidTaskID(id) {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	branches, err := w.verbs.Board.Repo.Branches(ctx, strings.TrimSuffix(git.TaskBranch(""), "/"))
	if err != nil {
		return nil
	}
	for _, b := range branches {
		add(strings.TrimPrefix(b, git.TaskBranch("")))
	}
	entries, _ := os.ReadDir(filepath.Join(w.verbs.Board.Project.Root, ".worktrees"))
	for _, e := range entries {
		add(e.Name())
	}
	return ids
}

// publish puts a commit on the task's branch of the remote, in the place of what an earlier attempt left there. The caller
// has looked whether the task is still its own: anybody who takes it over moves the branch, and this push fails then.
func (w Worktrees) publish(ctx context.Context, task, commit string) error {
	remote := w.verbs.Board.Remote()
	if remote == "" || commit == "" || w.verbs.Board.Rehearsal {
		return nil
	}
	ref := "refs/heads/" + git.TaskBranch(task)
	at, err := w.verbs.Board.Repo.RemoteRefs(ctx, remote, ref)
	if err != nil || at[ref] == commit {
		return err
	}
	w.verbs.Board.Failpoint("publish")
	return w.verbs.Board.Repo.Push(ctx, remote, git.RemoteChange{Ref: ref, New: commit, Old: at[ref]})
}

// publishSubmission pushes what is handed in before the board says so, where it has to be pushed. It is not when the rules
// refuse the submission.
func (w Worktrees) publishSubmission(ctx context.Context, s *blackboard.State, in SubmitInput, event transition.Input) (published bool, err error) {
	if w.verbs.Board.Remote() == "" || event.Submission == nil {
		return true, nil
	}
	who, err := w.verbs.Board.Identify()
	if err != nil {
		return false, err
	}
	if transition.Submit(s.Clone(), in.Task, who.Actor(s), event, w.verbs.Board.Now()) != nil {
		return false, nil // the event says why
	}
	return true, w.publish(ctx, in.Task, event.Submission.Commit)
}

// freeHostName is the name, with a number when another clone has it.
func freeHostName(s *blackboard.State, name, id string) string {
	for n, free := 1, name; ; n++ {
		if n > 1 {
			free = name + "-" + strconv.Itoa(n)
		}
		if h := s.Hosts[free]; h == nil || h.ID == id {
			return free
		}
	}
}

// hostAtWork reports whether an agent of a host is at work on a task.
func hostAtWork(s *blackboard.State, host, task string) bool {
	for _, a := range s.Agents {
		if a.Host == host && (a.CurrentTask == task || a.Child != nil && a.Child.Task == task) {
			return true
		}
	}
	return false
}
