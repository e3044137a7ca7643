package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// RemoteURL returns the configured address of a remote, or "".
func (r *references) RemoteURL(ctx context.Context, remote string) (string, error) {
	found, err := r.settings(ctx, func(key string) bool { return key == "remote."+remote+".url" })
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[len(found)-1][1], nil
}

// Pushed reports which commits are on a branch of the remote, as far as this repository knows.
func (r *references) Pushed(ctx context.Context, remote string, commits []string) (map[string]bool, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	if err := plainRevs(commits...); err != nil {
		return nil, err
	}
	args := append([]string{"rev-list"}, commits...)
	out, err := r.read(ctx, r.place.Root, append(args, "--not", "--remotes="+remote)...)
	if err != nil {
		return nil, fmt.Errorf("cannot look which commits were pushed to %s: %w", remote, err)
	}
	pushed := map[string]bool{}
	for _, c := range commits {
		pushed[c] = true
	}
	for c := range strings.FieldsSeq(out) {
		delete(pushed, c)
	}
	return pushed, nil
}

// RemoteError is returned for a remote that refused, or could not be reached in time.
type RemoteError struct {
	Remote  string
	Doing   string // push, fetch or ask
	Words   string // message of the remote, or of git
	Refused bool   // the remote answered with a refusal
	Late    bool   // it did not answer in time, so the result of a push is unknown
}

func (e *RemoteError) Error() string {
	switch {
	case e.Late:
		return fmt.Sprintf("the remote %s did not answer: %s", e.Remote, e.Words)
	case e.Refused:
		return fmt.Sprintf("the remote %s refused: %s", e.Remote, e.Words)
	}
	return fmt.Sprintf("cannot %s the remote %s: %s", e.Doing, e.Remote, e.Words)
}

// errLate is the cause with which a command ends whose remote took too long.
var errLate = errors.New("the remote took too long")

// remoteTime bounds a command that talks to a remote, unless RemoteTimeout says otherwise.
const remoteTime = time.Minute

// remotely runs a git command that talks to a remote, with a time limit and without asking for a password. It returns the
// output.
func (r *references) remotely(ctx context.Context, remote, doing string, args ...string) (string, error) {
	limit := r.RemoteTimeout
	if limit <= 0 {
		limit = remoteTime
	}
	if remote == "" || strings.HasPrefix(remote, "-") {
		return "", fmt.Errorf("%q is not a name of a remote", remote)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	out, err := r.run(bounded, call{dir: r.place.Root, args: args, write: doing == "fetch", env: []string{"GIT_NO_LAZY_FETCH=1"}})
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return out, err
	case errors.Is(err, errLate):
		return out, &RemoteError{Remote: remote, Doing: doing, Words: fmt.Sprintf("no answer within %s", limit), Late: true}
	}
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		return out, err
	}
	return out, &RemoteError{Remote: remote, Doing: doing, Words: words(failed, out)}
}

// words returns the remote's message on one line; without one, git's. A remote may send anything.
func words(failed *Error, out string) string {
	var said []string
	for line := range strings.Lines(failed.Stderr) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "remote:"); found && strings.TrimSpace(text) != "" {
			said = append(said, strings.TrimSpace(text))
		}
	}
	for line := range strings.Lines(out) {
		if fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(fields) == 3 && fields[0] == "!" && !strings.Contains(fields[2], "atomic") {
			said = append(said, fields[2])
		}
	}
	text := strings.Join(said, "; ")
	if text == "" {
		text = failed.reason()
	}
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return -1
		}
		return c
	}, text)
	const most = 600
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// RemoteRefs returns the commits of refs of the remote; it omits missing ones.
func (r *references) RemoteRefs(ctx context.Context, remote string, refs ...string) (map[string]string, error) {
	out, err := r.remotely(ctx, remote, "ask", append([]string{"ls-remote", "--quiet", remote}, refs...)...)
	if err != nil {
		return nil, err
	}
	at := map[string]string{}
	for line := range strings.Lines(out) {
		hash, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		for _, ref := range refs { // a name stands for all that end like it
			if found && name == ref && isFullHash(hash) {
				at[ref] = hash
			}
		}
	}
	return at, nil
}

// Fetch fetches commits of the remote by name. It returns ErrNotFound for a commit that the remote does not have.
func (r *Repo) Fetch(ctx context.Context, remote string, commits ...string) error {
	var missing []string
	for _, c := range commits {
		if c == "" {
			continue
		}
		if !isFullHash(c) {
			return fmt.Errorf("commit %q %w", c, ErrNotFound)
		}
		there, err := r.CommitExists(ctx, c)
		if err != nil {
			return err
		}
		if !there {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	err := r.fetch(ctx, remote, missing)
	if said, ok := errors.AsType[*RemoteError](err); ok && !said.Late && (strings.Contains(said.Words, "not our ref") || strings.Contains(said.Words, "unadvertised object")) {
		return fmt.Errorf("commit %s %w on the remote %s", strings.Join(missing, ", "), ErrNotFound, remote)
	}
	return err
}

// fetch runs git fetch. That looks at the HEAD of each worktree, and while git adds one its HEAD is nothing but zeros: "bad object
// worktrees/ID/HEAD". Worktrees are added under the lock, so that once it was free the next attempt sees another HEAD.
func (r *Repo) fetch(ctx context.Context, remote string, commits []string) error {
	args := append([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", remote}, commits...)
	for attempt := 1; ; attempt++ {
		_, err := r.remotely(ctx, remote, "fetch", args...)
		said, ok := errors.AsType[*RemoteError](err)
		if !ok || !strings.Contains(said.Words, "bad object worktrees/") || attempt == fetchAttempts {
			return err
		}
		s, locked := r.lock(ctx)
		if locked != nil {
			return errors.Join(err, locked)
		}
		s.unlock()
	}
}

const fetchAttempts = 10 // each may meet another worktree that is being added

// A RemoteChange moves one ref of a remote by compare-and-swap.
type RemoteChange struct {
	Ref string
	New string // "": the ref is deleted
	Old string // present value; "": it does not exist
}

// Push changes refs of the remote, all or none; ErrRefMoved if one of them is elsewhere, *RemoteError if the remote refuses
// or does not answer. Without an answer the result is unknown.
func (r *Repo) Push(ctx context.Context, remote string, changes ...RemoteChange) error {
	args := []string{"push", "--porcelain", "--atomic", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no"}
	var specs []string
	for _, c := range changes {
		if err := refName(c.Ref); err != nil {
			return err
		}
		for _, commit := range []string{c.New, c.Old} {
			if commit != "" && !isFullHash(commit) {
				return fmt.Errorf("commit %q %w", commit, ErrNotFound)
			}
		}
		args = append(args, "--force-with-lease="+c.Ref+":"+c.Old)
		specs = append(specs, c.New+":"+c.Ref)
	}
	out, err := r.remotely(ctx, remote, "push to", append(append(args, remote), specs...)...)
	said, ok := errors.AsType[*RemoteError](err)
	if !ok || said.Late {
		return err
	}
	rejected := false
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "!") {
			continue
		}
		rejected = true
		for _, moved := range []string{"(stale info)", "remote ref does not exist", "incorrect old value", "failed to update ref", "cannot lock ref", "failed to lock", "reference already exists"} {
			if strings.Contains(line, moved) {
				return fmt.Errorf("cannot push to %s: %s: %w", remote, said.Words, ErrRefMoved)
			}
		}
	}
	if strings.Contains(said.Words, "remote ref does not exist") {
		return fmt.Errorf("cannot push to %s: %s: %w", remote, said.Words, ErrRefMoved)
	}
	said.Refused = rejected
	return said
}

// RemoteBranch returns the last known commit of a branch of the remote, or "".
func (r *references) RemoteBranch(ctx context.Context, remote, branch string) (string, error) {
	at, err := r.Ref(ctx, tracking(remote, branch))
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return at, err
}

// SawRemote records the commit of a branch of the remote, as a fetch of it would.
func (r *Repo) SawRemote(ctx context.Context, remote, branch, commit string) error {
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	now, err := s.refValue(ctx, tracking(remote, branch))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if now == commit {
		return nil
	}
	_, err = s.git(ctx, "update-ref", "--no-deref", "-m", "liza", tracking(remote, branch), commit)
	return err
}

// Advance moves a local branch forward to a commit, unless it is checked out somewhere or has commits of its own.
func (r *Repo) Advance(ctx context.Context, branch, commit string) error {
	tip, err := r.tip(ctx, branch)
	if err != nil || tip == commit {
		return err
	}
	if tip != "" {
		if behind, err := r.IsAncestor(ctx, tip, commit); err != nil || !behind {
			return err
		}
	}
	if _, out, err := r.CheckedOutAt(ctx, branch); err != nil || out {
		return err
	}
	err = r.UpdateRef(ctx, branches+branch, commit, tip)
	if errors.Is(err, ErrRefMoved) {
		return nil // somebody else did
	}
	return err
}

func tracking(remote, branch string) string { return "refs/remotes/" + remote + "/" + branch }

// network is how the addresses begin to which one pushes over a network. Folders are left out: tests of projects push to
// repositories that they make.
var network = []string{"https://", "http://", "ssh://", "git://", "git@"}

// NoPush returns the settings, for the environment of a program, that make its git refuse to push: every address of a
// configured remote and every network address becomes a folder below /dev/null whose name is the reason. Fetching works, and
// the repository's configuration stays as it is.
//
// It cannot refuse an address for pushing only (pushurl) that is the beginning of one to fetch from.
func (r *references) NoPush(ctx context.Context, reason string) ([][2]string, error) {
	remotes, err := r.settings(ctx, func(key string) bool {
		return strings.HasPrefix(key, "remote.") && (strings.HasSuffix(key, ".url") || strings.HasSuffix(key, ".pushurl"))
	})
	if err != nil {
		return nil, err
	}
	nowhere := "url./dev/null/" + reason + "/."
	var fetched []string
	for _, one := range remotes {
		if strings.HasSuffix(one[0], ".url") {
			fetched = append(fetched, one[1])
		}
	}
	refusals := [][2]string{}
	for _, address := range slices.Concat(fetched, network) { // the longest that fits wins, so a person's own rule loses to the whole address
		refusals = append(refusals, [2]string{nowhere + "pushInsteadOf", address})
	}
	for _, one := range remotes {
		begins := func(url string) bool { return strings.HasPrefix(url, one[1]) }
		if strings.HasSuffix(one[0], ".pushurl") && one[1] != "" && !slices.ContainsFunc(fetched, begins) {
			refusals = append(refusals, [2]string{nowhere + "insteadOf", one[1]})
		}
	}
	return refusals, nil
}
